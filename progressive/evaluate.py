"""Evaluating rounds from a stream of JSON lines: one object in, one object out."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from io import BufferedReader
from typing import Any

import msgspec

from meters.money import MoneyError, parse_dollars, plain
from progressive.rules.baccarat import Round, RoundError, round_of
from progressive.rules.cards import Card, CardError, too_many
from progressive.rules.royal9 import (
    Fixed,
    Pay,
    Royal9Paytable,
    Seating,
    SeatingError,
    combination,
    seating_of,
)
from progressive.rules.rulebooks import SEATS_MAX
from progressive.rules.settlement import Placed, Settled, Terms, settle
from progressive.rules.wagers import WagerError

LINE_MAX = 1 << 20
CHUNK = 1 << 16
WAGERS_MAX = 500
ERROR_MAX = 2_000  # characters: an answer repeats no more of a bad line than a person reads
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
ROYAL_9 = "royal_9"
SEAT_NAMES = frozenset(str(seat) for seat in range(1, SEATS_MAX + 1))  # one spelling a seat


class WagerIn(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A wager as written in a line of input."""

    seat: int
    wager: str
    amount: str | int
    on: str | None = None
    paytable: str | None = None
    move_to: str | None = None


class RoundIn(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A round as written in a line of input."""

    player: tuple[str, ...]
    banker: tuple[str, ...]
    seats: tuple[int, ...] = ()
    combinations: dict[str, str | tuple[str, ...]] | None = None
    wagers: tuple[WagerIn, ...] = ()


class LineError(ValueError):
    """A line that cannot be evaluated, and why."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What all rounds of a stream share."""

    paytable: Royal9Paytable
    seats: int
    decks: int
    terms: Terms
    seating: Seating = field(init=False)
    pays: Mapping[str, Mapping[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seating", seating_of(self.paytable, self.seats))
        shown = {line: _shown_pay(pay) for line, pay in self.paytable.pays.items()}
        object.__setattr__(self, "pays", {**shown, "loss": {"amount": "0.00"}})


def _shown_pay(pay: Pay) -> Mapping[str, str]:
    if isinstance(pay, Fixed):
        return {"amount": plain(pay.amount_micros)}
    return {"level": pay.level, "share": f"{pay.percent} %"}


_DECODE = msgspec.json.Decoder(RoundIn).decode
_ENCODE = msgspec.json.Encoder().encode
_WRONG = (LineError, CardError, RoundError, SeatingError, WagerError, MoneyError)


# What repeats from round to round is read and written once.
_plain = lru_cache(maxsize=1 << 14)(plain)


def lines_of(source: BufferedReader, before_waiting: Callable[[], object]) -> Iterator[bytes]:
    """Give lines as they come in, and never hold more of one than is too much anyway."""
    rest = b""
    before_waiting()
    while chunk := source.read1(CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        rest = rest[: LINE_MAX + 1]
        before_waiting()
    if rest:
        yield rest


def evaluate_lines(lines: Iterable[bytes], setup: Setup) -> Iterator[tuple[bytes, bool]]:
    """Answer each line with a JSON line, and tell whether it could be evaluated."""
    for number, text in enumerate(lines, start=1):
        line = text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text
        if not line or line.isspace():
            continue
        try:
            yield _ENCODE(evaluate(_decode(line), setup)), True
        except _WRONG as error:
            yield _ENCODE({"error": _cut(str(error)), "line": number}), False


def _cut(text: str) -> str:
    return text if len(text) <= ERROR_MAX else f"{text[:ERROR_MAX]} ..."


def _decode(line: bytes) -> RoundIn:
    if len(line) > LINE_MAX:
        raise LineError(f"the line is longer than {LINE_MAX:,} bytes")
    try:
        return _DECODE(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise LineError(
            f'{error}: write {{"player":["KS","9H"],"banker":["KS","9H"],"seats":[1,3]}}'
        ) from None


def evaluate(given: RoundIn, setup: Setup) -> dict[str, Any]:
    """Work out points, outcome, the seats' lines and pays, and settle the wagers."""
    played = round_of(
        tuple([Card(text) for text in given.player]), tuple([Card(text) for text in given.banker])
    )
    surplus = too_many(played.player + played.banker, setup.decks)
    if surplus:
        named = ", ".join(f"{card} {seen} times" for card, seen in surplus.items())
        raise LineError(f"{named}: {setup.decks} decks hold each card {setup.decks} times")
    if len(set(given.seats)) != len(given.seats):
        raise LineError("a seat is named twice")
    seating = _own_seating(given, setup) if given.combinations else setup.seating
    lines = {str(seat): line for seat, line in seating.lines(given.seats, played).items()}
    answer: dict[str, Any] = {
        "player_points": played.player_points,
        "banker_points": played.banker_points,
        "outcome": played.outcome,
        "lines": lines,
        "pays": {seat: setup.pays[line] for seat, line in lines.items()},
    }
    if played.next is not None:
        answer["next_card"] = played.next
    if given.wagers:
        answer["wagers"] = _settled(given, played, setup.terms)
    return answer


def _own_seating(given: RoundIn, setup: Setup) -> Seating:
    return _seating(setup.paytable, setup.seats, tuple((given.combinations or {}).items()))


@lru_cache(maxsize=256)
def _seating(
    paytable: Royal9Paytable, seats: int, own: tuple[tuple[str, str | tuple[str, ...]], ...]
) -> Seating:
    chosen = {}
    for seat, cards in own:
        if seat not in SEAT_NAMES:
            raise LineError(f'"combinations" is by seat number, and {seat!r} is none')
        chosen[int(seat)] = combination(cards)
    return seating_of(paytable, seats, chosen)


def _settled(given: RoundIn, played: Round, terms: Terms) -> list[dict[str, Any]]:
    if len(given.wagers) > WAGERS_MAX:
        raise LineError(f"more than {WAGERS_MAX} wagers in one round")
    placed = [_placed(bet) for bet in given.wagers]
    settled = settle(played, placed, terms)
    order = {id(one.placed): place for place, one in enumerate(settled)}
    return [_shown_wager(settled[order[id(bet)]], order[id(bet)] + 1) for bet in placed]


@lru_cache(maxsize=1 << 12)
def _placed(bet: WagerIn) -> Placed:
    if bet.wager == ROYAL_9:
        raise LineError(f'seat {bet.seat}: {ROYAL_9} is bet by the seats in "seats", for $5.00')
    amount = parse_dollars(str(bet.amount))
    return Placed(bet.seat, bet.wager, amount, bet.on, bet.paytable, bet.move_to)


def _shown_wager(settled: Settled, order: int) -> dict[str, Any]:
    """Write a settled wager; what does not concern it is left out."""
    bet = settled.placed
    shown: dict[str, Any] = {
        "order": order,  # in which the dealer settles them
        "seat": bet.seat,
        "wager": bet.wager,
    }
    if bet.on is not None:
        shown["on"] = bet.on
    if bet.paytable is not None:
        shown["paytable"] = bet.paytable
    shown["amount"] = _plain(bet.amount_micros)
    shown["stake"] = _plain(settled.stake_micros)
    shown["line"] = settled.line
    shown["result"] = settled.result
    shown["won"] = _plain(settled.won_micros)
    if settled.vigorish_micros:
        shown["vigorish"] = _plain(settled.vigorish_micros)
    if settled.moved_micros:
        shown["moved"] = _plain(settled.moved_micros)
    shown["returned"] = _plain(settled.returned_micros)
    return shown
