"""The manifest: a line about the log, then a line for every closed segment, in JSON."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from progressive.audit import durable
from progressive.audit.segments import LogDamaged

FORMAT = 1
LINE_BYTES_MAX = 4096

T = TypeVar("T")


class About(msgspec.Struct, frozen=True):
    """What never changes in the life of a log."""

    log: str
    segment_entries: int
    format: int = FORMAT


class ClosedSegment(msgspec.Struct, frozen=True):
    """A full, sealed and compressed segment, and where the checkpoint that closes it is."""

    first: int
    last: int
    count: int
    file: str
    sha256: str
    root: str
    checkpoint: str

    @property
    def end(self) -> int:
        """Give the number of the first entry after it."""
        return self.last + 1


class Manifest:
    """One file that only grows; neither opening nor adding depends on how long it is."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self, about: About) -> None:
        """Begin the manifest of a new log."""
        durable.replace(self._path, msgspec.json.encode(about) + b"\n")

    def about(self) -> About:
        """Read the first line."""
        try:
            with self._path.open("rb") as file:
                return self._decode(file.readline(LINE_BYTES_MAX), About)
        except FileNotFoundError:
            raise LogDamaged(f"{self._path} is missing") from None

    def closed(self) -> Iterator[ClosedSegment]:
        """Give every closed segment in order."""
        with self._path.open("rb") as file:
            file.readline()
            for line in file:
                if line.endswith(b"\n"):
                    yield self._decode(line, ClosedSegment)

    def last(self) -> ClosedSegment | None:
        """Read the line about the segment closed last, wherever the file ends."""
        with self._path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 2 * LINE_BYTES_MAX))
            lines = file.read().rpartition(b"\n")[0].split(b"\n")
        if len(lines) == 1 and size <= 2 * LINE_BYTES_MAX:
            return None
        return self._decode(lines[-1], ClosedSegment)

    def mend(self) -> None:
        """Cut off a line that a crash left unfinished."""
        with self._path.open("rb+") as file:
            size = file.seek(0, os.SEEK_END)
            start = max(0, size - LINE_BYTES_MAX)
            file.seek(start)
            whole = start + file.read().rfind(b"\n") + 1
            if whole < size:
                file.truncate(whole)
                os.fsync(file.fileno())

    def add(self, segment: ClosedSegment) -> None:
        """Write down, durably, that a segment is closed."""
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(segment) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _decode(self, line: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(line, type=kind)
        except msgspec.DecodeError as error:
            raise LogDamaged(f"{self._path}: a line is not as it was written: {error}") from None
