"""The embedded server: a real Valkey process, started, watched and stopped with its owner.

One thread, the keeper, starts the process, waits for its end and starts it again. It has to be one
thread for the server's whole life: the kernel stops the server when the *thread* that started it
ends, which is how the server goes when its owner is killed.
"""

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

from redis import Redis, RedisError

from meters import guard
from meters.address import parse_address
from meters.append_file import rewrite_append_file
from meters.binary import Binary, inspect_binary, shipped_binary
from meters.client import open_single
from meters.disk import FsyncMeasure, measure_fsync
from meters.folder import (
    Claim,
    kept_password,
    prepare_folder,
    remove_socket,
    socket_path,
    usable,
    write_private,
)
from meters.server_error import Fault, ServerError
from meters.server_log import LogFile
from meters.server_settings import config_text

START_WAIT_S: Final = 60.0
STOP_WAIT_S: Final = 15.0
ANSWER_WAIT_S: Final = 1.0
POLL_S: Final = 0.005
RESTART_PAUSES_S: Final = (0.0, 0.5, 1.0, 2.0, 5.0)  # failed once more than this: given up

log = logging.getLogger(__name__)


class Change(StrEnum):
    """What the owner is told: after every `UP` its links have to be audited again."""

    DOWN = "down"
    UP = "up"
    FAILED = "failed"  # it did not come up again, and is not tried any more


