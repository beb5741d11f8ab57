"""What a link is made of: its levels, its paytable, its tables, and the terms of its awards."""

from collections.abc import Mapping

import msgspec

from meters.levels import Level, contribution
from meters.money import AMOUNT_MAX


class LinePay(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a line of the paytable pays: a part of a level, or a fixed amount."""

    level: str | None = None
    percent: int | None = None
    amount_micros: int | None = None


class Terms(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The paytable, and who may pay what."""

    paytable: str
    stake_micros: int
    lines: dict[str, LinePay]
    hand_pay_above_micros: int  # fixed awards above it are not paid from the tray
    two_person_above_micros: int  # awards above it are paid by two persons
    simultaneous_seconds: int = 0  # 0: in order; else later wins are topped up to the first


class TableDefinition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the link: its asset number, its kind, its seats and their combinations."""

    name: str
    asset: str
    kind: str
    seats: int
    decks: int
    combinations: list[str]  # of seat 1, 2, ..., such as KS9H


class LinkDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that a link's journal needs in order to be understood by itself."""

    link: str
    terms: Terms
    levels: list[Level]
    tables: list[TableDefinition]

    def __post_init__(self) -> None:
        """Refuse a link whose contributions would not be exact, or more than the wager."""
        taken = 0
        for level in self.levels:
            taken += contribution(self.terms.stake_micros, level.increment_ppm)
            taken += contribution(self.terms.stake_micros, level.reserve_ppm)
        if taken > self.terms.stake_micros:
            raise ValueError(f"{self.link}: the levels take more than the wager")
        if not all(0 < pay <= AMOUNT_MAX for pay in _fixed_pays(self.terms.lines)):
            raise ValueError(f"{self.link}: a fixed pay is not an amount")


def _fixed_pays(lines: Mapping[str, LinePay]) -> list[int]:
    return [pay.amount_micros for pay in lines.values() if pay.amount_micros is not None]
