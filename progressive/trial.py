"""A system for a trial: its own store, keys, site, people and devices, in a folder that may go."""

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from flask import Flask
from granian import Granian
from granian.constants import Interfaces
from redis import Redis

from meters.address import parse_address
from meters.client import open_single
from meters.functions import ensure_loaded
from meters.link import Meters
from meters.server import EmbeddedServer
from meters.site import SiteJournal
from progressive.api.app import create_app
from progressive.api.services import Services
from progressive.config.load import load_site
from progressive.config.values import Site
from progressive.controller import Controller
from progressive.definition import link_definition
from progressive.devices import Devices, Kind
from progressive.draws import vault
from progressive.draws.process import process_drbg
from progressive.people.approvals import Approvals
from progressive.people.roles import Role
from progressive.people.sessions import Sessions
from progressive.people.users import Users

TABLES_A_LINK: Final = 100
TABLES_MAX: Final = 999
FOLDER_VARIABLE: Final = "PROGRESSIVE_TRIAL"
START_WAIT_S: Final = 30.0
KINDS: Final = ("live", "dealer-assist", "live", "automated")
PEOPLE: Final = {
    "dealer": Role.DEALER,
    "supervisor": Role.SUPERVISOR,
    "auditor": Role.AUDITOR,
}
HEAD: Final = """
site = "A trial"
time_zone = "America/New_York"
gaming_day_starts = "06:00"
jurisdiction = "MD"
"""
# Meters near their resets and a short Must Hit, so that a short trial sees all of it happen.
LINK: Final = """
[links.{link}]
paytable = "MD-C"
decks = 8
simultaneous_wins = "in_order"
hand_pay_above = "$1,000.00"
two_persons_above = "$10,000.00"

[links.{link}.levels]
star = {{ seed = "$50,000.00", reset = "$50,000.00", increment = "4.00 %", reserve = "2.00 %" }}
spade = {{ seed = "$450.00", reset = "$450.00", increment = "2.00 %", reserve = "1.00 %" }}
heart = {{ seed = "$450.00", reset = "$450.00", increment = "2.00 %" }}

[links.{link}.levels.must_hit]
reset = "$250.00"
maximum = "$450.00"
increment = "2.00 %"
distribution = "uniform"
"""
TABLE: Final = """
[tables.{name}]
asset = "{asset}"
kind = "{kind}"
link = "{link}"
seats = {seats}
"""


def site_text(tables: int, kinds: tuple[str, ...] = KINDS, seats: int = 7) -> str:
    """Write a site with so many tables of these kinds in turn, on as many links as they need."""
    parts = [HEAD]
    for first in range(0, tables, TABLES_A_LINK):
        link = f"trial-{first // TABLES_A_LINK + 1}"
        parts.append(LINK.format(link=link))
        parts += [
            TABLE.format(
                name=f"T{number + 1:03}",
                asset=10_001 + number,
                kind=kinds[number % len(kinds)],
                link=link,
                seats=seats,
            )
            for number in range(first, min(first + TABLES_A_LINK, tables))
        ]
    return "".join(parts)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def services_in(folder: Path, client: Redis) -> Services:
    """Put the services together from a trial's folder."""
    site = _site(folder)
    journal = SiteJournal(client)
    users = Users(journal, _now_ms)
    sessions = Sessions(journal, users, _now_ms)
    draws = vault.load(folder / "draws.key")
    return Services(
        site=site,
        controllers={
            link.name: Controller(Meters(client, link.name), draws, process_drbg(), site.rulebook)
            for link in site.links
        },
        users=users,
        sessions=sessions,
        approvals=Approvals(journal, users, sessions),
        devices=Devices(journal, vault.load(folder / "devices.key")),
        now_ms=_now_ms,
    )


def _site(folder: Path) -> Site:
    loaded = load_site((folder / "site.toml").read_text(encoding="utf-8"))
    if loaded.site is None:
        raise ValueError("\n".join(map(str, loaded.problems)))
    return loaded.site


def app() -> Flask:
    """Make the application of the trial that the environment names; granian calls it."""
    logging.getLogger("progressive.api").setLevel(logging.ERROR)
    folder = Path(os.environ[FOLDER_VARIABLE])
    address = parse_address((folder / "address").read_text(encoding="utf-8"))
    return create_app(services_in(folder, open_single(address)))


