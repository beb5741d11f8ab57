"""A busy run of the real processes: nothing tells the trigger or the secret of an open cycle."""

import gzip
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from controller_process import ControllerProcess, until
from cycles import due_at, secret_of, trigger_of
from plain_forms import forms_of_amount, forms_of_bytes, places_of

from meters.client import Client
from meters.connect import connect
from meters.link import Meters
from meters.site import SiteJournal
from progressive.api.app import ROUTES
from progressive.clock import now_ms
from progressive.config.load import load_site
from progressive.controller import Controller
from progressive.data_folder import DataFolder, example_site, load_vaults
from progressive.devices import Devices, Kind
from progressive.draws.process import process_drbg
from progressive.people.roles import Role
from progressive.people.users import Users

CYCLES = 3
RESET, MAXIMUM = 1_000_000_000, 1_650_000_000  # dollars: any value is twelve digits of cents
SEATS = [1, 2, 5]
CARDS = {"player": ["2S", "3H"], "banker": ["4C", "6D"]}
PEOPLE = {
    "dina": [Role.DEALER],
    "ann": [Role.ACCOUNTING],
    "sue": [Role.SUPERVISOR],
    "ada": [Role.AUDITOR],
    "tim": [Role.TECHNICIAN],
}


class Floor:
    """The processes, people who are logged in, and every byte that was answered to them."""

    def __init__(self, controller: ControllerProcess, client: Client) -> None:
        self.controller, self.client = controller, client
        self.folder = DataFolder(controller.data)
        self.answers: dict[str, bytes] = {}
        self.headers: dict[str, dict[str, str]] = {}
        self.passwords: set[str] = set()
        journal = SiteJournal(client)
        users = Users(journal, now_ms)
        self.devices = Devices(journal, load_vaults(self.folder).devices)
        for name, roles in PEOPLE.items():
            told = users.put(name, roles, "admin")
            self.passwords.add(told)
            self.login(name, told)
        self.login("admin", controller.password)

    def login(self, name: str, password: str) -> None:
        body = {"user": name, "password": password}
        status, cookie, answer = self.send("POST", "/v1/session", body, {})
        assert status == 200, answer
        self.headers[name] = {"Cookie": cookie.split(";")[0], "X-CSRF-Token": answer["csrf"]}

    def send(
        self, method: str, path: str, body: object, headers: dict[str, str]
    ) -> tuple[int, str, Any]:
        data = None if body is None else msgspec.json.encode(body)
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self.controller.port}{path}",
            data,
            {"Content-Type": "application/json"} | headers,
            method=method,
        )
        try:
            answer = urllib.request.urlopen(asked, timeout=20)  # noqa: S310 - our own address
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            content, told = answer.read(), answer.headers
        number = len(self.answers)
        self.answers[f"answer {number} {method} {path}"] = bytes(told) + content
        is_json = "json" in told.get_content_type()
        found = json.loads(content) if is_json else {}
        return answer.status, told.get("Set-Cookie", ""), found

    def ask(self, who: str, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401
        status, _, answer = self.send(method, path, body, self.headers[who])
        assert status == 200, (path, answer)
        return answer

    def round(self, number: int, key: bytes) -> Any:  # noqa: ANN401 - JSON
        """Play a round over HTTP, with steps that are refused in between."""
        at = f"/v1/tables/MB-101/rounds/{number}"
        said = {"table": "MB-101", "epoch": 1, "sequence": number, "round": number, "seats": SEATS}
        status, answer = self.controller.post("hub-101", key, said)
        assert status == 200, answer
        self.answers[f"hub {number}"] = json.dumps(answer).encode()
        self.send("POST", f"{at}/end", {}, self.headers["dina"])
        self.ask("dina", "POST", f"{at}/lock", {"seats": SEATS})
        self.send("POST", f"{at}/lock", {"seats": [7]}, self.headers["dina"])
        self.ask("dina", "POST", f"{at}/deal", CARDS)
        ended = self.ask("dina", "POST", f"{at}/end", {})
        self.send("POST", f"/v1/tables/MB-101/rounds/{number + 5}/end", {}, self.headers["dina"])
        return ended

    def to_the_maximum(self, number: int) -> None:
        """Have two persons fill the meter, as no number of wagers could."""
        held = int(self.client.hget("{royal}:link", "must_hit.meter") or 0)
        body = {
            "level": "must_hit",
            "amount_micros": MAXIMUM * 10**6 - 10**6 - held,
            "part": "meter",
        }
        told = {"number": number, "what": "adjust", "reason": "test", "body": body}
        self.ask("ann", "POST", "/v1/links/royal/proposals", told)
        self.ask("sue", "POST", f"/v1/links/royal/proposals/{number}/approve")

    def read_everything(self) -> None:
        """Ask every route that reads, as everybody, and with what does not exist."""
        for route in ROUTES:
            if route.method != "GET":
                continue
            for link, table in (("royal", "MB-101"), ("nowhere", "XX-1")):
                path = route.path.replace("{link}", link).replace("{table}", table)
                for headers in (*self.headers.values(), {}):
                    self.send("GET", path, None, headers)

    def places(self) -> dict[str, bytes]:
        """Gather every byte that is stored, logged, answered, or shown by the system."""
        found = dict(self.answers) | {"output": self.controller.shown.encode()}
        for path in sorted(self.folder.path.rglob("*")):
            if path.is_file() and path.parent.name != "keys":
                content = path.read_bytes()
                is_packed = content.startswith(b"\x1f\x8b")
                found[str(path)] = content + (gzip.decompress(content) if is_packed else b"")
        assert self.controller.process
        for pid in _with_children([self.controller.process.pid, *self.controller.pids().values()]):
            for name in ("cmdline", "environ"):
                found[f"{name} {pid}"] = Path(f"/proc/{pid}/{name}").read_bytes()
        return found | self._stored()

    def _stored(self) -> dict[str, bytes]:
        found = {}
        with closing(connect(self.folder.address)) as connection:
            client = connection.client
            for key in cast("list[str]", list(client.scan_iter())):
                kind = str(client.type(key))
                readers: dict[str, Callable[[str], Any]] = {
                    "string": client.get,
                    "hash": client.hgetall,
                    "stream": client.xrange,
                    "zset": lambda k: client.zrange(k, 0, -1, withscores=True),
                    "set": client.smembers,
                    "list": lambda k: client.lrange(k, 0, -1),
                }
                text = "\n".join(_texts(readers[kind](key)))
                found[f"key {key}"] = key.encode() + text.encode()
            found["calls"] = repr(client.slowlog_get(1000)).encode()
            found["errors"] = repr(client.info("everything")).encode()
        return found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield str(name)
            yield from _texts(each)
    elif isinstance(value, list | tuple | set):
        for each in value:
            yield from _texts(each)
    else:
        yield str(value)


def _with_children(pids: list[int]) -> list[int]:
    found = list(pids)
    for pid in found:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
        found += [int(one) for one in text.split() if int(one) not in found]
    return found


def wide_site() -> str:
    """Give the example site with a Must Hit of twelve digits of cents."""
    text = example_site()
    wide = text.replace('reset = "$250.00"', f'reset = "${RESET:,}.00"')
    wide = wide.replace('maximum = "$1,000.00"', f'maximum = "${MAXIMUM:,}.00"')
    wide = wide.replace('increment = "2.00 %"', 'increment = "70.00 %"')  # or it wins too rarely
    assert wide.count(f"{RESET:,}") == wide.count(f"{MAXIMUM:,}") == 1
    return wide


@pytest.fixture
def floor(tmp_path: Path) -> Iterator[Floor]:
    site = tmp_path / "site.toml"
    site.write_text(wide_site(), encoding="utf-8")
    controller = ControllerProcess(tmp_path / "data")
    try:
        controller.start("--site", str(site))
        with closing(connect(DataFolder(controller.data).address)) as connection:
            until(controller.is_ready)
            yield Floor(controller, connection.client)
    finally:
        if controller.is_running:
            controller.stop()


def test_nothing_tells_the_trigger_or_the_secret_of_an_open_cycle(floor: Floor) -> None:
    key = floor.devices.add("hub-101", Kind.HUB, ["MB-101"], "admin")
    for cycle in range(1, CYCLES + 1):
        floor.to_the_maximum(cycle)
        floor.round(2 * cycle - 1, key)
        floor.round(2 * cycle, key)
    site = load_site(wide_site()).site
    assert site
    meters = Meters(floor.client, "royal")
    vault = load_vaults(floor.folder).draws
    hidden = Controller(meters, vault, process_drbg(), site.rulebook)
    due = due_at(hidden, "MB-101")
    assert due.present > CYCLES
    floor.read_everything()
    head = meters.numbers()["head"]
    until(lambda: _sealed(floor.folder.path / "log" / "royal") >= head)

    trigger = trigger_of(hidden, due)
    assert len(str(trigger // 10_000)) == 12, "so many digits that a chance hit is none"
    forms = forms_of_amount(trigger)
    sealed = cast("dict[str, str]", floor.client.hgetall(meters.calls.keys.secrets))
    assert {str(due.present), str(due.present + 1)} <= set(sealed)
    for number in (due.present, due.present + 1):
        packed = secret_of(vault, sealed[str(number)], number).pack()
        forms |= forms_of_bytes(packed[:32]) | forms_of_bytes(packed[32:])
    places = floor.places()
    assert places_of(forms, places) == []
    _assert_the_search_finds(floor, places, trigger, sealed[str(due.present)])
    _assert_nobody_can_act_for_another(floor, places, key)


def _assert_nobody_can_act_for_another(
    floor: Floor, places: dict[str, bytes], device_key: bytes
) -> None:
    """Keys, passwords and sessions are told to their owner once, and hashes of them to nobody."""
    sessions = {each["Cookie"].partition("=")[2] for each in floor.headers.values()}
    assert all(len(session) > 20 for session in sessions)
    told = {place: content for place, content in places.items() if "POST /v1/session" not in place}
    texts = {text.encode() for text in sessions | floor.passwords}
    assert places_of(forms_of_bytes(device_key) | texts, told) == []
    assert places_of(texts, places), "the answer to a login has its session"
    users = cast("dict[str, str]", floor.client.hgetall("{site}:users"))
    hashes = {json.loads(text)["hash"].rpartition("$")[2].encode() for text in users.values()}
    held = places_of(hashes, places)
    assert "key {site}:users" in held
    assert all(place == "key {site}:users" or "appendonly" in place for place in held), held


def _assert_the_search_finds(
    floor: Floor, places: dict[str, bytes], trigger: int, sealed: str
) -> None:
    """What is public, or was planted, is found in every kind of place."""
    lines = [json.loads(line) for _, line in Meters(floor.client, "royal").journal(1)]
    [first, *_] = [line["must_hit"] for line in lines if "must_hit" in line]
    shown = places_of(forms_of_bytes(bytes.fromhex(first["secret"])), places)
    assert "key {royal}:journal" in shown
    assert any("/log/royal/" in place for place in shown)
    assert any("appendonly" in place for place in shown)
    assert any(place.startswith("answer") and "journal" in place for place in shown)
    assert places_of(forms_of_bytes(sealed.encode()), places), "what is sealed lies in the server"
    floor.client.hset("planted", "value", f"${trigger / 10**6:,.2f}")
    planted = floor.places()
    assert "key planted" in places_of(forms_of_amount(trigger), planted)


def _sealed(log: Path) -> int:
    lines = (log / "checkpoint").read_text(encoding="utf-8").splitlines()
    return int(lines[1])
