"""Proof files (C2SP tlog-proof): one entry is in the log, checkable offline by anyone."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from progressive.audit import checkpoint, merkle, note
from progressive.audit.checkpoint import Checkpoint, CheckpointError, CosignatureVerifier

HEADER = "c2sp.org/tlog-proof@v1"
PATH_MAX = 63
SUFFIX = ".tlog-proof"


@dataclass(frozen=True, slots=True)
class Proof:
    """An entry's number, its way to the root, and the signed checkpoint of that root."""

    index: int
    path: tuple[bytes, ...]
    checkpoint: bytes
    extra: bytes | None = None

    def __bytes__(self) -> bytes:
        lines = [HEADER]
        if self.extra is not None:
            lines.append(f"extra {base64.b64encode(self.extra).decode()}")
        lines.append(f"index {self.index}")
        lines += [base64.b64encode(one).decode() for one in self.path]
        return "\n".join([*lines, "", ""]).encode() + self.checkpoint

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Read a proof file; only `verify` says whether it proves anything."""
        head, border, signed = content.partition(b"\n\n")
        if not border or not head.isascii():
            raise CheckpointError("a proof has an empty line before its checkpoint")
        header, *lines = head.decode().split("\n")
        if header != HEADER:
            raise CheckpointError(f"a proof begins with {HEADER}")
        extra = _read_extra(lines.pop(0)) if lines and lines[0].startswith("extra ") else None
        if not lines or not lines[0].startswith("index "):
            raise CheckpointError("a proof has a line that begins with index")
        index = checkpoint.parse_size(lines[0].removeprefix("index "))
        if len(lines) - 1 > PATH_MAX:
            raise CheckpointError(f"a proof has at most {PATH_MAX} hashes")
        return cls(index, tuple(map(checkpoint.parse_hash, lines[1:])), signed, extra)

    def verify(
        self,
        entry: bytes,
        log: note.Verifier,
        witnesses: Sequence[CosignatureVerifier] = (),
        quorum: int = 0,
    ) -> Checkpoint:
        """Insist that the log, and `quorum` of the witnesses, vouch for a tree with this entry.

        The extra data is not covered by any signature.
        """
        found, opened = checkpoint.verify(self.checkpoint, log, *witnesses)
        cosigned = len(opened.signatures) - 1
        if cosigned < quorum:
            raise note.Unsigned(f"{cosigned} of the witnesses signed; {quorum} are required")
        leaf = merkle.leaf_hash(entry)
        merkle.check_inclusion(self.index, found.size, leaf, self.path, found.root)
        return found


def _read_extra(line: str) -> bytes:
    found = note.decode_base64(line.removeprefix("extra "))
    if found is None:
        raise CheckpointError("a proof's extra data is base64")
    return found
