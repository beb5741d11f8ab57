"""Seats as a mask, in which seat 1 is bit 0, and as the letters of a table's lamps."""

from collections.abc import Iterable
from typing import Final

from meters.errors import Refused

SEATS_MAX: Final = 9
LAMPS: Final = {"-": "off", "A": "accepted", "K": "locked", "L": "late", "W": "winner"}


def mask_of(seats: Iterable[int]) -> int:
    """Give seats as a mask."""
    mask = 0
    for seat in seats:
        if not 1 <= seat <= SEATS_MAX:
            raise Refused("seat_out_of_range", f"seat {seat}: a table has seats 1 to {SEATS_MAX}")
        mask |= 1 << (seat - 1)
    return mask


def seats_of(mask: int) -> list[int]:
    """Give a mask's seats in order."""
    return [seat for seat in range(1, SEATS_MAX + 1) if mask >> (seat - 1) & 1]
