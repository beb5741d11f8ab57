"""HMAC-DRBG with SHA-256, as NIST SP 800-90A Rev. 1 section 10.1.2 writes it."""

import hmac
from typing import Final, Protocol

ENTROPY_BYTES_MIN: Final = 32  # the security strength, 256 bits
NONCE_BYTES_MIN: Final = 16  # half of it
REQUEST_BYTES_MAX: Final = 1 << 16  # the standard's 2^19 bits
REQUESTS_MAX: Final = 1 << 48  # between two seedings
INPUT_BYTES_MAX: Final = 1 << 16  # a limit of our own; the standard allows 2^32

_SHA256: Final = "sha256"


class DrbgError(Exception):
    """The generator gives nothing: a request out of bounds, or a generator out of order."""


class InputRefusedError(DrbgError):
    """Entropy or nonce too short, or an input too long."""


class RequestRefusedError(DrbgError):
    """More bytes at once than one request may ask for."""


class ReseedRequiredError(DrbgError):
    """As many requests as one seeding allows."""


class Source(Protocol):
    """Whatever bytes are drawn from."""

    def generate(self, size: int) -> bytes:
        """Give the next `size` bytes, as one request."""


class HmacDrbg:
    """One instantiation; the same inputs and requests always give the same bytes."""

    __slots__ = ("_key", "_requests", "_value")

    def __init__(self, entropy: bytes, nonce: bytes, personalization: bytes = b"") -> None:
        _check_length("entropy", entropy, ENTROPY_BYTES_MIN)
        _check_length("nonce", nonce, NONCE_BYTES_MIN)
        _check_length("personalization", personalization)
        self._key, self._value = b"\x00" * 32, b"\x01" * 32
        self._update(entropy + nonce + personalization)
        self._requests = 0

    def __repr__(self) -> str:
        return "HmacDrbg(hidden)"

    def __reduce__(self) -> str:
        raise TypeError("a generator's state is not written anywhere")

    def reseed(self, entropy: bytes, additional: bytes = b"") -> None:
        """Mix fresh entropy into the state and count requests anew."""
        _check_length("entropy", entropy, ENTROPY_BYTES_MIN)
        _check_length("additional input", additional)
        self._update(entropy + additional)
        self._requests = 0

    def generate(self, size: int, additional: bytes = b"") -> bytes:
        """Give `size` bytes as one request."""
        if not 0 < size <= REQUEST_BYTES_MAX:
            raise RequestRefusedError(
                f"{size} bytes in one request: ask for 1 to {REQUEST_BYTES_MAX}"
            )
        _check_length("additional input", additional)
        if self._requests >= REQUESTS_MAX:
            raise ReseedRequiredError("the generator has to be reseeded before it gives more")
        if additional:
            self._update(additional)
        key, value = self._key, self._value
        blocks = []
        for _ in range(-(-size // 32)):
            value = hmac.digest(key, value, _SHA256)
            blocks.append(value)
        self._value = value
        self._update(additional)
        self._requests += 1
        return b"".join(blocks)[:size]

    def _update(self, data: bytes) -> None:
        key = hmac.digest(self._key, self._value + b"\x00" + data, _SHA256)
        value = hmac.digest(key, self._value, _SHA256)
        if data:
            key = hmac.digest(key, value + b"\x01" + data, _SHA256)
            value = hmac.digest(key, value, _SHA256)
        self._key, self._value = key, value


def _check_length(name: str, data: bytes, least: int = 0) -> None:
    if not least <= len(data) <= INPUT_BYTES_MAX:
        raise InputRefusedError(
            f"{name} of {len(data)} bytes: {least} to {INPUT_BYTES_MAX} are allowed"
        )
