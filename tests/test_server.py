"""The embedded server: durable, alone in its folder, brought back, gone with its owner."""

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from redis import AuthenticationError, Redis
from servers import BINARIES, BOTH, ON_REDIS, free_port, wait_for

from meters import server as server_module
from meters.address import parse_address
from meters.binary import Release
from meters.client import open_single
from meters.disk import FsyncMeasure, measure_fsync
from meters.folder import Claim
from meters.server import Change, EmbeddedServer
from meters.server_error import Fault, ServerError
from meters.server_log import LOG_BYTES_MAX
from meters.server_settings import config_text

OWNER = """
import sys
from pathlib import Path
from meters.server import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1])).start()
server.client().set("star", "50000")
print(server.pid, flush=True)
sys.stdin.read()
"""
THREE_WRITES = """
for level = 1, 3 do redis.call("HINCRBY", KEYS[1], level, 7) end
return redis.call("XADD", KEYS[2], ARGV[1] .. "-0", "step", ARGV[1])
"""


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"  # dead, and waiting for whoever inherited it


def owner_process(folder: Path) -> tuple[subprocess.Popen[str], int]:
    owner = subprocess.Popen(  # noqa: S603  the test's own program
        [sys.executable, "-c", OWNER, folder],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert owner.stdout is not None
    return owner, int(owner.stdout.readline())


def end(owner: subprocess.Popen[str]) -> None:
    with owner:  # closes its pipes
        owner.kill()


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "new" / "data") as server:
        assert server.is_alive()
        server.client().set("star", "50000")
        server.restart()
        assert server.client().get("star") == "50000"
    assert not server.is_alive()
    with pytest.raises(ServerError) as refused:
        server.client()
    assert refused.value.code == Fault.NOT_RUNNING


@pytest.mark.parametrize("kind", BOTH)
def test_what_was_acknowledged_survives_a_killed_server(kind: str, tmp_path: Path) -> None:
    changes: list[Change] = []
    with EmbeddedServer(tmp_path, binary=BINARIES[kind], on_change=changes.append) as server:
        server.client().set("star", "50000")
        os.kill(server.pid, signal.SIGKILL)
        wait_for(lambda: changes == [Change.DOWN, Change.UP])
        assert server.starts == 2
        assert server.client().get("star") == "50000"


def test_a_server_nobody_supervises_stays_down_and_can_be_started_again(tmp_path: Path) -> None:
    changes: list[Change] = []
    server = EmbeddedServer(tmp_path, supervise=False, on_change=changes.append).start()
    os.kill(server.pid, signal.SIGKILL)
    wait_for(lambda: changes == [Change.DOWN])
    assert not server.is_alive()
    server.restart()
    assert server.client().ping()
    server.stop()


def test_a_listener_that_fails_does_not_take_the_server_down(tmp_path: Path) -> None:
    def fail(change: Change) -> None:
        raise ValueError(change)

    with EmbeddedServer(tmp_path, on_change=fail) as server:
        os.kill(server.pid, signal.SIGKILL)
        wait_for(lambda: server.starts == 2)
        os.kill(server.pid, signal.SIGKILL)
        wait_for(lambda: server.starts == 3)
        assert server.client().ping()


def test_a_server_outlives_the_thread_that_asked_for_it(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path, supervise=False)
    thread = threading.Thread(target=server.start)
    thread.start()
    thread.join()
    wait_for(lambda: not Path(f"/proc/self/task/{thread.native_id}").exists())
    assert server.client().ping()
    server.stop()


def test_a_second_start_in_the_same_process_is_refused(server: EmbeddedServer) -> None:
    for other in (EmbeddedServer(server.folder), server):
        with pytest.raises(ServerError) as refused:
            other.start()
        assert refused.value.code in {Fault.FOLDER_LOCKED, Fault.ALREADY_STARTED}
    assert server.client().ping()


def test_a_second_start_in_another_process_is_refused_with_the_holder(tmp_path: Path) -> None:
    owner, _ = owner_process(tmp_path)
    try:
        with pytest.raises(ServerError, match=f"in use by process {owner.pid}") as refused:
            EmbeddedServer(tmp_path).start()
        assert refused.value.code == Fault.FOLDER_LOCKED
    finally:
        end(owner)


def test_a_server_goes_with_its_killed_owner_and_the_next_one_has_its_data(tmp_path: Path) -> None:
    owner, pid = owner_process(tmp_path)
    end(owner)
    with EmbeddedServer(tmp_path) as server:  # waits for the other one to finish in order
        assert is_gone(pid)
        assert server.client().get("star") == "50000"


