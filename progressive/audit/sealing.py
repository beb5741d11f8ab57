"""Sealing a whole site: every journal has a log of its own, and trouble of its own."""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from meters.connect import FAILURES
from meters.errors import Refused
from meters.server_error import ServerError
from progressive.audit import log_key
from progressive.audit.alarms import Alarm, Alarms
from progressive.audit.balances import EVERY_ENTRIES, Balances
from progressive.audit.checkpoint import CosignatureVerifier
from progressive.audit.index import Index
from progressive.audit.index_file import open_index
from progressive.audit.note import Signer
from progressive.audit.sealer import Sealer, SealRefused, open_log
from progressive.audit.segments import LogDamaged
from progressive.audit.stream import JournalStream
from progressive.audit.witness_client import WitnessClient
from progressive.audit.writer import SEGMENT_ENTRIES, LogBusy, LogWriter
from progressive.gaming_day import GamingDays

SITE = "site"  # the journal of users, devices, keys and starts
AGAIN_S = 1.0
AWAY, REFUSED, UNWRITTEN, FAILED = (
    "journal_away",
    "seal_refused",
    "log_not_written",
    "sealer_failed",
)


@dataclass(frozen=True)
class Plan:
    """What is sealed, where to, and who is asked to witness it."""

    logs: Path
    key: Signer
    links: Sequence[str]
    days: GamingDays
    witnesses: Sequence[tuple[str, CosignatureVerifier]] = ()
    segment_entries: int = SEGMENT_ENTRIES
    balance_entries: int = EVERY_ENTRIES

    @property
    def journals(self) -> tuple[str, ...]:
        """Name every journal: one a link, and the site's."""
        return (*self.links, SITE)


class Sealing:
    """Seals every journal in a thread of its own until it is told to stop."""

    def __init__(self, plan: Plan, connect: Callable[[], Redis], alarms: Alarms) -> None:
        self.plan = plan
        self.alarms = alarms
        self._connect = connect
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._keep, args=[name], name=f"seal {name}")
            for name in plan.journals
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop after the batch at hand, and wait until everything is put away."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def once(self) -> None:
        """Seal what is there now; whatever stands in the way is raised."""
        for name in self.plan.journals:
            with ExitStack() as stack:
                self._sealer(stack, name).catch_up()

    def _keep(self, name: str) -> None:
        """Seal one journal, beginning again after every failure."""
        log = f"{self.plan.key.name}/{name}"
        while not self._stop.is_set():
            code = FAILED
            try:
                with ExitStack() as stack:
                    sealer = self._sealer(stack, name)
                    sealer.check()
                    for each in (AWAY, REFUSED, UNWRITTEN, FAILED):
                        self.alarms.clear(each, log)
                    sealer.run(self._stop)
                continue
            except (SealRefused, LogDamaged, LogBusy, Refused) as error:
                code, message = REFUSED, str(error)
            except (*FAILURES, ServerError) as error:
                code = UNWRITTEN if _is_of_the_disk(error) else AWAY
                message = f"{type(error).__name__}: {error}"
            except Exception as error:  # noqa: BLE001 - one journal's trouble is not the others'
                message = f"{type(error).__name__}: {error}"
            self.alarms.raise_(Alarm(code=code, log=log, message=message))
            self._stop.wait(AGAIN_S)

    def _sealer(self, stack: ExitStack, name: str) -> Sealer:
        plan = self.plan
        folder, signer = plan.logs / name, log_key.signer_of(plan.key, name)
        log = stack.enter_context(open_log(folder, signer, plan.segment_entries))
        log_key.publish(folder, signer.verifier)
        stream = JournalStream(stack.enter_context(closing(self._connect())), name)
        index, balances = None, None
        if name != SITE:
            index = self._index(stack, folder, log)
            balances = Balances(stream, plan.days, plan.balance_entries)
        witnesses = [WitnessClient(url, key) for url, key in plan.witnesses]
        sealer = Sealer(
            stream, log, signer, self.alarms, index=index, balances=balances, witnesses=witnesses
        )
        if name != SITE and index is None:
            sealer.try_again_later()
        return sealer

    def _index(self, stack: ExitStack, folder: Path, log: LogWriter) -> Index | None:
        """Open a log's index; the log is sealed without it where that cannot be."""
        try:
            return stack.enter_context(closing(open_index(folder, self.plan.days, log.size)))
        except (sqlite3.Error, OSError) as error:
            message = f"the index cannot be opened: {error}"
            self.alarms.raise_(Alarm(code="index_stopped", log=log.key.name, message=message))
            return None


def _is_of_the_disk(error: Exception) -> bool:
    """Tell a disk that is full or cannot be written from a server that is away."""
    return isinstance(error, OSError) and not isinstance(error, (ConnectionError, TimeoutError))
