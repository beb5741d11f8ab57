"""The one way in which fields become bytes to hash: a JSON array of strings, in ASCII."""

import hashlib
import json
from collections.abc import Iterable, Sequence

from progressive.draws.scaling import DrawError
from progressive.rules.cards import Card


def fields_bytes(fields: Iterable[str]) -> bytes:
    """Write a JSON array of strings without spaces, everything outside ASCII escaped."""
    return json.dumps(list(fields), separators=(",", ":"), ensure_ascii=True).encode("ascii")


def fields_hash(fields: Iterable[str]) -> str:
    """Hash the fields with SHA-256, in hex."""
    return hashlib.sha256(fields_bytes(fields)).hexdigest()


def cards_text(player: Sequence[Card], banker: Sequence[Card]) -> str:
    """Write a round's cards, each hand sorted by its texts: `9H KS/2C TD`."""
    if not player or not banker:
        raise DrawError("both hands have cards in a round that decides a draw")
    return "/".join(" ".join(sorted(map(str, cards))) for cards in (player, banker))


def seats_text(seats: Iterable[int]) -> str:
    """Write seats in ascending order: `1 3 7`."""
    return " ".join(str(seat) for seat in sorted(seats))
