"""Sealed balances: the state in the journal once a gaming day, and what lies behind it trimmed."""

import datetime as dt

import msgspec

from meters.errors import Refused
from progressive.audit.stream import JournalStream
from progressive.gaming_day import GamingDays

EVERY_ENTRIES = 50_000
BY = "sealer"
LATER = {"not_audited", "tables_changed"}  # refusals that pass: it is tried again


class _Timed(msgspec.Struct):
    t: int


class Balances:
    """Has a link's state written down when it is due, and tells the link what is sealed."""

    def __init__(
        self, stream: JournalStream, days: GamingDays, every_entries: int = EVERY_ENTRIES
    ) -> None:
        self._stream = stream
        self._meters = stream.meters
        self._days = days
        self._every = every_entries
        self._last: tuple[int, dt.date] | None = None

    def look(self, sealed: int) -> None:
        """Report the cursor, whereupon the journal is trimmed, and write a balance if one is due.

        The link itself trims, behind its last balance and only once that is sealed.
        """
        balance = self._meters.run(self._meters.calls.sealed(sealed)).balance
        if sealed and self._is_due(sealed, balance):
            self._write()

    def _is_due(self, sealed: int, balance: int) -> bool:
        if sealed - balance >= self._every:
            return True
        today = self._days.day_of(self._stream.server_time_ms())
        return today > self._day_of(balance or 1)

    def _day_of(self, entry: int) -> dt.date:
        if self._last is None or self._last[0] != entry:
            [line] = self._stream.read(entry, 1)
            moment = msgspec.json.decode(line, type=_Timed).t
            self._last = entry, self._days.day_of(moment)
        return self._last[1]

    def _write(self) -> None:
        try:
            self._meters.run(self._meters.calls.balance(self._meters.tables(), BY))
        except Refused as refusal:
            if refusal.code not in LATER:
                raise
