"""Settling a round: who wins what, in the order in which a dealer pays it.

House Money is settled before any third card, from the dealer's right, which is seat 1: the
rulebooks offer the cut clockwise from the highest seat, so the highest sits at the dealer's left.
After the round the losing wagers are collected, then the others are settled from the highest seat
down, the vigorish being taken or marked before a seat is paid.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from progressive.rules.baccarat import BANKER, PLAYER, TIE, Round
from progressive.rules.paytables import LOSS, Paytable, tie_paying
from progressive.rules.rulebooks import (
    DESIGNATIONS,
    DOLLAR,
    FIVE_TREASURES,
    ONLY_AT,
    SEATS_MAX,
    STANDARD,
    Rulebook,
)
from progressive.rules.wagers import Wager, WagerError, find_wager, pay_of

HOUSE_MONEY: Final = "house_money"
MAIN: Final = (BANKER, PLAYER)
QUARTER_MICROS: Final = 250_000
CENT_MICROS: Final = 10_000
TIE_PAYS_MIN: Final = 8

EXACT = "exact"
QUARTER = "quarter"


@dataclass(frozen=True, slots=True)
class Placed:
    """A wager as placed: by whom, on what, for how much."""

    seat: int
    wager: str
    amount_micros: int
    on: str | None = None
    paytable: str | None = None
    move_to: str | None = None  # House Money: the main wager that its payout is moved onto


@dataclass(frozen=True, slots=True)
class Terms:
    """What a table plays by; without a designation or rulebook nothing is refused by them."""

    designation: str | None = None
    rulebook: Rulebook | None = None
    vigorish: str = EXACT  # or rounded up to the next quarter
    tie_pays: int = TIE_PAYS_MIN
    house_money_portion: Fraction = Fraction(1)  # of its payout that may be moved
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # micro-dollars
    seats: int = SEATS_MAX


@dataclass(frozen=True, slots=True)
class Settled:
    """A wager after the round: its stake then, its line, and what changed hands."""

    placed: Placed
    stake_micros: int  # more than placed where a House Money payout was moved onto it
    line: str
    won_micros: int  # winnings before vigorish; 0 for a push or loss
    vigorish_micros: int
    moved_micros: int = 0  # House Money: winnings that went onto a main wager

    @property
    def result(self) -> str:
        """Say `win`, `push` or `loss`."""
        if self.line == LOSS:
            return "loss"
        return "win" if self.won_micros else "push"

    @property
    def returned_micros(self) -> int:
        """What the seat gets back from this wager, its stake included."""
        if self.line == LOSS:
            return 0
        return self.stake_micros + self.won_micros - self.vigorish_micros - self.moved_micros


def check_wagers(placed: Sequence[Placed], terms: Terms) -> list[str]:
    """List all that is wrong with a set of wagers; an empty list means they may be settled."""
    problems: list[str] = []
    seen: set[tuple[int, str, str | None]] = set()
    for bet in placed:
        where = f"seat {bet.seat} {bet.wager}"
        try:
            wager = find_wager(bet.wager)
            wager.check_on(bet.on)
            _paytable(wager, bet, terms)
        except WagerError as error:
            problems.append(str(error))
            continue
        key = (bet.seat, bet.wager, bet.on if wager.both_hands else None)
        if key in seen:
            problems.append(f"{where}: placed twice by one seat")
        seen.add(key)
        problems += (f"{where}: {text}" for text in _problems_of(bet, wager, terms))
    problems += _move_problems(placed)
    return problems


def _problems_of(bet: Placed, wager: Wager, terms: Terms) -> list[str]:
    found = []
    if not 1 <= bet.seat <= terms.seats:
        found.append(f"this table has seats 1 to {terms.seats}")
    if bet.amount_micros <= 0 or bet.amount_micros % CENT_MICROS:
        found.append("the amount must be whole cents and more than nothing")
    if wager.name == BANKER and terms.designation not in (None, bet.paytable or terms.designation):
        found.append(f"a table designated {terms.designation} pays by that paytable")
    needs = ONLY_AT.get(wager.name)
    if terms.designation is not None and needs not in (None, terms.designation):
        found.append(
            f"only at a table designated {needs}; this one is {DESIGNATIONS[terms.designation]}"
        )
    if terms.rulebook is not None and wager.name not in terms.rulebook.wagers:
        found.append(f"not a wager of {terms.rulebook.section('wagers')}")
    least, most = terms.limits.get(wager.name, (0, bet.amount_micros))
    if not least <= bet.amount_micros <= most:
        found.append(f"the table's limits are {_dollars(least)} to {_dollars(most)}")
    return found


def _dollars(cents_micros: int) -> str:
    return f"${cents_micros // DOLLAR:,}.{cents_micros // CENT_MICROS % 100:02}"


def _move_problems(placed: Sequence[Placed]) -> list[str]:
    found = []
    for bet in placed:
        if bet.move_to is None:
            continue
        where = f"seat {bet.seat} {bet.wager}"
        if bet.wager != HOUSE_MONEY:
            found.append(f"{where}: only a House Money payout can be moved onto a main wager")
        elif bet.move_to not in MAIN:
            found.append(f'{where}: "move_to" is "banker" or "player"')
        elif not any((m.seat, m.wager) == (bet.seat, bet.move_to) for m in placed):
            found.append(f"{where}: the seat has no {bet.move_to} wager to move the payout onto")
    return found


def _paytable(wager: Wager, bet: Placed, terms: Terms) -> Paytable:
    """Choose the paytable: the bet's own, else what designation or rulebook implies."""
    name = bet.paytable
    if wager.name == TIE and terms.tie_pays > TIE_PAYS_MIN:
        return tie_paying(terms.tie_pays)
    if name is None and wager.name == BANKER:
        name = terms.designation or STANDARD
    if name is None and wager.name == "any_pair" and terms.rulebook is not None:
        name = terms.rulebook.any_pair_paytable
    return wager.paytable(name)


