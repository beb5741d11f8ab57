"""Connecting: every kind of address, and no server that would lose money without being told."""

import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import TimeoutError as RedisTimeoutError
from servers import free_port, raw_server, running_cluster, running_sentinel, wait_for
from tls import make_certificate, tls_relay

from meters.address import Mode
from meters.binary import Release
from meters.connect import Connection, UnsafeServerError, connect
from meters.server import EmbeddedServer
from meters.server_checks import Facts, judge
from meters.server_error import Fault, ServerError

SECRET = "correct-horse-battery"  # noqa: S105  it is looked for where it must not be
IMPATIENT_S = 0.1
# Counts for far longer than that; the clock stands still in a script, so it cannot just wait.
SLOW_COUNT = """
local count = redis.call("INCR", KEYS[1])
for _ = 1, 300000000 do end
return count
"""
SAFE = Facts(
    node="here", release=Release("valkey", (9, 1, 2)), redis_mode="standalone", role="master",
    file_written=True, functions=True, slots_ok=None,
    config={
        "appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no",
        "maxmemory-policy": "noeviction", "busy-reply-threshold": "5000",
    },
)  # fmt: skip


def codes(problem_source: UnsafeServerError | Connection) -> list[str]:
    return [problem.code for problem in problem_source.problems]


def refusal(address: str, *, allow_unsafe: bool = False) -> UnsafeServerError:
    with pytest.raises(UnsafeServerError) as refused:
        connect(address, allow_unsafe=allow_unsafe)
    assert refused.value.code == Fault.UNSAFE
    return refused.value


@contextmanager
def setting(client: Redis, name: str, value: str) -> Iterator[None]:
    before = client.config_get(name)[name]
    client.config_set(name, value)
    try:
        yield
    finally:
        client.config_set(name, str(before))
        wait_for(lambda: not client.info("persistence")["aof_rewrite_in_progress"])


@contextmanager
def user(client: Redis, *rules: str) -> Iterator[str]:
    run: Any = client.execute_command  # redis-py leaves it untyped
    run("ACL", "SETUSER", "clerk", "reset", "on", f">{SECRET}", "~*", *rules)
    try:
        yield f"unix://clerk:{SECRET}@{client.get_connection_kwargs()['path']}"
    finally:
        client.acl_deluser("clerk")


def test_a_safe_server_is_taken_without_a_warning(any_server: EmbeddedServer) -> None:
    connection = connect(any_server.address)
    assert connection.client.ping()
    assert connection.mode is Mode.SINGLE
    assert connection.release == any_server.binary.release
    assert connection.torn_file_fix is (connection.release.name == "valkey")
    assert connection.warnings == ()
    connection.rewrite_append_files()
    connection.close()


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("appendonly", "no", "append_only_off"),
        ("appendfsync", "everysec", "fsync_not_always"),
        ("appendfsync", "no", "fsync_not_always"),
        ("no-appendfsync-on-rewrite", "yes", "fsync_off_on_rewrite"),
        ("maxmemory-policy", "allkeys-lru", "eviction"),
        ("maxmemory-policy", "volatile-ttl", "eviction"),
        ("busy-reply-threshold", "0", "busy_threshold"),
        ("busy-reply-threshold", "10", "busy_threshold"),
        ("busy-reply-threshold", "600000", "busy_threshold"),
    ],
)
def test_an_unsafe_setting_is_refused_with_its_remedy_or_accepted_with_a_warning(
    name: str, value: str, code: str, any_server: EmbeddedServer, any_client: Redis
) -> None:
    with setting(any_client, name, value):
        refused = refusal(any_server.address)
        assert codes(refused) == [code]
        assert f"`{name} {value}`" in str(refused)
        assert "Remedy: set `" in str(refused)
        accepted = connect(any_server.address, allow_unsafe=True)
        assert codes(accepted) == [code]
        assert f"`{name} {value}`" in accepted.warnings[0]
        accepted.close()


