"""The past of a link as its index tells it: rounds, awards and gaming days, a page at a time."""

import datetime as dt
import sqlite3
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, Self, TypeVar
from urllib.parse import quote

import msgspec

from meters.seats import seats_of

LIMIT_MAX: Final = 1_000
NUMBER_END: Final = 2**53
STATES: Final = ("pending", "paid", "reversed", "voided")

T = TypeVar("T")


class RoundRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A round: who bet, the cards, and the entries of its steps (0: there was none)."""

    table: str
    round: int
    kind: str | None  # None: cancelled before it was locked
    seats: list[int]
    cycle: int
    value: int
    lines: dict[int, str]  # of the seats that did not lose
    first: str  # cards as first recorded, Player's before Banker's
    cards: str  # as last corrected
    more: str
    corrections: int
    outcome: str  # locked, dealt, ended, void, cancelled
    locked: int
    locked_at: int
    dealt: int
    dealt_at: int
    over: int
    over_at: int


class AwardRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An award: where and how it was won, and how it was settled."""

    award: int
    table: str
    round: int
    seat: int
    line: str
    kind: str  # full, share, fixed, must_hit, addition
    level: str | None
    amount: int
    added: int
    from_reserve: int
    from_house: int
    hand: bool
    of: int | None
    won: int
    won_at: int
    state: str
    how: str  # tray, hand_pay, correct, void, void_award
    settled: int
    settled_at: int
    by: str
    second: str


class Handed(msgspec.Struct, frozen=True):
    """What a reversed award left to a later one, in micro-dollars."""

    entry: int
    award: int
    micros: int


class Flow(msgspec.Struct, frozen=True):
    """What a kind of entry posted to an account in a day, in micro-dollars."""

    kind: str
    account: str
    micros: int


class BalanceRecord(msgspec.Struct, frozen=True):
    """A balance: its entry, its time, and the link's numbers just before it."""

    entry: int
    at: int
    numbers: dict[str, int]


class DayRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A gaming day: its entries, what was posted in it, and every account after its last entry."""

    day: dt.date
    first: int
    last: int
    rounds: int
    wagers: int
    flows: list[Flow]
    closing: dict[str, int]
    balance: BalanceRecord | None  # the first one after the day, if it is over


class Between(NamedTuple):
    """The gaming days from one to another, both with; None: no bound."""

    first: dt.date | None = None
    last: dt.date | None = None


EVER: Final = Between()


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list; `next` is what to ask for the part after it, None at the end."""

    items: list[T]
    next: int | None = None


