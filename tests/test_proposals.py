"""What is proposed over HTTP is checked before anybody can agree to it."""

from typing import Any

import msgspec
import pytest
from flask.testing import FlaskClient
from test_api import json_of, services, session_of

from progressive.api.app import create_app
from progressive.api.services import Services
from progressive.people.roles import Role

__all__ = ["services"]  # a fixture

LINK = "/v1/links/royal"
LEVEL: dict[str, Any] = {
    "name": "star",
    "seed_micros": 50_000_000_000,
    "reset_micros": 60_000_000_000,
    "increment_ppm": 90_000,
    "reserve_ppm": 20_000,
    "limit_micros": None,
    "contribution_max_micros": 100_000_000,
}
MUST_HIT: dict[str, Any] = LEVEL | {
    "name": "must_hit",
    "seed_micros": 250_000_000,
    "reset_micros": 250_000_000,
    "increment_ppm": 20_000,
    "reserve_ppm": 0,
    "maximum_micros": 1_000_000_000,
    "distribution": {"name": "uniform", "version": 1, "segments": [[1_000_000_000, 1]]},
}
TABLE: dict[str, Any] = {
    "name": "MB-900",
    "asset": "90900",
    "kind": "live",
    "seats": 2,
    "decks": 8,
    "combinations": ["KS9H", "KS9D"],
}
BAD: list[tuple[str, dict[str, Any]]] = [
    ("adjust", {}),
    ("adjust", {"level": "star", "amount_micros": "5.00"}),
    ("adjust", {"level": "star", "amount_micros": 5.5}),
    ("adjust", {"level": "star", "amount": 5}),
    ("transfer", {"level": "star", "to": "spade", "amount_micros": 0}),
    ("transfer", {"level": "star", "to": "star", "to_link": "moon", "amount_micros": 1}),
    ("transfer", {"level": "star", "to": "star", "to_link": "royal", "amount_micros": 1}),
    ("level", {"definition": {"name": "star"}}),
    ("level", {"definition": LEVEL | {"increment_ppm": 999_999}}),
    ("level", {"definition": LEVEL | {"increment_ppm": 900_001}}),
    ("level", {"definition": LEVEL | {"reset_micros": 1_000_000}}),
    ("level", {"definition": LEVEL | {"contribution_max_micros": 1}}),
    ("level", {"definition": LEVEL | {"closed": True}}),
    ("level", {"definition": MUST_HIT | {"distribution": {"name": "uniform"}}}),
    ("level", {"definition": MUST_HIT | {"distribution": None}}),
    ("level", {"definition": MUST_HIT | {"maximum_micros": 100_000_000}}),
    ("table", {}),
    ("table", {"definition": {"name": "MB-900"}}),
    ("table", {"definition": TABLE | {"name": "MB-900,MB-901"}}),
    ("table", {"definition": TABLE | {"name": "MB.900"}}),
    ("table", {"definition": TABLE | {"asset": " "}}),
    ("table", {"definition": TABLE | {"asset": "10101"}}),
    ("table", {"definition": TABLE | {"kind": "moon"}}),
    ("table", {"definition": TABLE | {"seats": 99}}),
    ("table", {"definition": TABLE | {"decks": 1}}),
    ("table", {"definition": TABLE | {"combinations": ["KS9H"]}}),
    ("table", {"definition": TABLE | {"combinations": ["KS9H", "KS9H"]}}),
    ("table", {"definition": TABLE | {"combinations": ["KS9H", "AS2D"]}}),
    ("terms", {}),
    ("hand_award", {"table": "MB-101"}),
    ("pay", {"award": 0}),
]


@pytest.fixture
def http(services: Services) -> FlaskClient:
    return create_app(services).test_client(use_cookies=False)


def propose(http: FlaskClient, who: dict[str, str], what: str, body: Any) -> tuple[int, str]:  # noqa: ANN401 - JSON
    number = json_of(http.get(f"{LINK}/proposals", headers=who))["next_number"]
    said = {"number": number, "what": what, "reason": "test", "body": body}
    answer = http.post(f"{LINK}/proposals", json=said, headers=who)
    return answer.status_code, json_of(answer).get("code", "")


