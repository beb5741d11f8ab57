"""Asking a witness, in a thread of its own: a slow or absent one holds up nothing.

A witness only ever goes forward, so it is asked for the end of every full segment in order, and in
between for whatever checkpoint is the newest when its last answer is in.
"""

import threading
from collections.abc import Callable

from progressive.audit import note
from progressive.audit.alarms import Alarm, Alarms
from progressive.audit.folder import LogFolder
from progressive.audit.note import Signature, Verifier
from progressive.audit.witness_client import (
    WitnessAway,
    WitnessClient,
    WitnessConflict,
    WitnessError,
)

AGAIN_AFTER_S = (1.0, 2.0, 5.0, 15.0)  # after failures in a row
LOOK_BACK_SEGMENTS = 100
AWAY, REFUSED, CONFLICT, FAILED = (
    "witness_away",
    "witness_refused",
    "witness_conflict",
    "witness_not_asked",
)

Record = Callable[[int, Signature], None]


class Cosigning:
    """One witness of one log: is told of every seal, hands cosignatures to `record`."""

    def __init__(
        self, witness: WitnessClient, log: LogFolder, record: Record, alarms: Alarms
    ) -> None:
        self._witness = witness
        self._folder = log.folder
        self._key = log.key
        self._record = record
        self._alarms = alarms
        self._turn = threading.Condition()
        self._stopped = False
        self._end = _last_cosigned_end(log, witness.key)
        self._newest = log.size
        self._asked = -1
        self._failures = 0
        self._thread = threading.Thread(target=self._run, name=f"witness {witness.url}")

    def start(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def stop(self) -> None:
        """Ask no more, but for the last checkpoint if the witness was there until now."""
        with self._turn:
            self._stopped = True
            self._turn.notify()
        if self._thread.is_alive():
            self._thread.join()

    def tell(self, size: int) -> None:
        """Say that there is a new checkpoint."""
        with self._turn:
            self._newest = size
            self._turn.notify()

    def _run(self) -> None:
        with LogFolder(self._folder, self._key) as log:
            while self._wait():
                self._try(log)
            if self._newest != self._asked and not self._failures:
                self._try(log)

    def _try(self, log: LogFolder) -> None:
        try:
            self._ask(log)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next checkpoint is asked for
            self._fail(error)

    def _wait(self) -> bool:
        """Wait until there is something to ask, and after failures a while longer."""
        with self._turn:
            if self._failures:
                pause_s = AGAIN_AFTER_S[min(self._failures, len(AGAIN_AFTER_S)) - 1]
                self._turn.wait_for(lambda: self._stopped, pause_s)
            self._turn.wait_for(lambda: self._stopped or self._newest != self._asked)
            return not self._stopped

    def _ask(self, log: LogFolder) -> None:
        log.refresh()
        step = log.segment_entries
        for end in range(self._end + step, log.size, step):
            self._ask_for_end(log, end)
            self._end = end
        found = self._witness.cosign(log.signed, log.consistency_proof)
        self._record(log.size, found)
        self._asked = log.size
        self._failures = 0
        for code in (AWAY, REFUSED, CONFLICT, FAILED):
            self._alarms.clear(code, self._key.name, self._witness.url)

    def _ask_for_end(self, log: LogFolder, size: int) -> None:
        signed = log.checkpoint_at(size)
        if signed is None:
            return
        try:
            self._record(size, self._witness.cosign(signed, log.consistency_proof))
        except WitnessConflict:
            return  # it is past this one already; whether that is right, the newest will tell

    def _fail(self, error: Exception) -> None:
        self._failures += 1
        code = FAILED
        if isinstance(error, WitnessConflict):
            code = CONFLICT
        elif isinstance(error, WitnessAway):
            code = AWAY
        elif isinstance(error, WitnessError):
            code = REFUSED
        self._alarms.raise_(
            Alarm(code=code, log=self._key.name, about=self._witness.url, message=str(error))
        )


def _last_cosigned_end(log: LogFolder, witness: Verifier) -> int:
    """Find the segment's end up to which this witness need not be asked any more."""
    end = log.size - log.size % log.segment_entries
    for _ in range(LOOK_BACK_SEGMENTS):
        signed = log.checkpoint_at(end)
        if signed is None or _is_signed(signed, witness):
            break
        end -= log.segment_entries
    return end


def _is_signed(signed: bytes, key: Verifier) -> bool:
    lines = note.parse(signed).unverified
    return (key.name, key.key_id) in {(one.name, one.key_id) for one in lines}
