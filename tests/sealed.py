"""A sealer at work for tests: its plan, its folders, a witness over a real socket."""

import datetime as dt
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redis import Redis
from werkzeug.serving import make_server

from meters.link import Meters
from meters.server import EmbeddedServer
from progressive.audit import log_key
from progressive.audit.alarms import Alarms
from progressive.audit.checkpoint import CosignatureVerifier
from progressive.audit.folder import LogFolder
from progressive.audit.history import History
from progressive.audit.index_file import index_file
from progressive.audit.note import Signer
from progressive.audit.sealing import Plan, Sealing
from progressive.audit.witness import load_app
from progressive.audit.witness_record import WitnessRecord
from progressive.gaming_day import GamingDays

KEY = Signer("floor.example", bytes(32))
DAYS = GamingDays("America/New_York", dt.time(6))
NAME = "cage.example/witness"
Witness = tuple[str, CosignatureVerifier]


def plan(
    logs: Path, *witnesses: Witness, segment_entries: int = 50_000, balance_entries: int = 50_000
) -> Plan:
    return Plan(logs, KEY, ["royal"], DAYS, witnesses, segment_entries, balance_entries)


def seal_once(plan: Plan, server: EmbeddedServer) -> None:
    Sealing(plan, server.client, Alarms()).once()


@contextmanager
def sealing(plan: Plan, server: EmbeddedServer) -> Iterator[Sealing]:
    """Seal for as long as the test lasts."""
    running = Sealing(plan, server.client, Alarms())
    running.start()
    try:
        yield running
    finally:
        running.stop()


def opened_log(logs: Path, name: str = "royal") -> LogFolder:
    return LogFolder(logs / name, log_key.signer_of(KEY, name).verifier)


def sealed_lines(logs: Path, name: str = "royal") -> list[bytes]:
    with opened_log(logs, name) as log:
        return list(log.entries())


def size_of(logs: Path, name: str = "royal") -> int:
    """Tell how many entries are sealed; none while there is no log."""
    if not (logs / name / "checkpoint").exists():
        return 0
    with opened_log(logs, name) as log:
        return log.size


def history_of(logs: Path) -> History:
    return History.open(index_file(logs / "royal"))


def journal(client: Redis, first: int = 1) -> list[bytes]:
    """Give the lines that the server still has, from an entry on."""
    return [line.encode() for _, line in Meters(client, "royal").journal(first)]


def head(client: Redis) -> int:
    return int(client.hget("{royal}:link", "head") or 0)


@contextmanager
def witness(folder: Path, port: int = 0, key: Signer = KEY) -> Iterator[Witness]:
    """Serve a witness of both logs on a port of its own."""
    keys = [log_key.signer_of(key, name).verifier for name in ("royal", "site")]
    server = make_server("127.0.0.1", port, load_app(folder, NAME, keys))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        own = WitnessRecord(folder).prepare(NAME).verifier
        yield f"http://127.0.0.1:{server.server_port}", own
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
