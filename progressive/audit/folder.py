"""A log folder as anyone may read it: what the latest checkpoint covers, and proofs of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from progressive.audit import checkpoint, merkle
from progressive.audit.checkpoint import Checkpoint, CheckpointError
from progressive.audit.hash_file import HashFile
from progressive.audit.manifest import ClosedSegment, Manifest
from progressive.audit.merkle import ProofError
from progressive.audit.note import NoteError, Verifier
from progressive.audit.proof import Proof
from progressive.audit.segments import DIGITS, LogDamaged, Segments


class LogFolder:
    """Reads a log beside its writer: nothing that is sealed ever changes.

    The layout is `checkpoint` (the latest), `checkpoints/` (those that close segments),
    `segments/`, `hashes` and `manifest.jsonl`.
    """

    writable = False

    def __init__(self, folder: Path, key: Verifier) -> None:
        self.folder = folder
        self.key = key
        self._manifest = Manifest(folder / "manifest.jsonl")
        if not self._latest.exists():
            raise LogDamaged(f"{folder} has no checkpoint: it is not a log, or has lost it")
        about = self._manifest.about()
        if about.log != key.name:
            raise LogDamaged(f"{folder} is the log of {about.log}, not of {key.name}")
        self._segments = Segments(folder / "segments", about.segment_entries)
        self.refresh()
        self._hashes = HashFile(folder / "hashes", writable=self.writable)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder."""
        self._hashes.close()

    def refresh(self) -> None:
        """Take up the latest checkpoint, which a writer may have moved on."""
        self.signed = self._latest.read_bytes()
        try:
            self.checkpoint: Checkpoint = checkpoint.verify(self.signed, self.key)[0]
        except (NoteError, CheckpointError) as error:
            raise LogDamaged(f"{self._latest}: {error}") from None

    @property
    def size(self) -> int:
        """Tell how many entries are sealed."""
        return self.checkpoint.size

    @property
    def root(self) -> bytes:
        """Give the sealed root."""
        return self.checkpoint.root

    def entries(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Give the sealed entries from a number on."""
        return self._segments.entries(start, self.size if end is None else min(end, self.size))

    def entry(self, index: int) -> bytes:
        """Give one sealed entry; in a closed segment this unpacks the segment up to it."""
        if not 0 <= index < self.size:
            raise IndexError(f"entry {index} is not sealed; {self.size} are")
        return next(self.entries(index, index + 1))

    def closed(self) -> Iterator[ClosedSegment]:
        """Give the closed segments in order."""
        return self._manifest.closed()

    def closing_checkpoint(self, segment: ClosedSegment) -> bytes:
        """Give the signed checkpoint that closes a segment."""
        return (self.folder / segment.checkpoint).read_bytes()

    @property
    def segment_entries(self) -> int:
        """Tell how many entries a full segment has."""
        return self._segments.length

    def checkpoint_at(self, size: int) -> bytes | None:
        """Give the signed checkpoint of a segment's end, if it is kept."""
        path = self._closing(size)
        return path.read_bytes() if path.exists() else None

    def inclusion_proof(self, index: int, size: int | None = None) -> list[bytes]:
        """Prove that an entry is in the log, at a sealed size of now or earlier."""
        size = self._sealed(size)
        path = merkle.inclusion_proof(index, size, self._hashes.node)
        leaf = self._hashes.node(0, index)
        with self._hashes_agree():
            merkle.check_inclusion(index, size, leaf, path, self._root_at(size))
        return path

    def consistency_proof(self, old: int, new: int | None = None) -> list[bytes]:
        """Prove that the log of one size begins with the log of an earlier one."""
        new = self._sealed(new)
        path = merkle.consistency_proof(old, new, self._hashes.node)
        with self._hashes_agree():
            merkle.check_consistency(old, new, self._root_at(old), self._root_at(new), path)
        return path

    def proof(self, index: int, extra: bytes | None = None) -> Proof:
        """Make the file that shows offline that an entry is in the log as it is sealed now."""
        found = Proof(index, tuple(self.inclusion_proof(index)), self.signed, extra)
        with self._hashes_agree():
            found.verify(self.entry(index), self.key)
        return found

    @property
    def _latest(self) -> Path:
        return self.folder / "checkpoint"

    def _closing(self, end: int) -> Path:
        return self.folder / "checkpoints" / f"{end:0{DIGITS}}"

    def _root_at(self, size: int) -> bytes:
        return self.root if size == self.size else merkle.root_at(size, self._hashes.node)

    def _sealed(self, size: int | None) -> int:
        if size is not None and size > self.size:
            raise ProofError(f"the log is sealed up to {self.size}, not {size}")
        return self.size if size is None else size

    @contextmanager
    def _hashes_agree(self) -> Iterator[None]:
        try:
            yield
        except ProofError as error:
            raise LogDamaged(
                f"{self.folder}: entries and hashes do not agree with the checkpoint: {error}"
            ) from None
