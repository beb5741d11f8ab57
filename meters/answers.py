"""What the function library answers, one type a kind of call."""

from typing import Any

import msgspec

from meters.entries import MustHitWin, Reversal, WonAward


class Standing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a table stands after a call; lamps are a letter a seat."""

    round: int
    phase: str
    lamps: str


class Locked(Standing, frozen=True, kw_only=True):
    """The answer to a lock."""

    entry: int
    seats: list[int]
    cycle: int
    value: int


class Dealt(Standing, frozen=True, kw_only=True):
    """The answer to a deal or a correction."""

    entry: int
    awards: list[WonAward] = []
    reversed: list[Reversal] = []


class Ended(Standing, frozen=True, kw_only=True):
    """The answer to an end, a void or a cancel; the standing is the next round's."""

    entry: int
    paid: list[int] = []
    must_hit: MustHitWin | None = None


class Reported(Standing, frozen=True, kw_only=True):
    """The answer to a device's message."""

    result: str  # applied, duplicate, gap, stale, late, closed
    expected: int | None = None
    late: list[int] = []


class CardRead(Standing, frozen=True, kw_only=True):
    """The answer to a shoe reader's card."""

    result: str  # applied, duplicate, gap, stale, ignored
    expected: int | None = None
    cards: list[str] = []


class Door(Standing, frozen=True, kw_only=True):
    """The answer to opening or closing a table."""

    result: str


class Entered(msgspec.Struct, frozen=True):
    """The answer that is only an entry's number."""

    entry: int


class NewShoe(msgspec.Struct, frozen=True):
    """The answer to a new shoe."""

    entry: int
    shoe: int


class Settled(msgspec.Struct, frozen=True):
    """The answer to paying an award; for one that was settled otherwise, how."""

    result: str
    award: int = 0
    amount: int = 0
    entry: int = 0


class Proposed(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to proposing, approving or rejecting."""

    entry: int
    number: int
    result: str
    transfer: int = 0
    paid: list[int] = []
    awards: list[WonAward] = []
    reversed: list[Reversal] = []
    revealed: dict[str, Any] = {}


class Moved(msgspec.Struct, frozen=True):
    """The answer to money that arrives, or is known to have arrived."""

    result: str
    entry: int = 0


class Sealed(msgspec.Struct, frozen=True):
    """The answer to the sealer's cursor."""

    sealed: int
    balance: int


class Head(msgspec.Struct, frozen=True):
    """The answer to an auditor's word."""

    head: int


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """What deciding Must Hit for a round needs; `earlier` is handed back with the end."""

    round: int
    phase: str
    lock: int
    cycle: int
    value: int
    seats: list[int]
    first: str
    present: int
    opening: int
    opening_cards: str
    sealed: str
    earlier: str
    shoe: int
    cards: str
    reader: list[str]
    counts: str
    shoe_sealed: str
    line: str
