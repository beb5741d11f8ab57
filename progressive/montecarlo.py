"""Checking the exact odds by dealing: a simulation that shares nothing with the enumeration."""

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from progressive.rules.baccarat import Round, play
from progressive.rules.cards import ALL_CARDS

PROGRESS_EVERY = 2_000
DOUBTFUL = 1e-6  # a deviation this unlikely is called a problem
FEW = 25  # expected hits below which the normal curve is no guide


@dataclass(frozen=True, slots=True)
class Checked:
    """One wager to simulate: which line a round comes to, and the exact chance of each."""

    line: Callable[[Round], str]
    chances: dict[str, Fraction]


@dataclass(frozen=True, slots=True)
class Deviation:
    """How far a simulated count lies from the exact expectation."""

    line: str
    seen: int
    expected: float
    standard_errors: float
    likelihood: float  # of a deviation at least this large, if the odds are right

    @property
    def is_doubtful(self) -> bool:
        """Whether chance is no explanation."""
        return self.likelihood < DOUBTFUL


def deal(
    rounds: int,
    decks: int,
    seed: int,
    checked: Sequence[Checked],
    progress: Callable[[int], object],
) -> list[Counter[str]]:
    """Deal rounds, each from a fresh shoe, and count the lines of every wager."""
    rng = random.Random(seed)  # noqa: S311 - a simulation that must be repeatable, not a draw
    shoe = ALL_CARDS * decks
    counts: list[Counter[str]] = [Counter() for _ in checked]
    for done in range(rounds):
        if done % PROGRESS_EVERY == 0:
            progress(done)
        played = play(rng.sample(shoe, 6))
        for counter, one in zip(counts, checked, strict=True):
            counter[one.line(played)] += 1
    progress(rounds)
    return counts


def deviations(one: Checked, seen: Counter[str], rounds: int) -> list[Deviation]:
    """Compare the counts of one wager with its exact chances."""
    unknown = set(seen) - set(one.chances)
    chances = {**one.chances, **dict.fromkeys(unknown, Fraction(0))}
    return [_deviation(line, seen[line], chance, rounds) for line, chance in chances.items()]


def _deviation(line: str, seen: int, chance: Fraction, rounds: int) -> Deviation:
    expected = float(chance * rounds)
    error = math.sqrt(expected * float(1 - chance))
    if error == 0:
        return Deviation(line, seen, expected, 0.0, 1.0 if seen == expected else 0.0)
    off = (seen - expected) / error
    if min(expected, rounds - expected) < FEW:
        likelihood = _poisson_tail(seen, expected)
    else:
        likelihood = math.erfc(abs(off) / math.sqrt(2))
    return Deviation(line, seen, expected, off, likelihood)


def _poisson_tail(seen: int, mean: float) -> float:
    """Give the chance of a count at least as far out as `seen`, on its side of the mean."""
    if mean > FEW:  # a nearly certain line: its rare complement is judged by its own row
        return 1.0
    below = sum(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(seen))
    at = math.exp(seen * math.log(mean) - mean - math.lgamma(seen + 1))
    return min(1.0, 2 * (below + at if seen < mean else 1 - below))
