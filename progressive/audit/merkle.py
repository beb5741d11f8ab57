"""The Merkle tree of RFC 6962 over SHA-256: roots, proofs, and the state that grows it."""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

HASH_BYTES = 32
EMPTY_ROOT = sha256(b"").digest()
LEAF_PREFIX = b"\x00"
NODE_PREFIX = b"\x01"

Node = Callable[[int, int], bytes]
"""Gives the hash of the whole subtree at (level, index); level 0 holds the leaves' hashes."""


class ProofError(ValueError):
    """A proof does not show what it claims."""


def leaf_hash(entry: bytes) -> bytes:
    """Hash an entry as a leaf."""
    return sha256(LEAF_PREFIX + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash two subtrees into their parent."""
    return sha256(NODE_PREFIX + left + right).digest()


class Tree:
    """A tree that can only grow, kept as its right edge: one hash for every set bit of its size."""

    def __init__(self, size: int = 0, edge: Iterable[bytes] = ()) -> None:
        self.size = size
        self._edge = list(edge)
        if len(self._edge) != size.bit_count():
            raise ValueError(f"a tree of {size} has {size.bit_count()} hashes on its edge")

    @property
    def edge(self) -> tuple[bytes, ...]:
        """The roots of the whole subtrees that make up the tree, largest first."""
        return tuple(self._edge)

    def extend(self, entries: Iterable[bytes]) -> list[bytes]:
        """Add entries and give back every subtree hash that became final, in storage order."""
        edge, size, made = self._edge, self.size, []
        for entry in entries:
            node = sha256(LEAF_PREFIX + entry).digest()
            made.append(node)
            rest = size
            while rest & 1:
                node = sha256(NODE_PREFIX + edge.pop() + node).digest()
                made.append(node)
                rest >>= 1
            edge.append(node)
            size += 1
        self.size = size
        return made

    def root(self) -> bytes:
        """Give the root at the present size."""
        if not self._edge:
            return EMPTY_ROOT
        root = self._edge[-1]
        for left in reversed(self._edge[:-1]):
            root = node_hash(left, root)
        return root


def stored(size: int) -> int:
    """How many subtree hashes are final in a tree of this size: also where the next one goes."""
    return 2 * size - size.bit_count()


def place(level: int, index: int) -> int:
    """Where in storage order the hash of the subtree at (level, index) stands."""
    last_leaf = ((index + 1) << level) - 1
    return stored(last_leaf) + level


def edge_nodes(size: int) -> list[tuple[int, int]]:
    """List the (level, index) of every subtree on the right edge of a tree, largest first."""
    levels = [level for level in range(size.bit_length()) if size >> level & 1]
    return [(level, (size >> level) - 1) for level in reversed(levels)]


def root_at(size: int, node: Node) -> bytes:
    """Work out the root that the tree had at an earlier size."""
    return _hash_of(0, size, node) if size else EMPTY_ROOT


def inclusion_proof(index: int, size: int, node: Node) -> list[bytes]:
    """Prove that the entry at `index` is in the tree of `size`: RFC 6962, 2.1.1."""
    if not 0 <= index < size:
        raise ProofError(f"entry {index} is not in a tree of {size}")
    path, start, end = [], 0, size
    while end - start > 1:
        middle = start + _left_size(end - start)
        if index < middle:
            path.append(_hash_of(middle, end, node))
            end = middle
        else:
            path.append(_hash_of(start, middle, node))
            start = middle
    return path[::-1]


def consistency_proof(old: int, new: int, node: Node) -> list[bytes]:
    """Prove that the tree of `new` begins with the tree of `old`: RFC 6962, 2.1.2."""
    if not 0 <= old <= new:
        raise ProofError(f"a tree of {new} does not begin with one of {old}")
    if old == 0:
        return []
    path, start, end = [], 0, new
    while old != end:
        middle = start + _left_size(end - start)
        if old <= middle:
            path.append(_hash_of(middle, end, node))
            end = middle
        else:
            path.append(_hash_of(start, middle, node))
            start = middle
    if start:  # otherwise it is the old root itself, which whoever checks has already
        path.append(_hash_of(start, end, node))
    return path[::-1]


def check_inclusion(index: int, size: int, leaf: bytes, path: Sequence[bytes], root: bytes) -> None:
    """Accept only a path that leads from the leaf's hash to the root: RFC 9162, 2.1.3.2."""
    _insist_on_hashes(leaf, root, *path)
    if not 0 <= index < size:
        raise ProofError(f"entry {index} is not in a tree of {size}")
    place_now, last, found = index, size - 1, leaf
    for step in path:
        if last == 0:
            raise ProofError("the inclusion proof is too long")
        if place_now & 1 or place_now == last:
            found = node_hash(step, found)
            while not place_now & 1 and place_now:
                place_now >>= 1
                last >>= 1
        else:
            found = node_hash(found, step)
        place_now >>= 1
        last >>= 1
    if last:
        raise ProofError("the inclusion proof is too short")
    if found != root:
        raise ProofError(f"entry {index} is not what the tree of {size} has there")


def check_consistency(
    old: int, new: int, old_root: bytes, new_root: bytes, path: Sequence[bytes]
) -> None:
    """Accept only a path that leads from both roots to a common past: RFC 9162, 2.1.4.2."""
    _insist_on_hashes(old_root, new_root, *path)
    if not 0 <= old <= new:
        raise ProofError(f"a tree of {new} does not begin with one of {old}")
    if old in {0, new}:
        if path:
            raise ProofError("the consistency proof is too long")
        if old_root != (new_root if old == new else EMPTY_ROOT):
            raise ProofError(f"two roots for one tree of {old}")
        return
    steps = list(path) if old & (old - 1) else [old_root, *path]
    if not steps:
        raise ProofError("the consistency proof is too short")
    _climb(old, new, old_root, new_root, steps)


def _climb(old: int, new: int, old_root: bytes, new_root: bytes, steps: list[bytes]) -> None:
    place_now, last = old - 1, new - 1
    while place_now & 1:
        place_now >>= 1
        last >>= 1
    found_old = found_new = steps[0]
    for step in steps[1:]:
        if last == 0:
            raise ProofError("the consistency proof is too long")
        if place_now & 1 or place_now == last:
            found_old = node_hash(step, found_old)
            found_new = node_hash(step, found_new)
            while not place_now & 1 and place_now:
                place_now >>= 1
                last >>= 1
        else:
            found_new = node_hash(found_new, step)
        place_now >>= 1
        last >>= 1
    if last:
        raise ProofError("the consistency proof is too short")
    if (found_old, found_new) != (old_root, new_root):
        raise ProofError(f"the tree of {new} does not begin with the tree of {old}")


def _hash_of(start: int, end: int, node: Node) -> bytes:
    """Hash the entries from start to end, where start is a border of subtrees that large."""
    width = end - start
    if width & (width - 1) == 0:
        level = width.bit_length() - 1
        return node(level, start >> level)
    middle = start + _left_size(width)
    return node_hash(_hash_of(start, middle, node), _hash_of(middle, end, node))


def _left_size(width: int) -> int:
    """Give the largest power of two below the width of a subtree."""
    return 1 << ((width - 1).bit_length() - 1)


def _insist_on_hashes(*values: bytes) -> None:
    if any(len(value) != HASH_BYTES for value in values):
        raise ProofError(f"every hash has {HASH_BYTES} bytes")
