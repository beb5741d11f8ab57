"""Wagers a second over HTTP, beside a plain Flask application under the same load.

Both stores write to disk before they answer. Requests are ready-made bytes on kept connections, so
that the load takes as little as it can of the cores that it shares with server and store.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from meters.server import EmbeddedServer
from progressive.api.signing import sign_request
from progressive.processes.parent import free_port
from progressive.trial import Trial

TABLES = 512
SEATS = [1, 2, 3, 4, 5, 6, 7]
BATCH = 64
BATCH_ROUNDS = 60
SINGLE_ROUNDS = 12
PLAIN_POSTS = 6_000
CONNECTIONS = 16
WORKERS = 4  # of both: two a core, as gunicorn advises
WAGERS_TARGET = 100_000
BATCH_TARGET, SINGLE_TARGET = 20.0, 2.0
CHUNK = 1 << 18

Answers = list[bytes]


def http_post(path: str, body: bytes, headers: dict[str, str] | None = None) -> bytes:
    """Write a whole request down."""
    lines = [f"POST {path} HTTP/1.1", "Host: bench", "Content-Type: application/json"]
    lines += [f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Load:
    """Kept connections that post ready-made requests, each waiting for its answer."""

    def __init__(self, port: int, connections: int = CONNECTIONS) -> None:
        self._lines = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
        for line in self._lines:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pool = ThreadPoolExecutor(connections)

    def run(self, requests: Sequence[bytes]) -> tuple[float, Answers]:
        """Post all of them, shared out over the connections; gives the time taken."""
        count = len(self._lines)
        shares = [requests[at::count] for at in range(count)]
        began = time.perf_counter()
        found = list(self._pool.map(_exchange, self._lines, shares))
        return time.perf_counter() - began, [answer for share in found for answer in share]

    def close(self) -> None:
        """Hang up."""
        self._pool.shutdown()
        for line in self._lines:
            line.close()


def _exchange(line: socket.socket, requests: Sequence[bytes]) -> Answers:
    found = []
    for request in requests:
        line.sendall(request)
        data = line.recv(CHUNK)
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += line.recv(CHUNK)
        head = data[:end].lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        while len(data) < end + 4 + length:
            data += line.recv(CHUNK)
        found.append(data)
    return found


class Floor:
    """A trial's tables, whose seven seats are all reported every round."""

    def __init__(self, trial: Trial) -> None:
        self._hubs = {name: said["hub"] for name, said in trial.order["tables"].items()}
        self._gateways = trial.order["gateways"]
        [controller] = trial.services.controllers.values()
        self._meters = controller.meters
        self.round = 1

    def _message(self, table: str) -> dict[str, object]:
        numbers = {"epoch": 1, "sequence": self.round, "round": self.round}
        return {"table": table, "seats": SEATS, **numbers}

    def singles(self) -> list[bytes]:
        """Write every hub's own post."""
        return [
            _signed(hub, "/v1/messages", self._message(table)) for table, hub in self._hubs.items()
        ]

    def batches(self) -> list[bytes]:
        """Write every gateway's post."""
        return [
            _signed(
                gateway,
                "/v1/messages/batch",
                {
                    "messages": [
                        {"device": self._hubs[table]["device"], **self._message(table)}
                        for table in gateway["tables"]
                    ]
                },
            )
            for gateway in self._gateways
        ]

    def clear(self) -> None:
        """Cancel every round, so that the next one takes wagers; nobody's time."""
        calls = [self._meters.calls.cancel(table, self.round, "bench", "-") for table in self._hubs]
        self._meters.run_many(calls)
        self.round += 1


def _signed(device: dict[str, str], path: str, said: dict[str, object]) -> bytes:
    body = json.dumps(said, separators=(",", ":")).encode()
    now_ms = time.time_ns() // 1_000_000
    signature = sign_request(bytes.fromhex(device["key"]), "POST", path, now_ms, body)
    headers = {
        "Progressive-Device": device["device"],
        "Progressive-Time": str(now_ms),
        "Progressive-Signature": signature,
    }
    return http_post(path, body, headers)


def ours(trial: Trial, rounds: int, posts: Callable[[Floor], list[bytes]], floor: Floor) -> float:
    """Give the messages that were applied a second, over some rounds; the first warms up."""
    load = Load(trial.port)
    spent = applied = 0.0
    for number in range(rounds + 1):
        took_s, answers = load.run(posts(floor))
        found = sum(answer.count(b'"applied"') for answer in answers)
        if found != TABLES:
            raise AssertionError(f"{found} of {TABLES} messages applied: {answers[0]!r}")
        floor.clear()
        if number:
            spent += took_s
            applied += found
    load.close()
    return applied / spent


@contextmanager
def plain() -> Iterator[int]:
    """Serve the plain application on a store like ours; gives its port."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(EmbeddedServer(folder / "valkey"))
        port = free_port()
        path = server.address.removeprefix("unix://").partition("?")[0]
        process = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "bench_plain:app", "--bind", f"127.0.0.1:{port}",
             "--workers", str(WORKERS), "--worker-class", "gthread", "--threads", "4",
             "--log-level", "warning"],
            env={**os.environ, "PLAIN_STORE": path},
            cwd=Path(__file__).parent,
        )  # fmt: skip
        stack.callback(process.wait)
        stack.callback(process.terminate)
        _wait_for(port)
        yield port


def _wait_for(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.02)
        else:
            return


def theirs() -> float:
    """Give the wagers a second that the plain application takes, one a request."""
    requests = [
        http_post("/wagers", json.dumps({"table": f"T{at % TABLES}", "seat": 1}).encode())
        for at in range(PLAIN_POSTS)
    ]
    with plain() as port:
        load = Load(port)
        load.run(requests[:500])
        took_s, answers = load.run(requests)
        load.close()
    if not all(answer.startswith(b"HTTP/1.1 200") for answer in answers):
        raise AssertionError("the plain application refused a wager")
    return PLAIN_POSTS / took_s


def main() -> None:
    """Print figures and ratios; both sides in one run, one after the other."""
    plain_rate = theirs()
    with (
        tempfile.TemporaryDirectory() as folder,
        Trial(
            Path(folder), TABLES, ("live",),
            workers=WORKERS, gateways=TABLES // BATCH, tables_a_link=TABLES,
        ) as trial,
    ):  # fmt: skip
        floor = Floor(trial)
        batched = ours(trial, BATCH_ROUNDS, Floor.batches, floor) * len(SEATS)
        single = ours(trial, SINGLE_ROUNDS, Floor.singles, floor)
    print(f"plain Flask + gunicorn + redis-py: {plain_rate:,.0f} wagers/s, one a request")
    print(
        f"batches of {BATCH} messages of seven seats: {batched:,.0f} wagers/s, "
        f"{batched / WAGERS_TARGET:.2f} x the target; {batched / plain_rate:.1f} x plain "
        f"(target {BATCH_TARGET:.0f})"
    )
    print(
        f"single posts: {single:,.0f} posts/s, {single / plain_rate:.2f} x plain "
        f"(target {SINGLE_TARGET:.0f}); {single * len(SEATS):,.0f} wagers/s, "
        f"{single * len(SEATS) / plain_rate:.1f} x plain"
    )


if __name__ == "__main__":
    main()
