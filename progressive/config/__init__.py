"""The site file: read, checked against its jurisdiction, and frozen."""
