"""The API as a device, a dealer and a supervisor see it, on a real server."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask.testing import FlaskClient
from redis import Redis
from werkzeug.test import TestResponse

from meters.functions import ensure_loaded
from meters.link import Meters
from meters.replay import audit
from meters.site import SiteJournal
from progressive.api.app import create_app
from progressive.api.auth import CSRF_HEADER, SESSION_COOKIE
from progressive.api.services import Services
from progressive.api.signing import sign_answer, sign_request
from progressive.audit.shelf import Shelf
from progressive.config.load import load_site
from progressive.controller import Controller
from progressive.definition import link_definition
from progressive.devices import Devices, Kind
from progressive.draws.process import process_drbg
from progressive.draws.vault import make
from progressive.people.approvals import Approvals
from progressive.people.roles import Role
from progressive.people.sessions import Sessions
from progressive.people.users import Users

EXAMPLE = Path(__file__).parent.parent / "progressive" / "example.toml"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture
def services(client: Redis, tmp_path: Path) -> Iterator[Services]:
    site = load_site(EXAMPLE.read_text(encoding="utf-8")).site
    assert site is not None
    ensure_loaded(client)
    journal = SiteJournal(client)
    users = Users(journal, now_ms)
    sessions = Sessions(journal, users, now_ms)
    controller = Controller(
        Meters(client, "royal"),
        make(tmp_path / "draws.key", cycle_open=False),
        process_drbg(),
        site.rulebook,
    )
    controller.open_link(link_definition(site, site.links[0]), "admin")
    yield Services(
        site=site,
        controllers={"royal": controller},
        users=users,
        sessions=sessions,
        approvals=Approvals(journal, users, sessions),
        devices=Devices(journal, make(tmp_path / "devices.key", cycle_open=False)),
        shelf=Shelf(tmp_path / "log"),
        now_ms=now_ms,
    )
    found = audit(controller.meters)
    assert found.is_exact, found.problems


@pytest.fixture
def http(services: Services) -> FlaskClient:
    return create_app(services).test_client()


def json_of(response: TestResponse) -> dict[str, Any]:
    found = response.get_json()
    assert isinstance(found, dict)
    return found


class Hub:
    """A device that signs what it posts and checks the answers' signatures."""

    def __init__(self, http: FlaskClient, name: str, key: bytes) -> None:
        self.http, self.name, self.key = http, name, key

    def post(self, path: str, body: Any, **odd: Any) -> TestResponse:  # noqa: ANN401 - JSON
        data = msgspec.json.encode(body)
        told = odd.get("time_ms", now_ms())
        signature = sign_request(odd.get("key", self.key), "POST", path, told, data)
        headers = {
            "Progressive-Device": self.name,
            "Progressive-Time": str(told),
            "Progressive-Signature": signature,
        }
        response = self.http.post(path, data=data, headers=headers, content_type="application/json")
        if "Progressive-Signature" in response.headers:
            expected = sign_answer(self.key, signature, response.status_code, response.data)
            assert response.headers["Progressive-Signature"] == expected
        return response


@pytest.fixture
def hub(services: Services, http: FlaskClient) -> Hub:
    key = services.devices.add("hub-101", Kind.HUB, ["MB-101"], "admin")
    return Hub(http, "hub-101", key)


def person(services: Services, http: FlaskClient, name: str, *roles: Role) -> dict[str, str]:
    told = services.users.put(name, list(roles), "admin")
    answer = http.post("/v1/session", json={"user": name, "password": told})
    assert answer.status_code == 200, answer.text
    return {"X-CSRF-Token": json_of(answer)["csrf"]}


def session_of(services: Services, name: str, *roles: Role) -> dict[str, str]:
    """Give the headers of somebody who is logged in, whatever the client's own cookies say."""
    services.users.put(name, list(roles), "admin")
    told, session = services.sessions.begin(name)
    return {"Cookie": f"{SESSION_COOKIE}={told}", CSRF_HEADER: session.csrf}


