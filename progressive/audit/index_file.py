"""Where a log's index is, and making it again."""

import datetime as dt
import sqlite3
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from progressive.audit.folder import LogFolder
from progressive.audit.index import SUFFIX, Index, IndexStale
from progressive.gaming_day import GamingDays

BATCH_ENTRIES = 5_000
Progress = Callable[[int, int], None]  # entries done, entries in all


def open_index(folder: Path, days: GamingDays, size: int) -> Index:
    """Open the index beside a log, or begin it anew where it does not belong to the log."""
    path = index_file(folder)
    try:
        index = Index(path, days)
        if index.size <= size:
            return index
        index.close()
    except IndexStale:
        pass
    remove_index(folder)
    return Index(path, days)


def index_file(folder: Path) -> Path:
    """Name the index of a log."""
    return folder.with_name(folder.name + SUFFIX)


def remove_index(folder: Path) -> None:
    """Throw an index away, with what SQLite keeps beside it."""
    path = index_file(folder)
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def rebuild_index(log: LogFolder, days: GamingDays, progress: Progress | None = None) -> int:
    """Make a log's index again from its entries; gives how many."""
    remove_index(log.folder)
    index = Index(index_file(log.folder), days)
    try:
        fill(index, log, progress)
    finally:
        index.close()
    return index.size


def fill(index: Index, log: LogFolder, progress: Progress | None = None) -> None:
    """Bring an index up to its log."""
    entries = log.entries(index.size)
    while batch := list(islice(entries, BATCH_ENTRIES)):
        index.take(batch)
        if progress:
            progress(index.size, log.size)


def known_days(folder: Path) -> GamingDays | None:
    """Tell with which gaming days a log's index was made, if there is one."""
    path = index_file(folder)
    if not path.exists():
        return None
    db = sqlite3.connect(path)
    try:
        about = dict(db.execute("SELECT name, value FROM about").fetchall())
        return GamingDays(about["zone"], dt.time.fromisoformat(about["starts"]))
    except (sqlite3.DatabaseError, KeyError, ValueError):
        return None
    finally:
        db.close()
