"""The controller: rules, site file, odds and command line."""
