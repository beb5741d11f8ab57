"""What a link would be after a change that is proposed; refused where it could not be played.

The functions inside the server refuse what could not be kept exactly; what the paytable and the
rulebook allow is known here alone.
"""

import re
from collections.abc import Callable

import msgspec

from meters.definitions import LinkDefinition, TableDefinition, Terms
from meters.errors import Refused
from meters.levels import Level, contribution
from meters.money import AMOUNT_MAX
from meters.state import State
from progressive.config.load import TABLE_NAME, TABLE_NAME_TEXT
from progressive.config.tables import ASSET
from progressive.definition import draw_parameters, pays_of
from progressive.rules.royal9 import PAYTABLES, STAKE_MICROS, SeatingError, combination, seating_of
from progressive.rules.rulebooks import SEATS_MAX, Rulebook


def refuse(why: str) -> Refused:
    """Say why a change cannot be carried out."""
    return Refused("bad_call", why)


def level_of(said: dict[str, object]) -> Level:
    """Read a level's definition, or say why it could not be kept exactly."""
    try:
        return msgspec.convert(said, Level)
    except (msgspec.ValidationError, ValueError) as error:
        raise refuse(str(error)) from None


def check_level(state: State, level: Level) -> None:
    """Refuse a level that would not be exact, take more than the wager, or never draw."""
    if level.closed:
        raise refuse("a level is taken away by `decommission`")
    if level.name not in state.levels:
        return  # the server names it
    levels = {name: each for name, each in state.levels.items() if not each.closed}
    _check_whole(state, levels=levels | {level.name: level})
    seats = max((table.definition.seats for table in state.tables.values()), default=SEATS_MAX)
    full = seats * contribution(STAKE_MICROS, level.increment_ppm + level.reserve_ppm)
    if not full <= level.contribution_max_micros <= AMOUNT_MAX:
        raise refuse(f"contribution_max_micros is at least {full}: a full table adds as much")
    if level.maximum_micros is None:
        least = PAYTABLES[state.terms.paytable].seeds_min.get(level.name, 0)
        if min(level.seed_micros, level.reset_micros) < least:
            raise refuse(f"seed and reset are at least {least} by the paytable")
        if level.distribution is not None:
            raise refuse("only Must Hit has a distribution")
    else:
        _checked(lambda: draw_parameters(level))


def check_table(state: State, table: TableDefinition, book: Rulebook) -> None:
    """Refuse a table that the paytable or the rulebook does not allow."""
    paytable = PAYTABLES[state.terms.paytable]
    if not re.fullmatch(TABLE_NAME, table.name):
        raise refuse(f"a table's name is {TABLE_NAME_TEXT}")
    if not re.fullmatch(ASSET, table.asset):
        raise refuse("an asset number has 1 to 32 characters")
    if table.kind not in book.kinds:
        raise refuse(f"kind is one of {', '.join(book.kinds)}")
    if table.seats not in paytable.seats or table.decks not in paytable.decks:
        raise refuse(f"{paytable.name} does not allow {table.seats} seats, {table.decks} decks")
    owner = [name for name, each in state.tables.items() if each.definition.asset == table.asset]
    if owner not in ([], [table.name]):
        raise refuse(f"{table.asset} is the asset number of {owner[0]}")
    _checked(lambda: _check_seats(state, table))


def _check_seats(state: State, table: TableDefinition) -> None:
    if len(table.combinations) != table.seats:
        raise SeatingError(f"{table.seats} seats have as many combinations")
    own = {seat: combination(text) for seat, text in enumerate(table.combinations, 1)}
    seating = seating_of(PAYTABLES[state.terms.paytable], table.seats, own)
    if table.combinations != [f"K{face}9{nine}" for face, nine in seating.combinations]:
        raise SeatingError("a combination is written such as KS9H")


def check_terms(state: State, terms: Terms) -> None:
    """Refuse terms whose lines are not those of the paytable that they name."""
    paytable = PAYTABLES.get(terms.paytable)
    if paytable is None:
        raise refuse(f"paytable is one of {', '.join(PAYTABLES)}")
    if terms.lines != pays_of(paytable):
        raise refuse(f"the lines are not those of {terms.paytable}")
    levels = {name: each for name, each in state.levels.items() if not each.closed}
    missing = {pay.level for pay in terms.lines.values() if pay.level} - set(levels)
    if missing:
        raise refuse(f"{terms.paytable} pays from {', '.join(sorted(missing))}, which is not there")
    amounts = (terms.hand_pay_above_micros, terms.two_person_above_micros)
    if not all(0 <= amount <= AMOUNT_MAX for amount in amounts) or terms.simultaneous_seconds < 0:
        raise refuse("pay limits and seconds are not below zero")
    _check_whole(state, terms=terms, levels=levels)
    for table in state.tables.values():
        definition = table.definition
        if definition.seats not in paytable.seats or definition.decks not in paytable.decks:
            raise refuse(f"{terms.paytable} does not allow {definition.name} as it is")


def _check_whole(state: State, *, levels: dict[str, Level], terms: Terms | None = None) -> None:
    """Build the link as it would be: contributions exact, and together no more than the wager."""
    _checked(
        lambda: LinkDefinition(
            link="changed", terms=terms or state.terms, levels=list(levels.values()), tables=[]
        )
    )


def _checked(build: Callable[[], object]) -> None:
    try:
        build()
    except (ValueError, TypeError, KeyError, msgspec.ValidationError) as error:
        raise refuse(str(error)) from None
