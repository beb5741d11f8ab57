"""What a log posts to a witness (C2SP tlog-witness): an old size, a proof, the new checkpoint."""

from base64 import b64encode
from dataclasses import dataclass
from typing import Self

from progressive.audit import checkpoint
from progressive.audit.checkpoint import CheckpointError

PATH = "/add-checkpoint"
SIZE_TYPE = "text/x.tlog.size"
PROOF_MAX = 63
REQUEST_BYTES_MAX = 1 << 18


@dataclass(frozen=True, slots=True)
class AddCheckpoint:
    """One request: from the size that the witness knows to the checkpoint it is to cosign."""

    old: int
    proof: tuple[bytes, ...]
    checkpoint: bytes

    def __bytes__(self) -> bytes:
        proof = (b64encode(one).decode() for one in self.proof)
        return "\n".join([f"old {self.old}", *proof, "", ""]).encode() + self.checkpoint

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """Read a request, exactly as the specification writes it."""
        head, border, signed = body.partition(b"\n\n")
        if not border or not head.startswith(b"old ") or not head.isascii():
            raise CheckpointError("a request is an old size, a proof, an empty line, a checkpoint")
        old, *proof = head.decode().split("\n")
        if len(proof) > PROOF_MAX:
            raise CheckpointError(f"a consistency proof has at most {PROOF_MAX} hashes")
        size = checkpoint.parse_size(old.removeprefix("old "))
        return cls(size, tuple(map(checkpoint.parse_hash, proof)), signed)