class EmbeddedServer:
    """A Valkey server in a data folder of its own; it lives as long as its owner, and no longer."""

    def __init__(
        self,
        folder: Path,
        *,
        port: int | None = None,
        binary: Path | None = None,
        supervise: bool = True,
        on_change: Callable[[Change], None] | None = None,
    ) -> None:
        self.folder = folder
        self.port = port
        self.starts = 0  # how often it came up
        self.fsync: FsyncMeasure | None = None
        self.failure: ServerError | None = None
        self._binary_path = binary
        self._supervise = supervise
        self._on_change = on_change
        self._owner_pid = 0
        self._claim: Claim | None = None
        self._keeper: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._spawning = threading.Lock()
        self._up = threading.Event()
        self._stopping = threading.Event()
        self._socket = Path()
        self._password: str | None = None
        self._binary: Binary | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"EmbeddedServer({str(self.folder)!r}, port={self.port})"

    @property
    def address(self) -> str:
        """Give what clients connect to; with a port it holds the password."""
        self._must_be_started()
        if self.port is None:
            return self._local_address
        return f"redis://:{self._password}@127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Give the process id of the server itself."""
        self._must_be_started()
        if self._process is None:
            raise ServerError(Fault.NOT_RUNNING, f"The server in {self.folder} does not run.")
        return self._process.pid

    @property
    def binary(self) -> Binary:
        """Give the program it runs, found when it was started first."""
        if self._binary is None:
            self._binary = inspect_binary(self._binary_path or shipped_binary())
        return self._binary

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say what an operator should know, such as a slow disk."""
        slow = self.fsync.warning if self.fsync else None
        return (slow,) if slow else ()

    def is_alive(self) -> bool:
        """Tell whether the server runs and answers, as far as is known."""
        return self._up.is_set() and self._process is not None and self._process.poll() is None

    def client(self, *, decode: bool = True) -> Redis:
        """Open a client of its own; no command is retried behind the caller's back."""
        return open_single(parse_address(self.address), decode=decode)

    def start(self) -> Self:
        """Claim the folder, start the server, and return when it answers."""
        if self._keeper is not None:
            raise ServerError(Fault.ALREADY_STARTED, f"{self!r} is started already: stop it first.")
        binary = self.binary
        self.folder = prepare_folder(self.folder)
        self._owner_pid = os.getpid()
        self._claim = Claim.take(self.folder, STOP_WAIT_S)
        try:
            with usable(self.folder):
                self.fsync = measure_fsync(self.folder)
                self._write_config(binary)
            self._stopping.clear()
            self.failure = None
            first: Future[None] = Future()
            self._keeper = threading.Thread(
                target=self._keep, args=(first,), name="valkey-keeper", daemon=True
            )
            self._keeper.start()
            first.result()
        except BaseException:
            self.stop()
            raise
        for warning in self.warnings:
            log.warning(warning)
        return self

    def stop(self) -> None:
        """Stop the server in order, wait until it is gone, and release the folder."""
        if self._owner_pid != os.getpid():
            return  # a fork of the owner, or never started: there is nothing of its own to stop
        with self._spawning:
            self._stopping.set()
            process = self._process
        if process is not None:
            process.terminate()
        if self._keeper is not None:
            self._keeper.join(STOP_WAIT_S)
            if self._keeper.is_alive() and process is not None:
                process.kill()  # nothing is lost: what was acknowledged is on disk
            self._keeper.join()
        self._up.clear()
        self._process = self._keeper = None
        if self._claim is not None:
            remove_socket(self.folder)
            self._claim.release()
            self._claim = None

    def restart(self) -> None:
        """Stop the server in order and start it again."""
        self.stop()
        self.start()

    def _must_be_started(self) -> None:
        if self._claim is None:
            raise ServerError(
                Fault.NOT_RUNNING, f"The server in {self.folder} is not started: start it first."
            )

    def _write_config(self, binary: Binary) -> None:
        self._socket = socket_path(self.folder)
        self._password = None if self.port is None else kept_password(self.folder)
        text = config_text(
            binary.release, self.folder, self._socket, port=self.port, password=self._password
        )
        write_private(self._config, text)

    @property
    def _local_address(self) -> str:
        secret = f":{self._password}@" if self._password else ""
        return f"unix://{secret}{quote(str(self._socket))}"

    @property
    def _config(self) -> Path:
        return self.folder / "valkey.conf"

    def _keep(self, first: Future[None]) -> None:
        try:
            self._come_up()
        except Exception as error:  # noqa: BLE001  whatever it is, start() raises it
            first.set_exception(error)
            return
        first.set_result(None)
        while self._process is not None:
            status = self._process.wait()
            self._up.clear()
            if self._stopping.is_set():
                return
            log.error("The server in %s ended by itself (status %d).", self.folder, status)
            self._tell(Change.DOWN)
            if not self._supervise or not self._bring_back():
                return

    def _bring_back(self) -> bool:
        for pause_s in RESTART_PAUSES_S:
            if self._stopping.wait(pause_s):
                return False
            try:
                self._come_up()
            except ServerError as error:
                log.exception("The server in %s did not come up again.", self.folder)
                self.failure = error
            else:
                self.failure = None
                self._tell(Change.UP)
                return True
        self._tell(Change.FAILED)
        return False

    def _tell(self, change: Change) -> None:
        if self._on_change is None:
            return
        try:
            self._on_change(change)
        except Exception:  # the keeper must outlive its listener, or the server would be stopped
            log.exception("The listener failed on %s.", change)

    def _come_up(self) -> None:
        log_file = LogFile(self.folder / "valkey.log")
        process = self._spawn(log_file)
        try:
            with open_single(parse_address(self._local_address), timeout_s=ANSWER_WAIT_S) as client:
                self._wait_until_up(client, process, log_file)
                if not self.binary.release.torn_file_fix:
                    rewrite_append_file(client)
        except BaseException:
            process.kill()
            process.wait()
            raise
        self.starts += 1
        self._up.set()

    def _spawn(self, log_file: LogFile) -> subprocess.Popen[bytes]:
        assert self._claim is not None  # noqa: S101  the keeper runs between start and stop only
        with self._spawning, log_file.open() as output:
            if self._stopping.is_set():
                raise ServerError(Fault.NOT_RUNNING, f"The server in {self.folder} is stopping.")
            self._process = subprocess.Popen(  # noqa: S603  the program is the operator's choice
                [
                    *(sys.executable, "-I", "-S", guard.__file__, str(os.getpid())),
                    *(self.binary.path, self._config),
                ],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(self._claim.server,),
                start_new_session=True,  # an interrupt typed at the owner is not for the server
                umask=0o077,
            )
            self._claim.name_server(self._process.pid)
            return self._process

    def _wait_until_up(
        self, client: Redis, process: subprocess.Popen[bytes], log_file: LogFile
    ) -> None:
        deadline = time.monotonic() + START_WAIT_S
        while process.poll() is None and time.monotonic() < deadline:
            try:
                client.ping()  # unlike INFO, it is refused while the server is still loading
                if client.info("server")["process_id"] == process.pid:
                    return
            except RedisError:  # not listening yet, or still loading
                pass
            time.sleep(POLL_S)
        ended = process.poll() is not None
        what = "ended at once" if ended else f"did not answer within {START_WAIT_S:.0f} s"
        raise ServerError(
            Fault.NOT_UP,
            f"The server in {self.folder} {what}. Its files were left as they are. The end of its "
            f"log, {log_file.path}, says why:\n{log_file.tail()}",
        )
