"""Processes that end in the middle of their work, or count what they do."""

import os
import sys
from collections.abc import Callable

WATCHED = {"open", "os.rename", "os.remove", "os.truncate", "os.link"}
DONE, STOPPED, FAILED = 0, 77, 99


def in_a_child(task: Callable[[], None]) -> int:
    """Run a task in a child of this process; returns its number."""
    child = os.fork()
    if child == 0:
        try:
            task()
            os._exit(DONE)
        finally:
            os._exit(FAILED)
    return child


def ended_with(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def stop_before(step: int) -> None:
    """End this process at once before its n-th operation on the file system."""
    count = 0

    def pass_step() -> None:
        nonlocal count
        count += 1
        if count > step:
            os._exit(STOPPED)

    sys.addaudithook(lambda event, _: pass_step() if event in WATCHED else None)

    def stopping(call: Callable[..., object]) -> Callable[..., object]:
        def called(*arguments: object) -> object:
            pass_step()
            return call(*arguments)

        return called

    for name in ("fsync", "fdatasync", "pwrite", "ftruncate"):
        setattr(os, name, stopping(getattr(os, name)))


def counted(task: Callable[[], None]) -> int:
    """Run a task in a child and count its operations on files."""

    def count() -> None:
        seen: list[str] = []
        sys.addaudithook(lambda event, _: seen.append(event) if event in WATCHED else None)
        task()
        os._exit(min(len(seen), FAILED - 1))

    return ended_with(in_a_child(count))