@pytest.mark.parametrize(
    ("what", "body"), BAD, ids=[f"{n}-{what}" for n, (what, _) in enumerate(BAD)]
)
def test_what_could_not_be_carried_out_is_not_even_proposed(
    services: Services, http: FlaskClient, what: str, body: dict[str, Any]
) -> None:
    carl = session_of(services, "carl", Role.ACCOUNTING)
    status, code = propose(http, carl, what, body)
    assert status in {404, 409, 422}, code
    assert json_of(http.get(f"{LINK}/proposals", headers=carl))["proposals"] == []


def test_terms_have_the_lines_of_the_paytable_that_they_name(
    services: Services, http: FlaskClient
) -> None:
    carl = session_of(services, "carl", Role.ACCOUNTING)
    [link] = json_of(http.get("/v1/links", headers=carl))["links"]
    lines = {**link["terms"]["lines"], "star": {"level": "star", "percent": 10}}
    oddities: tuple[dict[str, Any], ...] = (
        {"lines": lines},
        {"lines": {}},
        {"paytable": "moon"},
        {"simultaneous_seconds": -1},
    )
    for odd in oddities:
        assert propose(http, carl, "terms", {"terms": link["terms"] | odd}) == (409, "bad_call")
    assert propose(http, carl, "terms", {"terms": link["terms"]}) == (200, "")


def test_a_stored_proposal_that_could_not_be_carried_out_is_refused_to_who_approves_it(
    services: Services, http: FlaskClient
) -> None:
    """One from before bodies were checked would have taken the whole link down with it."""
    sue = session_of(services, "sue", Role.SUPERVISOR)
    meters = services.controllers["royal"].meters
    for number, body in enumerate(({"name": "star"}, LEVEL | {"increment_ppm": 999_999}), 1):
        said = {"definition": body}
        meters.run(meters.calls.propose(number, "carl", "level", "test", said))
        answer = http.post(f"{LINK}/proposals/{number}/approve", headers=sue)
        assert (answer.status_code, json_of(answer)["code"]) == (409, "bad_call"), answer.text
    assert http.get(f"{LINK}/meters", headers=sue).status_code == 200


def test_a_level_a_table_and_terms_that_are_sound_are_carried_out(
    services: Services, http: FlaskClient
) -> None:
    carl = session_of(services, "carl", Role.ACCOUNTING)
    sue = session_of(services, "sue", Role.SUPERVISOR)
    wanted = [("level", LEVEL), ("level", MUST_HIT), ("table", TABLE)]
    for number, (what, definition) in enumerate(wanted, 1):
        assert propose(http, carl, what, {"definition": definition}) == (200, "")
        answer = http.post(f"{LINK}/proposals/{number}/approve", headers=sue)
        assert answer.status_code == 200, answer.text
    found = json_of(http.get("/v1/tables/MB-900", headers=sue))
    assert (found["status"], found["combinations"]) == ("closed", TABLE["combinations"])


def test_a_proposal_is_stored_as_it_is_understood(services: Services, http: FlaskClient) -> None:
    carl = session_of(services, "carl", Role.ACCOUNTING)
    body = {"level": "star", "to": "spade", "amount_micros": 5.0}
    assert propose(http, carl, "transfer", body) == (200, "")
    [stored] = services.controllers["royal"].meters.snapshot().proposals
    assert msgspec.json.decode(stored.body) == {"level": "star", "to": "spade", "amount_micros": 5}


def test_a_programs_token_is_neither_of_the_two_persons(
    services: Services, http: FlaskClient
) -> None:
    """Who holds one could otherwise propose as a program and approve as a person."""
    carl = session_of(services, "carl", Role.ACCOUNTING)
    token = services.sessions.add_token("robot", [Role.ACCOUNTING], "admin")
    robot = {"Authorization": f"Bearer {token}"}
    body = {"level": "star", "amount_micros": 5}
    assert propose(http, robot, "adjust", body) == (403, "person_needed")
    assert propose(http, carl, "adjust", body) == (200, "")
    answer = http.post(f"{LINK}/proposals/1/approve", headers=robot)
    assert (answer.status_code, json_of(answer)["code"]) == (403, "person_needed")
