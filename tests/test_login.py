"""Logging in: what is refused, and that a refusal tells nobody which names there are."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from flask.testing import FlaskClient
from redis import Redis
from test_api import http, json_of, now_ms, services
from werkzeug.test import TestResponse

from meters.errors import Refused
from meters.site import SiteJournal
from progressive.api.app import create_app
from progressive.api.auth import CSRF_HEADER, SESSION_COOKIE
from progressive.api.services import Limits, Services
from progressive.people.roles import Role
from progressive.people.sessions import IDLE_S, SESSION_S, Sessions
from progressive.people.users import Users

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


def test_no_lock_is_for_ever_even_if_a_process_dies_in_the_middle_of_a_try(
    services: Services, client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object) -> None:
        raise SystemExit

    monkeypatch.setattr(Redis, "pexpire", dies)
    with pytest.raises(SystemExit):
        services.users.check("ann", GUESS)
    [failures] = client.keys("{site}:failures:*")
    assert client.pttl(failures) > 0


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


CHOSEN = "correct horse battery"


def change(http: FlaskClient, old: str, new: str, csrf: str) -> TestResponse:
    said = {"old": old, "new": new}
    return http.post("/v1/session/password", json=said, headers={CSRF_HEADER: csrf})


def test_a_person_changes_their_own_password_and_their_other_sessions_end(
    services: Services, http: FlaskClient
) -> None:
    given = services.users.put("ann", [Role.DEALER], "admin")
    elsewhere = create_app(services).test_client()
    log_in(elsewhere, "ann", given)
    csrf = json_of(log_in(http, "ann", given))["csrf"]
    before = http.get_cookie(SESSION_COOKIE)
    assert before
    changed = change(http, given, CHOSEN, csrf)
    assert changed.status_code == 200, changed.text
    assert json_of(changed)["user"] == "ann"
    assert elsewhere.get("/v1/session").status_code == 401
    assert services.sessions.find(before.value) is None
    assert http.get("/v1/session").get_json() == json_of(changed)
    assert log_in(elsewhere, "ann", given).status_code == 401
    assert log_in(elsewhere, "ann", CHOSEN).status_code == 200


def test_a_changed_password_is_in_the_journal_without_being_told(
    services: Services, http: FlaskClient, client: Redis
) -> None:
    given = services.users.put("ann", [Role.DEALER], "admin")
    change(http, given, CHOSEN, json_of(log_in(http, "ann", given))["csrf"])
    *_, (_, last) = SiteJournal(client).entries()
    entry = json.loads(last)
    assert (entry["k"], entry["by"], entry["body"]) == (
        "user_password",
        "ann",
        {"user": "ann", "roles": ["dealer"]},
    )


def test_a_wrong_old_password_counts_as_a_try_to_log_in(
    services: Services, http: FlaskClient
) -> None:
    given = services.users.put("ann", [Role.DEALER], "admin")
    csrf = json_of(log_in(http, "ann", given))["csrf"]
    codes = [json_of(change(http, GUESS, CHOSEN, csrf))["code"] for _ in range(6)]
    assert codes == ["wrong_password"] * 5 + ["locked_out"]
    assert json_of(log_in(http, "ann", given))["code"] == "locked_out"


@pytest.mark.parametrize(
    ("new", "csrf", "code"),
    [("short", True, "bad_body"), ("", True, "bad_body"), (CHOSEN, False, "csrf")],
)
def test_a_password_stays_when_its_change_is_refused(
    new: str, csrf: bool, code: str, services: Services, http: FlaskClient
) -> None:
    given = services.users.put("ann", [Role.DEALER], "admin")
    told = json_of(log_in(http, "ann", given))["csrf"]
    assert json_of(change(http, given, new, told if csrf else ""))["code"] == code
    assert log_in(http, "ann", given).status_code == 200


def test_the_same_password_again_is_no_change(services: Services, http: FlaskClient) -> None:
    given = services.users.put("ann", [Role.DEALER], "admin")
    csrf = json_of(log_in(http, "ann", given))["csrf"]
    assert json_of(change(http, given, given, csrf))["code"] == "bad_call"


@pytest.mark.parametrize("moment", ["_fresh", "_known"])
def test_whoever_is_retired_while_choosing_a_password_stays_retired(
    moment: str, services: Services, client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = services.users
    given = users.put("ann", [Role.DEALER], "admin")
    others = Users(SiteJournal(client), now_ms)
    real = getattr(users, moment)

    def meanwhile(*args: Any) -> Any:  # noqa: ANN401 - as it is
        found = real(*args)
        if (ann := others.find("ann")) and ann.active:
            others.retire("ann", "admin")
        return found

    monkeypatch.setattr(users, moment, meanwhile)
    with pytest.raises(Refused, match="there is no user"):
        users.change_password("ann", given, CHOSEN)
    ann = users.find("ann")
    assert ann
    assert not ann.active


@pytest.mark.parametrize("behind_tls", [False, True])
def test_a_cookie_is_for_tls_only_where_a_proxy_speaks_it(
    behind_tls: bool, services: Services
) -> None:
    given = services.users.put("ann", [Role.DEALER], "admin")
    http = create_app(replace(services, behind_tls=behind_tls)).test_client()
    cookie = log_in(http, "ann", given).headers["Set-Cookie"]
    assert ("; Secure" in cookie) is behind_tls
    assert "; HttpOnly" in cookie
    assert "; SameSite=Strict" in cookie


def test_an_empty_password_is_refused_and_none_is_drawn_for_it(services: Services) -> None:
    services.users.put("ann", [Role.DEALER], "admin")
    with pytest.raises(Refused, match="12 characters"):
        services.users.give_password("ann", "ann", password="")
