"""How fast the sealer is: a waiting journal, and one that is filled while it is sealed."""

import os
import tempfile
import threading
import time
from pathlib import Path

from play import Play
from sealed import DAYS, KEY, size_of

from meters.server import EmbeddedServer
from progressive.audit.alarms import Alarms
from progressive.audit.sealing import Plan, Sealing

ENTRIES_PER_SECOND = 20_000
ROUNDS = 30_000
ENTRIES_A_ROUND = 5


def backlog_per_second(server: EmbeddedServer, logs: Path) -> float:
    """Fill a journal first, then seal it: entries a second with index and closed segments."""
    with server.client() as client:
        client.flushall()
        Play(client).play(ROUNDS)
    sealing = Sealing(Plan(logs, KEY, ["royal"], DAYS), server.client, Alarms())
    start = time.perf_counter()
    sealing.once()
    return size_of(logs) / (time.perf_counter() - start)


def beside_play(server: EmbeddedServer, logs: Path) -> tuple[float, float]:
    """Fill a journal as fast as one client can while it is sealed.

    Gives the entries a second that were played, and how long the last of them waited for its seal.
    """
    sealing = Sealing(Plan(logs, KEY, ["royal"], DAYS), server.client, Alarms())
    with server.client() as client:
        client.flushall()
        floor = Play(client)
        sealing.start()
        start = time.perf_counter()
        floor.play(ROUNDS)
        played = time.perf_counter() - start
        head = int(client.hget("{royal}:link", "head") or 0)
        while size_of(logs) < head:
            threading.Event().wait(0.001)
        waited = time.perf_counter() - start - played
        sealing.stop()
    return head / played, waited


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        root = Path(folder)
        with EmbeddedServer(root / "valkey") as server:
            rate = backlog_per_second(server, root / "backlog")
            ratio = rate / ENTRIES_PER_SECOND
            print(f"sealer, {ROUNDS * ENTRIES_A_ROUND:,} entries waiting: {rate:,.0f} entries/s, "
                  f"{ratio:.1f} x the target")  # fmt: skip
            rate, waited = beside_play(server, root / "beside")
            print(f"sealer beside play at {rate:,.0f} entries/s: the last entry was sealed "
                  f"after {waited * 1000:.0f} ms")  # fmt: skip


if __name__ == "__main__":
    main()
