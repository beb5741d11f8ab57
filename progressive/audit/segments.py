"""Segment files: the entries themselves, one a line, in files of a fixed number of entries.

A segment is named by the number of its first entry. It is plain while it grows and gzip once it
is full and sealed; the plain file goes only after the compressed one is durable and listed.
"""

import gzip
import io
import os
import zlib
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path

from progressive.audit import durable

DIGITS = 12
COMPRESSION = 6


class LogDamaged(Exception):  # noqa: N818 - it is the log that is damaged
    """What is on disk is not what was sealed; says where, and nothing was changed."""


class Segments:
    """A folder of segment files, each of `length` entries but the last."""

    def __init__(self, folder: Path, length: int) -> None:
        self.folder = folder
        self.length = length

    def first(self, index: int) -> int:
        """Give the number of the first entry of the segment that an entry belongs to."""
        return index - index % self.length

    def plain(self, first: int) -> Path:
        """Name a segment that still grows, or is not compressed yet."""
        return self.folder / f"{first:0{DIGITS}}.log"

    def packed(self, first: int) -> Path:
        """Name a segment that is full, sealed and compressed."""
        return self.folder / f"{first:0{DIGITS}}.log.gz"

    def entries(self, start: int, end: int) -> Iterator[bytes]:
        """Give the entries from start up to end, reading only the segments they are in."""
        while start < end:
            first = self.first(start)
            stop = min(end, first + self.length)
            for entry in islice(self._lines(first), start - first, stop - first):
                yield entry
                start += 1
            if start < stop:
                raise LogDamaged(f"{self.folder}: the segment at {first} ends before entry {start}")

    def pack(self, first: int) -> str:
        """Compress a full segment, the same bytes every time; returns the plain content's hash."""
        content = b"".join(line + b"\n" for line in self._lines(first))
        if self.plain(first).exists():
            squeezed = io.BytesIO()
            with gzip.GzipFile("", "wb", COMPRESSION, squeezed, mtime=0) as file:
                file.write(content)
            durable.replace(self.packed(first), squeezed.getvalue())
        return sha256(content).hexdigest()

    def drop_plain(self, first: int) -> None:
        """Remove the plain file of a segment whose compressed one is listed."""
        if self.packed(first).exists():
            self.plain(first).unlink(missing_ok=True)

    def cut(self, size: int) -> None:
        """Take everything from entry `size` on out of the plain files."""
        first = self.first(size)
        later = first + self.length
        while self.plain(later).exists():
            later += self.length
        # From the end, so that a crash in between leaves no hole for the next look to stop at.
        for gone in range(later - self.length, first, -self.length):
            self.plain(gone).unlink()
        if self.plain(first).exists():
            kept = sum(len(line) + 1 for line in islice(self._lines(first), size - first))
            os.truncate(self.plain(first), kept)
            durable.sync_file(self.plain(first))
        durable.sync_folder(self.folder)

    def _lines(self, first: int) -> Iterator[bytes]:
        try:
            with self._open(first) as file:
                for line in file:
                    if not line.endswith(b"\n"):
                        return
                    yield line[:-1]
        except FileNotFoundError:
            raise LogDamaged(f"{self.folder}: the segment at {first} is missing") from None
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise LogDamaged(f"{self.packed(first)} cannot be unpacked: {error}") from None

    def _open(self, first: int) -> io.BufferedReader:
        try:
            return self.plain(first).open("rb")
        except FileNotFoundError:
            return io.BufferedReader(gzip.open(self.packed(first), "rb"), 1 << 18)


class Appender:
    """The growing end of the segments.

    Nothing is held back in a buffer: after a full disk its rest would be written later, behind
    whatever the log that was opened again has taken in between.
    """

    def __init__(self, segments: Segments, size: int) -> None:
        self._segments = segments
        self._size = size
        self._file: io.FileIO | None = None
        self._made_a_file = False

    def append(self, entries: Sequence[bytes]) -> None:
        """Write entries, going on to the next segment wherever one is full."""
        length = self._segments.length
        at = 0
        while at < len(entries):
            taken = entries[at : at + length - self._size % length]
            self._write(b"\n".join([*taken, b""]))
            self._size += len(taken)
            at += len(taken)
            if self._size % length == 0:
                self.close()

    def sync(self) -> None:
        """Make every entry taken so far durable."""
        if self._file is not None:
            os.fdatasync(self._file.fileno())
        if self._made_a_file:
            durable.sync_folder(self._segments.folder)
            self._made_a_file = False

    def close(self) -> None:
        """Make the file that is open now durable, and let go of it."""
        try:
            self.sync()
        finally:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _write(self, content: bytes) -> None:
        file, rest = self._open(), memoryview(content)
        while rest:
            rest = rest[file.write(rest) :]

    def _open(self) -> io.FileIO:
        if self._file is None:
            path = self._segments.plain(self._segments.first(self._size))
            self._made_a_file = not path.exists()
            self._file = path.open("ab", buffering=0)
        return self._file
