"""Checkpoints (C2SP tlog-checkpoint) and witnesses' cosignatures on them (tlog-cosignature)."""

import base64
import time
from dataclasses import dataclass
from typing import ClassVar, Self

from progressive.audit import note
from progressive.audit.merkle import HASH_BYTES

SIZE_MAX = 2**63 - 1
HEAD_LINES = 3
COSIGNATURE = 0x04
TIME_BYTES = 8


class CheckpointError(ValueError):
    """A text is not a checkpoint, or not of the log it was expected of."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a log says of itself: at this size my root is this."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lines = (self.origin, *self.extensions)
        if not all(lines) or any("\n" in line for line in lines):
            raise CheckpointError("a checkpoint's lines are not empty")
        if not 0 <= self.size <= SIZE_MAX or len(self.root) != HASH_BYTES:
            raise CheckpointError(f"a checkpoint has a size and a root of {HASH_BYTES} bytes")

    @property
    def text(self) -> str:
        """Write the lines that the log signs."""
        root = base64.b64encode(self.root).decode()
        return "\n".join([self.origin, str(self.size), root, *self.extensions, ""])

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `text` writes, and nothing else."""
        lines = text.split("\n")
        if len(lines) <= HEAD_LINES or lines.pop():
            raise CheckpointError("a checkpoint is three lines or more")
        origin, size, root, *extensions = lines
        return cls(origin, parse_size(size), parse_hash(root), tuple(extensions))


def verify(message: bytes, *keys: note.Verifier) -> tuple[Checkpoint, note.Note]:
    """Open a checkpoint that the log's own key signed (the first; others may be its witnesses')."""
    opened = note.verify(message, keys)
    log = keys[0]
    if (log.name, log.key_id) not in {(one.name, one.key_id) for one in opened.signatures}:
        raise note.Unsigned(f"{log.name} did not sign this checkpoint")
    found = Checkpoint.parse(opened.text)
    if found.origin != log.name:
        raise CheckpointError(f"a checkpoint of {found.origin}, where {log.name} was expected")
    return found, opened


class CosignatureVerifier(note.Verifier):
    """A witness's public key: it signs a time and the checkpoint's text."""

    algorithm: ClassVar[int] = COSIGNATURE

    def verify(self, text: str, signature: bytes) -> bool:
        """Check a signature over the time it carries and the text."""
        moment = int.from_bytes(signature[:TIME_BYTES], "big")
        if len(signature) <= TIME_BYTES or moment > SIZE_MAX:
            return False
        return self.verify_message(_cosigned(moment, text), signature[TIME_BYTES:])


class Cosigner(note.Signer):
    """A witness's private key."""

    kind: ClassVar[type[note.Verifier]] = CosignatureVerifier
    verifier: CosignatureVerifier

    def sign(self, text: str) -> note.Signature:
        """Sign the text and the time it is now."""
        return self.sign_at(text, int(time.time()))

    def sign_at(self, text: str, moment: int) -> note.Signature:
        """Sign the text and a moment, in seconds since 1970."""
        signature = self._private.sign(_cosigned(moment, text))
        return self._signed(moment.to_bytes(TIME_BYTES, "big") + signature)


def cosigned_at(signature: note.Signature) -> int:
    """Tell when, in seconds since 1970, a witness says that it signed."""
    if len(signature.value) != TIME_BYTES + 64:
        raise CheckpointError("this is not a cosignature: it has no time")
    return int.from_bytes(signature.value[:TIME_BYTES], "big")


def parse_size(text: str) -> int:
    """Read a decimal number as C2SP writes it: ASCII digits without leading zeroes."""
    if not (text.isascii() and text.isdigit()) or (text[0] == "0" and text != "0"):
        raise CheckpointError("a size is decimal digits without leading zeroes")
    if len(text) > len(str(SIZE_MAX)) or int(text) > SIZE_MAX:
        raise CheckpointError("a size is below 2^63")
    return int(text)


def parse_hash(text: str) -> bytes:
    """Read a hash as checkpoints and proofs write it."""
    found = note.decode_base64(text)
    if found is None or len(found) != HASH_BYTES:
        raise CheckpointError(f"a hash is base64 of {HASH_BYTES} bytes")
    return found


def _cosigned(moment: int, text: str) -> bytes:
    return f"cosignature/v1\ntime {moment}\n{text}".encode()
