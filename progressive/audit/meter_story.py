"""How a meter came to what an award took of it: where it opened, and every movement since."""

from collections.abc import Iterator

import msgspec

from meters import entries as e
from meters import model
from meters.model import awards
from meters.model.books import Books
from meters.money import CENT
from meters.state import State, read_state
from progressive.audit.folder import LogFolder
from progressive.audit.history import AwardRecord, History

ALL = 100  # percent
WITHIN = "within the winning entry"


class Movement(msgspec.Struct, frozen=True):
    """Something other than a contribution that moved the meter."""

    entry: int
    at: int
    kind: str
    micros: int


class MeterStory(msgspec.Struct, frozen=True, kw_only=True):
    """A level's meter from its last reset to the award; all amounts are micro-dollars."""

    level: str
    since: int  # entry that reset the meter, or opened the link
    since_at: int
    opening: int
    locks: int
    wagers: int
    contributed: int
    to_overflow: int  # contributed beyond the limit: waits for the next reset
    movements: list[Movement]
    total: int  # opening + contributed + movements
    replayed: int  # the same, worked out by replay from the last balance
    percent: int
    taken: int
    left: int  # of the total, on the meter
    later: int  # Must Hit: what locks after the winning one had added, which stays
    equal: bool


class _Line(msgspec.Struct):
    n: int
    t: int
    k: str
    post: dict[str, int] = {}
    seats: list[int] = []


class _Sums:
    """Adds up what entries did to one meter."""

    def __init__(self, level: str, opening: int = 0) -> None:
        self._meter, self._overflow = f"{level}.meter", f"{level}.overflow"
        self.opening = opening
        self.locks = self.wagers = self.contributed = self.to_overflow = 0
        self.movements: list[Movement] = []

    def add(self, line: _Line) -> None:
        micros = line.post.get(self._meter, 0)
        if line.k == "lock":
            overflow = line.post.get(self._overflow, 0)
            self.locks += 1
            self.wagers += len(line.seats)
            self.contributed += micros
            self.to_overflow += overflow
        elif micros:
            self.movements.append(Movement(line.n, line.t, line.k, micros))

    @property
    def total(self) -> int:
        moved = sum(movement.micros for movement in self.movements)
        return self.opening + self.contributed + moved


def state_before(log: LogFolder, history: History, entry: int) -> State:
    """Work out a link's state just before an entry, by replay from the last balance."""
    balance = history.balance_before(entry)
    lines = log.entries(balance.entry - 1 if balance else 0, entry - 1)
    first = e.read_entry(next(lines))
    if isinstance(first, e.Balance):
        state = read_state(first.state)
        model.step(state, first)
    elif isinstance(first, e.Open):
        state, _ = model.begin(first)
    else:
        raise TypeError(f"entry {first.n} is neither an opening nor a balance")
    for line in lines:
        model.step(state, e.read_entry(line))
    return state


def tell_meter(
    log: LogFolder, history: History, award: AwardRecord, state: State, won: e.AnyEntry
) -> MeterStory:
    """Add up the meter of an award's level; `state` is the link just before the winning entry."""
    level = award.level or ""
    since = history.last_reset(level, award.won) or 1
    opened, reset = _value_after(log, history, level, since)
    sums = _Sums(level, opened)
    last, later = award.won - 1, 0
    if award.kind == "must_hit":
        found = history.round_of(award.table, award.round)
        last = found.locked if found else last
    for line in _lines(log, since, last):
        sums.add(line)
    if award.kind == "must_hit":
        replayed, later = _replayed_must_hit(log, award, state, last)
    else:
        replayed = _meter_at(state, award, won)
        within = replayed - state.numbers[f"{level}.meter"]
        if within:
            sums.movements.append(Movement(won.n, won.t, WITHIN, within))
    taken = _shown(won, award.award)
    percent = _percent(state, award)
    due = sums.total * percent // ALL
    return MeterStory(
        level=level,
        since=since,
        since_at=reset.t,
        opening=opened,
        locks=sums.locks,
        wagers=sums.wagers,
        contributed=sums.contributed,
        to_overflow=sums.to_overflow,
        movements=sums.movements,
        total=sums.total,
        replayed=replayed,
        percent=percent,
        taken=taken,
        left=sums.total - taken,
        later=later,
        equal=sums.total == replayed and taken == due - due % CENT,
    )


def _lines(log: LogFolder, first: int, last: int) -> Iterator[_Line]:
    decoder = msgspec.json.Decoder(_Line)
    return map(decoder.decode, log.entries(first, last))


def _value_after(log: LogFolder, history: History, level: str, entry: int) -> tuple[int, _Line]:
    """Tell what a meter showed after an entry, and read the entry."""
    balance = history.balance_before(entry)
    sums = _Sums(level, balance.numbers[f"{level}.meter"] if balance else 0)
    last = None
    for line in _lines(log, balance.entry if balance else 0, entry):
        sums.add(line)
        last = line
    if last is None:
        raise ValueError(f"entry {entry} is not in the log")
    return sums.total, last


def _replayed_must_hit(
    log: LogFolder, award: AwardRecord, state: State, lock: int
) -> tuple[int, int]:
    """Give the value that the winning lock left, and what came onto the meter after it."""
    sums = _Sums(award.level or "")
    for line in _lines(log, lock, award.won - 1):
        sums.add(line)
    return state.numbers[f"{award.level}.meter"] - sums.total, sums.total


def _meter_at(state: State, award: AwardRecord, won: e.AnyEntry) -> int:
    """Carry out what the winning entry did before this award, and read the meter."""
    books = Books(state.copy(), won.t)
    for reversal in getattr(won, "reversed", ()):
        taken_back = books.state.award(reversal.award)
        if taken_back:
            awards.reverse(books, taken_back)
    for each in getattr(won, "awards", ()):
        if each.award == award.award:
            break
        awards.win(books, awards.Place(award.table, award.round, each.seat, each.line))
    return books.meter(award.level or "")


def _shown(won: e.AnyEntry, number: int) -> int:
    """Give what the winning entry says was taken off the meter."""
    must_hit = won.must_hit.award if isinstance(won, e.End) and won.must_hit else None
    for each in (*getattr(won, "awards", ()), *([must_hit] if must_hit else ())):
        if each.award == number:
            return int(each.amount - each.added)
    raise ValueError(f"entry {won.n} does not win award {number}")


def _percent(state: State, award: AwardRecord) -> int:
    pay = state.terms.lines.get(award.line)
    return (pay.percent or ALL) if pay and award.kind == "share" else ALL
