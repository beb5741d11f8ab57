"""Every route and every role: allowed or refused as one table says."""

from typing import Any

import pytest
from flask.testing import FlaskClient
from test_api import http, services

from progressive.api.app import ROUTES
from progressive.api.routes import Route
from progressive.api.services import Services
from progressive.devices import Kind
from progressive.people.roles import Role

__all__ = ["http", "services"]

D, S, C, A, T, M = "DSCATM"  # dealer, supervisor, accounting (cage), auditor, technician, manager
ROLES = dict(zip("DSCATM", Role, strict=True))

# route -> the roles that may call it; * everybody, even nobody; a device's kind: only such devices.
MATRIX = {
    "message": "hub",
    "batch": "gateway",
    "card": "shoe",
    "lock": "DS",
    "deal": "DS",
    "draw": "DS",
    "correct": "S",
    "end": "DS",
    "void": "S",
    "cancel": "DS",
    "shoe": "DS",
    "open_table": "S",
    "close_table": "S",
    "pay": "S",
    "proposals": "DSCATM",
    "propose": "SCT",
    "approve": "SC",
    "reject": "SCT",
    "health": "*",
    "ready": "*",
    "links": "DSCATM",
    "meters": "DSCATM",
    "tables": "DSCATM",
    "table": "DSCATM",
    "awards": "DSCATM",
    "journal": "CA",
    "rounds": "DSCATM",
    "round": "DSCATM",
    "past_awards": "DSCATM",
    "award_story": "DSCATM",
    "award_proof": "CA",
    "days": "DSCATM",
    "day": "DSCATM",
    "logs": "CA",
    "checkpoint": "CA",
    "entries": "CA",
    "entry_proof": "CA",
    "consistency": "CA",
    "login": "*",
    "who": "DSCATM",
    "logout": "DSCATM",
    "change_password": "DSCATM",
    "users": "M",
    "propose_user": "M",
    "approve_user": "M",
    "reject_user": "M",
    "devices": "TM",
    "add_device": "TM",
    "rotate_device": "TM",
    "revoke_device": "TM",
}


def test_the_table_names_every_route() -> None:
    assert {route.name for route in ROUTES} == set(MATRIX)


def url(route: Route) -> str:
    filled = route.path.replace("{table}", "MB-101").replace("{link}", "royal")
    for number in ("{round:int}", "{award:int}", "{number:int}", "{entry:int}"):
        filled = filled.replace(number, "1")
    return filled.replace("{device}", "hub-101").replace("{log}", "royal")


def call(http: FlaskClient, route: Route, headers: dict[str, str]) -> dict[str, Any]:
    body: dict[str, Any] | None = {} if route.body else None
    response = http.open(url(route), method=route.method, json=body, headers=headers)
    found = response.get_json(silent=True) or {}
    return {"status": response.status_code, "code": found.get("code", "")}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_a_route_is_allowed_to_the_roles_of_the_table_and_to_nobody_else(
    route: Route, services: Services, http: FlaskClient
) -> None:
    allowed = MATRIX[route.name]
    found = call(http, route, {})
    if allowed == "*":
        assert found["code"] not in {"not_logged_in", "unsigned", "not_allowed"}
        return
    is_device = allowed in set(Kind)
    assert found["code"] == ("unsigned" if is_device else "not_logged_in")
    for letter, role in ROLES.items():
        token = services.sessions.add_token(f"test-{role}", [role], "admin")
        found = call(http, route, {"Authorization": f"Bearer {token}"})
        if is_device:
            assert found["code"] == "unsigned", role
        elif letter in allowed:
            assert found["code"] not in {"not_logged_in", "not_allowed"}, role
        else:
            assert (found["status"], found["code"]) == (403, "not_allowed"), role