def message(**odd: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    said = {"table": "MB-101", "epoch": 1, "sequence": 1, "round": 1, "seats": [1, 3]}
    return said | odd


def test_a_round_is_played_over_http(services: Services, http: FlaskClient, hub: Hub) -> None:
    told = hub.post("/v1/messages", message())
    assert told.status_code == 200, told.text
    assert json_of(told)["lamps"][:3] == ["accepted", "off", "accepted"]
    headers = person(services, http, "dina", Role.DEALER)
    at = "/v1/tables/MB-101/rounds/1"
    locked = http.post(f"{at}/lock", json={"seats": [1, 3]}, headers=headers)
    assert json_of(locked)["phase"] == "locked"
    cards = {"player": ["KS", "9H"], "banker": ["KS", "9H"]}
    dealt = http.post(f"{at}/deal", json=cards, headers=headers)
    assert [award["line"] for award in json_of(dealt)["awards"]] == ["star", "other_king9"]
    ended = http.post(f"{at}/end", json={}, headers=headers)
    assert json_of(ended)["round"] == 2
    pending = json_of(http.get("/v1/links/royal/awards"))["awards"]
    assert [award["line"] for award in pending][:2] == ["star", "other_king9"]
    assert json_of(hub.post("/v1/messages", message()))["result"] == "duplicate"


@pytest.mark.parametrize(
    ("odd", "status", "code"),
    [
        ({"key": b"x" * 32}, 401, "wrong_signature"),
        ({"time_ms": 1}, 401, "clock_skew"),
    ],
)
def test_a_request_that_is_wrongly_signed_is_refused(
    services: Services, hub: Hub, odd: dict[str, Any], status: int, code: str
) -> None:
    before = services.controllers["royal"].meters.snapshot()
    response = hub.post("/v1/messages", message(), **odd)
    assert (response.status_code, json_of(response)["code"]) == (status, code)
    assert response.mimetype == "application/problem+json"
    assert services.controllers["royal"].meters.snapshot() == before


def test_a_device_can_prove_the_time_that_it_is_told(services: Services, hub: Hub) -> None:
    """A wrong clock is set by the answer, so the answer is signed like any other."""
    response = hub.post("/v1/messages", message(), time_ms=1)
    assert "Progressive-Signature" in response.headers  # which the hub has checked
    assert abs(json_of(response)["facts"]["server_time_ms"] - services.now_ms()) < 10_000


def test_who_does_not_have_the_key_gets_no_signature(hub: Hub) -> None:
    response = hub.post("/v1/messages", message(), key=b"x" * 32)
    assert "Progressive-Signature" not in response.headers


def test_a_links_definition_says_what_every_wager_contributes(
    services: Services, http: FlaskClient
) -> None:
    person(services, http, "ada", Role.AUDITOR)
    [link] = json_of(http.get("/v1/links"))["links"]
    assert link["terms"]["stake_micros"] == 5_000_000
    rates = {level["name"]: level["increment_ppm"] for level in link["levels"]}
    assert rates == {"star": 90_000, "spade": 50_000, "heart": 50_000, "must_hit": 20_000}
    assert [table["name"] for table in link["tables"]] == ["AU-301", "DA-201", "MB-101", "MB-102"]


def test_a_repeat_of_the_fourth_card_after_its_round_is_answered_and_deals_nothing(
    services: Services, http: FlaskClient
) -> None:
    reader = Hub(http, "shoe-201", services.devices.add("shoe-201", Kind.SHOE, ["DA-201"], "admin"))
    headers = person(services, http, "dina", Role.DEALER)
    at = "/v1/tables/DA-201/rounds/1"
    http.post(f"{at}/lock", json={"seats": []}, headers=headers)
    said = [
        {"table": "DA-201", "epoch": 1, "sequence": number, "round": 1, "card": card}
        for number, card in enumerate(["KS", "2H", "9H", "7D"], 1)
    ]
    told = [json_of(reader.post("/v1/cards", body)) for body in said]
    assert [answer["phase"] for answer in told] == ["locked", "locked", "locked", "dealt"]
    assert json_of(reader.post("/v1/cards", said[-1]))["phase"] == "dealt"
    http.post(f"{at}/end", json={}, headers=headers)
    before = services.controllers["royal"].meters.snapshot()
    again = reader.post("/v1/cards", said[-1])
    assert (again.status_code, json_of(again)["result"]) == (200, "duplicate")
    assert services.controllers["royal"].meters.snapshot() == before


def test_an_automated_table_is_dealt_by_the_controller_and_a_repeat_draws_the_same(
    services: Services, http: FlaskClient
) -> None:
    headers = person(services, http, "dina", Role.DEALER)
    at = "/v1/tables/AU-301/rounds/1"
    http.post("/v1/tables/AU-301/shoe", json={"shoe": 1}, headers=headers)
    early = http.post(f"{at}/draw", headers=headers)
    assert (early.status_code, json_of(early)["code"]) == (409, "wrong_phase")
    http.post(f"{at}/lock", json={"seats": []}, headers=headers)
    drawn = json_of(http.post(f"{at}/draw", headers=headers))
    assert json_of(http.post(f"{at}/draw", headers=headers)) == drawn
    ended = http.post(f"{at}/end", json={"cards": drawn.get("thirds", [])}, headers=headers)
    assert json_of(ended)["round"] == 2
    by_hand = http.post("/v1/tables/MB-101/rounds/1/draw", headers=headers)
    assert json_of(by_hand)["code"] == "not_automated"


def test_a_key_that_another_process_has_rotated_is_known_at_once(
    services: Services, hub: Hub
) -> None:
    assert hub.post("/v1/messages", message()).status_code == 200
    elsewhere = Devices(services.devices._journal, services.devices._vault)  # noqa: SLF001 - as another process has it
    hub.key = elsewhere.rotate("hub-101", "admin")
    assert hub.post("/v1/messages", message(sequence=2)).status_code == 200


def test_a_device_that_another_process_has_revoked_is_refused_a_second_later(
    services: Services, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hub.post("/v1/messages", message()).status_code == 200
    elsewhere = Devices(services.devices._journal, services.devices._vault)  # noqa: SLF001 - as another process has it
    elsewhere.revoke("hub-101", "admin")
    later = time.monotonic() + 1
    monkeypatch.setattr("progressive.devices.time.monotonic", lambda: later)
    refused = hub.post("/v1/messages", message(sequence=2))
    assert json_of(refused)["code"] == "revoked_device"


def test_a_transfer_between_links_arrives_when_it_is_approved(services: Services) -> None:
    royal = services.controllers["royal"]
    silver = Controller(
        Meters(royal.meters.client, "silver"), royal.vault, royal.source, royal.book
    )
    definition = link_definition(services.site, services.site.links[0])
    silver.open_link(msgspec.structs.replace(definition, link="silver"), "admin")
    services.controllers["silver"] = silver
    before = silver.meters.numbers()["star.meter"]
    codes = [
        transferred(services, number, to_link, to)
        for number, (to_link, to) in enumerate(
            [("silver", "star"), ("moon", "star"), ("silver", "sun"), ("royal", "spade")], 1
        )
    ]
    assert codes == ["approved", "unknown_link", "unknown_level", "unknown_level"]
    assert silver.meters.numbers()["star.meter"] == before + 7_000_000
    assert royal.meters.snapshot().transfers == {}


def transferred(services: Services, number: int, to_link: str, to: str) -> str:
    """Propose and approve a transfer; gives the result, or the code of the first refusal."""
    answer: dict[str, Any] = {}
    body = {"level": "star", "amount_micros": 7_000_000, "to_link": to_link, "to": to}
    wish = {"number": number, "what": "transfer", "reason": "table moves", "body": body}
    for name, path, asked in (
        ("carl", "/v1/links/royal/proposals", wish),
        ("cora", f"/v1/links/royal/proposals/{number}/approve", None),
    ):
        http = create_app(services).test_client()
        headers = person(services, http, name, Role.ACCOUNTING, Role.SUPERVISOR)
        answer = json_of(http.post(path, json=asked, headers=headers))
        if "code" in answer:
            break
    return str(answer.get("code") or answer["result"])


def seen(http: FlaskClient) -> dict[str, dict[str, int]]:
    found = json_of(http.get("/v1/devices"))["devices"]
    return {each["device"]: each.get("seen_ms", {}) for each in found}


def test_a_technician_sees_when_each_device_last_posted_and_for_which_table(
    services: Services, http: FlaskClient, hub: Hub
) -> None:
    silent = services.devices.add("hub-102", Kind.HUB, ["MB-102"], "admin")
    key = services.devices.add("gate", Kind.GATEWAY, ["MB-101", "MB-102", "DA-201"], "admin")
    person(services, http, "tom", Role.TECHNICIAN)
    before = now_ms()
    for kind in ("state", "heartbeat"):
        hub.post("/v1/messages", message(kind=kind, seats=[]))
    said = [message(table=table, device="h") for table in ("MB-102", "DA-201", "AU-301")]
    Hub(http, "gate", key).post("/v1/messages/batch", {"messages": said})
    Hub(http, "hub-102", silent).post("/v1/messages", message(table="MB-101"))  # not its own
    services.devices.seen.write()
    found = seen(http)
    assert {name: set(tables) for name, tables in found.items()} == {
        "hub-101": {"MB-101"},
        "hub-102": set(),
        "gate": {"MB-102", "DA-201"},
    }
    assert before <= found["hub-101"]["MB-101"] <= now_ms()


def test_what_was_seen_is_written_once_and_in_no_journal(
    services: Services, hub: Hub, client: Redis
) -> None:
    head = SiteJournal(client).head()
    hub.post("/v1/messages", message())
    services.devices.seen.write()
    client.delete("{site}:seen")
    services.devices.seen.write()
    assert client.exists("{site}:seen") == 0
    assert SiteJournal(client).head() == head
