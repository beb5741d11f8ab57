"""What a witness remembers: its key, and the last checkpoint of every log that it cosigned.

The record is written before anything is signed. Without it the same key could sign a second
history, so a witness that has its key but not its record does not start, nor the other way round.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import msgspec

from progressive.audit import durable, key_file, note
from progressive.audit.checkpoint import Checkpoint, Cosigner
from progressive.audit.merkle import EMPTY_ROOT

EVIDENCE_MAX = 1000


class RecordError(Exception):
    """The witness cannot go on with the folder it has; says what to do."""


class WitnessRecord:
    """A witness's folder; every process that uses it takes its turn."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._state = folder / "state.json"
        self._key = folder / "witness.key"

    def prepare(self, name: str) -> Cosigner:
        """Read the witness's key, made under this name if the folder is new."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.turn():
            if not self._state.exists():
                if self._key.exists():
                    raise RecordError(
                        f"{self.folder} has a key but no record of what it signed. Put state.json "
                        "back, or start with an empty folder: the witness then has a new key"
                    )
                durable.create(self._state, b"{}\n")
            if not self._key.exists():
                if self._read():
                    raise RecordError(
                        f"{self.folder} has a record but no key. Put witness.key back, or start "
                        "with an empty folder: the witness then has a new key"
                    )
                key_file.make(self._key, Cosigner.generate(name))
        return key_file.read(self._key, Cosigner)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep every other request and process out until the record is written."""
        handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def last(self, origin: str) -> Checkpoint:
        """Give the last checkpoint cosigned for a log: the empty one if there is none."""
        signed = self._read().get(origin)
        if signed is None:
            return Checkpoint(origin, 0, EMPTY_ROOT)
        return Checkpoint.parse(note.parse(signed.encode()).text)

    def keep(self, origin: str, signed: bytes) -> None:
        """Write down, durably, the checkpoint that is about to be cosigned."""
        state = self._read() | {origin: signed.decode()}
        durable.replace(self._state, msgspec.json.format(msgspec.json.encode(state)) + b"\n")

    def keep_evidence(self, kind: str, request: bytes) -> None:
        """Keep a request with a checkpoint that does not extend what its log signed before.

        Two roots of one size convict the log. A bad proof alone does not: anyone can send one, so
        each kind has a limit of its own.
        """
        folder = self.folder / "evidence"
        folder.mkdir(exist_ok=True)
        path = folder / f"{kind}-{sha256(request).hexdigest()}"
        if not path.exists() and sum(1 for _ in folder.glob(f"{kind}-*")) < EVIDENCE_MAX:
            durable.replace(path, request)

    def _read(self) -> dict[str, str]:
        try:
            return msgspec.json.decode(self._state.read_bytes(), type=dict[str, str])
        except (FileNotFoundError, msgspec.DecodeError) as error:
            raise RecordError(f"{self._state} cannot be read: {error}") from None
