"""The process's own generator: seeded by the operating system, never carried across a fork."""

import os
import threading

from progressive.draws.drbg import ENTROPY_BYTES_MIN, NONCE_BYTES_MIN, HmacDrbg
from progressive.draws.health import health_test


class ProcessDrbg:
    """A generator that passes its health test first and reseeds itself for every request."""

    def __init__(self) -> None:
        self._renew()

    def __repr__(self) -> str:
        return "ProcessDrbg(hidden)"

    def generate(self, size: int) -> bytes:
        """Give `size` bytes that no other process, and no earlier state, could have given."""
        if self._pid != os.getpid():
            self._renew()
        with self._lock:
            self._drbg.reseed(os.urandom(ENTROPY_BYTES_MIN))
            return self._drbg.generate(size)

    def _renew(self) -> None:
        # A lock held by another thread at the fork would never be released in the child.
        self._lock = threading.Lock()
        health_test()
        personalization = f"linked-progressive/{os.getpid()}".encode()
        entropy, nonce = os.urandom(ENTROPY_BYTES_MIN), os.urandom(NONCE_BYTES_MIN)
        self._drbg = HmacDrbg(entropy, nonce, personalization)
        self._pid = os.getpid()


_own: ProcessDrbg | None = None


def process_drbg() -> ProcessDrbg:
    """Give this process's generator, made and tested at the first call."""
    global _own  # noqa: PLW0603 - one generator a process is the point
    if _own is None:
        _own = ProcessDrbg()
    return _own


def _forget() -> None:
    global _own  # noqa: PLW0603 - see above
    _own = None


# Process numbers come round again: a grandchild could carry its grandparent's.
os.register_at_fork(after_in_child=_forget)