def test_a_server_that_lost_its_owner_and_hangs_is_named(tmp_path: Path) -> None:
    owner, pid = owner_process(tmp_path)
    os.kill(pid, signal.SIGSTOP)
    end(owner)
    try:
        with pytest.raises(ServerError, match=f"`kill {pid}`") as refused:
            Claim.take(tmp_path, wait_s=0.1)
        assert refused.value.code == Fault.FOLDER_LOCKED
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for(lambda: is_gone(pid))


def test_a_fork_of_the_owner_neither_stops_the_server_nor_keeps_the_folder(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path).start()
    told, tell = os.pipe()
    hold, release = os.pipe()
    fork = os.fork()
    if fork == 0:
        os.close(release)
        server.stop()
        os.write(tell, b"stopped")
        os.read(hold, 1)  # stays, with all that it inherited
        os._exit(0)
    assert os.read(told, 7) == b"stopped"
    assert server.client().ping()
    with pytest.raises(ServerError, match="in use"):
        EmbeddedServer(tmp_path).start()
    server.restart()
    assert server.client().ping()
    for end_of_pipe in (told, tell, hold, release):
        os.close(end_of_pipe)
    os.waitpid(fork, 0)
    server.stop()


def test_an_interrupt_at_the_owners_terminal_does_not_reach_the_server(
    server: EmbeddedServer,
) -> None:
    assert os.getsid(server.pid) == server.pid != os.getsid(0)


def cut_last_call(folder: Path, binary: Path | None, cut: int) -> None:
    with EmbeddedServer(folder, binary=binary) as server, server.client() as client:
        client.eval(THREE_WRITES, 2, "totals", "journal", "1")
        file = max((folder / "appendonlydir").glob("*.incr.aof"))
        whole = file.stat().st_size
        client.eval(THREE_WRITES, 2, "totals", "journal", "2")
        call = file.stat().st_size - whole
    os.truncate(file, whole + (cut * call) // 100)


@pytest.mark.parametrize("cut", [1, 40, 60, 80, 99], ids="at {}%".format)
@pytest.mark.parametrize("kind", BOTH)
def test_a_torn_last_call_is_dropped_as_a_whole_for_good(
    kind: str, cut: int, tmp_path: Path
) -> None:
    binary = BINARIES[kind]
    cut_last_call(tmp_path, binary, cut)
    with EmbeddedServer(tmp_path, binary=binary) as server:
        assert server.client().hgetall("totals") == {"1": "7", "2": "7", "3": "7"}
        server.client().eval(THREE_WRITES, 2, "totals", "journal", "2")
        server.restart()
        assert server.client().hgetall("totals") == {"1": "14", "2": "14", "3": "14"}
        assert server.client().xlen("journal") == 2


@ON_REDIS
def test_redis_killed_while_it_puts_a_torn_file_right_says_so_and_then_opens_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin_and_die(client: Redis) -> None:
        client.bgrewriteaof()
        os.kill(client.info("server")["process_id"], signal.SIGKILL)
        raise ServerError(Fault.NOT_UP, "killed")

    binary = BINARIES["redis"]
    cut_last_call(tmp_path, binary, 60)
    with monkeypatch.context() as patch:
        patch.setattr(server_module, "rewrite_append_file", begin_and_die)
        with pytest.raises(ServerError, match="killed"):
            EmbeddedServer(tmp_path, binary=binary).start()
    with pytest.raises(ServerError, match="start it once more"):
        EmbeddedServer(tmp_path, binary=binary).start()
    with EmbeddedServer(tmp_path, binary=binary) as server:
        assert server.client().hgetall("totals") == {"1": "7", "2": "7", "3": "7"}
        assert server.client().xlen("journal") == 1


def damage(folder: Path) -> None:
    file = max((folder / "appendonlydir").glob("*.incr.aof"))
    file.write_bytes(b"*3\r\n$3\r\nXXX" + file.read_bytes()[11:])


def test_a_damaged_file_is_left_alone_and_the_remedy_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "RESTART_PAUSES_S", (0.0, 0.0))
    changes: list[Change] = []
    server = EmbeddedServer(tmp_path, on_change=changes.append).start()
    server.client().set("star", "50000")
    damage(tmp_path)
    os.kill(server.pid, signal.SIGKILL)
    wait_for(lambda: changes == [Change.DOWN, Change.FAILED])
    server.stop()
    with pytest.raises(ServerError, match="restore it from a replica or a backup") as refused:
        server.start()
    assert refused.value.code == Fault.NOT_UP
    assert "Bad file format" in str(refused.value)


