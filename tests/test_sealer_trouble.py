"""Trouble around the sealer: it raises an alarm, play goes on, and nothing is lost or repeated."""

import gc
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from play import Play
from redis import Redis
from sealed import (
    KEY,
    head,
    history_of,
    journal,
    plan,
    seal_once,
    sealed_lines,
    sealing,
    size_of,
    witness,
)
from servers import wait_for

from meters.server import EmbeddedServer
from progressive.audit import log_key, sealer, writer
from progressive.audit.index_file import index_file
from progressive.audit.sealing import Sealing
from progressive.audit.writer import LogWriter

SIGNER = log_key.signer_of(KEY, "royal")


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealer, "TRY_AGAIN_S", 0.1)


def codes(running: Sealing) -> set[str]:
    return {alarm.code for alarm in running.alarms.current}


# The disk


def test_what_a_full_disk_held_back_is_not_written_later(tmp_path: Path) -> None:
    lines = [b'{"n":%d}' % number for number in range(1, 400)]
    writer.create(tmp_path / "log", SIGNER)
    failed = LogWriter(tmp_path / "log", SIGNER.verifier)
    failed.append(lines[:100])
    failed.seal(SIGNER)
    segment = tmp_path / "log" / "segments" / "000000000000.log"
    with files_end_at(segment.stat().st_size + 50):
        with pytest.raises(OSError, match="too large"):
            failed.append(lines[100:200])
        with suppress(OSError):
            failed.close()
    with LogWriter(tmp_path / "log", SIGNER.verifier) as log:
        log.append(lines[100:])
        log.seal(SIGNER)
        del failed
        gc.collect()  # whatever a buffer held would be written now
        assert list(log.entries()) == lines
    assert segment.read_bytes() == b"".join(line + b"\n" for line in lines)


def test_a_full_disk_is_an_alarm_until_there_is_room_again(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = Play(client)
    floor.play(10)
    logs = tmp_path / "log"
    with (
        witness(tmp_path / "witness") as known,
        sealing(plan(logs, known, segment_entries=100), server) as running,
    ):
        wait_for(lambda: size_of(logs) == head(client))
        for _ in range(3):
            sealed = size_of(logs)
            with files_end_at(200):
                floor.play(30)
                wait_for(lambda: "log_not_written" in codes(running))
            assert size_of(logs) == sealed
            wait_for(lambda: size_of(logs) == head(client))
        wait_for(lambda: not running.alarms.current)
    assert sealed_lines(logs) == journal(client)


# What lies beside the log


def _not_a_database(path: Path) -> None:
    path.write_bytes(b"\x00no database\xff" * 1000)


def _damaged_inside(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


def _of_an_older_version(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE closings")


def _with_no_size(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE about SET value = 'many' WHERE name = 'size'")


@pytest.mark.parametrize(
    "harm", [_not_a_database, _damaged_inside, _of_an_older_version, _with_no_size]
)
def test_a_damaged_index_is_made_again_and_does_not_stop_the_sealing(
    client: Redis, server: EmbeddedServer, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    floor = Play(client)
    floor.play(60)
    seal_once(plan(tmp_path), server)
    harm(index_file(tmp_path / "royal"))
    floor.play(5)
    with sealing(plan(tmp_path), server) as running:
        wait_for(lambda: size_of(tmp_path) == head(client))
        wait_for(lambda: _indexed(tmp_path) == head(client))
        wait_for(lambda: not running.alarms.current)
    assert history_of(tmp_path).round_of("T1", 1) is not None


def test_an_index_that_cannot_be_opened_is_tried_again(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    Play(client).play(10)
    path = index_file(tmp_path / "royal")
    path.mkdir()
    with sealing(plan(tmp_path), server) as running:
        wait_for(lambda: size_of(tmp_path) == head(client))
        wait_for(lambda: codes(running) == {"index_stopped"})
        path.rmdir()
        wait_for(lambda: not running.alarms.current)
        wait_for(lambda: _indexed(tmp_path) == head(client))


def test_an_index_that_is_taken_away_is_made_again(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    Play(client).play(10)
    with sealing(plan(tmp_path), server):
        wait_for(lambda: _indexed(tmp_path) == head(client))
        for suffix in ("", "-wal", "-shm"):
            Path(f"{index_file(tmp_path / 'royal')}{suffix}").unlink(missing_ok=True)
        wait_for(lambda: _indexed(tmp_path) == head(client))


def test_a_segment_that_could_not_be_closed_is_closed_later(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = Play(client)
    in_the_way = tmp_path / "royal" / "segments" / "000000000000.log.gz.new"
    with sealing(plan(tmp_path, segment_entries=100), server) as running:
        wait_for(lambda: size_of(tmp_path) == head(client))
        in_the_way.mkdir()
        floor.play(50)
        wait_for(lambda: size_of(tmp_path) == head(client))
        wait_for(lambda: codes(running) == {"segment_not_closed"})
        in_the_way.rmdir()
        wait_for(lambda: not running.alarms.current)
        wait_for(lambda: len(list((tmp_path / "royal" / "segments").glob("*.gz"))) == 2)
    assert sealed_lines(tmp_path) == journal(client)


def _indexed(logs: Path) -> int:
    """Tell how far the index is; nowhere while there is none."""
    path = index_file(logs / "royal")
    if not path.is_file():
        return 0
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return int(db.execute("SELECT value FROM about WHERE name = 'size'").fetchone()[0])
    except (sqlite3.DatabaseError, TypeError, ValueError):
        return 0
    finally:
        db.close()
