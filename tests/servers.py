"""The kinds of server that tests run on, and waiting for what is about to happen."""

import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from redis import Redis, RedisError

from meters.address import parse_address
from meters.binary import shipped_binary
from meters.client import open_single

_REDIS = shutil.which("redis-server")
ON_REDIS = pytest.mark.skipif(_REDIS is None, reason="Debian's redis-server is not installed here")
BINARIES = {"valkey": None, "redis": Path(_REDIS) if _REDIS else None}
BOTH = ("valkey", pytest.param("redis", marks=ON_REDIS))
WAIT_S = 20.0
_ports_given: set[int] = set()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def free_port() -> int:
    """Give a port that nobody has, and that no outgoing connection gets: those are above 32,767."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        try:
            with socket.create_server(("127.0.0.1", port)):
                pass
        except OSError:
            continue
        if port not in _ports_given:
            _ports_given.add(port)
            return port


def answers(client: Redis) -> bool:
    try:
        return bool(client.ping())
    except RedisError:
        return False


@contextmanager
def raw_server(folder: Path, port: int, *settings: str, role: str = "") -> Iterator[Redis]:
    """Run the shipped program as something that the product itself never starts."""
    folder.mkdir()
    config = folder / "node.conf"
    lines = (f"dir {folder}", "bind 127.0.0.1", f"port {port}", *settings)
    config.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603  the shipped program
            [shipped_binary(), config, *([role] if role else [])], stdout=log, stderr=log
        )
    try:
        with open_single(parse_address(f"redis://127.0.0.1:{port}")) as client:
            wait_for(partial(answers, client))
            yield client
    finally:
        process.kill()
        process.wait()


@contextmanager
def running_cluster(folder: Path, nodes: int = 3) -> Iterator[dict[int, Redis]]:
    """Run a cluster whose slots are spread over its nodes, and give them by port."""
    ports = [(free_port(), free_port()) for _ in range(nodes)]
    with ExitStack() as stack:
        clients = {
            port: stack.enter_context(
                raw_server(
                    folder / str(port), port, f"cluster-port {bus_port}", "cluster-enabled yes",
                    "appendonly yes", "appendfsync always", 'save ""',
                )
            )
            for port, bus_port in ports
        }  # fmt: skip
        for place, client in enumerate(clients.values()):
            begin, after = 16_384 * place // nodes, 16_384 * (place + 1) // nodes
            client.cluster("ADDSLOTSRANGE", begin, after - 1)
            client.cluster("MEET", "127.0.0.1", *ports[0])
        for client in clients.values():
            wait_for(partial(covers, client, nodes))
        yield clients


def covers(client: Redis, nodes: int) -> bool:
    told = client.cluster("INFO")
    known = (told["cluster_state"], told["cluster_slots_ok"], told["cluster_known_nodes"])
    return known == ("ok", "16384", str(nodes))


@contextmanager
def running_sentinel(folder: Path, primary: Redis, service: str) -> Iterator[int]:
    """Run one Sentinel that watches the primary, and give its port."""
    port = free_port()
    kwargs = primary.get_connection_kwargs()
    password = primary.config_get("requirepass")["requirepass"]
    settings = (
        f"sentinel monitor {service} 127.0.0.1 {kwargs['port']} 1",
        f"sentinel auth-pass {service} {password}",
    )
    with raw_server(folder, port, *settings, role="--sentinel"):
        yield port
