"""The kinds of server that tests run on, and waiting for what is about to happen."""

import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

_REDIS = shutil.which("redis-server")
ON_REDIS = pytest.mark.skipif(_REDIS is None, reason="Debian's redis-server is not installed here")
BINARIES = {"valkey": None, "redis": Path(_REDIS) if _REDIS else None}
BOTH = ("valkey", pytest.param("redis", marks=ON_REDIS))
WAIT_S = 20.0


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port