def test_nobody_else_gets_at_the_data(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir(mode=0o755)
    with EmbeddedServer(folder) as server:
        assert server.client().config_get("port") == {"port": "0"}
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        server.client().set("star", "50000")
        for path in folder.rglob("*"):
            assert not stat.S_IMODE(path.lstat().st_mode) & 0o077, path


def test_a_port_is_open_to_this_machine_and_to_the_password_only(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, port=free_port()) as server:
        client = server.client()
        assert client.config_get("bind") == {"bind": "127.0.0.1"}
        password = str(client.config_get("requirepass")["requirepass"])
        assert len(password) >= 32
        assert password in server.address
        assert password not in repr(server) + repr(client)
        address = server.address
        stranger = open_single(parse_address(f"redis://127.0.0.1:{server.port}"))
        with stranger, pytest.raises(AuthenticationError):
            stranger.ping()
        server.restart()
        assert server.address == address


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = EmbeddedServer(tmp_path, port=taken.getsockname()[1])
        with pytest.raises(ServerError, match="choose another one") as refused:
            server.start()
    assert refused.value.code == Fault.NOT_UP
    server.start().stop()  # and it holds nothing back from the next try


def test_a_folder_with_a_long_name_gets_a_short_socket(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / ("deep" * 40)) as server:
        path = Path(server.address.removeprefix("unix://"))
        assert len(os.fsencode(path)) < 108
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert server.client().ping()
    assert not path.parent.exists()


def test_every_setting_of_the_table_is_in_force(any_client: Redis) -> None:
    told = any_client.config_get("*")
    expected = {
        "appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no",
        "save": "", "maxmemory-policy": "noeviction", "maxmemory": "0", "bind": "127.0.0.1",
        "protected-mode": "yes", "enable-debug-command": "no", "busy-reply-threshold": "5000",
    }  # fmt: skip
    assert {name: told[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("release", "known"),
    [(Release("valkey", (9, 1, 2)), True), (Release("redis", (7, 0, 15)), False)],
)
def test_a_setting_is_left_out_where_it_is_unknown(release: Release, known: bool) -> None:
    text = config_text(release, Path("/data"), Path("/data/s"), port=None, password=None)
    assert ("lua-enable-insecure-api" in text) is known


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (None, Fault.BINARY_MISSING),
        ("echo hello", Fault.BINARY_UNSUITABLE),
        ("echo Redis server v=6.0.16 sha=0", Fault.BINARY_UNSUITABLE),
        ("echo Valkey server v=9.1.1 sha=0", Fault.BINARY_UNSUITABLE),
    ],
)
def test_a_program_that_is_no_suitable_server_is_refused(
    script: str | None, code: Fault, tmp_path: Path
) -> None:
    binary = tmp_path / "server"
    if script is not None:
        binary.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
        binary.chmod(0o755)
    with pytest.raises(ServerError) as refused:
        EmbeddedServer(tmp_path / "data", binary=binary).start()
    assert refused.value.code == code
    assert not (tmp_path / "data").exists()


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ServerError, match="Name a folder") as refused:
        EmbeddedServer(tmp_path / "file" / "data").start()
    assert refused.value.code == Fault.FOLDER_UNUSABLE


def test_the_disk_is_measured_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    measure = measure_fsync(tmp_path, samples=12)
    assert measure.samples <= 12
    assert 0 < measure.median_ms <= measure.p99_ms
    assert not list(tmp_path.iterdir())


def test_only_a_slow_disk_is_warned_of(server: EmbeddedServer) -> None:
    assert server.fsync is not None
    assert FsyncMeasure(48, median_ms=10.0, p99_ms=500.0).warning is None
    assert "12.5 ms" in (FsyncMeasure(48, median_ms=12.5, p99_ms=30.0).warning or "")


def test_a_long_log_is_put_aside(tmp_path: Path) -> None:
    (tmp_path / "valkey.log").write_bytes(b"x" * (LOG_BYTES_MAX + 1))
    with EmbeddedServer(tmp_path):
        assert (tmp_path / "valkey.log").stat().st_size < LOG_BYTES_MAX
        assert (tmp_path / "valkey.log.old").stat().st_size > LOG_BYTES_MAX
