"""The server's log: kept short, and quoted with the remedy when the server does not come up."""

import os
from pathlib import Path
from typing import BinaryIO, Final

LOG_BYTES_MAX: Final = 1_000_000
LINES_SHOWN: Final = 6
REMEDIES: Final = {  # what the server writes, and what a person does about it
    "Address already in use": "Another program listens on that port: choose another one.",
    "Bad file format": (
        "The append-only file is damaged in its middle, which no crash does. Do not cut it: keep "
        "the folder as it is and restore it from a replica or a backup."
    ),
    "the truncated file is not the last file": (
        "The server was killed while it put a torn file right. Nothing acknowledged is lost: start "
        "it once more."
    ),
    "No space left": "The disk is full: make room, then start again.",
    "Permission denied": "Give the folder and all that is in it to the user that runs this.",
}


class LogFile:
    """The server's log, from where this start begins in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        size = path.stat().st_size if path.exists() else 0
        if size > LOG_BYTES_MAX:
            path.replace(path.with_suffix(".log.old"))
            size = 0
        self._begin = size

    def open(self) -> BinaryIO:
        """Open it for the server to append to."""
        return os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb")

    def tail(self) -> str:
        """Give its last lines since this start, and the remedy where it is known."""
        text = self.path.read_bytes()[self._begin :].decode(errors="replace")
        known = [remedy for sign, remedy in REMEDIES.items() if sign in text]
        return "\n".join([*text.splitlines()[-LINES_SHOWN:], *known])
