"""Must Hit in figures: where the hidden trigger may lie, and how long a cycle lasts."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

CENT_MICROS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the range up to `upto_micros`, drawn with this weight, uniform within."""

    upto_micros: int
    weight: int


@dataclass(frozen=True, slots=True)
class Distribution:
    """A named, versioned way to draw the trigger over whole cents in (opening value, maximum]."""

    name: str
    version: int
    segments: tuple[Segment, ...]


def uniform(maximum_micros: int) -> Distribution:
    """Draw every whole cent above the opening value alike."""
    return Distribution("uniform", 1, (Segment(maximum_micros, 1),))


def wagers_per_cycle(
    reset_micros: int, contribution_micros: int, distribution: Distribution
) -> Fraction:
    """Average the wagers that a cycle opening at the reset takes, one wager a lock."""
    weights = sum(segment.weight for segment in distribution.segments)
    mean = Fraction(0)
    low = 0
    for segment in distribution.segments:
        high = (segment.upto_micros - reset_micros) // CENT_MICROS
        wagers = _wagers_to_reach(high, contribution_micros)
        wagers -= _wagers_to_reach(low, contribution_micros)
        mean += Fraction(segment.weight, weights) * Fraction(wagers, high - low)
        low = high
    return mean


def _wagers_to_reach(cents: int, contribution: int) -> int:
    """Add up, over triggers of 1 to `cents` cents, how many contributions reach each."""
    # ceil(k * cent / c) = floor((k * cent + c - 1) / c), for k = 1 .. cents
    return floor_sum(cents + 1, contribution, CENT_MICROS, contribution - 1)


def floor_sum(n: int, m: int, a: int, b: int) -> int:
    """Add up floor((a * i + b) / m) for i from 0 to n - 1, in logarithmic time."""
    total = 0
    while n > 0:
        total += (a // m) * (n * (n - 1) // 2) + (b // m) * n
        a, b = a % m, b % m
        top = a * n + b
        if top < m:
            break
        n, b, a, m = top // m, top % m, m, a
    return total
