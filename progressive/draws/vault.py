"""The key file of the draws: their secrets are encrypted under it wherever they are stored."""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from progressive.draws.drbg import Source
from progressive.draws.fields import fields_bytes, fields_hash
from progressive.draws.key_file import KeyFile, VaultError, add_key_file, read_key_file, write
from progressive.draws.process import process_drbg
from progressive.draws.secret import DrawSecret

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
KEY_ID_DIGITS: Final = 16

_SEALED = re.compile(r"draw-seal/1:([0-9a-f]{16}):([0-9a-f]{24}):((?:[0-9a-f]{2}){16,512})")


class KeyUnknownError(VaultError):
    """Something is sealed under a key that this file does not hold."""


class SealBrokenError(VaultError):
    """A sealed secret that was changed, or that belongs to something else."""


class KeyInUseError(VaultError):
    """A key that cannot be made or dropped now, because draws depend on it."""


def key_id(key: bytes) -> str:
    """Name a key without telling it."""
    return fields_hash(("draw-key/1", key.hex()))[:KEY_ID_DIGITS]


class Vault:
    """The keys of one file: secrets are sealed under the current one, and opened under any."""

    __slots__ = ("_keys", "current", "path")

    def __init__(self, path: Path, current: str, keys: Mapping[str, bytes]) -> None:
        self.path, self.current = path, current
        self._keys = MappingProxyType(dict(keys))

    def __repr__(self) -> str:
        return f"Vault(current={self.current!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("keys stay in their file")

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The ids of all keys, the current one first."""
        return (self.current, *(name for name in self._keys if name != self.current))

    def seal(self, secret: DrawSecret, context: bytes, source: Source | None = None) -> str:
        """Encrypt a secret under the current key, for this context and no other."""
        return self.seal_bytes(secret.pack(), context, source)

    def seal_bytes(self, content: bytes, context: bytes, source: Source | None = None) -> str:
        """Encrypt any few bytes under the current key, for this context and no other."""
        nonce = (source or process_drbg()).generate(NONCE_BYTES)
        bound = _associated(self.current, context)
        sealed = AESGCM(self._keys[self.current]).encrypt(nonce, content, bound)
        return f"draw-seal/1:{self.current}:{nonce.hex()}:{sealed.hex()}"

    def open_(self, sealed: str, context: bytes) -> DrawSecret:
        """Decrypt a draw's secret that was sealed for this context."""
        return DrawSecret.unpack(self.open_bytes(sealed, context))

    def open_bytes(self, sealed: str, context: bytes) -> bytes:
        """Decrypt what was sealed for this context."""
        name = sealed_under(sealed)
        self.require((name,))
        _, _, nonce, text = sealed.rsplit(":", 3)
        try:
            return AESGCM(self._keys[name]).decrypt(
                bytes.fromhex(nonce), bytes.fromhex(text), _associated(name, context)
            )
        except InvalidTag:
            raise SealBrokenError(
                "a draw's sealed secret was changed, or belongs to another cycle or shoe; "
                "nothing is drawn with it. Keep the store and the key file as they are and "
                "call a supervisor"
            ) from None

    def require(self, key_ids: Iterable[str]) -> None:
        """Refuse to go on without every one of these keys."""
        missing = sorted(set(key_ids) - set(self._keys))
        if missing:
            raise KeyUnknownError(
                f"draws are sealed under key {', '.join(missing)}, and {self.path} holds "
                f"{', '.join(self.key_ids)}: it is another file, or an older one. "
                "Put the right key file back; no new key is made while a cycle is open"
            )

    def rotate(self, source: Source | None = None) -> "Vault":
        """Add a new key and make it the current one; the old ones still open what they sealed."""
        key = (source or process_drbg()).generate(KEY_BYTES)
        return self._rewrite(key_id(key), {**self._keys, key_id(key): key})

    def retire(self, name: str, in_use: Collection[str]) -> "Vault":
        """Drop an old key that nothing is sealed under any more."""
        self.require((name,))
        if name == self.current or name in in_use:
            raise KeyInUseError(
                f"key {name} is in use: rotate first, then wait until its last draw is over"
            )
        kept = {known: key for known, key in self._keys.items() if known != name}
        return self._rewrite(self.current, kept)

    def _rewrite(self, current: str, keys: Mapping[str, bytes]) -> "Vault":
        write(self.path, KeyFile(current, {name: key.hex() for name, key in keys.items()}))
        return load(self.path)


def sealed_under(sealed: str) -> str:
    """Tell the id of the key that a sealed secret needs."""
    match = _SEALED.fullmatch(sealed)
    if match is None:
        raise SealBrokenError("this is not a sealed secret of a draw: it was cut or changed")
    return match[1]


def make(path: Path, *, cycle_open: bool, source: Source | None = None) -> Vault:
    """Make the key file of a new site; refused while a cycle is open, or where one exists."""
    if cycle_open:
        raise KeyInUseError(
            f"{path} is missing and a cycle is open: put the key file back. "
            "A new key could not open its secret, so none is made"
        )
    key = (source or process_drbg()).generate(KEY_BYTES)
    add_key_file(path, KeyFile(key_id(key), {key_id(key): key.hex()}))
    return load(path)


def load(path: Path) -> Vault:
    """Read the key file, refusing one that others can read or that was damaged."""
    content = read_key_file(path)
    keys = {name: bytes.fromhex(text) for name, text in content.keys.items()}
    wrong = [name for name, key in keys.items() if key_id(key) != name or len(key) != KEY_BYTES]
    if wrong or content.current not in keys:
        raise VaultError(f"{path} was changed: a key does not match its id. Put the right one back")
    return Vault(path, content.current, keys)


def start(path: Path, *, cycle_open: bool, in_use: Collection[str]) -> Vault:
    """Load the key file at the start of a process, making it on the very first."""
    if not path.exists() and not in_use:
        return make(path, cycle_open=cycle_open)
    vault = load(path)
    vault.require(in_use)
    return vault


def _associated(name: str, context: bytes) -> bytes:
    return fields_bytes(("draw-seal/1", name, context.hex()))
