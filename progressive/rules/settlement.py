"""Settling a round: who wins what, in the order in which a dealer pays it.

House Money is settled before any third card, from the dealer's right, which is seat 1: the
rulebooks offer the cut clockwise from the highest seat, so the highest sits at the dealer's left.
After the round the losing wagers are collected, then the others are settled from the highest seat
down, the vigorish being taken or marked before a seat is paid.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, NamedTuple

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
from progressive.rules.wagers import Facts, Family, Wager, WagerError, find_wager, pay_of

HOUSE_MONEY: Final = "house_money"
ANY_PAIR: Final = "any_pair"
MAIN: Final = (BANKER, PLAYER)
QUARTER_MICROS: Final = 250_000
CENT_MICROS: Final = 10_000
TIE_PAYS_MIN: Final = 8
TIE_PAYS_MAX: Final = 100  # no rulebook has a bound: more than this is a slip of the hand

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


class Settled(NamedTuple):
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


class _Bet(NamedTuple):
    """A wager as placed, with what the table plays it by."""

    placed: Placed
    wager: Wager
    paytable: Paytable


def check_wagers(placed: Sequence[Placed], terms: Terms) -> list[str]:
    """List all that is wrong with a set of wagers; an empty list means they may be settled."""
    return _read(placed, terms)[1]


def _read(placed: Sequence[Placed], terms: Terms) -> tuple[list[_Bet], list[str]]:
    """Find what each wager is played by, and all that is wrong with any of them."""
    bets: list[_Bet] = []
    problems: list[str] = []
    seen: set[tuple[int, str, str | None]] = set()
    for one in placed:
        try:
            wager = find_wager(one.wager)
            wager.check_on(one.on)
            bets.append(_Bet(one, wager, _paytable(wager, one, terms)))
        except WagerError as error:
            problems.append(f"seat {one.seat}: {error}")
            continue
        found = _problems_of(one, wager, terms)
        key = (one.seat, one.wager, one.on if wager.both_hands else None)
        if key in seen:
            found.append("placed twice by one seat")
        seen.add(key)
        problems += [f"seat {one.seat} {one.wager}: {text}" for text in found]
    return bets, problems + _move_problems(placed)


def _problems_of(bet: Placed, wager: Wager, terms: Terms) -> list[str]:
    found = []
    if not 1 <= bet.seat <= terms.seats:
        found.append(f"this table has seats 1 to {terms.seats}")
    if bet.amount_micros <= 0 or bet.amount_micros % CENT_MICROS:
        found.append("the amount must be whole cents and more than nothing")
    if bet.paytable is not None:
        found += _paytable_problems(bet, terms)
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


def _paytable_problems(bet: Placed, terms: Terms) -> list[str]:
    """Refuse a paytable that the table's designation or its rulebook does not have."""
    found = []
    book = terms.rulebook
    if bet.wager == BANKER and terms.designation not in (None, bet.paytable):
        found.append(f"a table designated {terms.designation} pays by that paytable")
    elif bet.wager == BANKER and book is not None and bet.paytable not in book.designations:
        found.append(f"{book.section('designation')} has {' or '.join(book.designations)}")
    if bet.wager == ANY_PAIR and book is not None and bet.paytable != book.any_pair_paytable:
        found.append(f"{book.section('wagers')} pays by paytable {book.any_pair_paytable}")
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
        name = terms.designation or (terms.rulebook.designation if terms.rulebook else STANDARD)
    if name is None and wager.name == ANY_PAIR and terms.rulebook is not None:
        name = terms.rulebook.any_pair_paytable
    return wager.paytable(name)


def settle(played: Round, placed: Sequence[Placed], terms: Terms) -> tuple[Settled, ...]:
    """Settle every wager of a round, in the order in which the dealer does."""
    bets, problems = _read(placed, terms)
    if problems:
        raise WagerError("; ".join(problems))
    table = _Table(played, terms)
    first = sorted([b for b in bets if b.wager.name == HOUSE_MONEY], key=lambda b: b.placed.seat)
    early = [table.settle_house_money(bet) for bet in first]
    moved = {(s.placed.seat, s.placed.move_to): s.moved_micros for s in early if s.moved_micros}
    rest = [bet for bet in bets if bet.wager.name != HOUSE_MONEY]
    late = [table.settle(bet, moved.get((bet.placed.seat, bet.wager.name), 0)) for bet in rest]
    return (*early, *sorted(late, key=lambda one: (one.line != LOSS, -one.placed.seat)))


class _Table:
    """A round at a table, where each way of looking at the round is worked out once."""

    def __init__(self, played: Round, terms: Terms) -> None:
        self.played = played
        self.terms = terms
        self.facts: dict[Family, Facts] = {}

    def settle_house_money(self, bet: _Bet) -> Settled:
        settled = self.settle(bet)
        if bet.placed.move_to is None or not settled.won_micros:
            return settled
        # The portion is in whole cents: a chip smaller than that does not exist.
        allowed = settled.won_micros * self.terms.house_money_portion
        return settled._replace(moved_micros=int(allowed) // CENT_MICROS * CENT_MICROS)

    def settle(self, bet: _Bet, moved_micros: int = 0) -> Settled:
        placed, wager, paytable = bet
        line = wager.line(self._facts(placed, wager.family), paytable, placed.on)
        stake = placed.amount_micros + moved_micros
        pays = pay_of(paytable, line)
        won = _exact_part(stake, pays) if pays.numerator > 0 else 0
        rate = paytable.vigorish
        vigorish = _vigorish(won, rate, self.terms.vigorish) if won and rate.numerator else 0
        return Settled(placed, stake, line, won, vigorish)

    def _facts(self, placed: Placed, family: Family) -> Facts:
        if family not in self.facts:
            if family.needs_finished_round and self.played.next is not None:
                raise WagerError(
                    f"seat {placed.seat} {placed.wager}: the round is not finished, "
                    f"{self.played.next} must draw"
                )
            self.facts[family] = family.facts(self.played)
        return self.facts[family]


def _vigorish(won_micros: int, rate: Fraction, rounding: str) -> int:
    exact = _exact_part(won_micros, rate)
    if rounding == EXACT:
        return exact
    return -(-exact // QUARTER_MICROS) * QUARTER_MICROS


def _exact_part(amount_micros: int, times: Fraction) -> int:
    """Multiply, insisting that the outcome is a whole number of micro-dollars."""
    part, rest = divmod(amount_micros * times.numerator, times.denominator)
    if rest:
        raise WagerError(f"{times} of {amount_micros} micro-dollars is not a whole amount")
    return part


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
