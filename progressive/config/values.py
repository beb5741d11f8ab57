"""A site as frozen values: what the file says once it has been found right."""

import datetime as dt
from dataclasses import dataclass

from meters.levels import Level
from progressive.rules.irregularities import DisclosedCard
from progressive.rules.must_hit import Distribution
from progressive.rules.returns import LevelTerms, MustHitTerms
from progressive.rules.royal9 import (
    PAYTABLES,
    Combination,
    Royal9Paytable,
    Seating,
)
from progressive.rules.rulebooks import RULEBOOKS, Rulebook

IN_ORDER = "in_order"
FULL_AMOUNT_TO_EACH = "full_amount_to_each"
HAND_PAY_ABOVE = 1_000_000_000  # fixed awards up to it are paid from the tray
TWO_PERSONS_ABOVE = 10_000_000_000  # awards up to it are paid by one person


@dataclass(frozen=True, slots=True)
class MustHit:
    """A Must Hit level: a meter that is won before it passes its maximum."""

    level: Level
    maximum_micros: int
    distribution: Distribution

    @property
    def terms(self) -> MustHitTerms:
        """What its return depends on."""
        return MustHitTerms(self.level.reset_micros, self.level.increment_ppm, self.distribution)


@dataclass(frozen=True, slots=True)
class SimultaneousWins:
    """How two wins of one level close together are decided."""

    rule: str
    within_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """Tables that feed the same levels."""

    name: str
    paytable_name: str
    decks: int
    levels: tuple[Level, ...]  # Star, Spade, Heart
    must_hit: MustHit | None
    simultaneous: SimultaneousWins
    hand_pay_above_micros: int = HAND_PAY_ABOVE
    two_persons_above_micros: int = TWO_PERSONS_ABOVE

    @property
    def paytable(self) -> Royal9Paytable:
        """The Royal 9 paytable that the link plays."""
        return PAYTABLES[self.paytable_name]

    @property
    def all_levels(self) -> tuple[Level, ...]:
        """The card levels, and Must Hit where there is one."""
        return (*self.levels, *((self.must_hit.level,) if self.must_hit else ()))

    @property
    def terms(self) -> dict[str, LevelTerms]:
        """What the return of the card levels depends on."""
        return {
            level.name: LevelTerms(level.seed_micros, level.reset_micros, level.increment_ppm)
            for level in self.levels
        }


@dataclass(frozen=True, slots=True)
class OfferedWager:
    """A wager that a table takes, and between which amounts."""

    name: str
    paytable: str
    min_micros: int | None
    max_micros: int | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its place on the floor, its seats, and what it plays."""

    name: str
    asset: str
    kind: str
    link: str | None  # None: no Royal 9 here
    decks: int
    seats: int
    combinations: tuple[Combination, ...]  # of seat 1, 2, ...; empty without a link
    designation: str
    vigorish: str
    vigorish_collected: str
    tie_pays: int
    house_money_portion_ppm: int
    disclosed_card: DisclosedCard
    wagers: tuple[OfferedWager, ...]

    def seating(self, paytable: Royal9Paytable) -> Seating:
        """Give the seats with their combinations under the link's edition."""
        return Seating(paytable.edition, self.combinations)


@dataclass(frozen=True, slots=True)
class TaxThreshold:
    """From a date on: the winnings, net of the wager, that must be reported or withheld from."""

    starts: dt.date
    report_micros: int
    times_wager: int
    withhold_above_micros: int | None


@dataclass(frozen=True, slots=True)
class Site:
    """The whole site."""

    name: str
    time_zone: str
    gaming_day_starts: dt.time
    jurisdiction: str
    links: tuple[Link, ...]
    tables: tuple[Table, ...]
    tax_thresholds: tuple[TaxThreshold, ...]

    @property
    def rulebook(self) -> Rulebook:
        """The rulebook of the jurisdiction."""
        return RULEBOOKS[self.jurisdiction]

    def tables_of(self, link: str) -> tuple[Table, ...]:
        """List the tables of a link."""
        return tuple(table for table in self.tables if table.link == link)
