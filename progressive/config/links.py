"""Reading a link: its paytable, its levels, and how simultaneous wins are decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from meters.levels import Level, contribution
from meters.money import PPM, dollars, percent
from progressive.config.reader import Section
from progressive.config.values import (
    FULL_AMOUNT_TO_EACH,
    HAND_PAY_ABOVE,
    IN_ORDER,
    TWO_PERSONS_ABOVE,
    Link,
    MustHit,
    SimultaneousWins,
)
from progressive.rules.must_hit import CENT_MICROS, Distribution, Segment, uniform
from progressive.rules.royal9 import (
    CARD_LEVELS,
    MUST_HIT,
    PAYTABLES,
    STAKE_MICROS,
    Royal9Paytable,
)
from progressive.rules.rulebooks import SEATS_MAX, Rulebook

SIMULTANEOUS_SECONDS = range(1, 3601)
WEIGHTS = range(1, 1_000_001)
CONTRIBUTIONS_RULE = "contributions come out of the wager"


@dataclass(frozen=True, slots=True)
class LinkDraft:
    """A link as far as it could be read; what had a problem is None."""

    section: Section
    paytable: Royal9Paytable | None
    decks: int | None
    link: Link | None


def read_link(name: str, section: Section, book: Rulebook | None) -> LinkDraft:
    """Read one link and check what can be seen from the link alone."""
    paytable = _paytable(section, book)
    decks = section.integer("decks", *decks_allowed(paytable, book))
    simultaneous = _simultaneous(section)
    hand_pay = section.money("hand_pay_above", needed=False)
    two_persons = section.money("two_persons_above", needed=False)
    levels, must_hit, complete = _levels(section, paytable, book)
    section.done()
    link = None
    if paytable and decks and simultaneous and complete:
        link = Link(
            name,
            paytable.name,
            decks,
            levels,
            must_hit,
            simultaneous,
            HAND_PAY_ABOVE if hand_pay is None else hand_pay,
            TWO_PERSONS_ABOVE if two_persons is None else two_persons,
        )
    return LinkDraft(section, paytable, decks, link)


def decks_allowed(
    paytable: Royal9Paytable | None, book: Rulebook | None
) -> tuple[tuple[int, ...], str]:
    """Give the numbers of decks, and the rule that says so: the stricter of the two."""
    by_book = (book.decks, book.section("decks")) if book else ((6, 7, 8), "Midi Baccarat")
    if paytable is None or set(by_book[0]) <= set(paytable.decks):
        return by_book
    return paytable.decks, paytable.rule


def _paytable(section: Section, book: Rulebook | None) -> Royal9Paytable | None:
    """Read the paytable; one that the rulebook does not have judges nothing else."""
    if book is None:
        name = section.choice("paytable", tuple(PAYTABLES))
        return PAYTABLES[name] if name else None
    if not book.royal_9_paytables:
        section.asked.add("paytable")
        section.note(
            None,
            f"Royal 9 is not a wager of {book.name}",
            "no link; tables without a link",
            book.section("royal 9"),
        )
        return None
    name = section.choice("paytable", book.royal_9_paytables, book.section("royal 9"))
    return PAYTABLES[name] if name else None


def _simultaneous(section: Section) -> SimultaneousWins | None:
    rule = section.choice("simultaneous_wins", (IN_ORDER, FULL_AMOUNT_TO_EACH))
    needs_seconds = rule == FULL_AMOUNT_TO_EACH
    seconds = None
    if rule != IN_ORDER:
        key = "simultaneous_seconds"
        seconds = section.integer(key, SIMULTANEOUS_SECONDS, needed=needs_seconds)
    section.asked.add("simultaneous_seconds")
    if rule == IN_ORDER and "simultaneous_seconds" in section:
        section.note(
            "simultaneous_seconds",
            f"has no meaning with {IN_ORDER}",
            f"only with simultaneous_wins = {FULL_AMOUNT_TO_EACH!r}",
        )
        return None
    if rule is None or (needs_seconds and seconds is None):
        return None
    return SimultaneousWins(rule, seconds)


def _levels(
    link: Section, paytable: Royal9Paytable | None, book: Rulebook | None
) -> tuple[tuple[Level, ...], MustHit | None, bool]:
    """Read every level; tell last whether all of them could be read."""
    outer = link.section("levels")
    if outer is None:
        return (), None, False
    levels = []
    for name in CARD_LEVELS:
        section = outer.section(name)
        level = _card_level(name, section, paytable) if section else None
        if level is not None:
            levels.append(level)
    section = outer.section(MUST_HIT, needed=False)
    must_hit = _must_hit(section, book) if section else None
    outer.done()
    all_levels = [*levels, *([must_hit.level] if must_hit else [])]
    _check_total(outer, all_levels)
    complete = len(levels) == len(CARD_LEVELS) and (must_hit is not None) == (section is not None)
    return tuple(levels), must_hit, complete


def _check_total(section: Section, levels: Sequence[Level]) -> None:
    total = sum(level.increment_ppm + level.reserve_ppm for level in levels)
    if total > PPM:
        section.note(
            None,
            f"increments and reserves add up to {percent(total)} of the wager",
            "100 % at most",
            CONTRIBUTIONS_RULE,
        )


def _card_level(name: str, section: Section, paytable: Royal9Paytable | None) -> Level | None:
    seed, reset = section.money("seed"), section.money("reset")
    increment = section.rate("increment")
    limit = section.money("limit", needed=False)
    if paytable is not None:
        _check_least(section, {"seed": seed, "reset": reset}, paytable.seeds_min[name], paytable)
        if paytable.rates_ppm is not None and increment not in (None, paytable.rates_ppm[name]):
            section.note(
                "increment",
                f"{percent(increment or 0)} is not the rate of {paytable.name}",
                percent(paytable.rates_ppm[name]),
                paytable.rule,
            )
    top = max(seed or 0, reset or 0)
    if limit is not None and limit <= top:
        section.note(
            "limit",
            f"{dollars(limit)} leaves no room to grow",
            f"more than {dollars(top)}, the larger of seed and reset",
            "a limit lies above the meter",
        )
        limit = None
    return _level(name, section, seed, reset, increment, limit)


def _check_least(
    section: Section, amounts: Mapping[str, int | None], least: int, paytable: Royal9Paytable
) -> None:
    for key, amount in amounts.items():
        if amount is not None and amount < least:
            what = f"{dollars(amount)} is too little for {paytable.name}"
            section.note(key, what, f"at least {dollars(least)}", paytable.seeds_rule)


def _level(  # noqa: PLR0913, PLR0917 - a level has this many parts
    name: str,
    section: Section,
    seed: int | None,
    reset: int | None,
    increment: int | None,
    limit: int | None,
) -> Level | None:
    """Read what all levels share and put the level together, if it has all it needs."""
    reserve = section.rate("reserve", needed=False, least_ppm=0)
    bound = section.money("unreasonable_contribution", needed=False)
    section.done()
    if "reserve" in section and reserve is None:
        return None
    if seed is None or reset is None or increment is None:
        return None
    most = SEATS_MAX * contribution(STAKE_MICROS, increment + (reserve or 0))
    return Level(name, seed, reset, increment, reserve or 0, limit, bound or most)


def _must_hit(section: Section, book: Rulebook | None) -> MustHit | None:
    reset, maximum = section.money("reset"), section.money("maximum")
    seed = section.money("seed", needed=False)
    increment = section.rate("increment")
    if book is not None and not book.must_hit:
        section.note(
            None, f"Must Hit is not in {book.name}", "no must_hit level", book.section("must hit")
        )
    fits = _check_room(section, seed, reset, maximum)
    section.asked |= {"distribution", "segments"}
    distribution = None
    if fits and reset is not None and maximum is not None:
        distribution = _distribution(section, reset, maximum)
        _check_pair(section, reset, maximum, book)
    if "seed" not in section:
        seed = reset
    level = _level(MUST_HIT, section, seed, reset, increment, maximum if fits else None)
    if level is None or maximum is None or distribution is None:
        return None
    return MustHit(level, maximum, distribution)


def _check_room(section: Section, seed: int | None, reset: int | None, maximum: int | None) -> bool:
    """Check that reset, seed and maximum ascend; tell whether they are there and do."""
    if reset is None or maximum is None:
        return False
    top = max(seed or 0, reset)
    if maximum <= top:
        section.note(
            "maximum",
            f"{dollars(maximum)} leaves no room to grow",
            f"more than {dollars(top)}, the larger of seed and reset",
            "Must Hit wins before its maximum",
        )
        return False
    if seed is not None and seed < reset:
        what = f"{dollars(seed)} is less than the reset"
        section.note("seed", what, f"at least {dollars(reset)}", "Must Hit starts at its reset")
    return True


def _check_pair(section: Section, reset: int, maximum: int, book: Rulebook | None) -> None:
    pairs = book.must_hit_pairs if book else ()
    if book and pairs and not any(reset >= low and maximum >= high for low, high in pairs):
        section.note(
            None,
            f"reset {dollars(reset)} and maximum {dollars(maximum)} are below every filed pair",
            "at least " + " or ".join(f"{dollars(low)}/{dollars(high)}" for low, high in pairs),
            book.section("must hit"),
        )


def _distribution(section: Section, reset: int, maximum: int) -> Distribution | None:
    name = section.choice("distribution", ("uniform", "segments"), default="uniform")
    before = section.problems.errors
    parts = [
        (part, part.money("upto"), part.integer("weight", WEIGHTS))
        for part in section.array("segments")
    ]
    for part, _, _ in parts:
        part.done()
    if section.problems.errors > before:
        return None
    if name == "segments":
        return _segments(section, parts, reset, maximum)
    if name == "uniform" and "segments" in section:
        section.note("segments", "has no meaning here", "only with distribution = 'segments'")
        return None
    return uniform(maximum) if name == "uniform" else None


def _segments(
    section: Section,
    parts: Sequence[tuple[Section, int | None, int | None]],
    reset: int,
    maximum: int,
) -> Distribution | None:
    allowed = f"ascending amounts above {dollars(reset)}, the last of them {dollars(maximum)}"
    if not parts:
        section.note("segments", "is missing", allowed)
        return None
    segments: list[Segment] = []
    low = reset
    for part, upto, weight in parts:
        if upto is None or weight is None:
            return None
        if upto < low + CENT_MICROS or upto > maximum:
            part.note("upto", f"{dollars(upto)} is out of order", allowed)
            return None
        segments.append(Segment(upto, weight))
        low = upto
    if low != maximum:
        section.note("segments", f"the last one ends at {dollars(low)}", allowed)
        return None
    return Distribution("segments", 1, tuple(segments))