def test_all_that_is_wrong_is_told_at_once(server: EmbeddedServer, client: Redis) -> None:
    with setting(client, "appendfsync", "no"), setting(client, "maxmemory-policy", "allkeys-lfu"):
        assert codes(refusal(server.address)) == ["fsync_not_always", "eviction"]


def test_settings_that_cannot_be_seen_count_as_unsafe(any_client: Redis) -> None:
    with user(any_client, "+@all", "-config") as address:
        refused = refusal(address)
        assert codes(refused) == ["settings_unknown"]
        assert "appendfsync" in str(refused)
        accepted = connect(address, allow_unsafe=True)
        assert codes(accepted) == ["settings_unknown"]
        accepted.close()


def test_a_user_without_functions_is_refused_whatever_the_flag(any_client: Redis) -> None:
    with user(any_client, "+@all", "-function") as address:
        assert codes(refusal(address, allow_unsafe=True)) == ["functions_unavailable"]


def test_a_replica_is_refused_whatever_the_flag(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as replica:
        replica.client().replicaof("127.0.0.1", free_port())
        assert codes(refusal(replica.address, allow_unsafe=True)) == ["replica"]


@pytest.mark.parametrize(
    ("release", "codes_expected"),
    [
        (Release("valkey", (9, 1, 1)), ["version"]),
        (Release("valkey", (9, 1, 2)), []),
        (Release("valkey", (10, 0, 0)), []),
        (Release("redis", (6, 2, 14)), ["version"]),
        (Release("redis", (7, 0, 0)), []),
        (Release("dragonfly", (99, 0, 0)), ["version"]),
    ],
    ids=str,
)
def test_only_releases_that_the_product_is_made_for_are_taken(
    release: Release, codes_expected: list[str]
) -> None:
    problems = judge(replace(SAFE, release=release), Mode.SINGLE)
    assert [problem.code for problem in problems] == codes_expected


def test_a_server_whose_file_could_not_be_written_is_refused() -> None:
    problems = judge(replace(SAFE, file_written=False), Mode.SINGLE)
    assert [problem.code for problem in problems] == ["append_file_broken"]


def test_a_setting_that_a_server_does_not_tell_counts_as_unsafe() -> None:
    config = {name: value for name, value in (SAFE.config or {}).items() if name != "appendfsync"}
    [problem] = judge(replace(SAFE, config=config), Mode.SINGLE)
    assert problem.code == "fsync_not_always"


def test_a_connection_waits_for_a_server_that_is_just_starting(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(connect, f"unix://{tmp_path}/valkey.sock", wait_s=20)
        with server:
            connection = waiting.result()
            assert connection.client.ping()
            connection.close()


def test_waiting_for_a_server_that_is_not_there_ends(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(ServerError) as refused:
        connect(f"unix://{tmp_path}/nothing.sock", wait_s=0.3)
    assert 0.3 <= time.monotonic() - began < 5
    assert refused.value.code == Fault.UNREACHABLE


def assert_sent_once(impatient: Connection, address: str) -> None:
    with pytest.raises(RedisTimeoutError):
        impatient.client.eval(SLOW_COUNT, 1, "count")
    patient = connect(address)  # the newest connection: whatever came before it is served first
    assert patient.client.incr("count") == 2
    impatient.close()
    patient.close()


def test_a_command_without_an_answer_is_not_sent_again(
    server: EmbeddedServer, client: Redis
) -> None:
    assert client.dbsize() == 0
    assert_sent_once(connect(server.address, timeout_s=IMPATIENT_S), server.address)


def test_a_rediss_address_is_encrypted_and_its_certificate_checked(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with (
        EmbeddedServer(tmp_path / "data", port=free_port()) as server,
        tls_relay(certificate, server.port or 0) as port,
    ):
        login = server.address.removeprefix("redis://").split("@")[0]
        address = f"rediss://{login}@127.0.0.1:{port}"
        connection = connect(f"{address}?ssl_ca_certs={certificate}")
        assert connection.client.ping()
        connection.close()
        with pytest.raises(ServerError, match="certificate verify failed") as refused:
            connect(address, wait_s=0)
        assert refused.value.code == Fault.UNREACHABLE


def test_sentinel_leads_to_the_primary_with_the_primarys_password(tmp_path: Path) -> None:
    with (
        EmbeddedServer(tmp_path / "primary", port=free_port()) as primary,
        running_sentinel(tmp_path / "sentinel", primary.client(), "royal") as port,
    ):
        login = primary.address.removeprefix("redis://").split("@")[0]
        hosts = f"127.0.0.1:{free_port()},127.0.0.1:{port}"  # the first one is down
        address = f"sentinel://{login}@{hosts}/royal"
        connection = connect(address, timeout_s=IMPATIENT_S)
        assert connection.mode is Mode.SENTINEL
        assert connection.client.config_get("port")["port"] == str(primary.port)
        [(_, client)] = connection.primaries()
        retry = client.get_retry()  # on a busy primary the password alone would stop repeats
        assert retry is not None
        assert retry.get_retries() == 0
        assert_sent_once(connection, address)

        primary.client().config_set("appendfsync", "everysec")
        assert codes(refusal(address)) == ["fsync_not_always"]
        with pytest.raises(ServerError, match="'baccarat'") as refused:
            connect(f"sentinel://{login}@{hosts}/baccarat", wait_s=0)
        assert refused.value.code == Fault.UNREACHABLE
        assert codes(refusal(f"redis://127.0.0.1:{port}", allow_unsafe=True)) == ["is_sentinel"]


def test_a_cluster_is_taken_when_every_slot_and_every_primary_is_safe(tmp_path: Path) -> None:
    with running_cluster(tmp_path) as nodes:
        first, second, third = nodes
        address = f"cluster://127.0.0.1:{first},127.0.0.1:{free_port()}"
        connection = connect(address, timeout_s=IMPATIENT_S)
        assert connection.mode is Mode.CLUSTER
        names = {name for name, _ in connection.primaries()}
        assert names == {f"127.0.0.1:{port}" for port in nodes}
        assert_sent_once(connection, address)

        nodes[third].config_set("appendfsync", "everysec")
        refused = refusal(address)
        assert codes(refused) == ["fsync_not_always"]
        assert refused.problems[0].node == f"127.0.0.1:{third}"
        nodes[third].config_set("appendfsync", "always")

        assert codes(refusal(f"redis://127.0.0.1:{second}", allow_unsafe=True)) == [
            "is_cluster_node"
        ]
        nodes[first].cluster("DELSLOTSRANGE", 0, 9)
        assert "slots_uncovered" in codes(refusal(f"cluster://127.0.0.1:{first}"))


def test_a_cluster_without_slots_is_refused(tmp_path: Path) -> None:
    port = free_port()
    with (
        raw_server(tmp_path / "node", port, "cluster-enabled yes", f"cluster-port {free_port()}"),
        pytest.raises(ServerError, match="none of its slots") as refused,
    ):
        connect(f"cluster://127.0.0.1:{port}", wait_s=0)
    assert refused.value.code == Fault.UNREACHABLE


def test_a_single_server_is_no_cluster(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, port=free_port()) as server:
        address = server.address.replace("redis://", "cluster://")
        with pytest.raises(ServerError, match="it is no cluster") as refused:
            connect(address, wait_s=0)
    assert refused.value.code == Fault.UNREACHABLE


@pytest.mark.parametrize("scheme", ["redis", "cluster"])
def test_a_wrong_password_is_told_at_once_and_shown_nowhere(scheme: str, tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, port=free_port()) as server:
        began = time.monotonic()
        with pytest.raises(ServerError, match="did not accept user and password") as refused:
            connect(f"{scheme}://:{SECRET}@127.0.0.1:{server.port}", wait_s=60)
        assert time.monotonic() - began < 30
    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_a_password_is_not_shown_by_a_connection(any_client: Redis) -> None:
    with user(any_client, "+@all") as address:
        connection = connect(address)
        shown = f"{connection!r} {connection.client!r} {connection.primaries()!r}"
        assert SECRET not in shown
        assert "clerk" not in shown
        connection.close()
