"""The demonstration's floor: people, devices, and the program that plays for them."""

import json
import secrets
from collections.abc import Callable
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

from meters.money import dollars
from meters.site import SiteJournal
from progressive.clock import now_ms
from progressive.config.values import Table
from progressive.data_folder import load_vaults
from progressive.devices import Devices, Kind
from progressive.people.roles import Role
from progressive.people.users import Users
from progressive.processes.children import PYTHON, Task
from progressive.processes.parent import Opened

FLOOR: Final = "links.floor"  # speaks to the controller over HTTP only, as firmware would
BY: Final = "demo"
SECOND: Final = "admin"
PEOPLE: Final = MappingProxyType(
    {
        "dina": Role.DEALER,
        "sam": Role.SUPERVISOR,
        "sue": Role.SUPERVISOR,
        "carl": Role.ACCOUNTING,
        "audrey": Role.AUDITOR,
    }
)
ACTING: Final = MappingProxyType(
    {"dealer": "dina", "supervisor": "sam", "second": "sue", "auditor": "audrey"}
)
FAULTS: Final = MappingProxyType({"loss": 0.05, "repeat": 0.05, "reorder": 0.02, "delay": 0.05})
HABITS: Final = MappingProxyType({"lucky": 0.15})
PASSWORD_BYTES: Final = 12


def demo_site() -> str:
    """Give the demonstration's site file."""
    return (files("progressive") / "demo.toml").read_text(encoding="utf-8")


def floor_task(opened: Opened, speed: float, tell: Callable[[str], None]) -> Task:
    """Give people and devices new secrets, tell the people's, and order the floor to play."""
    journal = SiteJournal(opened.connection.client)
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    _invite(Users(journal, now_ms), password)
    roles = ", ".join(f"{name} ({role})" for name, role in PEOPLE.items())
    tell(f"people          {roles}")
    tell(f"their password  {password}")
    devices = Devices(journal, load_vaults(opened.folder).devices)
    order = {
        "url": opened.url,
        "tables": {each.name: _devices_of(devices, each) for each in opened.site.site.tables},
        "people": {who: {"user": name, "password": password} for who, name in ACTING.items()},
        "seed": secrets.token_hex(8),
        "rounds": None,
        "speed": speed,
        "faults": dict(FAULTS),
        "habits": dict(HABITS),
    }
    command = (*PYTHON, FLOOR)
    return Task("floor", command, needs_server=False, told=json.dumps(order), hear=_teller(tell))


def _invite(users: Users, password: str) -> None:
    for name, role in PEOPLE.items():
        if users.find(name):
            users.give_password(name, BY, password=password, second=SECOND)
        else:
            users.put(name, [role], BY, password=password, second=SECOND)


def _devices_of(devices: Devices, table: Table) -> dict[str, dict[str, str]]:
    kinds = [Kind.HUB, *([Kind.SHOE] if table.kind == "dealer-assist" else [])]
    return {kind.value: _keyed(devices, f"{kind}-{table.name}", kind, table.name) for kind in kinds}


def _keyed(devices: Devices, name: str, kind: Kind, table: str) -> dict[str, str]:
    known = devices.find(name)
    key = devices.rotate(name, BY) if known else devices.add(name, kind, [table], BY)
    return {"device": name, "key": key.hex()}


def _teller(tell: Callable[[str], None]) -> Callable[[dict[str, Any]], None]:
    def hear(said: dict[str, Any]) -> None:
        """Show awards; how many rounds were played is not worth a line."""
        won = said.get("won")
        if won:
            amount, what = dollars(won["amount"]), won.get("level") or won["line"]
            tell(f"{won['table']} round {won['round']}: seat {won['seat']} wins {amount} ({what})")

    return hear
