"""Whole numbers from the generator's bytes, every one equally likely, by rejection."""

from dataclasses import dataclass
from typing import Final

from progressive.draws.drbg import Source

LIMIT_MAX: Final = 1 << 128
ATTEMPTS_MAX: Final = 256  # a sound generator rejects so often in a row once in 2^256 draws


class DrawError(ValueError):
    """A draw that cannot be made: nothing to draw from, or parameters that make no sense."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A number drawn, and those that were drawn before it and lay out of range."""

    value: int
    rejected: tuple[int, ...] = ()


def draw_below(source: Source, limit: int) -> Draw:
    """Draw 0 to `limit` - 1: big-endian bytes, cut to the bits needed, drawn anew when over."""
    if not 1 <= limit <= LIMIT_MAX:
        raise DrawError(f"nothing can be drawn below {limit}: 1 to 2^128 is possible")
    bits = (limit - 1).bit_length()
    if not bits:
        return Draw(0)  # one possibility: no bytes are asked for
    size, mask = (bits + 7) // 8, (1 << bits) - 1
    rejected: list[int] = []
    while len(rejected) < ATTEMPTS_MAX:
        value = int.from_bytes(source.generate(size), "big") & mask
        if value < limit:
            return Draw(value, tuple(rejected))
        rejected.append(value)
    raise DrawError(f"{ATTEMPTS_MAX} numbers in a row were out of range: the generator is broken")
