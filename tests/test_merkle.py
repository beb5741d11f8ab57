"""The Merkle tree: the published eight-leaf vectors, and every proof against a naive tree."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from progressive.audit import merkle
from progressive.audit.merkle import ProofError, Tree

VECTORS = json.loads((Path(__file__).parent / "vectors" / "rfc6962.json").read_text("utf-8"))
LEAVES = [bytes.fromhex(leaf) for leaf in VECTORS["leaves"]]
ROOTS = [bytes.fromhex(root) for root in VECTORS["roots"]]
ENTRIES = [str(number).encode() for number in range(300)]
SIZES = st.integers(1, len(ENTRIES))


def naive_root(entries: list[bytes]) -> bytes:
    """Write the definition of RFC 6962, 2.1, down as it stands there."""
    if not entries:
        return sha256().digest()
    if len(entries) == 1:
        return sha256(b"\0" + entries[0]).digest()
    middle = 1
    while 2 * middle < len(entries):
        middle *= 2
    return sha256(b"\1" + naive_root(entries[:middle]) + naive_root(entries[middle:])).digest()


def naive_node(entries: list[bytes]) -> merkle.Node:
    def node(level: int, index: int) -> bytes:
        assert (index + 1) << level <= len(entries), "this subtree is not whole yet"
        return naive_root(entries[index << level : (index + 1) << level])

    return node


def hexes(path: list[str]) -> list[bytes]:
    return [bytes.fromhex(step) for step in path]


def flipped(value: bytes) -> bytes:
    return bytes([value[0] ^ 8]) + value[1:]


def test_the_published_roots_come_out_leaf_by_leaf() -> None:
    tree = Tree()
    assert tree.root() == merkle.EMPTY_ROOT == bytes.fromhex(VECTORS["empty_root"])
    for leaf, root in zip(LEAVES, ROOTS, strict=True):
        tree.extend([leaf])
        assert tree.root() == root


@pytest.mark.parametrize("case", VECTORS["inclusion"])
def test_the_published_inclusion_proofs_are_made_and_accepted(case: dict[str, Any]) -> None:
    index, size, path = case["index"], case["size"], hexes(case["path"])
    assert merkle.inclusion_proof(index, size, naive_node(LEAVES)) == path
    leaf, root = merkle.leaf_hash(LEAVES[index]), ROOTS[size - 1]
    merkle.check_inclusion(index, size, leaf, path, root)


@pytest.mark.parametrize("case", VECTORS["inclusion"])
def test_a_spoilt_inclusion_proof_is_refused(case: dict[str, Any]) -> None:
    index, size, path = case["index"], case["size"], hexes(case["path"])
    leaf, root = merkle.leaf_hash(LEAVES[index]), ROOTS[size - 1]
    spoilt = [
        (index - 1, size, leaf, path, root),
        (index + 1, size, leaf, path, root),
        (index ^ 2, size, leaf, path, root),
        (index, size * 2, leaf, path, root),
        (index, size // 2, leaf, path, root),
        (index, size, b"leaf", path, root),
        (index, size, flipped(leaf), path, root),
        (index, size, leaf, path, merkle.EMPTY_ROOT),
        (index, size, leaf, path, b""),
        (index, size, leaf, [*path, b""], root),
        (index, size, leaf, [*path, root], root),
        (index, size, leaf, [root, *path], root),
    ]
    spoilt += [(index, size, leaf, path[:-1], root)] if path else []
    for place, step in enumerate(path):
        wrong = [*path[:place], flipped(step), *path[place + 1 :]]
        spoilt.append((index, size, leaf, wrong, root))
    for one in spoilt:
        with pytest.raises(ProofError):
            merkle.check_inclusion(*one)


@pytest.mark.parametrize("case", VECTORS["consistency"])
def test_the_published_consistency_proofs_are_made_and_accepted(case: dict[str, Any]) -> None:
    old, new, path = case["old"], case["new"], hexes(case["path"])
    assert merkle.consistency_proof(old, new, naive_node(LEAVES)) == path
    merkle.check_consistency(old, new, ROOTS[old - 1], ROOTS[new - 1], path)


@pytest.mark.parametrize("case", [one for one in VECTORS["consistency"] if one["path"]])
def test_a_spoilt_consistency_proof_is_refused(case: dict[str, Any]) -> None:
    old, new, path = case["old"], case["new"], hexes(case["path"])
    before, after = ROOTS[old - 1], ROOTS[new - 1]
    spoilt = [
        (old - 1, new, before, after, path),
        (old + 1, new, before, after, path),
        (old ^ 2, new, before, after, path),
        (old, new * 2, before, after, path),
        (old, new // 2, before, after, path),
        (old, new, b"root", after, path),
        (old, new, flipped(before), after, path),
        (old, new, before, flipped(after), path),
        (old, new, after, before, path),
        (old, new, before, after, []),
        (old, new, before, after, [*path, b""]),
        (old, new, before, after, [*path, after]),
        (old, new, before, after, [before, *path]),
        (old, new, before, after, [path[0], *path]),
        (old, new, before, after, path[:-1]),
    ]
    for place, step in enumerate(path):
        wrong = [*path[:place], flipped(step), *path[place + 1 :]]
        spoilt.append((old, new, before, after, wrong))
    for one in spoilt:
        with pytest.raises(ProofError):
            merkle.check_consistency(*one)


def test_two_roots_for_one_size_are_never_consistent() -> None:
    with pytest.raises(ProofError, match="two roots"):
        merkle.check_consistency(3, 3, ROOTS[0], ROOTS[1], [])
    with pytest.raises(ProofError, match="two roots"):
        merkle.check_consistency(0, 3, ROOTS[0], ROOTS[1], [])
    merkle.check_consistency(0, 3, merkle.EMPTY_ROOT, ROOTS[1], [])


@settings(deadline=None)
@given(SIZES, st.integers(1, 40))
def test_a_tree_grown_in_batches_is_the_tree_of_all_entries(size: int, batch: int) -> None:
    tree, hashes = Tree(), []
    for start in range(0, size, batch):
        hashes += tree.extend(ENTRIES[start : min(start + batch, size)])
    assert tree.root() == naive_root(ENTRIES[:size])
    assert len(hashes) == merkle.stored(size)
    again = Tree(size, (hashes[merkle.place(*one)] for one in merkle.edge_nodes(size)))
    assert again.edge == tree.edge


def test_every_stored_hash_stands_where_it_is_looked_for() -> None:
    hashes = Tree().extend(ENTRIES[:64])
    node = naive_node(ENTRIES[:64])
    places = {}
    for level in range(7):
        for index in range(64 >> level):
            places[merkle.place(level, index)] = node(level, index)
    assert [places[number] for number in range(len(hashes))] == hashes


@settings(deadline=None)
@given(st.data())
def test_every_entry_of_every_size_is_proved(data: st.DataObject) -> None:
    size = data.draw(SIZES)
    index = data.draw(st.integers(0, size - 1))
    hashes = Tree().extend(ENTRIES)
    path = merkle.inclusion_proof(index, size, lambda *one: hashes[merkle.place(*one)])
    root = naive_root(ENTRIES[:size])
    merkle.check_inclusion(index, size, merkle.leaf_hash(ENTRIES[index]), path, root)
    with pytest.raises(ProofError):
        merkle.check_inclusion(index, size, merkle.leaf_hash(b"other"), path, root)


@settings(deadline=None)
@given(st.data())
def test_every_size_is_proved_to_begin_with_every_smaller_one(data: st.DataObject) -> None:
    new = data.draw(SIZES)
    old = data.draw(st.integers(0, new))
    hashes = Tree().extend(ENTRIES)
    node: merkle.Node = lambda *one: hashes[merkle.place(*one)]  # noqa: E731 - it is only this
    path = merkle.consistency_proof(old, new, node)
    before, after = naive_root(ENTRIES[:old]), naive_root(ENTRIES[:new])
    assert merkle.root_at(old, node) == before
    merkle.check_consistency(old, new, before, after, path)
    rewritten = naive_root([b"rewritten", *ENTRIES[1:new]])
    if old:
        with pytest.raises(ProofError):
            merkle.check_consistency(old, new, before, rewritten, path)


def test_a_proof_of_what_is_not_there_is_not_made() -> None:
    node = naive_node(LEAVES)
    for index, size in ((0, 0), (8, 8), (-1, 8), (9, 8)):
        with pytest.raises(ProofError):
            merkle.inclusion_proof(index, size, node)
    for old, new in ((5, 4), (-1, 4)):
        with pytest.raises(ProofError):
            merkle.consistency_proof(old, new, node)
    with pytest.raises(ValueError, match="3 hashes on its edge"):
        Tree(7, ())
