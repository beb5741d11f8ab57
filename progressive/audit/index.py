"""The index: where in a log a round, an award or a gaming day is, kept beside it in SQLite.

Everything in it comes from the entries, in their order, and from when the site's gaming days
begin; it can be thrown away and made again.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from meters import entries as e
from meters.seats import mask_of
from progressive.audit.award_index import AwardIndex
from progressive.gaming_day import DAY, GamingDays

FORMAT: Final = 1
SUFFIX: Final = ".sqlite"
SCHEMA: Final = """
CREATE TABLE about (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE rounds (
    "table" TEXT, round INTEGER, kind TEXT, seats INTEGER DEFAULT 0, cycle INTEGER DEFAULT 0,
    value INTEGER DEFAULT 0, lines TEXT DEFAULT '', first TEXT DEFAULT '', cards TEXT DEFAULT '',
    more TEXT DEFAULT '', corrections INTEGER DEFAULT 0, outcome TEXT, locked INTEGER DEFAULT 0,
    locked_at INTEGER DEFAULT 0, dealt INTEGER DEFAULT 0, dealt_at INTEGER DEFAULT 0,
    over INTEGER DEFAULT 0, over_at INTEGER DEFAULT 0,
    PRIMARY KEY ("table", round)
) WITHOUT ROWID;
CREATE TABLE days (
    day TEXT PRIMARY KEY, first INTEGER, last INTEGER, rounds INTEGER, wagers INTEGER
) WITHOUT ROWID;
CREATE TABLE flows (
    day TEXT, kind TEXT, account TEXT, micros INTEGER, PRIMARY KEY (day, kind, account)
) WITHOUT ROWID;
CREATE TABLE closings (
    day TEXT, account TEXT, micros INTEGER, PRIMARY KEY (day, account)
) WITHOUT ROWID;
CREATE TABLE balances (entry INTEGER PRIMARY KEY, at INTEGER, numbers TEXT);
"""
LOCK = (
    'INSERT INTO rounds ("table", round, kind, seats, cycle, value, locked, locked_at, outcome)'
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'locked')"
)
DEAL = (
    "UPDATE rounds SET lines = ?, first = iif(first = '', ?, first), cards = ?, corrections = ?,"
    " dealt = ?, dealt_at = ?, outcome = 'dealt' WHERE \"table\" = ? AND round = ?"
)
OVER = (
    'INSERT INTO rounds ("table", round, more, over, over_at, outcome) VALUES (?, ?, ?, ?, ?, ?)'
    ' ON CONFLICT ("table", round) DO UPDATE SET'
    " more = excluded.more, over = excluded.over, over_at = excluded.over_at,"
    " outcome = excluded.outcome"
)
DAY_ROW = (
    "INSERT INTO days VALUES (?, ?, ?, ?, ?) ON CONFLICT (day) DO UPDATE SET"
    " last = excluded.last, rounds = rounds + excluded.rounds, wagers = wagers + excluded.wagers"
)
FLOW = (
    "INSERT INTO flows VALUES (?, ?, ?, ?) ON CONFLICT (day, kind, account)"
    " DO UPDATE SET micros = micros + excluded.micros"
)
CLOSING = (
    "INSERT INTO closings VALUES (?, ?, ?)"
    " ON CONFLICT (day, account) DO UPDATE SET micros = excluded.micros"
)
ACCOUNTS = "SELECT account, micros FROM closings WHERE day = (SELECT max(day) FROM closings)"
TROUBLE: Final = {  # with the disk or its permissions: nothing is wrong with what is in the file
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}
OUTCOMES: Final = {e.End: "ended", e.Void: "void", e.Cancel: "cancelled"}


class IndexStale(Exception):  # noqa: N818 - it is the index that is stale
    """The index was made in another way, or is damaged: throw it away and make it again."""


def is_damaged(error: sqlite3.Error) -> bool:
    """Tell what is wrong with the file's content from a disk that is full or cannot be written."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF not in TROUBLE


class _State(msgspec.Struct):
    numbers: msgspec.Raw


class Index:
    """Takes a log's entries in order; a reader may be at work beside it."""

    def __init__(self, path: Path | str, days: GamingDays) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._days = days
        self.size = 0
        try:
            self._prepare()
            self._awards = AwardIndex(self._db)
            self._begin_batch()
        except sqlite3.Error as error:
            self._db.close()
            if is_damaged(error):
                raise IndexStale(f"the index cannot be used: {error}") from None
            raise
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    @property
    def connection(self) -> sqlite3.Connection:
        """Give the connection, for reading what was just taken."""
        return self._db

    def take(self, lines: Iterable[bytes]) -> None:
        """Take the next entries; they are in the index together, or not at all."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            for line in lines:
                self._take(e.read_entry(line))
            self._flush()
            self._set("size", self.size)
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # SQLite ends it by itself where the disk is full
                self._db.execute("ROLLBACK")
            self.size = self._get("size")
            self._begin_batch()
            raise

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")  # what a power cut takes is made again
        made: dict[str, int | str] = {
            "format": FORMAT,
            "zone": self._days.zone,
            "starts": self._days.starts.isoformat(),
        }
        if not self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            self._db.executescript(f"BEGIN; {SCHEMA} {AwardIndex.SCHEMA} COMMIT;")
            for name, value in {"size": 0, **made}.items():
                self._set(name, value)
        try:
            known = {name: self._get(name) for name in made}
            self.size = self._get("size")
        except TypeError:
            raise IndexStale("the index was not finished: make it again") from None
        if known != made or not isinstance(self.size, int):
            raise IndexStale(f"the index was made with {known}, and {made} is asked for")

    def _get(self, name: str) -> Any:  # noqa: ANN401 - a number or a text
        return self._db.execute("SELECT value FROM about WHERE name = ?", [name]).fetchone()[0]

    def _set(self, name: str, value: int | str) -> None:
        self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", [name, value])

    def _last_accounts(self) -> list[tuple[str, int]]:
        return self._db.execute(ACCOUNTS).fetchall()

    def _begin_batch(self) -> None:
        """Take up what the file has, with nothing waiting to be written."""
        self._locks: list[tuple[object, ...]] = []
        self._deals: list[tuple[object, ...]] = []
        self._overs: list[tuple[object, ...]] = []
        self._flows: Counter[tuple[str, str]] = Counter()
        self._first = self.size + 1
        self._rounds = self._wagers = 0
        self._accounts = Counter(dict(self._last_accounts()))
        self._day, self._day_end = "", 0

    def _take(self, entry: e.AnyEntry) -> None:
        if entry.n != self.size + 1:
            raise ValueError(f"entry {self.size + 1} is next, not {entry.n}")
        if entry.t >= self._day_end:
            self._turn_day(entry)
        self.size = entry.n
        kind = _KINDS[type(entry)]
        for account, micros in entry.post.items():
            self._flows[kind, account] += micros
        if isinstance(entry, e.Lock):
            self._lock(entry)
        elif isinstance(entry, e.Deal):
            self._deal(entry)
        elif isinstance(entry, (e.End, e.Void, e.Cancel)):
            self._over(entry)
        elif isinstance(entry, e.Balance):
            numbers = msgspec.json.decode(entry.state, type=_State).numbers
            row = [entry.n, entry.t, bytes(numbers).decode()]
            self._db.execute("INSERT INTO balances VALUES (?, ?, ?)", row)
        self._awards.take(entry)

    def _lock(self, entry: e.Lock) -> None:
        self._wagers += len(entry.seats)
        self._locks.append(
            (
                entry.table,
                entry.round,
                entry.kind,
                mask_of(entry.seats),
                entry.cycle,
                entry.value,
                entry.n,
                entry.t,
            )
        )

    def _deal(self, entry: e.Deal) -> None:
        cards = "".join(entry.player + entry.banker)
        lines = ",".join(f"{seat}:{line}" for seat, line in entry.lines.items() if line != "loss")
        number = entry.number if isinstance(entry, e.Correct) else 0
        self._deals.append(
            (lines, cards, cards, number, entry.n, entry.t, entry.table, entry.round)
        )

    def _over(self, entry: e.End | e.Void | e.Cancel) -> None:
        more = "".join(entry.more) if isinstance(entry, e.End) else ""
        self._rounds += isinstance(entry, e.End)
        outcome = OUTCOMES[type(entry)]
        self._overs.append((entry.table, entry.round, more, entry.n, entry.t, outcome))

    def _turn_day(self, entry: e.AnyEntry) -> None:
        """Go on to another day, after what is held of the day before is written."""
        self._flush()
        day = self._days.day_of(entry.t)
        self._day, self._day_end = day.isoformat(), self._days.begins(day + DAY)

    def _flush(self) -> None:
        for statement, rows in ((LOCK, self._locks), (DEAL, self._deals), (OVER, self._overs)):
            self._db.executemany(statement, rows)
            rows.clear()
        if self.size < self._first:
            return
        row = (self._day, self._first, self.size, self._rounds, self._wagers)
        self._db.execute(DAY_ROW, row)
        for (kind, account), micros in self._flows.items():
            self._db.execute(FLOW, [self._day, kind, account, micros])
            self._accounts[account] += micros
        self._db.executemany(
            CLOSING, [(self._day, account, micros) for account, micros in self._accounts.items()]
        )
        self._flows.clear()
        self._first = self.size + 1
        self._rounds = self._wagers = 0


_KINDS: Final[dict[type, str]] = {
    kind: str(kind.__struct_config__.tag) for kind in e.AnyEntry.__args__
}
