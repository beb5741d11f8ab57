"""Every card in every position of the shoe: counts over many shoes, and their tests."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from progressive.draws.probability import chi_square_both
from progressive.draws.statistics import Outcome
from progressive.rules.cards import ALL_CARDS, Card

_INDEX = {card: index for index, card in enumerate(ALL_CARDS)}


@dataclass(slots=True)
class CardPlaces:
    """How often each card lay at each position, over all shoes added."""

    decks: int
    shoes: int = 0
    counts: list[list[int]] = field(default_factory=list)  # position, then card

    def __post_init__(self) -> None:
        self.counts = [[0] * len(ALL_CARDS) for _ in range(self.decks * len(ALL_CARDS))]

    def add(self, cards: Iterable[Card]) -> None:
        """Count one full shoe."""
        self.shoes += 1
        for row, card in zip(self.counts, cards, strict=True):
            row[_INDEX[card]] += 1

    @property
    def expected(self) -> float:
        """How often a card should lie at a position."""
        return self.shoes / len(ALL_CARDS)


def card_tests(places: CardPlaces) -> list[Outcome]:
    """Test the whole table, its worst position and its worst card."""
    rows = [_spread(row, places.expected) for row in places.counts]
    columns = [_spread(column, places.expected) for column in zip(*places.counts, strict=True)]
    positions, kinds = len(rows), len(columns)
    # A shoe holds every card a fixed number of times: what one position lacks, others have.
    fixed = (positions - 1) / positions
    drawn = places.shoes * positions
    whole = math.fsum(rows) * fixed
    freedom = (positions - 1) * (kinds - 1)
    return [
        Outcome(
            "every card in every position",
            whole,
            chi_square_both(whole, freedom),
            drawn,
            freedom,
        ),
        _worst("worst position", rows, kinds - 1, drawn),
        # Of one card, a shoe fixes the sum, and each place holds it with a chance below one.
        _worst(
            "worst card",
            [column * fixed * kinds / (kinds - 1) for column in columns],
            positions - 1,
            drawn,
        ),
    ]


def _spread(counts: Sequence[int], expected: float) -> float:
    return math.fsum((count - expected) ** 2 for count in counts) / expected


def _worst(test: str, statistics: Sequence[float], freedom: int, values: int) -> Outcome:
    """Judge the farthest of many by its own chance times their number."""
    chances = [chi_square_both(statistic, freedom) for statistic in statistics]
    least = min(range(len(chances)), key=chances.__getitem__)
    p_value = min(1.0, chances[least] * len(chances))
    return Outcome(test, statistics[least], p_value, values, freedom)
