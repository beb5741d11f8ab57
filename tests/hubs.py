"""The reference firmware, compiled; and a bad wire between it and the controller."""

import os
import random
import shutil
import socket
import subprocess
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from servers import free_port

FIRMWARE = Path(__file__).parent.parent / "links" / "firmware"
CORE = [FIRMWARE / name for name in ("progressive_client.c", "signing.c", "answer.c", "sha256.c")]
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
SANITIZED = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
# A floor in a hurry: the same firmware with shorter waits.
HURRIED = [
    "-DPC_HEARTBEAT_MS=40", "-DPC_PACE_MS=2", "-DPC_RETRY_MS=5", "-DPC_RETRY_MS_MAX=40",
    "-DPC_LINK_DOWN_MS=400", "-DANSWER_MS=1000",
]  # fmt: skip
HOST: Final = "127.0.0.1"
REQUEST_MAX: Final = 65_536


def compiler() -> str:
    """Find the C compiler; a build machine must have one, elsewhere its tests are skipped."""
    found = shutil.which(os.environ.get("CC", "cc"))
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no C compiler, and a build machine must have one")
        pytest.skip("there is no C compiler here")
    return found


def compiled(out: Path, sources: Sequence[Path], flags: Sequence[str]) -> Path:
    command = [compiler(), *STRICT, *flags, f"-I{FIRMWARE}", "-o", str(out), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  the compiler
    assert done.returncode == 0, done.stderr
    return out


def has_sanitizers(folder: Path) -> bool:
    source = folder / "empty.c"
    source.write_text("int main(void) { return 0; }\n", encoding="utf-8")
    command = [compiler(), *SANITIZED, "-o", str(folder / "empty"), str(source)]
    if subprocess.run(command, capture_output=True, check=False).returncode:  # noqa: S603  the compiler
        return False
    return subprocess.run([folder / "empty"], check=False).returncode == 0  # noqa: S603  made above


class Probe:
    """The client without any I/O, driven line by line."""

    def __init__(self, binary: Path) -> None:
        self.process = subprocess.Popen(  # noqa: S603  compiled by the test
            [binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *words: object) -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(" ".join(str(word) or "-" for word in words) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"the client died of {words[:4]}"
        return answer.strip()

    def close(self) -> None:
        self.process.communicate()
        assert self.process.returncode == 0


class HubProcess:
    """A hub at its table: its sensors are told, its lamps are watched."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self.process = subprocess.Popen(  # noqa: S603  compiled by the test
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        self.lines.extend(iter(self.process.stdout.readline, ""))

    def sense(self, seats: Collection[int]) -> None:
        assert self.process.stdin
        self.process.stdin.write(" ".join(map(str, sorted(seats))) + "\n")
        self.process.stdin.flush()

    @property
    def lamps(self) -> list[str]:
        return self.lines[-1].split()[4:] if self.lines else []

    @property
    def round(self) -> int:
        return int(self.lines[-1].split()[0]) if self.lines else 0

    def shows(self, round_: int, lamp: str, seats: Collection[int]) -> bool:
        """Tell whether exactly these seats have this lamp, in this round."""
        last = self.lines[-1].split() if self.lines else ["0"]
        lit = {seat for seat, shown in enumerate(last[4:], 1) if shown == lamp}
        return int(last[0]) == round_ and lit == set(seats)

    @property
    def is_down(self) -> bool:
        return bool(self.lamps) and set(self.lamps) == {"link-down"}

    @property
    def code(self) -> str:
        return self.codes[-1] if self.lines else ""

    @property
    def codes(self) -> list[str]:
        """Give every problem that it has shown, in order; `-` where there was none."""
        return [line.split()[3].removeprefix("code=") for line in self.lines]

    @property
    def epoch(self) -> int:
        return int(self.lines[-1].split()[2].removeprefix("epoch=")) if self.lines else 0

    def kill(self) -> None:
        """End it at once, as when the power goes."""
        self.process.kill()
        self._gone()

    def stop(self) -> None:
        """Take its sensors away; a sanitizer that found something would speak now."""
        assert self.process.stdin
        self.process.stdin.close()
        code = self.process.wait()
        self._gone()
        assert code == 0

    def _gone(self) -> None:
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe and not pipe.closed:
                try:
                    pipe.close()
                except BrokenPipeError:  # what it was told last, nobody reads any more
                    continue


FATES: Final = (
    "pass", "lose request", "lose answer", "repeat", "cut answer", "old copy", "hold",
)  # fmt: skip
BAD: Final = (50, 10, 12, 10, 10, 8, 8)
GOOD: Final = (1, 0, 0, 0, 0, 0, 0)
CUT_THROUGH: Final = (0, 1, 0, 0, 0, 0, 0)


@dataclass
class LossyWire:
    """A wire that loses, repeats, cuts and reorders, as its seed says."""

    to_port: int
    chance: random.Random
    weights: Sequence[int] = BAD
    port: int = field(default_factory=free_port)
    fates: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FATES, 0))
    last: bytes = b""
    held: list[bytes] = field(default_factory=list)  # they arrive after what was sent later

    @contextmanager
    def open(self) -> Iterator["LossyWire"]:
        listening = socket.create_server((HOST, self.port))
        thread = threading.Thread(target=self._carry, args=(listening,))
        thread.start()
        try:
            yield self
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            listening.close()

    def _carry(self, listening: socket.socket) -> None:
        while True:
            try:
                near, _ = listening.accept()
            except OSError:
                return
            with near:
                try:
                    self._one(near)
                except OSError:  # either end went away: that is what this wire is for
                    continue

    def _one(self, near: socket.socket) -> None:
        near.settimeout(2)
        request = read_request(near)
        if not request:
            return
        fate = self.chance.choices(FATES, self.weights)[0]
        self.fates[fate] += 1
        old, self.last = self.last, request
        if fate == "hold":
            self.held.append(request)
        if fate in {"hold", "lose request"}:
            return
        answer = self._forward(request)
        if fate == "repeat":
            answer = self._forward(request)
        self.held += [old] if fate == "old copy" and old else []
        while self.held:
            self._forward(self.held.pop())
        if fate == "cut answer":
            near.sendall(answer[: self.chance.randrange(len(answer) + 1)])
        elif fate != "lose answer":
            near.sendall(answer)

    def _forward(self, request: bytes) -> bytes:
        with closing(socket.create_connection((HOST, self.to_port), 2)) as far:
            far.sendall(request)
            return b"".join(iter(lambda: far.recv(REQUEST_MAX), b""))


def read_request(near: socket.socket) -> bytes:
    """Read a whole request, or nothing: its head, and as much of a body as that says."""
    taken = b""
    while b"\r\n\r\n" not in taken:
        part = near.recv(REQUEST_MAX)
        if not part:
            return b""
        taken += part
    head, _, body = taken.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        part = near.recv(REQUEST_MAX)
        if not part:
            return b""
        body += part
    return head + b"\r\n\r\n" + body
