"""The tree's hashes on disk: one file of 32-byte hashes that only grows, and can be cut exactly."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from progressive.audit import merkle
from progressive.audit.merkle import HASH_BYTES, Tree


class HashFile:
    """Every whole subtree's hash in the order in which it became final.

    A tree of n entries has exactly 2n minus (number of set bits of n) of them, so the file of an
    earlier size is a beginning of this one. All of it can be worked out again from the entries.
    """

    def __init__(self, path: Path, *, writable: bool = False) -> None:
        self._path = path
        flags = os.O_RDWR | os.O_CREAT if writable else os.O_RDONLY
        self._handle = os.open(path, flags | os.O_CLOEXEC, 0o644)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._handle)

    def node(self, level: int, index: int) -> bytes:
        """Read the hash of one whole subtree."""
        (found,) = self._read(merkle.place(level, index), 1)
        return found

    def holds(self, size: int, root: bytes) -> bool:
        """Say whether the file has the tree of this size and root, by its edge alone."""
        if os.fstat(self._handle).st_size < merkle.stored(size) * HASH_BYTES:
            return False
        return self.tree(size).root() == root

    def tree(self, size: int) -> Tree:
        """Take up the tree at a size, ready to grow: a few reads, however old it is."""
        return Tree(size, (self.node(*one) for one in merkle.edge_nodes(size)))

    def leaves(self, start: int, end: int) -> list[bytes]:
        """Read the leaf hashes of a run of entries in one go."""
        if start == end:
            return []
        first = merkle.stored(start)
        run = self._read(first, merkle.stored(end) - first)
        return [run[merkle.stored(index) - first] for index in range(start, end)]

    def write(self, size: int, hashes: Iterable[bytes]) -> None:
        """Put down what became final after the tree had this size, over whatever stands there."""
        content = b"".join(hashes)
        at = merkle.stored(size) * HASH_BYTES
        while content:
            written = os.pwrite(self._handle, content, at)
            content, at = content[written:], at + written

    def cut(self, size: int) -> None:
        """Forget everything beyond a tree of this size."""
        os.ftruncate(self._handle, merkle.stored(size) * HASH_BYTES)

    def sync(self) -> None:
        """Make it durable."""
        os.fdatasync(self._handle)

    def _read(self, first: int, count: int) -> Sequence[bytes]:
        content = os.pread(self._handle, count * HASH_BYTES, first * HASH_BYTES)
        if len(content) != count * HASH_BYTES:
            raise EOFError(f"{self._path} ends before hash {first + count}")
        return [content[at : at + HASH_BYTES] for at in range(0, len(content), HASH_BYTES)]
