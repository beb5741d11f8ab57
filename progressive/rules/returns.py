"""What a Royal 9 wager returns: at the seeds, in the long run, and when it breaks even.

In the long run all that a meter takes in is paid out, and each full win adds one reset. So a level
returns its increment and its reset times the chance of a full win, whatever the pace of play.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from progressive.rules.must_hit import Distribution, wagers_per_cycle
from progressive.rules.odds import Royal9Odds
from progressive.rules.royal9 import CARD_LEVELS, STAKE_MICROS, Fixed, LevelShare, Royal9Paytable

PPM = 1_000_000


def contribution_micros(rate_ppm: int) -> int:
    """Give what one wager adds at this rate: exact, since the stake is whole dollars."""
    return STAKE_MICROS * rate_ppm // PPM


@dataclass(frozen=True, slots=True)
class LevelTerms:
    """A level as far as its return depends on it; no rate means that none was given."""

    seed_micros: int
    reset_micros: int
    increment_ppm: int | None


@dataclass(frozen=True, slots=True)
class MustHitTerms:
    """A Must Hit level as far as its return depends on it."""

    reset_micros: int
    increment_ppm: int
    distribution: Distribution


@dataclass(frozen=True, slots=True)
class LevelReturns:
    """One level's figures, in wagers and micro-dollars."""

    wagers_between_hits: Fraction
    meter_at_hit_micros: Fraction | None  # None: needs the rate
    break_even_micros: Fraction | None  # None: never, the rest returns more than the stake


@dataclass(frozen=True, slots=True)
class Royal9Returns:
    """The figures that are filed with a Royal 9 paytable."""

    fixed: Fraction
    at_seeds: Fraction
    long_run: Fraction | None  # None: needs every rate
    must_hit: Fraction | None
    levels: Mapping[str, LevelReturns]
    must_hit_wagers: Fraction | None

    @property
    def house_edge_at_seeds(self) -> Fraction:
        """What the house keeps of a wager made with every meter at its seed, without Must Hit."""
        return 1 - self.at_seeds


def royal9_returns(
    paytable: Royal9Paytable,
    odds: Royal9Odds,
    levels: Mapping[str, LevelTerms],
    must_hit: MustHitTerms | None = None,
) -> Royal9Returns:
    """Work out every return exactly."""
    fixed = Fraction(0)
    full = dict.fromkeys(CARD_LEVELS, Fraction(0))  # chance to take all of the level
    share = dict.fromkeys(CARD_LEVELS, Fraction(0))  # expected part of the meter taken
    for line, pay in paytable.pays.items():
        chance = odds.probability(line)
        if isinstance(pay, Fixed):
            fixed += chance * pay.amount_micros
        else:
            share[pay.level] += chance * Fraction(pay.percent, 100)
            full[pay.level] += chance * (pay == LevelShare(pay.level, 100))
    at_seeds = fixed + sum(share[name] * levels[name].seed_micros for name in CARD_LEVELS)
    hit_value, hit_wagers = _must_hit_value(must_hit)
    return Royal9Returns(
        fixed / STAKE_MICROS,
        at_seeds / STAKE_MICROS,
        _long_run(fixed, full, levels, hit_value),
        None if must_hit is None else hit_value / STAKE_MICROS,
        {
            name: _level_returns(levels[name], full[name], share[name], at_seeds)
            for name in CARD_LEVELS
        },
        hit_wagers,
    )


def _must_hit_value(terms: MustHitTerms | None) -> tuple[Fraction, Fraction | None]:
    """Give what Must Hit is worth to a wager in the long run, and the wagers in a cycle."""
    if terms is None:
        return Fraction(0), None
    added = contribution_micros(terms.increment_ppm)
    wagers = wagers_per_cycle(terms.reset_micros, added, terms.distribution)
    return added + terms.reset_micros / wagers, wagers


def _long_run(
    fixed: Fraction,
    full: Mapping[str, Fraction],
    levels: Mapping[str, LevelTerms],
    must_hit_value: Fraction,
) -> Fraction | None:
    total = fixed + must_hit_value
    for name, terms in levels.items():
        if terms.increment_ppm is None:
            return None
        total += contribution_micros(terms.increment_ppm) + full[name] * terms.reset_micros
    return total / STAKE_MICROS


def _level_returns(
    terms: LevelTerms, full: Fraction, share: Fraction, at_seeds: Fraction
) -> LevelReturns:
    at_hit = None
    if terms.increment_ppm is not None:
        # In balance, what flows in (increments, resets) equals what flows out (shares of it).
        at_hit = (contribution_micros(terms.increment_ppm) + full * terms.reset_micros) / share
    rest = at_seeds - share * terms.seed_micros
    break_even = (STAKE_MICROS - rest) / share if rest < STAKE_MICROS else None
    return LevelReturns(1 / full, at_hit, break_even)
