"""The embedded server: durable, alone in its folder, brought back, gone with its owner."""

import os
import signal
from pathlib import Path

import pytest
from redis import Redis
from servers import BINARIES, BOTH, wait_for

from meters.server import Change, EmbeddedServer


@pytest.mark.parametrize("kind", BOTH)
def test_what_was_acknowledged_survives_a_killed_server(kind: str, tmp_path: Path) -> None:
    changes: list[Change] = []
    with EmbeddedServer(tmp_path, binary=BINARIES[kind], on_change=changes.append) as server:
        with server.client() as client:
            client.set("star", "50000")
        os.kill(server.pid, signal.SIGKILL)
        wait_for(lambda: server.starts == 2)
        wait_for(lambda: changes == [Change.DOWN, Change.UP])
        with server.client() as client:
            assert client.get("star") == "50000"


def test_a_clean_server_is_given(client: Redis) -> None:
    assert client.dbsize() == 0
    assert client.function_list() == []
