"""Signed notes (C2SP signed-note): text, signature lines, and the Ed25519 keys that make them."""

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

NOTE_BYTES_MAX = 1_000_000
SIGNATURES_MAX = 100
KEY_BYTES = 32
KEY_ID_BYTES = 4
ED25519 = 0x01
SIGNATURE_PREFIX = "— "
PRIVATE_PREFIX = "PRIVATE+KEY+"


class NoteError(ValueError):
    """A note cannot be accepted."""


class MalformedNote(NoteError):  # noqa: N818 - it is the note that is malformed
    """The bytes are not a signed note."""


class BadSignature(NoteError):  # noqa: N818 - it is the signature that is bad
    """A signature that names a known key was not made by it."""


class Unsigned(NoteError):  # noqa: N818 - it is the note that is unsigned
    """No known key signed the note."""


class KeyTextError(ValueError):
    """A text is not a key; it never repeats the text, which may be a secret."""


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature line: who, which key, and the bytes after the key's id."""

    name: str
    key_id: int
    value: bytes

    def __str__(self) -> str:
        blob = self.key_id.to_bytes(KEY_ID_BYTES, "big") + self.value
        return f"{SIGNATURE_PREFIX}{self.name} {base64.b64encode(blob).decode()}\n"


@dataclass(frozen=True, slots=True)
class Note:
    """A note's text and its signatures; those are verified only if `verify` gave them back."""

    text: str
    signatures: tuple[Signature, ...]
    unverified: tuple[Signature, ...] = ()

    def __bytes__(self) -> bytes:
        return "".join([self.text, "\n", *map(str, self.signatures + self.unverified)]).encode()


@dataclass(frozen=True)
class Verifier:
    """A public key with its name; as text it is `name+id+key`."""

    name: str
    public: bytes
    algorithm: ClassVar[int] = ED25519

    def __post_init__(self) -> None:
        if not valid_name(self.name) or len(self.public) != KEY_BYTES:
            raise KeyTextError("this is not a verifier key: it reads name+id+key")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a key and insist that its id is its own."""
        name, key_id, public = _split_key(text, cls.algorithm)
        verifier = cls(name, public)
        if verifier.key_id != key_id:
            raise KeyTextError("this is not a verifier key: its id does not belong to it")
        return verifier

    @property
    def key_id(self) -> int:
        """Name the key by four bytes of the hash of name, type and key."""
        keyed = self.name.encode() + b"\n" + bytes([self.algorithm]) + self.public
        return int.from_bytes(sha256(keyed).digest()[:KEY_ID_BYTES], "big")

    def __str__(self) -> str:
        encoded = base64.b64encode(bytes([self.algorithm]) + self.public).decode()
        return f"{self.name}+{self.key_id:08x}+{encoded}"

    def verify(self, text: str, signature: bytes) -> bool:
        """Check a signature over a note's text."""
        return self.verify_message(text.encode(), signature)

    def verify_message(self, message: bytes, signature: bytes) -> bool:
        """Check a plain Ed25519 signature by this key."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


class Signer:
    """A private key with its name; only `secret_text` ever tells it."""

    kind: ClassVar[type[Verifier]] = Verifier

    def __init__(self, name: str, seed: bytes) -> None:
        if len(seed) != KEY_BYTES:
            raise KeyTextError("this is not a signer key")
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self.verifier = self.kind(name, self._private.public_key().public_bytes_raw())

    @classmethod
    def generate(cls, name: str) -> Self:
        """Draw a new key from the operating system."""
        return cls(name, Ed25519PrivateKey.generate().private_bytes_raw())

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a key as its file holds it."""
        if not text.startswith(PRIVATE_PREFIX):
            raise KeyTextError(f"this is not a signer key: it begins with {PRIVATE_PREFIX}")
        name, key_id, seed = _split_key(text.removeprefix(PRIVATE_PREFIX), cls.kind.algorithm)
        signer = cls(name, seed)
        if signer.verifier.key_id != key_id:
            raise KeyTextError("this is not a signer key: its id does not belong to it")
        return signer

    def secret_text(self) -> str:
        """Write the key as its file holds it."""
        key = bytes([self.kind.algorithm]) + self._private.private_bytes_raw()
        encoded = base64.b64encode(key).decode()
        return f"{PRIVATE_PREFIX}{self.name}+{self.verifier.key_id:08x}+{encoded}"

    @property
    def name(self) -> str:
        """Give the name that stands in the signature line."""
        return self.verifier.name

    def named(self, name: str) -> Self:
        """Give the private key under another name, which makes it another key to verifiers."""
        return type(self)(name, self._private.private_bytes_raw())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.verifier}>"

    def sign(self, text: str) -> Signature:
        """Sign a note's text."""
        return self._signed(self._private.sign(text.encode()))

    def _signed(self, value: bytes) -> Signature:
        return Signature(self.name, self.verifier.key_id, value)


