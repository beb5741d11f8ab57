"""Awards in the model: won, paid, and reversed with what that means for later ones."""

from typing import Any, NamedTuple

from meters.entries import Reversal, WonAward
from meters.errors import Refused
from meters.model.books import Books, whole_cents
from meters.state import Award

ALL = 100  # percent


def shown(award: Award) -> WonAward:
    """Give an award as the entry that won it shows it."""
    return WonAward(
        award=award.award,
        seat=award.seat,
        line=award.line,
        amount=award.amount,
        level=award.level,
        added=award.added,
        from_reserve=award.from_reserve,
        from_house=award.from_house,
    )


def _new(books: Books, **fields: Any) -> Award:  # noqa: ANN401 - the fields of Award
    books.numbers["awards"] += 1
    award = Award(
        award=books.numbers["awards"], entry=books.entry, time=books.time, amount=0, **fields
    )
    books.state.awards.append(award)
    return award


class Place(NamedTuple):
    """Where and with what something was won."""

    table: str
    round: int
    seat: int
    line: str
    hand: bool = False


def win(books: Books, place: Place) -> Award | None:
    """Win what a line pays, or None where it pays nothing."""
    pay = books.state.terms.lines.get(place.line)
    if pay is None:
        return None
    at = place._asdict()
    if pay.level is None:
        amount = pay.amount_micros or 0
        award = _new(books, kind="fixed", **at)
        award.amount = amount
        books.post("house", -amount)
        books.post("fixed.pending", amount)
        return award
    if pay.percent == ALL:
        return _win_full(books, pay.level, at)
    award = _new(books, kind="share", level=pay.level, **at)
    award.amount = whole_cents(books.meter(pay.level) * (pay.percent or 0) // ALL)
    books.take(pay.level, award.amount)
    return award


def _win_full(books: Books, level: str, at: dict[str, Any]) -> Award:
    award = _new(books, kind="full", level=level, **at)
    award.amount = whole_cents(books.meter(level))
    books.take(level, award.amount)
    award.added = _top_up(books, level, award)
    books.post("house", -award.added)
    books.post(f"{level}.pending", award.added)
    books.count(level, "added", award.added)
    award.amount += award.added
    award.from_reserve, award.from_house = books.reset(level)
    for earlier in books.state.awards:
        if earlier.kind == "full" and earlier.level == level and earlier.award < award.award:
            _follow(earlier, award)
    return award


def _follow(earlier: Award, award: Award) -> None:
    if earlier.next is None:
        earlier.next = award.award
        earlier.next_at = (award.table, award.round, award.seat)


def _top_up(books: Books, level: str, award: Award) -> int:
    """Within the site's seconds of the first full award, the house adds up to its amount."""
    seconds = books.state.terms.simultaneous_seconds
    if not seconds:
        return 0
    first = books.state.firsts.get(level)
    if first is not None:
        since, amount, _ = map(int, first.split())
        if books.time - since <= seconds * 1000:
            return max(0, amount - award.amount)
    _set_first(books, level, award)
    return 0


def _set_first(books: Books, level: str, award: Award) -> None:
    books.state.firsts[level] = f"{award.time} {award.amount} {award.award}"


def win_must_hit(books: Books, level: str, *, table: str, round_: int, seat: int) -> Award:
    """Take the value that the winning round's lock left; what came later stays."""
    award = _new(
        books,
        kind="must_hit",
        level=level,
        table=table,
        round=round_,
        seat=seat,
        line=level,
        over=True,
    )
    award.amount = whole_cents(books.state.tables[table].value)
    books.take(level, award.amount)
    award.from_reserve, award.from_house = books.reset(level)
    return award


def pay(books: Books, award: Award) -> None:
    """Pay a pending award."""
    books.post(f"{award.level}.pending" if award.level else "fixed.pending", -award.amount)
    books.post("players", award.amount)
    books.state.awards.remove(award)


def payable(books: Books, number: int) -> Award:
    """Find a pending award whose round is over."""
    award = books.state.award(number)
    if award is None:
        raise Refused("unknown_award", str(number))
    if not award.over:
        raise Refused("round_not_over", str(number))
    return award


def reverse(books: Books, award: Award) -> Reversal:
    """Take a pending award back."""
    name = award.level
    books.state.awards.remove(award)
    later = None
    if name is None:
        books.post("fixed.pending", -award.amount)
        books.post("house", award.amount)
        return Reversal(award.award, award.amount)
    level = books.state.levels[name]
    if level.closed:
        raise Refused("level_closed", name)
    books.post(f"{name}.pending", -award.amount)
    books.count(name, "wins", award.added - award.amount)
    if award.kind != "addition":
        books.count(name, "hits", -1)
    if award.kind == "full":
        later = _reverse_full(books, name, award)
    elif award.kind == "must_hit":
        books.post(f"{name}.overflow", _give_back_reset(books, award, award.amount))
    else:
        books.fill(level, award.amount)
    _unfollow(books, name, award)
    return Reversal(award.award, award.amount, later)


def _give_back_reset(books: Books, award: Award, own: int) -> int:
    """Give the reset that an award led to back to who funded it; what is left of `own` remains."""
    to_reserve = min(award.from_reserve, own)
    to_house = min(award.from_house, own - to_reserve)
    books.post(f"{award.level}.reserve", to_reserve)
    books.post("house", to_house)
    books.count(award.level or "", "resets", -to_reserve - to_house)
    return own - to_reserve - to_house


def _reverse_full(books: Books, name: str, award: Award) -> int | None:
    own = award.amount - award.added
    books.post("house", award.added)
    books.count(name, "added", -award.added)
    rest = _give_back_reset(books, award, own)
    if award.next is None:
        books.fill(books.state.levels[name], rest)
        return None
    return _hand_on(books, name, award, rest)


def _hand_on(books: Books, name: str, award: Award, rest: int) -> int:
    """Hand what is left to the level's first later award: pending, or paid and added to."""
    later = books.state.award(award.next or 0)
    if later is None:
        table, round_, seat = award.next_at or ("", 0, 0)
        later = _new(
            books,
            kind="addition",
            level=name,
            table=table,
            round=round_,
            seat=seat,
            line=award.line,
            over=True,
            of=award.next,
        )
    back = min(later.added, rest)
    books.post("house", back)
    books.count(name, "added", -back)
    books.post(f"{name}.pending", rest - back)
    books.count(name, "wins", rest)
    later.added -= back
    later.amount += rest - back
    first = books.state.firsts.get(name, "").split()[2:]
    if later.award == award.next and first in ([str(award.award)], [str(later.award)]):
        _set_first(books, name, later)  # what further wins are raised to
    return later.award


def _unfollow(books: Books, name: str, award: Award) -> None:
    for earlier in books.state.awards:
        if earlier.next == award.award:
            earlier.next, earlier.next_at = award.next, award.next_at
    if books.state.firsts.get(name, "").split()[2:] == [str(award.award)]:
        del books.state.firsts[name]