@dataclass
class Trial:
    """A system that is made, used and taken down again."""

    folder: Path
    tables: int
    kinds: tuple[str, ...] = KINDS
    seats: int = 7
    workers: int = 1
    gateways: int = 0
    url: str = ""
    order: dict[str, Any] = field(default_factory=dict, repr=False)
    kills: int = 0

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "site.toml").write_text(
            site_text(self.tables, self.kinds, self.seats), encoding="utf-8"
        )
        vault.make(self.folder / "draws.key", cycle_open=False)
        vault.make(self.folder / "devices.key", cycle_open=False)
        self._server = EmbeddedServer(self.folder / "valkey").start()
        self._client = self._server.client()
        self._api: subprocess.Popen[bytes] | None = None
        try:
            (self.folder / "address").write_text(self._server.address, encoding="utf-8")
            self.services = services_in(self.folder, self._client)
            self._found()
            self.port = _free_port()
            self.url = f"http://127.0.0.1:{self.port}"
            self.start_api()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end_api(signal.SIGTERM)
        self._client.close()
        self._server.stop()

    def _found(self) -> None:
        """Open the links; name people and devices, whose keys go into the floor's order."""
        services = self.services
        ensure_loaded(self._client)
        for link in services.site.links:
            definition = link_definition(services.site, link)
            services.controllers[link.name].open_link(definition, "trial")
        people = {
            who: {"token": services.sessions.add_token(who, [role], "trial")}
            for who, role in PEOPLE.items()
        }
        tables: dict[str, dict[str, dict[str, str]]] = {}
        for table in services.site.tables:
            tables[table.name] = {"hub": self._device(f"hub-{table.name}", Kind.HUB, [table.name])}
            if table.kind == "dealer-assist":
                reader = self._device(f"shoe-{table.name}", Kind.SHOE, [table.name])
                tables[table.name]["shoe"] = reader
        names = [*tables]
        gateways = [
            self._device(f"gateway-{at + 1}", Kind.GATEWAY, names[at :: self.gateways])
            | {"tables": ",".join(names[at :: self.gateways])}
            for at in range(self.gateways)
        ]
        self.order = {"tables": tables, "people": people, "gateways": gateways}

    def _device(self, name: str, kind: Kind, tables: list[str]) -> dict[str, str]:
        key = self.services.devices.add(name, kind, tables, "trial")
        return {"device": name, "key": key.hex()}

    def start_api(self) -> None:
        """Start the API and wait until it answers."""
        with (self.folder / "api.log").open("ab") as log:
            self._api = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", __spec__.name, str(self.port), str(self.workers)],
                env={**os.environ, FOLDER_VARIABLE: str(self.folder)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # its workers are stopped with it, as one group
            )
        deadline = time.monotonic() + START_WAIT_S
        while not self._answers():
            if self._api.poll() is not None or time.monotonic() > deadline:
                tail = (self.folder / "api.log").read_text(encoding="utf-8")[-2000:]
                raise RuntimeError(f"the API did not come up:\n{tail}")
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/v1/health", timeout=1) as answer:  # noqa: S310 - our own
                return bool(json.load(answer)["status"] == "ok")
        except (OSError, urllib.error.URLError):
            return False

    def kill_api(self) -> None:
        """Kill the API and all its workers without a warning, and start it again."""
        self._end_api(signal.SIGKILL)
        self.kills += 1
        self.start_api()

    def _end_api(self, how: signal.Signals) -> None:
        if self._api is None:
            return
        with contextlib.suppress(ProcessLookupError):  # it ended by itself
            os.killpg(self._api.pid, how)
        try:
            self._api.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._api.pid, signal.SIGKILL)
            self._api.wait()
        self._api = None


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def serve(port: int, workers: int) -> None:
    """Serve the trial's API until it is stopped."""
    Granian(
        f"{__spec__.name}:app",
        port=port,
        interface=Interfaces.WSGI,
        workers=workers,
        blocking_threads=4,
        factory=True,
        respawn_failed_workers=True,
    ).serve()


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
