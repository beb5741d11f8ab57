"""A device's store: what it is about to send lies on disk until it knows the answer."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from meters.calls import Message

Answer = dict[str, Any]


class Sent(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """A call before it is sent, and the journal entries that it will be known by."""

    label: str
    keys: list[str]
    function: str = ""
    at: Sequence[str] = ()
    args: Sequence[str | int] = ()
    said: Sequence[Message] = ()


class Told(msgspec.Struct, frozen=True, tag=True):
    """What a call was answered with."""

    label: str
    keys: list[str]
    answers: list[Answer]


class Over(msgspec.Struct, frozen=True, tag=True):
    """A round of all tables that nothing is to be done for any more."""

    round: int


class Seen(msgspec.Struct, tag=True):
    """What a player met on its way."""

    repeats: int = 0  # calls that were sent twice on purpose
    decided_again: int = 0
    down: int = 0  # tries that found no server
    closed: int = 0  # tries that were refused, as the link had not been audited


Record = Sent | Told | Over | Seen
_records = msgspec.json.Decoder(Record)


def read_record(line: bytes) -> Record:
    record: Record = _records.decode(line)
    return record


class Store:
    """A player's store: a file of records, the last of which may be torn."""

    def __init__(self, path: Path) -> None:
        self.told: dict[str, Told] = {}  # of this round
        self.pending: Sent | None = None
        self.sequences: dict[str, int] = {}
        self.rounds = self.steps = 0
        known = path.read_bytes() if path.exists() else b""
        whole = known[: known.rfind(b"\n") + 1]
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.ftruncate(self._file, len(whole))
        for line in whole.splitlines():
            self._take(read_record(line))

    def write(self, record: Record) -> None:
        os.write(self._file, msgspec.json.encode(record) + b"\n")
        if isinstance(record, Sent):
            os.fsync(self._file)
        self._take(record)

    def _take(self, record: Record) -> None:
        if isinstance(record, Sent):
            self.pending = record
        elif isinstance(record, Told):
            assert self.pending is not None
            self.sequences |= {said.device: said.sequence for said in self.pending.said}
            self.told[record.label] = record
            self.steps += len(record.keys)
            self.pending = None
        elif isinstance(record, Over):
            self.rounds = record.round
            self.told.clear()
