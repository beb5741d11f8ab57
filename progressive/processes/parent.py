"""The parent of `progressive up`: opens the site, keeps its processes, and stops them in order."""

import logging
import math
import os
import queue
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Final

from meters.address import Mode
from meters.connect import FAILURES, Connection, connect
from meters.folder import Claim
from meters.server import Change, EmbeddedServer
from meters.server_error import ServerError
from progressive import logs
from progressive.audit.witness_record import WitnessRecord
from progressive.data_folder import (
    DataFolder,
    SiteFile,
    StartRefused,
    keep_site,
    log_verifiers,
)
from progressive.opening import Opening
from progressive.processes.child import STOP_WAIT_S, Child
from progressive.processes.children import Setting, Task, children

LOOK_S: Final = 0.1
AUDIT_LOOK_S: Final = 1.0
API_WAIT_S: Final = 30.0
ANSWER_WAIT_S: Final = 5.0
ENVIRONMENT: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the operator asked for."""

    listen: tuple[str, int]
    address: str | None  # a server of one's own
    witnesses: Sequence[str]
    workers: int
    threads: int
    stop_after_s: float | None = None
    rotate_keys: bool = False
    behind_tls: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """A site that is open, for whoever adds tasks of their own to the children."""

    folder: DataFolder
    site: SiteFile
    connection: Connection
    url: str


class ServerLost(Exception):  # noqa: N818 - it is the server that is lost
    """The embedded server does not come up any more."""


class Parent:
    """Everything that runs on this machine, from the first lock to the last child's end."""

    def __init__(
        self,
        folder: DataFolder,
        wishes: Wishes,
        tell: Callable[[str], None],
        guests: Callable[[Opened], Sequence[Task]] = lambda _: (),
    ) -> None:
        self._folder = folder
        self._wishes = wishes
        self._tell = tell
        self._guests = guests  # what runs besides, once the API answers
        self._news: queue.SimpleQueue[Change | None] = queue.SimpleQueue()  # None: stop
        self._children: list[Child] = []
        self._server: EmbeddedServer | None = None

    def run(self, read: Callable[[DataFolder], SiteFile]) -> None:
        """Start, keep and stop; returns when it was told to stop."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._news.put(None))
        with ExitStack() as stack:
            self._folder = self._folder.prepare()
            claim = Claim.take(self._folder.path, STOP_WAIT_S)
            stack.callback(claim.release)
            site = read(self._folder)
            insist_on_free(self._wishes.listen)
            file = logs.configure(self._folder.log_file, "up")
            stack.callback(log.info, "stopped")
            address = self._start_server(stack)
            connection = stack.enter_context(closing(connect(address)))
            opening = self._open(connection, site)
            guests = self._guests(Opened(self._folder, site, connection, self._url))
            setting = self._setting(site, has_worker=connection.mode is not Mode.CLUSTER)
            begin = partial(self._begin, stack, partial(_child, address, claim.server, file))
            begin(children(setting))
            self._announce(setting)
            begin(guests)
            self._keep(opening)

    def _begin(
        self, stack: ExitStack, child_of: Callable[[Task], Child], tasks: Sequence[Task]
    ) -> None:
        """Start children; what is started last is stopped first."""
        for task in tasks:
            child = child_of(task)
            stack.callback(child.stop)
            child.start()
            self._children.append(child)

    @property
    def _url(self) -> str:
        host, port = self._wishes.listen
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def _start_server(self, stack: ExitStack) -> str:
        if self._wishes.address:
            return self._wishes.address
        self._server = EmbeddedServer(self._folder.valkey, on_change=self._news.put)
        stack.enter_context(self._server)
        for warning in self._server.warnings:
            self._tell(f"warning: {warning}")
        return self._server.address

    def _open(self, connection: Connection, site: SiteFile) -> Opening:
        if not connection.torn_file_fix:
            connection.rewrite_append_files()
        opening = Opening(self._folder, site, connection)
        problems = opening.open_(self._tell_password, rotate_keys=self._wishes.rotate_keys)
        keep_site(self._folder, site)
        for problem in problems:
            self._tell(f"problem: {problem}")
        if problems:
            self._tell("What has a problem stays closed: nothing is accepted for it.")
        return opening

    def _tell_password(self, user: str, password: str) -> None:
        self._tell(f"administrator   {user}, password {password} (shown this once)")

    def _setting(self, site: SiteFile, *, has_worker: bool) -> Setting:
        log_keys = [str(key) for key in log_verifiers(self._folder, site.site)]
        name = f"{socket.gethostname()}/witness"
        witness = WitnessRecord(self._folder.witness).prepare(name).verifier
        port = free_port()
        return Setting(
            folder=self._folder,
            listen=self._wishes.listen,
            workers=self._wishes.workers,
            threads=self._wishes.threads,
            witness_listen=("127.0.0.1", port),
            witness_name=name,
            log_keys=log_keys,
            witnesses=(f"http://127.0.0.1:{port}={witness}", *self._wishes.witnesses),
            behind_tls=self._wishes.behind_tls,
            has_worker=has_worker,
        )

    def _announce(self, setting: Setting) -> None:
        """Tell the addresses once the API answers."""
        deadline = time.monotonic() + API_WAIT_S
        while not _answers(self._wishes.listen):
            if time.monotonic() > deadline:
                self._tell(f"The API does not answer yet: see {self._folder.log_file}")
                return
            if self._is_told_to_stop():
                return
        self._tell(f"API             {self._url}/v1")
        self._tell(f"documentation   {self._url}/v1/docs")
        self._tell(f"data and log    {self._folder.path}")
        witness = setting.witnesses[0].partition("=")[2]
        self._tell(f"witness         {witness}")
        self._tell(f"to verify       progressive audit verify --data {self._folder.path}")
        self._tell("Ready. Stop with Ctrl-C.")

    def _is_told_to_stop(self) -> bool:
        """Look after the children for a moment."""
        try:
            news = self._news.get(timeout=LOOK_S)
        except queue.Empty:
            for child in self._children:
                child.look()
            return False
        self._news.put(news)  # the loop takes it up
        return news is None

    def _keep(self, opening: Opening) -> None:
        looked = time.monotonic()
        end = looked + (self._wishes.stop_after_s or math.inf)
        while time.monotonic() < end:
            try:
                news = self._news.get(timeout=LOOK_S)
            except queue.Empty:
                pass
            else:
                if news is None:
                    log.info("told to stop")
                    return
                self._take_news(news, opening)
            for child in self._children:
                child.look()
            if time.monotonic() - looked >= AUDIT_LOOK_S:
                looked = time.monotonic()
                logs.rotate(self._folder.log_file)
                self._audit(opening, again=False)

    def _take_news(self, news: Change, opening: Opening) -> None:
        if news is Change.FAILED:
            why = self._server.failure if self._server else None
            raise ServerLost(str(why or "the server did not come up again"))
        if news is Change.UP:
            self._audit(opening, again=True)

    def _audit(self, opening: Opening, *, again: bool) -> None:
        """Audit what a restart, a promotion or a new library has closed, and bring transfers."""
        try:
            opening.load_library()
            for problem in opening.audit(again=again):
                self._tell(f"problem: {problem}")
            opening.deliver()
        except (*FAILURES, ServerError) as error:
            log.warning("the server does not answer", extra={"error": type(error).__name__})


def _child(address: str, inherited: int, file: logs.LogFile, task: Task) -> Child:
    return Child(task, _environment(task, address), inherited, file)


def _environment(task: Task, address: str) -> dict[str, str]:
    """Give a child what it needs and nothing else; an address may hold a password."""
    known = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    return known | {"PROGRESSIVE_ADDRESS": address} if task.needs_server else known


def insist_on_free(listen: tuple[str, int]) -> None:
    """Refuse an address in use: granian would share it, and answers would come from either."""
    family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
    try:
        socket.create_server(listen, family=family).close()
    except OSError as error:
        raise StartRefused(
            f"{listen[0]}:{listen[1]} cannot be listened on: {error.strerror or error}. "
            "Choose another with --listen, or stop what uses it"
        ) from None


def free_port() -> int:
    """Choose a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def _answers(listen: tuple[str, int]) -> bool:
    """Tell whether the API answers; that the port is open does not mean that a worker is up."""
    http = HTTPConnection(*listen, timeout=ANSWER_WAIT_S)
    try:
        http.request("GET", "/v1/health")
        return http.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        http.close()
