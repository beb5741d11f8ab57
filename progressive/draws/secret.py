"""What a draw is made from: 32 secret bytes and a salt of 16, never shown by accident."""

import hashlib
import hmac
from typing import Final, NoReturn

from progressive.draws.drbg import HmacDrbg, Source
from progressive.draws.fields import fields_bytes
from progressive.draws.scaling import DrawError

SECRET_BYTES: Final = 32
SALT_BYTES: Final = 16


class DrawSecret:
    """A cycle's or a shoe's secret with its salt; its text says nothing about either."""

    __slots__ = ("_salt", "_secret")

    def __init__(self, secret: bytes, salt: bytes) -> None:
        if len(secret) != SECRET_BYTES or len(salt) != SALT_BYTES:
            raise DrawError(f"a secret has {SECRET_BYTES} bytes and its salt {SALT_BYTES}")
        self._secret, self._salt = secret, salt

    @classmethod
    def fresh(cls, source: Source) -> "DrawSecret":
        """Draw a new one: the secret first, then the salt, each a request of its own."""
        return cls(source.generate(SECRET_BYTES), source.generate(SALT_BYTES))

    @classmethod
    def unpack(cls, packed: bytes) -> "DrawSecret":
        """Take apart what `pack` put together."""
        return cls(packed[:SECRET_BYTES], packed[SECRET_BYTES:])

    def pack(self) -> bytes:
        """Give secret and salt in one piece, to be encrypted."""
        return self._secret + self._salt

    def reveal(self) -> tuple[str, str]:
        """Give secret and salt in hex, for the journal once the draw is over."""
        return self._secret.hex(), self._salt.hex()

    def drbg(self, *fields: str) -> HmacDrbg:
        """Make the generator of one draw: entropy, nonce, and the fields as personalization."""
        return HmacDrbg(self._secret, self._salt, fields_bytes(fields))

    def commit(self, *fields: str) -> str:
        """Hash the fields followed by salt and secret, in hex."""
        text = fields_bytes((*fields, self._salt.hex(), self._secret.hex()))
        return hashlib.sha256(text).hexdigest()

    def __repr__(self) -> str:
        return "DrawSecret(hidden)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DrawSecret):
            return NotImplemented
        return hmac.compare_digest(self.pack(), other.pack())

    __hash__ = None  # type: ignore[assignment]  # a key in a table would be a copy to forget

    def __reduce__(self) -> NoReturn:
        raise TypeError("a draw's secret is sealed by the vault, not pickled")
