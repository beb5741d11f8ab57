"""Changes of users and tokens: two persons, each name for one, and nothing approved twice."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from flask.testing import FlaskClient
from test_api import http, json_of, services

from meters.errors import Refused
from progressive.api.services import Services
from progressive.people.approvals import Approvals, What, Wish
from progressive.people.roles import Role

__all__ = ["http", "services"]  # fixtures


def wish(what: What, name: str, *roles: Role) -> Wish:
    return Wish(what=what, name=name, roles=[*roles], reason="test", by="ann")


@pytest.fixture
def approvals(services: Services) -> Approvals:
    services.users.put("gone", [Role.DEALER], "admin")
    services.users.retire("gone", "admin")
    services.users.put("dan", [Role.DEALER], "admin")
    services.sessions.add_token("signs", [Role.AUDITOR], "admin")
    return services.approvals


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (wish("user", "gone", Role.DEALER), "bad_user"),  # a retired name stays taken
        (wish("user", "signs", Role.DEALER), "bad_user"),
        (wish("user", "new"), "bad_user"),
        (wish("token", "dan", Role.AUDITOR), "bad_user"),
        (wish("token", "gone", Role.AUDITOR), "bad_user"),
        (wish("token", "new"), "bad_user"),
        (wish("retire", "gone"), "unknown_user"),
        (wish("retire", "nobody"), "unknown_user"),
        (wish("revoke_token", "dan"), "unknown_user"),
    ],
)
def test_what_makes_no_sense_is_not_proposed(approvals: Approvals, asked: Wish, code: str) -> None:
    with pytest.raises(Refused) as refused:
        approvals.propose(asked)
    assert refused.value.code == code
    assert approvals.open_ones() == {}


def test_what_has_become_impossible_is_refused_and_stays_proposed(
    services: Services, approvals: Approvals
) -> None:
    number = approvals.propose(wish("token", "erin", Role.AUDITOR))
    services.users.put("erin", [Role.DEALER], "admin")
    with pytest.raises(Refused, match="erin is, or was, a user"):
        approvals.approve(number, "bob")
    assert number in approvals.open_ones()


def test_of_many_who_approve_at_once_one_does(services: Services, approvals: Approvals) -> None:
    number = approvals.propose(wish("token", "robot", Role.AUDITOR))

    def approve(at: int) -> str:
        try:
            return approvals.approve(number, f"bob{at}")
        except Refused as refusal:
            return refusal.code

    with ThreadPoolExecutor(8) as pool:
        told = sorted(pool.map(approve, range(8)))
    assert told[0].startswith("pt_")
    assert told[1:] == ["unknown_proposal"] * 7
    kinds = [line for _, line in services.users._journal.entries() if '"k":"approve"' in line]  # noqa: SLF001
    assert len(kinds) == 1


def test_programs_are_listed_with_their_roles(
    services: Services, approvals: Approvals, http: FlaskClient
) -> None:
    assert approvals.open_ones() == {}
    admin = services.sessions.add_token("admins", [Role.ADMINISTRATOR], "admin")
    found = json_of(http.get("/v1/users", headers={"Authorization": f"Bearer {admin}"}))
    assert found["programs"] == [
        {"name": "admins", "roles": ["administrator"]},
        {"name": "signs", "roles": ["auditor"]},
    ]


def test_a_technician_does_not_turn_down_what_concerns_money(
    services: Services, http: FlaskClient
) -> None:
    meters = services.controllers["royal"].meters
    body = {"level": "star", "amount_micros": 5}
    meters.run(meters.calls.propose(1, "carl", "adjust", "test", body))
    token = services.sessions.add_token("tec", [Role.TECHNICIAN], "admin")
    answer = http.post(
        "/v1/links/royal/proposals/1/reject",
        json={"reason": "no"},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert (answer.status_code, json_of(answer)["code"]) == (403, "not_allowed")
    assert [each.number for each in meters.snapshot().proposals] == [1]
