"""The sealer: every entry into the log, once, in order, whatever dies in between."""

import os
import random
import secrets
import signal
import time
from pathlib import Path
from statistics import median

import pytest
from crash import DONE, STOPPED, ended_with, in_a_child, stop_before
from play import TABLES, Play
from redis import Redis
from sealed import (
    KEY,
    head,
    history_of,
    journal,
    opened_log,
    plan,
    seal_once,
    sealed_lines,
    sealing,
    size_of,
    witness,
)
from servers import free_port, wait_for

from meters.entries import Balance, read_entry
from meters.functions import ensure_loaded
from meters.replay import audit
from meters.server import EmbeddedServer
from progressive.audit import log_key
from progressive.audit.alarms import Alarms
from progressive.audit.key_file import KeyFileError
from progressive.audit.note import Signer, verify
from progressive.audit.sealer import SealRefused
from progressive.audit.sealing import Plan, Sealing
from progressive.audit.writer import LogBusy, LogWriter

EVERY = 400


def played(client: Redis, rounds: int) -> Play:
    floor = Play(client)
    floor.play(rounds)
    return floor


def test_the_log_is_the_journal_byte_by_byte(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = played(client, 50)
    floor.meters.run(floor.meters.calls.close_table("T1", "ann", 'Müller\'s ♠ "table"\\\n'))
    seal_once(plan(tmp_path), server)
    assert sealed_lines(tmp_path) == journal(client)
    assert len(journal(client)) == 252


def test_an_entry_is_sealed_within_a_second(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = played(client, 1)
    with sealing(plan(tmp_path), server):
        wait_for(lambda: size_of(tmp_path) == head(client))
        took = []
        for _ in range(5):
            floor.meters.run(floor.meters.calls.close_table("T1", "ann", "break"))
            floor.meters.run(floor.meters.calls.open_table("T1", "ann", "break"))
            written = time.monotonic()
            wait_for(lambda: size_of(tmp_path) == head(client))
            took.append(time.monotonic() - written)
    assert median(took) < 1, took  # a machine that stops for a while is no fault of the sealer


def test_the_sites_own_journal_is_sealed_alike(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    ensure_loaded(client)
    keys = ("{site}:site", "{site}:journal")
    for number in (1, 2, 3):
        client.fcall("pm_record", 2, *keys, number, "ann", "user", '{"id":"bob"}')
    with sealing(plan(tmp_path), server):
        wait_for(lambda: size_of(tmp_path, "site") == 3)
    assert b'"k":"user"' in sealed_lines(tmp_path, "site")[2]


def test_a_batch_ends_with_its_segment_and_full_segments_are_closed(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    played(client, 50)
    seal_once(plan(tmp_path, segment_entries=100), server)
    with opened_log(tmp_path) as log:
        assert [segment.last for segment in log.closed()] == [99, 199]
        assert [log.checkpoint_at(end) is not None for end in (100, 200, 300)] == [
            True,
            True,
            False,
        ]
    assert sealed_lines(tmp_path) == journal(client)


def test_a_sealer_killed_before_any_step_leaves_neither_gap_nor_repeat(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = Play(client)
    at = plan(tmp_path, segment_entries=15)
    seal_once(at, server)

    def die(step: int) -> None:
        stop_before(step)
        seal_once(at, server)

    ends = set()
    rounds = 0
    for turn in range(120):
        if size_of(tmp_path) == head(client):
            floor.play(4)
            rounds += 1
        ends.add(ended_with(in_a_child(lambda turn=turn: die(turn % 60))))  # type: ignore[misc]
        assert sealed_lines_so_far(tmp_path) == journal(client)[: size_of(tmp_path)]
    assert STOPPED in ends <= {STOPPED, DONE}
    assert rounds > 5
    seal_once(at, server)
    assert sealed_lines(tmp_path) == journal(client)
    assert indexed_rounds(tmp_path) == list(range(1, rounds + 1))


def sealed_lines_so_far(logs: Path) -> list[bytes]:
    return sealed_lines(logs) if size_of(logs) else []


def indexed_rounds(logs: Path) -> list[int]:
    history = history_of(logs)
    try:
        found = history.rounds("T1", limit=1000).items
        assert {one.outcome for one in found} == {"ended"}
        return [one.round for one in found]
    finally:
        history.close()


def test_a_sealer_killed_at_any_moment_of_play_leaves_neither_gap_nor_repeat(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")  # noqa: T201 - to play it again
    chance = random.Random(seed)  # noqa: S311 - moments for tests
    floor = Play(client, seed)
    at = plan(tmp_path, segment_entries=300, balance_entries=EVERY)
    lines = journal(client)
    for _ in range(25):
        child = in_a_child(lambda: keep_sealing(at, server))
        kill_at = time.monotonic() + chance.uniform(0, 0.15)
        while time.monotonic() < kill_at:
            floor.play(10)
            lines += journal(client, len(lines) + 1)
        os.kill(child, signal.SIGKILL)
        assert ended_with(child) == -signal.SIGKILL
        lines += journal(client, len(lines) + 1)
        assert sealed_lines_so_far(tmp_path) == lines[: size_of(tmp_path)]
    seal_once(at, server)
    lines += journal(client, len(lines) + 1)
    assert sealed_lines(tmp_path) == lines
    assert [read_entry(line).n for line in lines] == list(range(1, len(lines) + 1))
    assert audit(floor.meters, sealed=len(lines)).is_exact


def keep_sealing(at: Plan, server: EmbeddedServer) -> None:
    Sealing(at, server.client, Alarms()).start()
    signal.pause()


def test_only_one_process_seals_a_log(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    played(client, 1)
    seal_once(plan(tmp_path), server)
    with (
        LogWriter(tmp_path / "royal", log_key.signer_of(KEY, "royal").verifier),
        pytest.raises(LogBusy),
    ):
        seal_once(plan(tmp_path), server)


def test_a_server_behind_its_seal_is_refused_and_stays_closed(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    played(client, 10)
    seal_once(plan(tmp_path), server)
    before = sealed_lines(tmp_path)
    client.flushall()
    floor = played(client, 2)
    with pytest.raises(SealRefused, match="ends at 11: this server is behind its seal"):
        seal_once(plan(tmp_path), server)
    assert sealed_lines(tmp_path) == before
    found = audit(floor.meters, sealed=len(before))
    assert "behind its seal" in found.problems[0]


def test_a_server_that_went_on_from_old_data_is_refused(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    played(client, 10)
    seal_once(plan(tmp_path), server)
    client.flushall()
    played(client, 12)
    with pytest.raises(SealRefused, match="entry 1 of the journal is not the one"):
        seal_once(plan(tmp_path), server)


def test_an_entry_changed_after_its_sealing_is_noticed_at_the_next_start(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    played(client, 10)
    seal_once(plan(tmp_path), server)
    lines = journal(client)
    client.delete("{royal}:journal")
    for number, line in enumerate(lines, 1):
        text = line.decode().replace('"dealer"', '"broker"') if number == 40 else line.decode()
        client.xadd("{royal}:journal", {"e": text}, f"{number}-0")
    with pytest.raises(SealRefused, match="entry 40 of the journal is not the one"):
        seal_once(plan(tmp_path), server)


def test_a_journal_trimmed_past_its_log_is_refused(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    played(client, 10)
    client.xtrim("{royal}:journal", minid="7-0", approximate=False)
    with pytest.raises(SealRefused, match="entry 1 is next, and the journal begins at 7"):
        seal_once(plan(tmp_path), server)
    client.flushall()
    played(client, 10)
    client.xdel("{royal}:journal", "9-0")
    with pytest.raises(SealRefused, match="entry 9 is not in the journal: 10-0 is next"):
        seal_once(plan(tmp_path / "other"), server)


def test_trouble_with_one_journal_leaves_the_others_alone(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = played(client, 5)
    journal = "{site}:journal"
    client.xadd(journal, {"e": "{}"}, "2-0")
    with sealing(plan(tmp_path), server) as running:
        wait_for(lambda: bool(running.alarms.current))
        [alarm] = running.alarms.current
        assert (alarm.code, alarm.log) == ("seal_refused", "floor.example/site")
        assert "entry 1 is next, and the journal begins at 2" in alarm.message
        floor.play(4)
        wait_for(lambda: size_of(tmp_path) == head(client))
        client.delete(journal)
        client.xadd(journal, {"e": "{}"}, "1-0")
        wait_for(lambda: size_of(tmp_path, "site") == 1)
        assert not running.alarms.current


def test_starting_reads_no_old_segment(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = played(client, 100)
    at = plan(tmp_path, segment_entries=100, balance_entries=EVERY)
    seal_once(at, server)
    for old in (tmp_path / "royal" / "segments").glob("00000000000[0-2]*.gz"):
        old.unlink()
    size = size_of(tmp_path)
    floor.play(4)
    seal_once(at, server)
    assert size_of(tmp_path) == size + 20


def test_a_server_that_comes_back_is_sealed_on(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "valkey") as server, server.client() as client:
        floor = played(client, 5)
        with sealing(plan(tmp_path / "log"), server) as running:
            wait_for(lambda: size_of(tmp_path / "log") == head(client))
            server.restart()
            assert audit(floor.meters, sealed=size_of(tmp_path / "log")).is_exact
            floor.play(4)
            wait_for(lambda: size_of(tmp_path / "log") == head(client))
            wait_for(lambda: not running.alarms.current)
        assert sealed_lines(tmp_path / "log") == journal(client)


def balances(logs: Path) -> list[int]:
    entries = map(read_entry, sealed_lines(logs))
    return [entry.n for entry in entries if isinstance(entry, Balance)]


def test_a_balance_is_written_every_so_many_entries_and_the_journal_trimmed_behind_it(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = played(client, 79)
    at = plan(tmp_path, balance_entries=EVERY)
    seal_once(at, server)
    assert balances(tmp_path) == []
    assert len(journal(client)) == 396
    floor.play(4)
    seal_once(at, server)
    assert balances(tmp_path) == [417]
    assert [read_entry(line).n for line in journal(client)] == [417]
    assert audit(floor.meters, sealed=417).is_exact
    seal_once(at, server)
    assert balances(tmp_path) == [417]


def test_the_journal_is_not_trimmed_behind_a_balance_that_is_not_sealed(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = played(client, 10)
    seal_once(plan(tmp_path), server)
    entry = floor.meters.run(floor.meters.calls.balance(floor.meters.tables(), "ann")).entry
    floor.meters.run(floor.meters.calls.sealed(entry - 1))
    assert len(journal(client)) == entry
    seal_once(plan(tmp_path), server)
    assert len(journal(client)) == 1


def test_a_balance_is_written_once_each_gaming_day(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    played(client, 3)
    two_days_ms = 2 * 86_400_000
    lines = journal(client)
    client.delete("{royal}:journal")
    for number, line in enumerate(lines, 1):
        moment = read_entry(line).t
        text = line.decode().replace(f'"t":{moment}', f'"t":{moment - two_days_ms}')
        client.xadd("{royal}:journal", {"e": text}, f"{number}-0")
    for _ in range(3):
        seal_once(plan(tmp_path), server)
    assert balances(tmp_path) == [17]


def test_a_link_that_is_not_audited_gets_no_balance_until_it_is(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = played(client, 80)
    client.function_flush()
    ensure_loaded(client)
    at = plan(tmp_path, balance_entries=EVERY)
    seal_once(at, server)
    assert balances(tmp_path) == []
    assert audit(floor.meters).is_exact
    seal_once(at, server)
    assert balances(tmp_path) == [402]


def test_the_log_key_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    path, logs = tmp_path / "keys" / "log.key", tmp_path / "log"
    made = log_key.open_log_key(path, "floor.example", logs)
    assert path.stat().st_mode & 0o777 == 0o600
    assert log_key.open_log_key(path, "other.example", logs).verifier == made.verifier


def test_no_log_key_is_made_where_a_log_waits_for_its_own(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    played(client, 1)
    seal_once(plan(tmp_path / "log"), server)
    path = tmp_path / "log.key"
    with pytest.raises(KeyFileError, match="holds logs that it has signed"):
        log_key.open_log_key(path, "floor.example", tmp_path / "log")
    assert not path.exists()


def test_each_log_has_the_key_under_its_own_name(tmp_path: Path) -> None:
    royal, site = (log_key.signer_of(KEY, name) for name in ("royal", "site"))
    assert royal.name == "floor.example/royal"
    assert royal.verifier.public == site.verifier.public
    assert royal.verifier.key_id != site.verifier.key_id
    log_key.publish(tmp_path / "royal", royal.verifier)
    assert log_key.published(tmp_path / "royal") == royal.verifier


def test_witnesses_cosign_the_latest_checkpoint_and_the_end_of_every_segment(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = Play(client)
    with witness(tmp_path / "one") as one, witness(tmp_path / "two") as two:
        at = plan(tmp_path / "log", one, two, segment_entries=50)
        with sealing(at, server) as running:
            for _ in range(20):
                floor.play(10)
            wait_for(lambda: size_of(tmp_path / "log") == head(client))
            assert not running.alarms.current
        keys = [log_key.signer_of(KEY, "royal").verifier, one[1], two[1]]
        with opened_log(tmp_path / "log") as log:
            ends = [log.checkpoint_at(end) for end in range(50, log.size, 50)]
            assert len(ends) == 20
            for signed in [log.signed, *ends]:
                assert signed is not None
                assert len(verify(signed, keys).signatures) == 3


def test_a_log_sealed_in_one_go_is_cosigned_at_the_end_of_every_segment(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    played(client, 100)
    with witness(tmp_path / "witness") as known:
        seal_once(plan(tmp_path / "log", known, segment_entries=50), server)
    keys = [log_key.signer_of(KEY, "royal").verifier, known[1]]
    with opened_log(tmp_path / "log") as log:
        for signed in [log.signed, *(log.checkpoint_at(end) for end in range(50, 501, 50))]:
            assert signed is not None
            assert len(verify(signed, keys).signatures) == 2


def test_a_witness_that_is_away_raises_an_alarm_and_holds_up_nothing(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = Play(client)
    port = free_port()
    with witness(tmp_path / "witness", port) as (url, key):
        pass
    with sealing(plan(tmp_path / "log", (url, key), segment_entries=50), server) as running:
        wait_for(lambda: len(running.alarms.current) == 2)
        assert {alarm.code for alarm in running.alarms.current} == {"witness_away"}
        floor.play(40)
        wait_for(lambda: size_of(tmp_path / "log") == head(client))
        with witness(tmp_path / "witness", port):
            wait_for(lambda: not running.alarms.current)
    with opened_log(tmp_path / "log") as log:
        ends = [log.checkpoint_at(end) or b"" for end in range(50, log.size, 50)]
        assert all(str(key).split("+")[0].encode() in signed for signed in ends)


def test_a_log_that_was_rolled_back_is_a_loud_alarm(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    played(client, 10)
    with witness(tmp_path / "witness") as known:
        seal_once(plan(tmp_path / "log", known), server)
        client.flushall()
        played(client, 3)
        with sealing(plan(tmp_path / "other", known), server) as running:
            wait_for(lambda: bool(running.alarms.current))
            [alarm] = running.alarms.current
            assert (alarm.code, alarm.log) == ("witness_conflict", "floor.example/royal")
            assert "has cosigned this log at 51, but it now ends at" in alarm.message


def test_a_history_rewritten_with_the_logs_own_key_is_caught_by_its_witness(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    played(client, 10)
    with witness(tmp_path / "witness") as known:
        seal_once(plan(tmp_path / "log", known), server)
        client.flushall()
        played(client, 20)
        with sealing(plan(tmp_path / "other", known), server) as running:
            wait_for(lambda: "witness_refused" in {one.code for one in running.alarms.current})
    assert list((tmp_path / "witness" / "evidence").iterdir())


def test_alarms_are_logged_as_json_once(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    running = Sealing(plan(tmp_path), _nobody, Alarms())
    running.start()
    wait_for(lambda: len(running.alarms.current) == 2)
    running.stop()
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert all('"alarm":"raised","code":"journal_away"' in line for line in lines)


def _nobody() -> Redis:
    raise ConnectionError("nobody is there")


def test_a_signer_under_another_name_is_another_key() -> None:
    other = KEY.named("elsewhere.example")
    assert isinstance(other, Signer)
    assert other.verifier != KEY.verifier


def test_all_tables_of_the_play_are_indexed(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    played(client, 40)
    seal_once(plan(tmp_path), server)
    history = history_of(tmp_path)
    assert [len(history.rounds(table).items) for table in TABLES] == [10, 10, 10, 10]
    history.close()
