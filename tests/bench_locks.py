"""Locks a second through the Python face, beside the bare commands of one lock."""

import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

from floor import level, opened, small_link
from redis import Redis

from meters.calls import Message
from meters.errors import Refused
from meters.link import Meters
from meters.server import EmbeddedServer

TABLES = 400
ROUNDS = 12
PIPELINE = 100
CONNECTIONS = 2  # so that the server works on one pipeline while the other is made
SEATS = [1, 2, 3, 4, 5, 6, 7]
LEVELS = (
    level("star", "50000.00", 90_000, reserve_ppm=20_000, limit="5000000.00"),
    level("spade", "450.00", 50_000),
    level("heart", "450.00", 50_000),
    level("must_hit", "250.00", 20_000, maximum="1000000.00"),
)


def _chunks(names: list[str]) -> Iterator[list[str]]:
    for at in range(0, len(names), PIPELINE):
        yield names[at : at + PIPELINE]


def _play(meters: Meters, lock_all: Callable[[list[str], int], None]) -> float:
    """Play rounds in which only the locks are timed; the rest makes room for them."""
    names, calls, spent = meters.tables(), meters.calls, 0.0
    for round_ in range(1, ROUNDS + 1):
        for chunk in _chunks(names):
            meters.report(
                [
                    Message(
                        table=name,
                        device="hub",
                        epoch=1,
                        sequence=round_,
                        round=round_,
                        seats=SEATS,
                    )
                    for name in chunk
                ]
            )
        began = time.perf_counter()
        lock_all(names, round_)
        spent += time.perf_counter() - began
        for chunk in _chunks(names):
            meters.run_many([calls.void(name, round_, "ann", "bench") for name in chunk])
    return TABLES * ROUNDS / spent


def _pipelined(meters: Meters) -> Callable[[list[str], int], None]:
    def lock_chunk(chunk: list[str], round_: int) -> None:
        calls = [meters.calls.lock(name, round_, "ann", SEATS) for name in chunk]
        if any(isinstance(answer, Refused) for answer in meters.run_many(calls)):
            raise AssertionError("a lock was refused")

    def lock_all(names: list[str], round_: int) -> None:
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            list(pool.map(lock_chunk, _chunks(names), repeat(round_)))

    return lock_all


def _serial(meters: Meters) -> Callable[[list[str], int], None]:
    def lock_all(names: list[str], round_: int) -> None:
        for name in names:
            meters.run(meters.calls.lock(name, round_, "ann", SEATS))

    return lock_all


def _command(*parts: str) -> bytes:
    packed = [f"${len(part)}\r\n{part}\r\n" for part in parts]
    return f"*{len(parts)}\r\n{''.join(packed)}".encode()


def bare(server: EmbeddedServer, pipeline: int, locks: int) -> float:
    """Drive five HINCRBY and one XADD a lock from ready-made bytes, as redis-benchmark does."""
    line = "x" * 330  # as long as a lock's journal line
    one = b"".join(
        _command("HINCRBY", "{bare}:link", account, "1350000")
        for account in ("players", "house", "star", "spade", "heart")
    ) + _command("XADD", "{bare}:journal", "*", "e", line)
    path = server.address.removeprefix("unix://").partition("?")[0]
    count = CONNECTIONS if pipeline > 1 else 1
    batches = locks // pipeline // count

    def drive(_: int) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            for _ in range(batches):
                connection.sendall(one * pipeline)
                _read_replies(connection, pipeline)

    began = time.perf_counter()
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(drive, range(count)))
    return batches * pipeline * count / (time.perf_counter() - began)


def _read_replies(connection: socket.socket, locks: int) -> None:
    lines = locks * 7  # five integers of a line each, and an id of two
    while lines > 0:
        lines -= connection.recv(1 << 18).count(b"\n")


def _fresh(client: Redis) -> Meters:
    client.flushall()
    names = [f"T{number}" for number in range(TABLES)]
    return opened(client, small_link(tables=names, levels=LEVELS, seats=7))


def main() -> None:
    """Print figures and ratios; both sides on one server, every reply on disk."""
    with EmbeddedServer(Path(tempfile.mkdtemp())) as server:
        client = server.client()
        for name, kind, pipeline in (("pipelined", _pipelined, PIPELINE), ("serial", _serial, 1)):
            meters = _fresh(client)
            ours = _play(meters, kind(meters))
            theirs = bare(server, pipeline, 40_000 if pipeline > 1 else 4_000)
            print(
                f"locks, {name}: {ours:,.0f} a second; bare commands of one lock: {theirs:,.0f}; "
                f"ratio {ours / theirs:.2f}"
            )


if __name__ == "__main__":
    main()