def sign(text: str, *signers: Signer, keep: Iterable[Signature] = ()) -> Note:
    """Sign a text; of the signatures to keep, those of the signers' own keys are replaced."""
    if not text.endswith("\n") or _forbidden(text):
        raise MalformedNote("a note's text is lines without control characters")
    new = tuple(signer.sign(text) for signer in signers)
    ours = {(one.name, one.key_id) for one in new}
    kept = tuple(one for one in keep if (one.name, one.key_id) not in ours)
    return Note(text, kept + new)


def verify(message: bytes, keys: Sequence[Verifier]) -> Note:
    """Open a note, insisting that a known key signed it and that no known key's signature is bad.

    Signatures by unknown keys are kept apart; repeats are dropped.
    """
    known = {(key.name, key.key_id): key for key in keys}
    if len(known) != len(keys):
        raise NoteError("two keys of one name and id: it is not clear which one is meant")
    parsed = parse(message)
    verified: dict[tuple[str, int], Signature] = {}
    unverified: dict[Signature, None] = {}
    for one in parsed.unverified:
        who = (one.name, one.key_id)
        if who not in known:
            unverified[one] = None
        elif who not in verified:
            if not known[who].verify(parsed.text, one.value):
                raise BadSignature(f"the signature of {one.name}+{one.key_id:08x} is not its own")
            verified[who] = one
    if not verified:
        raise Unsigned("no known key signed this note")
    return Note(parsed.text, tuple(verified.values()), tuple(unverified))


def parse(message: bytes) -> Note:
    """Take a note apart without verifying any signature."""
    if len(message) > NOTE_BYTES_MAX:
        raise MalformedNote(f"a note has at most {NOTE_BYTES_MAX:,} bytes")
    try:
        whole = message.decode()
    except UnicodeDecodeError:
        raise MalformedNote("a note is UTF-8") from None
    if _forbidden(whole):
        raise MalformedNote("a note has no control characters")
    text, border, lines = whole.rpartition("\n\n")
    if not border:
        raise MalformedNote("a note has an empty line before its signatures")
    return Note(text + "\n", (), parse_signatures(lines))


def parse_signatures(lines: str) -> tuple[Signature, ...]:
    """Read signature lines, as they stand at the end of a note or alone."""
    if not lines.endswith("\n"):
        raise MalformedNote("a signature line ends with a newline")
    split = lines[:-1].split("\n")
    if len(split) > SIGNATURES_MAX:
        raise MalformedNote(f"a note has at most {SIGNATURES_MAX} signatures")
    return tuple(_parse_signature(line) for line in split)


def _parse_signature(line: str) -> Signature:
    name, _, encoded = line.removeprefix(SIGNATURE_PREFIX).partition(" ")
    blob = decode_base64(encoded)
    if not line.startswith(SIGNATURE_PREFIX) or not valid_name(name):
        raise MalformedNote("a signature line is a dash, a name and a signature")
    if blob is None or len(blob) <= KEY_ID_BYTES:
        raise MalformedNote("a signature is base64 of a key id and what the key made")
    return Signature(name, int.from_bytes(blob[:KEY_ID_BYTES], "big"), blob[KEY_ID_BYTES:])


def decode_base64(text: str) -> bytes | None:
    """Decode standard base64, and nothing that could also be written otherwise."""
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if base64.b64encode(found).decode() == text else None


def valid_name(name: str) -> bool:
    """Say whether a key may have this name: no spaces, no plus."""
    return bool(name) and "+" not in name and not any(c.isspace() or c < " " for c in name)


def _split_key(text: str, algorithm: int) -> tuple[str, int, bytes]:
    name, _, rest = text.partition("+")
    key_id, _, encoded = rest.partition("+")
    blob = decode_base64(encoded)
    if not (len(key_id) == 2 * KEY_ID_BYTES and set(key_id) <= set("0123456789abcdef")):
        raise KeyTextError("this is not a key: its id is eight hexadecimal digits")
    if blob is None or len(blob) != 1 + KEY_BYTES or blob[0] != algorithm:
        raise KeyTextError(f"this is not a key of type {algorithm:#04x}")
    return name, int(key_id, 16), blob[1:]


def _forbidden(text: str) -> bool:
    return any(character < " " and character != "\n" for character in text)
