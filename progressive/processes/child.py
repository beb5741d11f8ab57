"""One child process: started under a guard, started again when it ends, stopped with its own."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any, Final

from meters import guard
from progressive import logs
from progressive.processes.children import Task
from progressive.processes.tracebacks import Failure, Tracebacks

PAUSES_S: Final = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)
STEADY_S: Final = 30.0  # having run so long, a child's earlier ends are forgotten
STOP_WAIT_S: Final = 15.0
LINE_BYTES_MAX: Final = 64 * 1024

log = logging.getLogger(__name__)


class Child:
    """A child and its successors; only the parent's main thread may call it.

    The kernel ends a child when the thread that started it ends.
    """

    def __init__(
        self, task: Task, environment: Mapping[str, str], inherited: int, file: logs.LogFile
    ) -> None:
        self.task = task
        self.starts = 0
        self._environment = dict(environment)
        self._inherited = inherited  # the folder's lock: held until the last child is gone
        self._file = file
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0
        self._ends = 0
        self._due = 0.0

    @property
    def pid(self) -> int | None:
        """Give the process id while it runs."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start it; an interrupt typed at the parent is not for it."""
        guarded = (sys.executable, "-I", "-S", guard.__file__, str(os.getpid()))
        process = subprocess.Popen(  # noqa: S603 - a command of our own table
            [*guarded, *self.task.command],
            stdin=subprocess.PIPE if self.task.told else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment,
            pass_fds=(self._inherited,),
            start_new_session=True,
            umask=0o077,
        )
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        if process.stdin:
            with suppress(BrokenPipeError), process.stdin as stdin:  # ended: seen at the next look
                stdin.write(self.task.told.encode())
        threading.Thread(
            target=self._bring_to_log, args=(process.stdout,), name=self.task.name, daemon=True
        ).start()
        self._process, self._began = process, time.monotonic()
        self.starts += 1
        log.info("%s is started as process %d", self.task.name, process.pid)

    def look(self) -> None:
        """Start it again if it has ended, after a pause that grows while that keeps happening."""
        now = time.monotonic()
        if self._process is None:
            if now >= self._due:
                self.start()
            return
        status = self._process.poll()
        if status is None:
            return
        self._kill_rest(self._process.pid)
        self._process = None
        self._ends = 1 if now - self._began > STEADY_S else self._ends + 1
        pause = PAUSES_S[min(self._ends, len(PAUSES_S)) - 1]
        self._due = now + pause
        log.error(
            "%s ended by itself (status %d), started again in %.1f s", self.task.name, status, pause
        )

    def stop(self) -> None:
        """Ask it to stop, insist after a while, and leave nothing of it behind."""
        process = self._process
        if process is None:
            return
        process.terminate()
        try:
            status = process.wait(STOP_WAIT_S)
            log.info("%s is stopped (status %d)", self.task.name, status)
        except subprocess.TimeoutExpired:
            log.warning("%s did not stop and is killed", self.task.name)
        self._kill_rest(process.pid)
        process.wait()
        self._process = None

    @staticmethod
    def _kill_rest(session: int) -> None:
        """Kill what the child started: it would go on listening in the new one's place."""
        with suppress(ProcessLookupError):
            os.killpg(session, signal.SIGKILL)

    def _bring_to_log(self, output: IO[bytes]) -> None:
        """Put what the child prints into the log, as lines of the log's own form."""
        tracebacks = Tracebacks()
        with output:
            while text := output.readline(LINE_BYTES_MAX):
                self._take(text.decode(errors="replace").rstrip(), tracebacks)

    def _take(self, said: str, tracebacks: Tracebacks) -> None:
        fields = _fields(said)
        if fields and self.task.hear:
            self.task.hear(fields)
        elif fields and "message" in fields:
            tracebacks.end_words()
            self._file.write(_as_line(self.task.name, fields))
        elif sifted := tracebacks.sift(said):
            self._file.write(_plain_line(self.task.name, sifted))


def _fields(said: str) -> dict[str, Any] | None:
    try:
        found = json.loads(said)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _plain_line(process: str, said: str | Failure) -> str:
    if isinstance(said, Failure):
        return logs.line(process, "error", "uncaught", **said._asdict())
    return logs.line(process, "info", said.strip())


def _as_line(process: str, fields: dict[str, Any]) -> str:
    level, message = str(fields.pop("level", "warning")), str(fields.pop("message", ""))
    for name in ("time", "process"):
        fields.pop(name, None)
    return logs.line(process, level, message, **fields)
