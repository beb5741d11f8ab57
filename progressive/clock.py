"""The machine's clock, as signatures and sessions are checked against it."""

import time


def now_ms() -> int:
    """Give the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000
