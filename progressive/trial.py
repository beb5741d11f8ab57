"""A system for a trial: its own store, keys, site, people and devices, in a folder that may go."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from meters.connect import connect
from meters.server import EmbeddedServer
from progressive.config.load import load_site
from progressive.data_folder import DataFolder, SiteFile, keep_site
from progressive.devices import Kind
from progressive.opening import Opening
from progressive.people.roles import Role
from progressive.processes.parent import free_port
from progressive.serve import services_of

TABLES_A_LINK: Final = 100
TABLES_MAX: Final = 999
START_WAIT_S: Final = 30.0
SERVE: Final = "progressive.serve"
MUST_HIT_RESET: Final = 250
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
reset = "${reset}.00"
maximum = "${maximum}.00"
increment = "2.00 %"
distribution = "uniform"
"""
TABLE: Final = """
[tables.{name}]
asset = "{asset}"
kind = "{kind}"
link = "{link}"
seats = 7
"""


def _link(name: str, tables: int) -> str:
    """Write a link; a round at every table must not fill Must Hit, so many tables widen it."""
    return LINK.format(link=name, reset=MUST_HIT_RESET, maximum=MUST_HIT_RESET + 2 * tables)


def site_text(
    tables: int, kinds: tuple[str, ...] = KINDS, tables_a_link: int = TABLES_A_LINK
) -> str:
    """Write a site with so many tables of these kinds in turn, on as many links as they need."""
    parts = [HEAD]
    for first in range(0, tables, tables_a_link):
        link = f"trial-{first // tables_a_link + 1}"
        parts.append(_link(link, tables_a_link))
        parts += [
            TABLE.format(
                name=f"T{number + 1:03}",
                asset=10_001 + number,
                kind=kinds[number % len(kinds)],
                link=link,
            )
            for number in range(first, min(first + tables_a_link, tables))
        ]
    return "".join(parts)


@dataclass
class Trial:
    """A system that is made, used and taken down again; no sealer and no jobs run beside it."""

    folder: Path
    tables: int
    kinds: tuple[str, ...] = KINDS
    workers: int = 1
    gateways: int = 0
    tables_a_link: int = TABLES_A_LINK
    url: str = ""
    order: dict[str, Any] = field(default_factory=dict, repr=False)
    kills: int = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            data = DataFolder(self.folder).prepare()
            site = self._site()
            server = stack.enter_context(EmbeddedServer(data.valkey))
            self._address = server.address
            connection = connect(self._address)
            stack.callback(connection.close)
            problems = Opening(data, site, connection, "trial").open_(lambda _user, _password: None)
            if problems:
                raise RuntimeError("\n".join(problems))
            keep_site(data, site)
            self.services = services_of(data, connection.client)
            self.order = self._founded()
            self.port = free_port()
            self.url = f"http://127.0.0.1:{self.port}"
            stack.callback(self._end_api, signal.SIGTERM)
            self._api: subprocess.Popen[bytes] | None = None
            self.start_api()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _site(self) -> SiteFile:
        text = site_text(self.tables, self.kinds, self.tables_a_link)
        loaded = load_site(text)
        if loaded.site is None:
            raise ValueError("\n".join(map(str, loaded.problems)))
        return SiteFile(loaded.site, text)

    def _founded(self) -> dict[str, Any]:
        """Name people and devices, whose keys go into the floor's order."""
        services = self.services
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
        shares = [names[at :: self.gateways] for at in range(self.gateways)]
        gateways = [
            {**self._device(f"gateway-{at}", Kind.GATEWAY, share), "tables": share}
            for at, share in enumerate(shares, 1)
        ]
        return {"tables": tables, "people": people, "gateways": gateways}

    def _device(self, name: str, kind: Kind, tables: list[str]) -> dict[str, str]:
        key = self.services.devices.add(name, kind, tables, "trial")
        return {"device": name, "key": key.hex()}

    def start_api(self) -> None:
        """Start the API and wait until it answers."""
        data = ("--data", str(self.folder), "--listen", f"127.0.0.1:{self.port}")
        with (self.folder / "api.log").open("ab") as log:
            self._api = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", SERVE, *data, "--workers", str(self.workers)],
                env={**os.environ, "PROGRESSIVE_ADDRESS": self._address},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # its workers are killed with it, as one group
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
