"""The real `progressive up` as a process in a folder, and what can be asked of it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from progressive.api.signing import sign_request
from progressive.processes.parent import free_port

PROGRAM = str(Path(sys.executable).with_name("progressive"))
WAIT_S = 40.0
T = TypeVar("T")


def until(condition: Callable[[], T]) -> T:
    """Wait for a condition, looking often, and give what it gave."""
    deadline = time.monotonic() + WAIT_S
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that ended and was not waited for does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


class ControllerProcess:
    """A controller that is started, asked over HTTP, killed and stopped."""

    command = "up"

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = free_port()
        self.password = ""
        self.shown = ""
        self.process: subprocess.Popen[str] | None = None

    def call(self, *more: str) -> list[str]:
        listen = f"127.0.0.1:{self.port}"
        return [PROGRAM, self.command, "--data", str(self.data), "--listen", listen, *more]

    def start(self, *more: str) -> None:
        """Start it and wait until it says that it is ready."""
        self.process = subprocess.Popen(  # noqa: S603 - the program under test
            self.call(*more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout
        self.shown = ""
        overdue = threading.Timer(WAIT_S, self.process.kill)  # a start that hangs must not
        overdue.start()
        try:
            for line in self.process.stdout:
                self.shown += line
                if line.startswith("administrator"):
                    self.password = line.partition("password ")[2].split()[0]
                if line.startswith("Ready"):
                    return
        finally:
            overdue.cancel()
        raise AssertionError((self.shown, self.log()[-30:]))

    def refused(self, *more: str) -> str:
        """Start it where it must refuse, and give the reason."""
        done = subprocess.run(  # noqa: S603 - the program under test
            self.call(*more), capture_output=True, text=True, check=False, timeout=WAIT_S
        )
        assert done.returncode == 2, (done.stdout, done.stderr)
        assert done.stderr.startswith("Error: ")
        return done.stderr

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal to the parent and wait for its end."""
        assert self.process
        self.process.send_signal(number)
        code = self.process.wait(WAIT_S)
        assert self.process.stdout
        self.process.stdout.close()
        return code

    def log(self) -> list[dict[str, Any]]:
        lines = (self.data / "progressive.log").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def pids(self) -> dict[str, int]:
        """Give the children's process ids, as the log has them, and the server's."""
        found = {}
        for line in self.log():
            name, _, pid = line["message"].partition(" is started as process ")
            if line["process"] == "up" and pid:
                found[name] = int(pid)
        server = (self.data / "valkey" / "server.lock").read_text(encoding="ascii")
        return found | {"valkey": int(server)}

    def kill(self, name: str) -> int:
        """Kill a child, and wait until it is gone."""
        pid = self.pids()[name]
        os.kill(pid, signal.SIGKILL)
        until(lambda: not is_alive(pid))
        return pid

    def request(
        self,
        path: str,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, Any]]:
        """Ask over HTTP; 0 where nobody answers."""
        data = None if body is None else msgspec.json.encode(body)
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            data,
            {"Content-Type": "application/json"} | (headers or {}),
        )
        try:
            with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310 - see above
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())
        except (OSError, ValueError):
            return 0, {}

    def is_ready(self) -> bool:
        return self.request("/v1/ready")[0] == HTTPStatus.OK

    def post(self, device: str, key: bytes, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Post a message as a device does."""
        told = time.time_ns() // 1_000_000
        data = msgspec.json.encode(body)
        signature = sign_request(key, "POST", "/v1/messages", told, data)
        headers = {
            "Progressive-Device": device,
            "Progressive-Time": str(told),
            "Progressive-Signature": signature,
        }
        return self.request("/v1/messages", body, headers)
