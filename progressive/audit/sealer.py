"""The sealer of one journal: its entries become the log, in order, within a second."""

import math
import sqlite3
import threading
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from progressive.audit import writer
from progressive.audit.alarms import Alarm, Alarms
from progressive.audit.balances import Balances
from progressive.audit.cosigning import Cosigning
from progressive.audit.index import Index, is_damaged
from progressive.audit.index_file import index_file, remove_index
from progressive.audit.note import Signature, Signer
from progressive.audit.stream import JournalGap, JournalStream
from progressive.audit.witness_client import WitnessClient
from progressive.audit.writer import SEGMENT_ENTRIES, LogWriter

BATCH_ENTRIES = 5_000
BLOCK_MS = 500
LOOK_S = 1.0
PAUSE_S = 0.02  # between small batches, so that a busy floor does not mean a file sync an entry
SMALL_BATCH = 500
COMPARED_ENTRIES = 1_000
TRY_AGAIN_S = 30.0  # what lies beside the log: its index, and closing full segments


class SealRefused(Exception):  # noqa: N818 - it is the seal that is refused
    """Journal and log do not belong together; says why. Neither was changed."""


def open_log(folder: Path, signer: Signer, segment_entries: int = SEGMENT_ENTRIES) -> LogWriter:
    """Open a journal's log, or begin it."""
    if not (folder / "checkpoint").exists():
        writer.create(folder, signer, segment_entries)
    return LogWriter(folder, signer.verifier)