def settle(played: Round, placed: Sequence[Placed], terms: Terms) -> tuple[Settled, ...]:
    """Settle every wager of a round, in the order in which the dealer does."""
    problems = check_wagers(placed, terms)
    if problems:
        raise WagerError("; ".join(problems))
    first = sorted((b for b in placed if b.wager == HOUSE_MONEY), key=lambda bet: bet.seat)
    early = [_settle_house_money(played, bet, terms) for bet in first]
    moved = {(s.placed.seat, s.placed.move_to): s.moved_micros for s in early if s.moved_micros}
    rest = sorted((b for b in placed if b.wager != HOUSE_MONEY), key=lambda bet: -bet.seat)
    late = [_settle(played, bet, terms, moved.get((bet.seat, bet.wager), 0)) for bet in rest]
    return (*early, *sorted(late, key=lambda settled: settled.line != LOSS))


def _settle_house_money(played: Round, bet: Placed, terms: Terms) -> Settled:
    settled = _settle(played, bet, terms, 0)
    if bet.move_to is None or not settled.won_micros:
        return settled
    # The portion is in whole cents: a chip smaller than that does not exist.
    allowed = settled.won_micros * terms.house_money_portion
    return replace(settled, moved_micros=int(allowed) // CENT_MICROS * CENT_MICROS)


def _settle(played: Round, bet: Placed, terms: Terms, moved_micros: int) -> Settled:
    wager = find_wager(bet.wager)
    if wager.family.needs_finished_round and played.next is not None:
        raise WagerError(
            f"seat {bet.seat} {bet.wager}: the round is not finished, {played.next} must draw"
        )
    paytable = _paytable(wager, bet, terms)
    line = wager.line(wager.family.facts(played), paytable, bet.on)
    stake = bet.amount_micros + moved_micros
    pays = pay_of(paytable, line)
    won = _exact(stake * pays) if pays > 0 else 0
    return Settled(bet, stake, line, won, _vigorish(won, paytable.vigorish, terms.vigorish))


def _vigorish(won_micros: int, rate: Fraction, rounding: str) -> int:
    exact = _exact(won_micros * rate)
    if rounding == EXACT:
        return exact
    return -(-exact // QUARTER_MICROS) * QUARTER_MICROS


def _exact(amount: Fraction) -> int:
    """Insist that an amount is a whole number of micro-dollars."""
    if amount.denominator != 1:
        raise WagerError(f"{amount} micro-dollars is not a whole amount")
    return amount.numerator


def return_all(placed: Sequence[Placed]) -> tuple[Settled, ...]:
    """Give every wager back, as a void round does."""
    return tuple(Settled(bet, bet.amount_micros, "void", 0, 0) for bet in placed)


def wagers_allowed(rulebook: Rulebook, designation: str) -> tuple[str, ...]:
    """List the wagers that a table of this designation may take under this rulebook."""
    return tuple(
        sorted(name for name in rulebook.wagers if ONLY_AT.get(name, designation) == designation)
    )


def takes_vigorish(designation: str) -> bool:
    """Tell whether Banker winners pay vigorish at such a table."""
    return designation in (STANDARD, FIVE_TREASURES)
