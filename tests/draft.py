"""A link as the first sentences of a story describe it, before it opens."""

from dataclasses import dataclass, field

from meters.definitions import LinePay, LinkDefinition, TableDefinition, Terms
from meters.levels import Level
from meters.money import MICROS
from progressive.definition import distribution_body
from progressive.rules.must_hit import uniform
from progressive.rules.royal9 import (
    DEFAULT_COMBINATIONS,
    MUST_HIT,
    PAYTABLES,
    STAKE_MICROS,
    Combination,
    Fixed,
)

BOUND = 45 * MICROS  # nine seats' whole wagers: unreasonable only where a story says less


def printed(combination: Combination) -> str:
    """Write a seat's combination as a table's definition has it."""
    return f"K{combination.face_suit}9{combination.nine_suit}"


@dataclass
class Draft:
    """What has been said of a link so far."""

    link: str
    paytable: str
    decks: int
    seeds: dict[str, int] = field(default_factory=dict)
    increments: dict[str, int] = field(default_factory=dict)
    reserves: dict[str, int] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    bounds: dict[str, int] = field(default_factory=dict)
    must_hit: Level | None = None
    tables: list[TableDefinition] = field(default_factory=list)
    terms: dict[str, int] = field(
        default_factory=lambda: {
            "hand_pay_above_micros": 1_000 * MICROS,
            "two_person_above_micros": 10_000 * MICROS,
        }
    )

    def add_must_hit(self, *, seed: int, reset: int, maximum: int, rate: int) -> None:
        """Add the fourth level, its trigger uniform over whole cents."""
        body = distribution_body(uniform(maximum))
        self.must_hit = Level(MUST_HIT, seed, reset, rate, 0, None, BOUND, maximum, body)

    def add_table(self, name: str, seats: int) -> None:
        """Add a table with the default combinations of its seats."""
        combinations = [printed(each) for each in DEFAULT_COMBINATIONS[:seats]]
        self.tables.append(TableDefinition(name, name, "live", seats, self.decks, combinations))

    def definition(self) -> LinkDefinition:
        """Give what the link is opened with."""
        levels = [self._level(name) for name in self.seeds]
        return LinkDefinition(
            link=self.link,
            terms=self._terms(),
            levels=[*levels, self.must_hit] if self.must_hit else levels,
            tables=self.tables,
        )

    def _terms(self) -> Terms:
        pays = PAYTABLES[self.paytable].pays
        return Terms(
            paytable=self.paytable,
            stake_micros=STAKE_MICROS,
            lines={
                line: LinePay(amount_micros=pay.amount_micros)
                if isinstance(pay, Fixed)
                else LinePay(pay.level, pay.percent)
                for line, pay in pays.items()
            },
            **self.terms,
        )

    def _level(self, name: str) -> Level:
        seed = self.seeds[name]
        return Level(
            name,
            seed,
            seed,
            self.increments[name],
            self.reserves.get(name, 0),
            self.limits.get(name),
            self.bounds.get(name, BOUND),
        )
