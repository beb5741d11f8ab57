"""The semantics of the meters as a pure state machine: `apply(state, event)`.

It says in Python what the function library does inside Valkey, and is what that is checked against:
by random play in the tests, and by every audit, which works out each journal entry again.
"""

from meters.model.machine import apply, begin, step

__all__ = ["apply", "begin", "step"]
