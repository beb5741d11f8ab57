"""The controller over HTTP: what sensors, dealers, supervisors and programs call."""
