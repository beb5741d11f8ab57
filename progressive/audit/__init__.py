"""The transparency log: what was sealed cannot be changed without being seen."""
