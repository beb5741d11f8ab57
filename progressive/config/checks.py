"""Checks that need more than one part of the site: tables with links, levels with odds."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from meters.levels import Level, contribution
from meters.money import PPM, dollars, percent
from progressive.config.links import LinkDraft
from progressive.config.reader import WARNING, Section
from progressive.config.tables import TableDraft
from progressive.config.values import Link, MustHit
from progressive.rules.must_hit import wagers_per_cycle
from progressive.rules.odds import Royal9Odds, royal9_odds
from progressive.rules.paytables import LOSS
from progressive.rules.returns import royal9_returns
from progressive.rules.royal9 import MUST_HIT, STAKE_MICROS

LONGEST_ODDS = 100_000_000
LONGEST_ODDS_RULE = "New Jersey 13:69D-1.52"
GROWTH_RULE = "Must Hit growth per round"
GROWTH_WARNED = Fraction(1, 10)
GROWTH_REFUSED = Fraction(1, 2)


def check_together(
    root: Section, links: Mapping[str, LinkDraft], tables: Sequence[TableDraft]
) -> None:
    """Note every problem that shows only when parts of the site are seen together."""
    if not root.values.get("tables", {}) and "tables" not in root.missing:
        root.note("tables", "there is no table", "at least one [tables.NAME]")
    _check_assets(tables)
    for name, draft in links.items():
        own = [table for table in tables if table.link is draft]
        if not own and any(table.link is None and "link" in table.section for table in tables):
            continue  # a table that misnames its link may be meant to be on this one
        if not own:
            draft.section.note(None, "no table feeds this link", f'a table with link = "{name}"')
        elif draft.link is not None:
            _check_link(draft.section, draft.link, own)


def _check_assets(tables: Sequence[TableDraft]) -> None:
    owner: dict[str, str] = {}
    for draft in tables:
        name = str(draft.section.path[-1])
        if draft.asset is not None and owner.setdefault(draft.asset, name) != name:
            what = f"{draft.asset!r} is the asset number of table {owner[draft.asset]} too"
            draft.section.note("asset", what, "a number of its own for every table")


def _check_link(section: Section, link: Link, tables: Sequence[TableDraft]) -> None:
    seats = [draft.seats for draft in tables if draft.seats is not None]
    for level in link.all_levels:
        _check_bound(_level_section(section, level.name), level, max(seats, default=0))
    odds = _link_odds(link, tables)
    _check_odds(section, odds)
    if link.must_hit is not None:
        must_hit_section = _level_section(section, MUST_HIT)
        _check_growth(must_hit_section, link.must_hit, sum(seats))
        _check_must_hit_odds(must_hit_section, link.must_hit)
    if sum(level.increment_ppm + level.reserve_ppm for level in link.all_levels) <= PPM:
        _check_return(section, link, odds)


def _level_section(link: Section, name: str) -> Section:
    values = link.values["levels"][name]
    return Section(values, (*link.path, "levels", name), link.problems)


def _check_bound(section: Section, level: Level, seats: int) -> None:
    full = seats * contribution(STAKE_MICROS, level.increment_ppm + level.reserve_ppm)
    if level.contribution_max_micros < full:
        section.note(
            "unreasonable_contribution",
            f"{dollars(level.contribution_max_micros)} would refuse a full table, which adds "
            f"{dollars(full)}",
            f"at least {dollars(full)}",
            "New Jersey 13:69E-1.39A",
        )


def _link_odds(link: Link, tables: Sequence[TableDraft]) -> list[Royal9Odds]:
    seatings = dict.fromkeys(d.table.seating(link.paytable) for d in tables if d.table)
    return [
        royal9_odds(seating, seat, link.decks)
        for seating in seatings
        for seat in range(1, len(seating.combinations) + 1)
    ]


def _check_odds(section: Section, odds: Sequence[Royal9Odds]) -> None:
    for line in dict.fromkeys(line for seat in odds for line in seat.ways if line != LOSS):
        rarest = min(odds, key=lambda seat: seat.ways[line] or seat.total)
        if rarest.ways[line] and rarest.total > LONGEST_ODDS * rarest.ways[line]:
            _note_odds(section, f"{line} wins once in", 1 / rarest.probability(line))


def _check_must_hit_odds(section: Section, must_hit: MustHit) -> None:
    level = must_hit.level
    added = contribution(STAKE_MICROS, level.increment_ppm)
    wagers = wagers_per_cycle(level.reset_micros, added, must_hit.distribution)
    if wagers > LONGEST_ODDS:
        _note_odds(section, "a wager wins Must Hit once in", wagers)


def _note_odds(section: Section, what: str, wagers: Fraction) -> None:
    section.note(
        None,
        f"{what} {round(wagers):,} wagers",
        f"odds no longer than {LONGEST_ODDS:,} to one",
        LONGEST_ODDS_RULE,
    )


def _check_growth(section: Section, must_hit: MustHit, seats: int) -> None:
    """Compare what one full lock at every table adds with the range of the trigger."""
    added = seats * contribution(STAKE_MICROS, must_hit.level.increment_ppm)
    width = must_hit.maximum_micros - must_hit.level.reset_micros
    growth = Fraction(added, width)
    if growth <= GROWTH_WARNED:
        return
    part = GROWTH_REFUSED if growth > GROWTH_REFUSED else GROWTH_WARNED
    section.note(
        "increment",
        f"one full lock at every table ({seats} seats) adds {dollars(added)}, more than "
        f"{part} of the {dollars(width)} between reset and maximum",
        f"up to {dollars(int(width * part))} a round",
        GROWTH_RULE,
        "error" if part == GROWTH_REFUSED else WARNING,
    )


def _check_return(section: Section, link: Link, odds: Sequence[Royal9Odds]) -> None:
    must_hit = link.must_hit.terms if link.must_hit else None
    every = (royal9_returns(link.paytable, seat, link.terms, must_hit).long_run for seat in odds)
    highest = max((value for value in every if value is not None), default=Fraction(0))
    if highest > 1:
        section.note(
            "levels",
            f"the wager returns {percent(round(highest * PPM))} in the long run",
            "less than 100 %, or players are paid to play",
            "exact odds",
            WARNING,
        )