class History:
    """Reads an index beside whoever keeps it."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an index that is on disk."""
        uri = f"file:{quote(str(path))}?mode=ro"
        return cls(sqlite3.connect(uri, uri=True, check_same_thread=False))

    def close(self) -> None:
        """Let go of the index."""
        self._db.close()

    @property
    def size(self) -> int:
        """Tell up to which entry the index goes."""
        return int(self._one("SELECT value AS size FROM about WHERE name = 'size'")["size"])

    def round_of(self, table: str, round_: int) -> RoundRecord | None:
        """Find a round."""
        rows = self._rows('SELECT * FROM rounds WHERE "table" = ? AND round = ?', table, round_)
        return _round(rows[0]) if rows else None

    def rounds(
        self, table: str, after: int = 0, limit: int = 100, between: Between = EVER
    ) -> Page[RoundRecord]:
        """List a table's rounds after one of them, in order; a round is of the day of its lock."""
        limit = _bounded(limit)
        step = (
            "SELECT round AS number, iif(locked, locked, over) AS entry FROM rounds"
            ' WHERE "table" = ? AND round >= ? ORDER BY round LIMIT 1'
        )
        first, end = self._numbers(between, step, table)
        rows = self._rows(
            'SELECT * FROM rounds WHERE "table" = ? AND round > ? AND round < ?'
            " ORDER BY round LIMIT ?",
            table, max(after, first - 1), end, limit,
        )  # fmt: skip
        found = [_round(row) for row in rows]
        return Page(found, found[-1].round if len(found) == limit else None)

    def award(self, number: int) -> AwardRecord | None:
        """Find an award."""
        rows = self._rows("SELECT * FROM awards WHERE award = ?", number)
        return _award(rows[0]) if rows else None

    def awards(
        self,
        after: int = 0,
        limit: int = 100,
        state: str | None = None,
        between: Between = EVER,
    ) -> Page[AwardRecord]:
        """List awards after one of them, in order; of one state or all, by the day of the win."""
        limit = _bounded(limit)
        if state is not None and state not in STATES:
            raise ValueError(f"{state} is not one of {', '.join(STATES)}")
        first, end = self._numbers(
            between,
            "SELECT award AS number, won AS entry FROM awards WHERE award >= ?"
            " ORDER BY award LIMIT 1",
        )
        values = (max(after, first - 1), end, limit)
        if state is None:
            rows = self._rows(
                "SELECT * FROM awards WHERE award > ? AND award < ? ORDER BY award LIMIT ?", *values
            )
        else:
            rows = self._rows(
                "SELECT * FROM awards WHERE state = ? AND award > ? AND award < ?"
                " ORDER BY award LIMIT ?",
                state, *values,
            )  # fmt: skip
        found = [_award(row) for row in rows]
        return Page(found, found[-1].award if len(found) == limit else None)

    def awards_of(self, table: str, round_: int) -> list[AwardRecord]:
        """List the awards of a round."""
        rows = self._rows(
            'SELECT * FROM awards WHERE "table" = ? AND round = ? ORDER BY award', table, round_
        )
        return [_award(row) for row in rows]

    def handed_to(self, award: int) -> list[Handed]:
        """List what reversed awards have left to this one."""
        rows = self._rows(
            'SELECT entry, award, micros FROM handed WHERE "to" = ? ORDER BY entry, award', award
        )
        return [Handed(**row) for row in rows]

    def last_reset(self, level: str, before: int) -> int:
        """Give the last entry before another in which a level was won whole, or 0."""
        found = self._one(
            "SELECT max(won) AS won FROM awards WHERE level = ? AND won < ?"
            " AND kind IN ('full', 'must_hit')",
            level, before,
        )  # fmt: skip
        return found["won"] or 0

    def balance_before(self, entry: int) -> BalanceRecord | None:
        """Give the last balance before an entry."""
        return self._balance(
            "SELECT * FROM balances WHERE entry < ? ORDER BY entry DESC LIMIT 1", entry
        )

    def day(self, day: dt.date) -> DayRecord | None:
        """Give a gaming day, or None if nothing was entered in it."""
        rows = self._rows("SELECT * FROM days WHERE day = ?", day.isoformat())
        if not rows:
            return None
        flows = self._rows(
            "SELECT kind, account, micros FROM flows WHERE day = ? ORDER BY kind, account",
            day.isoformat(),
        )
        closing = self._rows(
            "SELECT account, micros FROM closings WHERE day = ? ORDER BY account", day.isoformat()
        )
        return DayRecord(
            **rows[0] | {"day": day},
            flows=[Flow(**row) for row in flows],
            closing={row["account"]: row["micros"] for row in closing},
            balance=self._balance(
                "SELECT * FROM balances WHERE entry > ? ORDER BY entry LIMIT 1", rows[0]["last"]
            ),
        )

    def days(self, after: dt.date = dt.date.min, limit: int = 100) -> list[dt.date]:
        """List the gaming days after one of them that have entries."""
        rows = self._rows(
            "SELECT day FROM days WHERE day > ? ORDER BY day LIMIT ?",
            after.isoformat(), _bounded(limit),
        )  # fmt: skip
        return [dt.date.fromisoformat(row["day"]) for row in rows]

    def _numbers(self, between: Between, step: str, *of: str) -> tuple[int, int]:
        """Give the first number of some days and the first after them.

        Numbers grow with the entries, and the index has each day's: some steps find them.
        """
        first, end = 1, NUMBER_END
        if between.first:
            rows = self._rows(
                "SELECT first FROM days WHERE day >= ? ORDER BY day LIMIT 1",
                between.first.isoformat(),
            )
            first = self._number_at(rows[0]["first"], step, *of) if rows else NUMBER_END
        if between.last:
            rows = self._rows(
                "SELECT last FROM days WHERE day <= ? ORDER BY day DESC LIMIT 1",
                between.last.isoformat(),
            )
            end = self._number_at(rows[0]["last"] + 1, step, *of) if rows else 0
        return first, end

    def _number_at(self, entry: int, step: str, *of: str) -> int:
        """Find the first number whose entry is not before one."""
        low, high = 1, NUMBER_END
        while low < high:
            middle = (low + high) // 2
            rows = self._rows(step, *of, middle)
            if rows and rows[0]["entry"] < entry:
                low = rows[0]["number"] + 1
            else:
                high = middle
        return low

    def _balance(self, statement: str, entry: int) -> BalanceRecord | None:
        rows = self._rows(statement, entry)
        if not rows:
            return None
        numbers = msgspec.json.decode(rows[0]["numbers"], type=dict[str, int])
        return BalanceRecord(rows[0]["entry"], rows[0]["at"], numbers)

    def _one(self, statement: str, *values: object) -> dict[str, Any]:
        return self._rows(statement, *values)[0]

    def _rows(self, statement: str, *values: object) -> list[dict[str, Any]]:
        cursor = self._db.execute(statement, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]


def _bounded(limit: int) -> int:
    if not 1 <= limit <= LIMIT_MAX:
        raise ValueError(f"a page has 1 to {LIMIT_MAX} items, not {limit}")
    return limit


def _round(row: dict[str, Any]) -> RoundRecord:
    pairs = (part.split(":") for part in row["lines"].split(",") if part)
    return RoundRecord(
        **row
        | {"seats": seats_of(row["seats"]), "lines": {int(seat): line for seat, line in pairs}}
    )


def _award(row: dict[str, Any]) -> AwardRecord:
    return AwardRecord(**row | {"hand": bool(row["hand"])})
