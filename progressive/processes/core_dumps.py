"""Core dumps, which would hold keys and triggers."""

import resource


def forbid_core_dumps() -> None:
    """Write none, in this process and all that it starts."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
