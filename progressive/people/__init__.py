"""People and programs: who they are, what their roles allow, and how they prove it."""