class Sealer:
    """Takes one journal into its log; the index, balances and witnesses follow what is sealed."""

    def __init__(  # noqa: PLR0913 - what it keeps in step with each other
        self,
        stream: JournalStream,
        log: LogWriter,
        signer: Signer,
        alarms: Alarms,
        *,
        index: Index | None = None,
        balances: Balances | None = None,
        witnesses: Sequence[WitnessClient] = (),
    ) -> None:
        self._stream = stream
        self._log = log
        self._signer = signer
        self._alarms = alarms
        self._index = index
        self._balances = balances
        self._checkpoint = threading.Lock()  # witnesses' threads write to it as well
        self._asking = [Cosigning(each, log, self._record, alarms) for each in witnesses]
        self._closing: threading.Thread | None = None
        self._looked = 0.0
        self._checked = False
        self._begun = False
        self._try_again_at = math.inf

    def try_again_later(self) -> None:
        """Let `run` return in a while, so that the log and what lies beside it are opened anew."""
        self._try_again_at = min(self._try_again_at, time.monotonic() + TRY_AGAIN_S)

    def run(self, stop: threading.Event) -> None:
        """Seal until told to stop, or until something beside the log is to be tried again."""
        try:
            for asking in self._asking:
                asking.start()
            while not stop.is_set() and time.monotonic() < self._try_again_at:
                count = self.step(0 if self._is_behind() else BLOCK_MS)
                if 0 < count < SMALL_BATCH:
                    stop.wait(PAUSE_S)
        finally:
            self._stop()

    def catch_up(self) -> None:
        """Seal what is there now, bring the index up to it, close what is full."""
        try:
            for asking in self._asking:
                asking.start()
            for _ in range(2):  # the second time for a balance that the first had written
                while self.step(0) or self._is_behind():
                    pass
                self._look()
        finally:
            self._stop()

    def step(self, block_ms: int) -> int:
        """Seal one batch, waiting for its first entry; gives how many entries it had."""
        if not self._checked:
            self.check()
        if not self._begun:
            self._begun = True
            self._close_segments()  # whatever a crash left open
        first, count = self._log.size + 1, min(BATCH_ENTRIES, self._log.room)
        try:
            if block_ms:
                lines = self._stream.wait(first, count, block_ms)
            else:
                lines = self._stream.read(first, count)
        except JournalGap as gap:
            raise SealRefused(f"{gap}; put the newest log back, or the newest data") from None
        if lines:
            self._seal(lines)
        self._follow(lines)
        if time.monotonic() >= self._looked + LOOK_S:
            self._look()
        return len(lines)

    def check(self) -> None:
        """Insist that the journal goes on where the log ends, and has what the log has."""
        size = self._log.size
        first, last = self._stream.ends()
        if last < size:
            raise SealRefused(
                f"the log holds {size} entries, and the journal ends at {last}: this server is "
                "behind its seal. Restore the newest data; do not go on from here"
            )
        if first > size + 1:
            raise SealRefused(
                f"entry {size + 1} is next, and the journal begins at {first}: put the newest "
                "log back; without it what was trimmed is lost"
            )
        if first and first <= size:
            self._compare(first, first)
            self._compare(max(first, size - COMPARED_ENTRIES + 1), size)
        self._checked = True

    def _compare(self, first: int, last: int) -> None:
        held = self._stream.read(first, last - first + 1)
        for number, sealed in enumerate(self._log.entries(first - 1, last), first):
            if held[number - first] != sealed:
                raise SealRefused(
                    f"entry {number} of the journal is not the one that was sealed: one of the two "
                    "was changed, or the server went on from old data. Keep both, and find out"
                )

    def _seal(self, lines: list[bytes]) -> None:
        with self._checkpoint:
            self._log.append(lines)
            self._log.seal(self._signer)
        for asking in self._asking:
            asking.tell(self._log.size)
        if self._log.room == self._log.segment_entries:
            self._close_segments()

    def _record(self, size: int, signature: Signature) -> None:
        with self._checkpoint:
            self._log.add_signatures(size, [signature])

    def _close_segments(self) -> None:
        """Compress beside the sealing: a full segment takes most of a second."""
        if self._closing:
            self._closing.join()
        self._closing = threading.Thread(target=self._close_full, name="close segments")
        self._closing.start()

    def _close_full(self) -> None:
        name = self._log.key.name
        try:
            self._log.close_segments(self._signer)
        except Exception as error:  # noqa: BLE001 - whatever it is, the sealing goes on without it
            message = f"a segment could not be closed: {error}"
            self._alarms.raise_(Alarm(code="segment_not_closed", log=name, message=message))
            self.try_again_later()
        else:
            self._alarms.clear("segment_not_closed", name)

    def _is_behind(self) -> bool:
        return self._index is not None and self._index.size < self._log.size

    def _follow(self, lines: list[bytes]) -> None:
        """Bring the index nearer to the log: at once, or what it missed in slices."""
        if self._index is None or not self._is_behind():
            return
        if self._index.size != self._log.size - len(lines):
            lines = list(islice(self._log.entries(self._index.size), BATCH_ENTRIES))
        try:
            self._index.take(lines)
        except Exception as error:  # noqa: BLE001 - whatever it is, the sealing goes on without it
            if isinstance(error, sqlite3.Error) and is_damaged(error):
                remove_index(self._log.folder)  # it is made again from the entries
            self._stop_index(f"the index stops at entry {self._index.size}: {error}")
        else:
            if not self._is_behind():
                self._alarms.clear("index_stopped", self._log.key.name)

    def _stop_index(self, message: str) -> None:
        alarm = Alarm(code="index_stopped", log=self._log.key.name, message=message)
        self._alarms.raise_(alarm)
        self._index = None
        self.try_again_later()

    def _look(self) -> None:
        """Once a second: balances, the cursor, and whether journal and index are still there."""
        self._looked = time.monotonic()
        if self._index is not None and not index_file(self._log.folder).exists():
            self._stop_index("the index was taken away: it is made again")
        if self._stream.ends()[1] < self._log.size:
            self.check()
        if self._balances and self._log.size:
            self._balances.look(self._log.size)

    def _stop(self) -> None:
        for asking in self._asking:
            asking.stop()
        if self._closing:
            self._closing.join()
