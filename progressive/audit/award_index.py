"""Awards in the index: won, paid, reversed, and what a reversal hands on to a later one."""

import sqlite3
from typing import Any, Final, NamedTuple

import msgspec

from meters import entries as e

PAID, REVERSED, VOIDED = "paid", "reversed", "voided"
INSERT: Final = (
    'INSERT INTO awards (award, "table", round, seat, line, kind, level, amount, added,'
    " from_reserve, from_house, hand, of, won, won_at, state)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending')"
)
SETTLE: Final = (
    "UPDATE awards SET state = ?, how = ?, settled = ?, settled_at = ?, by = ?, second = ?"
    " WHERE award = ?"
)
FIND: Final = (
    'SELECT award, "table", round, seat, line, level, amount, added, from_reserve, from_house'
    " FROM awards WHERE award = ?"
)
NEXT_FULL: Final = (
    "SELECT min(award) FROM awards WHERE level = ? AND kind = 'full' AND award > ?"
    " AND state IN ('pending', 'paid')"
)


class _Place(NamedTuple):
    table: str
    round: int


class _Known(NamedTuple):
    award: int
    table: str
    round: int
    seat: int
    line: str
    level: str | None
    amount: int
    added: int
    from_reserve: int
    from_house: int


class _Settling(NamedTuple):
    """How an award is settled, and by whom: the second only where two persons are needed."""

    state: str
    how: str
    entry: e.AnyEntry
    by: str
    second: str = ""


class _Proposal(NamedTuple):
    by: str
    what: str
    body: dict[str, Any]


class AwardIndex:
    """The awards and proposals of a link, as its entries tell of them."""

    SCHEMA: Final = """
CREATE TABLE awards (
    award INTEGER PRIMARY KEY, "table" TEXT, round INTEGER, seat INTEGER, line TEXT, kind TEXT,
    level TEXT, amount INTEGER, added INTEGER, from_reserve INTEGER, from_house INTEGER,
    hand INTEGER, of INTEGER, won INTEGER, won_at INTEGER, state TEXT, how TEXT DEFAULT '',
    settled INTEGER DEFAULT 0, settled_at INTEGER DEFAULT 0, by TEXT DEFAULT '',
    second TEXT DEFAULT ''
);
CREATE INDEX awards_by_state ON awards (state, award);
CREATE INDEX awards_by_round ON awards ("table", round);
CREATE INDEX awards_by_level ON awards (level, won);
CREATE TABLE handed (
    entry INTEGER, award INTEGER, "to" INTEGER, micros INTEGER, PRIMARY KEY ("to", entry, award)
) WITHOUT ROWID;
CREATE TABLE proposals (number INTEGER PRIMARY KEY, by TEXT, what TEXT, body TEXT);
"""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def take(self, entry: e.AnyEntry) -> None:
        """Take an entry's awards, if it has to do with any."""
        if isinstance(entry, e.Deal):
            self._take_deal(entry)
        elif isinstance(entry, e.End):
            self._take_end(entry)
        elif isinstance(entry, e.Void):
            self._reverse(entry.reversed, _Settling(REVERSED, "void", entry, entry.by))
        elif isinstance(entry, e.Pay):
            self._settle(entry.award, _Settling(PAID, "hand_pay", entry, entry.by))
        elif isinstance(entry, e.Propose):
            body = msgspec.json.encode(entry.body).decode()
            row = [entry.number, entry.by, entry.what, body]
            self._db.execute("INSERT INTO proposals VALUES (?, ?, ?, ?)", row)
        elif isinstance(entry, e.Approve):
            self._take_approval(entry)

    def _take_deal(self, entry: e.Deal) -> None:
        if isinstance(entry, e.Correct):
            self._reverse(entry.reversed, _Settling(REVERSED, "correct", entry, entry.by))
        for award in entry.awards:
            self._win(award, _Place(entry.table, entry.round), entry)

    def _take_end(self, entry: e.End) -> None:
        for number in entry.paid:
            self._settle(number, _Settling(PAID, "tray", entry, entry.by))
        if entry.must_hit:
            place = _Place(entry.table, entry.round)
            self._win(entry.must_hit.award, place, entry, kind="must_hit")

    def _take_approval(self, entry: e.Approve) -> None:
        found = self._db.execute(
            "SELECT by, what, body FROM proposals WHERE number = ?", [entry.number]
        ).fetchone()
        proposal = _Proposal(found[0], found[1], msgspec.json.decode(found[2]))
        for number in entry.paid:
            self._settle(number, _Settling(PAID, "hand_pay", entry, proposal.by, entry.by))
        self._reverse(entry.reversed, _Settling(VOIDED, "void_award", entry, proposal.by, entry.by))
        for award in entry.awards:
            place = _Place(proposal.body["table"], proposal.body["round"])
            self._win(award, place, entry, hand=True)

    def _win(
        self,
        award: e.WonAward,
        place: _Place,
        entry: e.AnyEntry,
        kind: str = "",
        *,
        hand: bool = False,
    ) -> None:
        if not kind and award.level is None:
            kind = "fixed"
        elif not kind:
            # A meter that is taken whole is reset, and somebody pays for that.
            kind = "full" if award.from_reserve or award.from_house else "share"
        row = (
            award.award, *place, award.seat, award.line, kind, award.level, award.amount,
            award.added, award.from_reserve, award.from_house, hand, None, entry.n, entry.t,
        )  # fmt: skip
        self._db.execute(INSERT, row)

    def _settle(self, number: int, done: _Settling) -> None:
        entry = done.entry
        row = (done.state, done.how, entry.n, entry.t, done.by, done.second, number)
        self._db.execute(SETTLE, row)

    def _reverse(self, reversals: list[e.Reversal], done: _Settling) -> None:
        for reversal in reversals:
            known = self._find(reversal.award)
            self._settle(reversal.award, done)
            if reversal.to is not None and known:
                self._hand_on(known, reversal.to, done.entry)

    def _find(self, number: int) -> _Known | None:
        found = self._db.execute(FIND, [number]).fetchone()
        return _Known(*found) if found else None

    def _hand_on(self, award: _Known, to: int, entry: e.AnyEntry) -> None:
        """Add what a reversed award leaves to a later one, or make the award that adds to it."""
        own = award.amount - award.added
        to_reserve = min(award.from_reserve, own)
        rest = own - to_reserve - min(award.from_house, own - to_reserve)
        handed = (entry.n, award.award, to, rest)
        self._db.execute("INSERT INTO handed VALUES (?, ?, ?, ?)", handed)
        later = self._find(to)
        if later:
            back = min(later.added, rest)
            self._db.execute(
                "UPDATE awards SET amount = amount + ?, added = added - ? WHERE award = ?",
                [rest - back, back, to],
            )
            return
        [of] = self._db.execute(NEXT_FULL, [award.level, award.award]).fetchone()
        paid = self._find(of) or award
        row = (
            to, paid.table, paid.round, paid.seat, award.line, "addition", award.level, rest,
            0, 0, 0, False, of, entry.n, entry.t,
        )  # fmt: skip
        self._db.execute(INSERT, row)
