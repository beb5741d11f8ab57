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
from progressive.api.services import Services
from progressive.api.signing import sign_answer, sign_request
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
