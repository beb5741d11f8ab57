"""The processes of one machine: which there are, and how they are started, watched and stopped."""
