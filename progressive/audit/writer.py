"""The one writer of a log folder: takes entries, seals them, closes segments, survives a crash.

What makes entries part of the log is the checkpoint, put in place after everything it covers is
durable. Whatever a crash leaves beyond it was never sealed, and is cut off when the log is opened
again; what it covers is never touched.
"""

import fcntl
import os
import threading
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

from progressive.audit import durable, merkle, note
from progressive.audit.checkpoint import Checkpoint
from progressive.audit.folder import LogFolder
from progressive.audit.manifest import About, ClosedSegment, Manifest
from progressive.audit.merkle import EMPTY_ROOT, Tree
from progressive.audit.note import Signature, Signer, Verifier
from progressive.audit.segments import Appender, LogDamaged

SEGMENT_ENTRIES = 50_000
ENTRY_BYTES_MAX = 1 << 20
REBUILD_ENTRIES = 10_000
_END, _CLOSED = "the growing end", "the closed segments"


class LogBusy(Exception):  # noqa: N818 - it is the log that is busy
    """Another process writes this log."""


class WriteFailed(Exception):  # noqa: N818 - the sentence reads better
    """An earlier write failed half-way: the log must be opened again before it takes more."""


def create(folder: Path, signer: Signer, segment_entries: int = SEGMENT_ENTRIES) -> None:
    """Make an empty log; the checkpoint of size 0, written last, is what makes it one."""
    if (folder / "checkpoint").exists() or (folder / "segments").exists():
        raise FileExistsError(f"{folder} holds a log already, or what is left of one")
    (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    (folder / "hashes").touch()
    Manifest(folder / "manifest.jsonl").create(About(signer.name, segment_entries))
    empty = Checkpoint(signer.name, 0, EMPTY_ROOT)
    durable.replace(folder / "checkpoint", bytes(note.sign(empty.text, signer)))
    (folder / "segments").mkdir()
    durable.sync_folder(folder)


class LogWriter(LogFolder):
    """Adds to a log; opening it takes the same time however old the log is."""

    writable = True

    def __init__(self, folder: Path, key: Verifier) -> None:
        with ExitStack() as undo:
            self._lock = _locked(folder)
            undo.callback(os.close, self._lock)
            super().__init__(folder, key)
            undo.callback(super().close)
            self._segments.folder.mkdir(exist_ok=True)
            self._recover()
            undo.pop_all()
        self._closings = threading.Lock()  # one thread seals, another closes segments
        self._halves: set[str] = set()  # what was begun and not finished
        self._tree = self._hashes.tree(self.size)
        self._end = Appender(self._segments, self.size)

    def close(self) -> None:
        """Let go of the folder; what is not sealed is cut off when it is opened again."""
        try:
            self._end.close()
        finally:
            super().close()
            os.close(self._lock)

    @property
    def appended(self) -> int:
        """Tell how many entries there are with those that are not sealed yet."""
        return self._tree.size

    @property
    def room(self) -> int:
        """Tell how many entries go into the open segment.

        A batch cut to it ends with the segment, so that the checkpoint which closes the segment
        is one that the witnesses saw.
        """
        return self._segments.length - self.appended % self._segments.length

    def append(self, entries: Sequence[bytes]) -> None:
        """Take entries in order; they are part of the log once `seal` has returned."""
        for entry in entries:
            if b"\n" in entry or len(entry) > ENTRY_BYTES_MAX:
                raise ValueError(f"an entry is one line of at most {ENTRY_BYTES_MAX:,} bytes")
        with self._writing(_END):
            before = self.appended
            self._end.append(entries)
            self._hashes.write(before, self._tree.extend(entries))

    def seal(self, signer: Signer) -> bytes:
        """Make all entries durable and sign the checkpoint that covers them."""
        self._insist_on_key(signer)
        with self._writing(_END):
            if self.appended > self.size:
                self._end.sync()
                self._hashes.sync()
                sealed = Checkpoint(self.key.name, self.appended, self._tree.root())
                self._put_latest(bytes(note.sign(sealed.text, signer)))
                if self.size % self._segments.length == 0:
                    self._put_closing(self.size, self.signed)
        return self.signed

    def add_signatures(self, size: int, signatures: Sequence[Signature]) -> None:
        """Keep witnesses' cosignatures with the checkpoint of this size, where it is kept."""
        if size == self.size:
            self._put_latest(_with(self.signed, signatures))
        closing = self._closing(size)
        with self._closings:
            if closing.exists():
                durable.replace(closing, _with(closing.read_bytes(), signatures))

    def close_segments(self, signer: Signer) -> int:
        """Compress and list the full segments that are sealed; returns how many.

        It takes a while, and may run in a thread of its own beside whoever appends and seals.
        """
        self._insist_on_key(signer)
        count = 0
        while self._closed_end() + self._segments.length <= self.size:
            with self._writing(_CLOSED):
                self._close_segment(self._closed_end(), signer)
            count += 1
        return count

    def rebuild_hashes(self) -> None:
        """Work the hash file out again from the sealed entries, and insist on the sealed root."""
        tree, entries = Tree(), self.entries()
        while batch := list(islice(entries, REBUILD_ENTRIES)):
            before = tree.size
            self._hashes.write(before, tree.extend(batch))
        if tree.root() != self.root:
            raise LogDamaged(f"{self.folder}: the entries are not those that were sealed")
        self._hashes.sync()

    def _recover(self) -> None:
        self._manifest.mend()
        if self._closed_end() > self.size:
            raise LogDamaged(
                f"{self.folder}: the checkpoint covers {self.size} entries, but the manifest "
                f"lists {self._closed_end()}: an old checkpoint was put in the place of a newer one"
            )
        if not self._hashes.holds(self.size, self.root):
            self.rebuild_hashes()
        self._insist_on_entries(self._segments.first(self.size), self.size)
        self._segments.cut(self.size)
        self._hashes.cut(self.size)
        last = self._manifest.last()
        if last is not None:
            self._segments.drop_plain(last.first)

    def _close_segment(self, first: int, signer: Signer) -> None:
        end = first + self._segments.length
        self._insist_on_entries(first, end)
        root = merkle.root_at(end, self._hashes.node)
        if not self._closing(end).exists():
            sealed = Checkpoint(self.key.name, end, root)
            signed = self.signed if end == self.size else bytes(note.sign(sealed.text, signer))
            self._put_closing(end, signed)
        line = ClosedSegment(
            first=first,
            last=end - 1,
            count=self._segments.length,
            sha256=self._segments.pack(first),
            file=self._segments.packed(first).relative_to(self.folder).as_posix(),
            root=b64encode(root).decode(),
            checkpoint=self._closing(end).relative_to(self.folder).as_posix(),
        )
        self._manifest.add(line)
        self._segments.drop_plain(first)

    def _insist_on_entries(self, start: int, end: int) -> None:
        """Compare entries with their hashes before anything is done that rests on them."""
        entries = self._segments.entries(start, end)
        for index, leaf in enumerate(self._hashes.leaves(start, end), start):
            if merkle.leaf_hash(next(entries)) != leaf:
                raise LogDamaged(f"{self.folder}: entry {index} is not the one that was sealed")

    def _insist_on_key(self, signer: Signer) -> None:
        if signer.verifier != self.key:
            raise ValueError(f"this log is signed by {self.key}, not by {signer.verifier}")

    def _closed_end(self) -> int:
        last = self._manifest.last()
        return last.end if last else 0

    def _put_closing(self, end: int, signed: bytes) -> None:
        """Keep a segment's checkpoint, unless whoever was faster has kept it."""
        with self._closings:
            if not self._closing(end).exists():
                durable.replace(self._closing(end), signed)

    def _put_latest(self, signed: bytes) -> None:
        durable.replace(self._latest, signed)
        self.refresh()

    @contextmanager
    def _writing(self, part: str) -> Iterator[None]:
        if part in self._halves:
            raise WriteFailed(f"{self.folder}: a write failed; open the log again")
        self._halves.add(part)
        yield
        self._halves.discard(part)


def _with(signed: bytes, signatures: Sequence[Signature]) -> bytes:
    opened = note.parse(signed)
    new = {(one.name, one.key_id): one for one in (*opened.unverified, *signatures)}
    return bytes(note.Note(opened.text, tuple(new.values())))


def _locked(folder: Path) -> int:
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise LogBusy(f"{folder}: another process writes this log") from None
    return handle
