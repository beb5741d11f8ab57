"""When each device last posted, and for which table: for whoever looks for a fault."""

import threading
import time
from typing import Any, Final, cast

from meters.connect import FAILURES
from meters.site import SiteJournal

RECORD: Final = "seen"
EVERY_S: Final = 5.0  # a hub that is silent shows so much later, and one call writes down all
JOINT: Final = "/"  # in no device's name


class LastSeen:
    """Kept in memory by each process and written down in one call now and then: posts never wait.

    Of two processes the one that wrote last is believed, so a time may be a few seconds old.
    """

    def __init__(self, journal: SiteJournal) -> None:
        self._journal = journal
        self._latest: dict[str, int] = {}
        self._written: dict[str, int] = {}

    def note(self, device: str, table: str, now_ms: int) -> None:
        """Remember that a device was heard."""
        self._latest[f"{device}{JOINT}{table}"] = now_ms

    def write(self) -> None:
        """Write down what is new since the last time."""
        latest = self._latest.copy()
        new: dict[Any, Any] = {
            field: at for field, at in latest.items() if self._written.get(field) != at
        }
        if new:
            self._journal.client.hset(self._journal.key(RECORD), mapping=new)
        self._written = latest

    def keep_writing(self) -> None:
        """Write every few seconds, until the process ends."""
        threading.Thread(target=self._write_for_ever, name="last-seen", daemon=True).start()

    def _write_for_ever(self) -> None:
        while True:
            time.sleep(EVERY_S)
            try:
                self.write()
            except FAILURES:  # told by every request; what is new is written once it is back
                continue


def last_seen(journal: SiteJournal) -> dict[str, dict[str, int]]:
    """Read for each device when it last posted for each table, in ms."""
    found = cast("dict[str, str]", journal.client.hgetall(journal.key(RECORD)))
    seen: dict[str, dict[str, int]] = {}
    for field, at in sorted(found.items()):
        device, _, table = field.partition(JOINT)
        seen.setdefault(device, {})[table] = int(at)
    return seen
