"""Logging in: what is refused, and that a refusal tells nobody which names there are."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from flask.testing import FlaskClient
from redis import Redis
from test_api import http, json_of, now_ms, services
from werkzeug.test import TestResponse

from meters.errors import Refused
from progressive.api.app import create_app
from progressive.api.services import Limits, Services
from progressive.people.roles import Role
from progressive.people.sessions import IDLE_S, SESSION_S, Sessions

__all__ = ["http", "services"]  # fixtures


GUESS = "guess"


def log_in(http: FlaskClient, name: str, password: str = GUESS) -> TestResponse:
    return http.post("/v1/session", json={"user": name, "password": password})


def test_a_name_that_nobody_has_is_locked_as_soon_as_one_that_somebody_has(
    services: Services, http: FlaskClient
) -> None:
    services.users.put("ann", [Role.DEALER], "admin")
    told = {
        name: [json_of(log_in(http, name))["code"] for _ in range(7)] for name in ("ann", "nobody")
    }
    assert told["ann"] == ["wrong_password"] * 5 + ["locked_out"] * 2
    assert told["nobody"] == told["ann"]


def test_a_name_that_nobody_has_is_answered_as_slowly_as_one_that_somebody_has(
    services: Services, http: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.users.put("ann", [Role.DEALER], "admin")
    compared: list[str] = []

    def verify(_self: PasswordHasher, _hash: str, password: str) -> bool:
        compared.append(password)
        raise VerificationError

    monkeypatch.setattr(PasswordHasher, "verify", verify)
    for name in ("ann", "nobody"):
        log_in(http, name)
    assert compared == ["guess", "guess"]


def test_many_guesses_at_once_are_no_more_than_five(services: Services) -> None:
    users = services.users
    users.put("ann", [Role.DEALER], "admin")

    def guess(_: int) -> str:
        with pytest.raises(Refused) as refused:
            users.check("ann", "guess")
        return refused.value.code

    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(guess, range(16)))
    assert codes.count("wrong_password") == 5


def test_a_new_password_unlocks(services: Services, http: FlaskClient) -> None:
    services.users.put("ann", [Role.DEALER], "admin")
    for _ in range(6):
        log_in(http, "ann")
    right = services.users.put("ann", [Role.DEALER], "admin")
    assert log_in(http, "ann", right).status_code == 200


def test_an_address_that_tries_many_names_is_told_to_wait(services: Services) -> None:
    few = Limits(login_burst=3, logins_a_second=0.001)
    http = create_app(replace(services, limits=few)).test_client()
    answers = [log_in(http, f"user{number}") for number in range(5)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
    assert json_of(answers[-1])["code"] == "too_many_requests"
    assert "Retry-After" in answers[-1].headers


def test_a_session_that_is_used_lasts_and_one_that_is_not_ends(
    services: Services, client: Redis
) -> None:
    services.users.put("ann", [Role.DEALER], "admin")
    told, _ = services.sessions.begin("ann")
    [key] = client.keys("*session:*")
    assert client.pttl(key) <= IDLE_S * 1000
    client.pexpire(key, 5_000)
    assert services.sessions.find(told)
    assert client.pttl(key) > (IDLE_S - 60) * 1000
    client.pexpire(key, 0)
    assert services.sessions.find(told) is None


def test_no_session_lasts_longer_than_a_shift(services: Services) -> None:
    services.users.put("ann", [Role.DEALER], "admin")
    told, _ = services.sessions.begin("ann")
    later = Sessions(services.users._journal, services.users, lambda: now_ms() + SESSION_S * 1000)  # noqa: SLF001
    assert later.find(told) is None
