"""Every problem that the OpenAPI document names can be met, and is met here."""

from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask.testing import FlaskClient
from redis import Redis
from sealed import plan, seal_once
from test_api import Hub, http, json_of, services, session_of
from werkzeug.test import TestResponse

from meters.functions import source
from meters.replay import audit
from meters.server import EmbeddedServer
from progressive.api.app import ROUTES
from progressive.api.problems import KINDS, MEDIA_TYPE
from progressive.api.routes import OF_DEVICES, problems_of
from progressive.api.services import Services
from progressive.api.signing import sign_request
from progressive.devices import Kind
from progressive.people.roles import Role

__all__ = ["http", "services"]

ROYAL = "/v1/links/royal"
DEAL = {"player": ["KS", "9H"], "banker": ["2D", "4C"]}
QUIET = {"player": ["2S", "4H"], "banker": ["2D", "4C"]}
MICROS_MAX = 2**53 - 1


class Desk:
    """Somebody of every role, and a device of every kind, at one application."""

    def __init__(self, services: Services, http: FlaskClient, client: Redis) -> None:
        self.services, self.http, self.client = services, http, client
        self.seal: Callable[[], None]
        self.bare = http.application.test_client(use_cookies=False)
        self.persons: dict[Role, dict[str, str]] = {}
        self.tokens = {
            role: services.sessions.add_token(f"desk-{role}", [role], "admin") for role in Role
        }
        add = services.devices.add
        self.hub = Hub(http, "hub", add("hub", Kind.HUB, ["MB-101"], "admin"))
        self.gateway = Hub(http, "gate", add("gate", Kind.GATEWAY, ["MB-101", "MB-102"], "admin"))
        self.reader = Hub(http, "shoe", add("shoe", Kind.SHOE, ["DA-201"], "admin"))
        self.sequence, self.number = count(1), count(1)

    def ask(self, path: str, body: Any = None, role: Role = Role.SUPERVISOR) -> TestResponse:  # noqa: ANN401 - JSON
        headers = {"Authorization": f"Bearer {self.tokens[role]}"}
        if "/proposals" in path and body is not None:  # for which a program's token is not enough
            if role not in self.persons:
                self.persons[role] = session_of(self.services, f"desk.{role}", role)
            headers = self.persons[role]
        if body is None:
            return self.bare.get(path, headers=headers)
        return self.bare.post(path, json=body, headers=headers)

    def step(self, verb: str, body: Any, table: str = "MB-101", round_: int = 1) -> TestResponse:  # noqa: ANN401 - JSON
        return self.ask(f"/v1/tables/{table}/rounds/{round_}/{verb}", body)

    def say(self, seats: list[int], round_: int = 1, **odd: Any) -> TestResponse:  # noqa: ANN401 - JSON
        said = {"table": "MB-101", "epoch": 5, "sequence": next(self.sequence), "round": round_}
        return self.hub.post("/v1/messages", said | {"seats": seats} | odd)

    def card(self, card: str = "KS", **odd: Any) -> TestResponse:  # noqa: ANN401 - JSON
        said = {"table": "DA-201", "epoch": 1, "sequence": 1, "round": 1, "card": card}
        return self.reader.post("/v1/cards", said | odd)

    def play(self, *steps: str, seats: list[int] | None = None, round_: int = 1) -> None:
        """Take steps of a round that must succeed."""
        bodies = {"lock": {"seats": seats or []}, "deal": DEAL, "end": {}}
        if seats:
            self.say(seats, round_)
        for verb in steps:
            assert self.step(verb, bodies[verb], round_=round_).status_code == 200

    def propose(self, what: str, body: Any, role: Role = Role.ACCOUNTING) -> int:  # noqa: ANN401 - JSON
        number = next(self.number)
        said = {"number": number, "what": what, "reason": "test", "body": body}
        made = self.ask(f"{ROYAL}/proposals", said, role)
        assert made.status_code == 200, made.text
        return number

    def carry_out(self, what: str, body: Any) -> TestResponse:  # noqa: ANN401 - JSON
        return self.ask(f"{ROYAL}/proposals/{self.propose(what, body)}/approve", {})

    def carried_out(self, what: str, body: Any) -> None:  # noqa: ANN401 - JSON
        assert self.carry_out(what, body).status_code == 200

    def log_in(self, password: str) -> TestResponse:
        return self.http.post("/v1/session", json={"user": "ann", "password": password})

    def sealed(self, path: str) -> TestResponse:
        self.seal()
        return self.ask(path, role=Role.AUDITOR)

    def star(self) -> dict[str, Any]:
        [link] = json_of(self.ask("/v1/links"))["links"]
        return next(level for level in link["levels"] if level["name"] == "star")


@pytest.fixture
def desk(
    services: Services, http: FlaskClient, client: Redis, server: EmbeddedServer, tmp_path: Path
) -> Desk:
    desk = Desk(services, http, client)
    desk.seal = partial(seal_once, plan(tmp_path / "log"), server)
    return desk


def closed(desk: Desk) -> TestResponse:
    desk.ask("/v1/tables/MB-101/close", {"reason": "break"})
    return desk.step("lock", {"seats": []})


def csrf(desk: Desk) -> TestResponse:
    desk.log_in(desk.services.users.put("ann", [Role.DEALER], "admin"))
    return desk.http.post("/v1/tables/MB-101/rounds/1/lock", json={"seats": []})


def locked_out(desk: Desk) -> TestResponse:
    right = desk.services.users.put("ann", [Role.DEALER], "admin")
    for _ in range(5):
        desk.log_in("wrong")
    return desk.log_in(right)


def conflict(desk: Desk) -> TestResponse:
    desk.play("lock", "deal")
    return desk.step("deal", QUIET)


def revoked(desk: Desk) -> TestResponse:
    desk.services.devices.revoke("hub", "admin")
    return desk.say([1])


def flooded(desk: Desk) -> TestResponse:
    answers = (desk.say([1], sequence=1) for _ in range(desk.services.limits.burst * 3))
    return next(answer for answer in answers if answer.status_code == 429)


def closed_level(desk: Desk) -> TestResponse:
    for table in ("MB-101", "MB-102", "DA-201", "AU-301"):
        desk.ask(f"/v1/tables/{table}/close", {"reason": "moved"})
    desk.carried_out("decommission", {"level": "heart", "to": "star"})
    return desk.ask("/v1/tables/MB-101/open", {"reason": "back"})


def too_much(desk: Desk) -> TestResponse:
    body = {"level": "star", "amount_micros": MICROS_MAX, "part": "overflow"}
    desk.carried_out("adjust", body)
    return desk.carry_out("adjust", body)


def settled(desk: Desk) -> TestResponse:
    number = desk.propose("adjust", {"level": "star", "amount_micros": 1})
    desk.ask(f"{ROYAL}/proposals/{number}/reject", {"reason": "no"})
    return desk.ask(f"{ROYAL}/proposals/{number}/approve", {})


def approved_by_oneself(desk: Desk) -> TestResponse:
    number = desk.propose("adjust", {"level": "star", "amount_micros": 1})
    return desk.ask(f"{ROYAL}/proposals/{number}/approve", {}, Role.ACCOUNTING)


def big_award(desk: Desk) -> TestResponse:
    desk.say([1])
    desk.step("lock", {"seats": [1]})
    star = {"player": ["KS", "9H"], "banker": ["KS", "9H"]}
    assert desk.step("deal", star).status_code == 200
    desk.step("end", {})
    [award] = json_of(desk.ask(f"{ROYAL}/awards"))["awards"]
    return desk.ask(f"{ROYAL}/awards/{award['award']}/pay", {})


def paid_too_early(desk: Desk) -> TestResponse:
    desk.play("lock", "deal", seats=[1])
    [award] = json_of(desk.ask(f"{ROYAL}/awards"))["awards"]
    return desk.ask(f"{ROYAL}/awards/{award['award']}/pay", {})


def unreasonable(desk: Desk) -> TestResponse:
    tight = desk.star() | {"contribution_max_micros": 1}
    meters = desk.services.controllers["royal"].meters  # the API refuses such a bound
    meters.run(meters.calls.propose(next(desk.number), "a", "level", "x", {"definition": tight}))
    meters.run(meters.calls.approve(1, "b"))
    big_award(desk)  # what was decided is in force once the level starts anew
    desk.say([1], round_=2)
    return desk.step("lock", {"seats": [1]}, round_=2)


def retired_nobody(desk: Desk) -> TestResponse:
    said = {"what": "retire", "name": "nobody", "reason": "left"}
    return desk.ask("/v1/users/proposals", said, Role.ADMINISTRATOR)


def ninth_king_of_eight(desk: Desk) -> TestResponse:
    kings = {"player": ["KS", "KS"], "banker": ["KS", "KS"]}
    for round_ in (1, 2):
        desk.step("lock", {"seats": []}, round_=round_)
        desk.step("deal", kings, round_=round_)
        assert desk.step("end", {"cards": ["2S", "2H"]}, round_=round_).status_code == 200
    desk.step("lock", {"seats": []}, round_=3)
    return desk.step("deal", kings, round_=3)


def stale(desk: Desk) -> TestResponse:
    for round_ in (1, 2):
        desk.play("lock", "deal", "end", round_=round_)
    return desk.step("lock", {"seats": []}, round_=1)


def must_hit_in_the_open(desk: Desk) -> TestResponse:
    desk.play("lock", seats=[1])
    return desk.carry_out("decommission", {"level": "must_hit", "to": "star"})


def other_seats_again(desk: Desk) -> TestResponse:
    desk.say([1], sequence=1)
    return desk.say([2], sequence=1)


def older_epoch(desk: Desk) -> TestResponse:
    desk.say([1])
    return desk.say([1], epoch=4)


def misnumbered_correction(desk: Desk) -> TestResponse:
    desk.play("lock", "deal")
    return desk.step("correct", QUIET | {"number": 2})


def free_with_wagers(desk: Desk) -> TestResponse:
    desk.say([1])
    return desk.step("lock", {"seats": [1], "kind": "free"})


def open_table_changed(desk: Desk) -> TestResponse:
    [link] = json_of(desk.ask("/v1/links"))["links"]
    return desk.carry_out("table", {"definition": link["tables"][0]})


def shoe_over(desk: Desk) -> TestResponse:
    desk.ask("/v1/tables/AU-301/shoe", {"shoe": 1})
    for round_ in count(1):
        desk.step("lock", {"seats": []}, "AU-301", round_)
        drawn = desk.step("draw", {}, "AU-301", round_)
        if drawn.status_code != 200:
            return drawn
        thirds = json_of(drawn).get("thirds", [])
        assert desk.step("end", {"cards": thirds}, "AU-301", round_).status_code == 200
    raise AssertionError


def twice_in_a_batch(desk: Desk) -> TestResponse:
    said = {"table": "MB-101", "epoch": 1, "sequence": 1, "round": 1, "seats": [1], "device": "hub"}
    return desk.gateway.post("/v1/messages/batch", {"messages": [said, said]})


def cut_off(desk: Desk, path: str = "/v1/tables") -> TestResponse:
    """What a server that is gone looks like; at the end it is there again."""
    pool = desk.client.connection_pool
    socket = pool.connection_kwargs["path"]
    pool.connection_kwargs["path"] = f"{socket}.gone"
    pool.reset()
    try:
        return desk.ask(path)
    finally:
        pool.connection_kwargs["path"] = socket
        pool.reset()


def not_audited(desk: Desk, ask: Callable[[Desk], TestResponse]) -> TestResponse:
    """A library that was loaded anew has forgotten who vouched for the link."""
    desk.client.function_load(source(), replace=True)
    try:
        return ask(desk)
    finally:
        audit(desk.services.controllers["royal"].meters)


def defect(desk: Desk) -> TestResponse:
    """What nobody foresaw: a record in the store that is not ours."""
    desk.client.hset("{site}:users", "mallory", "not a user")
    return desk.ask("/v1/users", role=Role.ADMINISTRATOR)


PROVOKED: dict[str, Callable[[Desk], TestResponse]] = {
    # who asks
    "unsigned": lambda d: d.http.post("/v1/messages", json={}),
    "unknown_device": lambda d: Hub(d.http, "ghost", b"k" * 32).post("/v1/messages", {}),
    "revoked_device": revoked,
    "wrong_signature": lambda d: d.hub.post("/v1/messages", {}, key=b"k" * 32),
    "clock_skew": lambda d: d.hub.post("/v1/messages", {}, time_ms=1),
    "not_logged_in": lambda d: d.http.get("/v1/tables"),
    "wrong_password": lambda d: d.log_in("guess"),
    "locked_out": locked_out,
    "csrf": csrf,
    "not_allowed": lambda d: d.ask(f"{ROYAL}/journal", role=Role.DEALER),
    "other_table": lambda d: d.say([1], table="MB-102"),
    "same_person": approved_by_oneself,
    "second_person_needed": big_award,
    "person_needed": lambda d: d.http.post(
        f"{ROYAL}/proposals/1/approve",
        headers={"Authorization": f"Bearer {d.tokens[Role.ACCOUNTING]}"},
    ),
    # what is asked
    "not_found": lambda d: d.ask("/v1/moon"),
    "wrong_method": lambda d: d.http.delete("/v1/tables"),
    "too_large": lambda d: d.http.post("/v1/session", json={"user": "a" * 300_000}),
    "wrong_type": lambda d: d.http.post("/v1/session", data=b"{}", content_type="text/plain"),
    "bad_body": lambda d: d.step("lock", {"seats": [1], "moon": 1}),
    "bad_query": lambda d: d.ask(f"{ROYAL}/awards?limit=0"),
    "too_many_requests": flooded,
    "bad_call": lambda d: d.carry_out("limit", {"level": "must_hit", "limit_micros": 10**15}),
    "bad_amount": lambda d: d.carry_out("adjust", {"level": "star", "amount_micros": 0}),
    "unknown_user": retired_nobody,
    "no_such_device": lambda d: d.ask("/v1/devices/moon/revoke", {}, Role.TECHNICIAN),
    "one_table": lambda d: d.ask(
        "/v1/devices", {"device": "h2", "kind": "hub", "tables": ["a", "b"]}, Role.TECHNICIAN
    ),
    "device_exists": lambda d: d.ask(
        "/v1/devices", {"device": "hub", "kind": "hub", "tables": ["MB-101"]}, Role.TECHNICIAN
    ),
    # the state it meets
    "unknown_link": lambda d: d.ask("/v1/links/moon/meters"),
    "unknown_table": lambda d: d.step("lock", {"seats": []}, "moon"),
    "unknown_level": lambda d: d.carry_out("adjust", {"level": "moon", "amount_micros": 1}),
    "unknown_line": lambda d: d.carry_out(
        "hand_award", {"table": "MB-101", "round": 1, "seat": 1, "line": "moon"}
    ),
    "unknown_award": lambda d: d.ask(f"{ROYAL}/awards/99/pay", {}),
    "unknown_proposal": lambda d: d.ask(f"{ROYAL}/proposals/99/approve", {}),
    "seat_out_of_range": lambda d: d.say([9]),
    "round_ahead": lambda d: d.step("lock", {"seats": []}, round_=7),
    "wrong_phase": lambda d: d.step("deal", DEAL),
    "conflict": conflict,
    "seats_mismatch": lambda d: d.step("lock", {"seats": [2]}),
    "correction_number": misnumbered_correction,
    "stale_round": stale,
    "card_not_in_shoe": ninth_king_of_eight,
    "no_wagers_in_a_free_round": free_with_wagers,
    "rounds_open": must_hit_in_the_open,
    "sequence_reused": other_seats_again,
    "epoch_lower": older_epoch,
    "not_sealed": lambda d: d.ask("/v1/tables/MB-102/rounds/1"),
    "unknown_round": lambda d: d.sealed("/v1/tables/MB-101/rounds/99"),
    "unknown_day": lambda d: d.sealed(f"{ROYAL}/past/days/1999-01-01"),
    "unknown_entry": lambda d: d.sealed("/v1/logs/royal/entries/999/proof"),
    "table_closed": closed,
    "table_not_closed": open_table_changed,
    "table_twice": twice_in_a_batch,
    "level_closed": closed_level,
    "not_enough": lambda d: d.carry_out(
        "transfer", {"level": "star", "to": "spade", "amount_micros": 10**15}
    ),
    "limit_below_meter": lambda d: d.carry_out("limit", {"level": "star", "limit_micros": 1}),
    "amount_out_of_bounds": too_much,
    "unreasonable_contribution": unreasonable,
    "shoe_number": lambda d: d.ask("/v1/tables/MB-101/shoe", {"shoe": 9}),
    "shoe_over": shoe_over,
    "not_automated": lambda d: d.step("draw", {}),
    "round_not_over": paid_too_early,
    "proposal_number": lambda d: d.ask(
        f"{ROYAL}/proposals",
        {"number": 9, "what": "pay", "reason": "x", "body": {"award": 1}},
        Role.ACCOUNTING,
    ),
    "proposal_settled": settled,
    # whether anything can be taken at all
    "not_audited": lambda d: not_audited(d, lambda desk: desk.say([1])),
    "link_down": cut_off,
    "defect": defect,
}


def test_it_is_ready_while_every_link_takes_wagers(desk: Desk) -> None:
    answer = desk.http.get("/v1/ready")
    assert (answer.status_code, json_of(answer)) == (
        200,
        {"status": "ok", "links": {"royal": "open"}},
    )


def test_it_is_not_ready_while_a_link_awaits_its_audit_and_lives(desk: Desk) -> None:
    answer = not_audited(desk, lambda desk: desk.http.get("/v1/ready"))
    assert (answer.status_code, json_of(answer)["code"]) == (503, "not_audited")
    assert json_of(answer)["facts"] == {"links": {"royal": "awaits its audit"}}
    health = not_audited(desk, lambda desk: desk.http.get("/v1/health"))
    assert (health.status_code, json_of(health)) == (200, {"status": "ok"})


def test_it_is_not_ready_while_the_store_does_not_answer_and_lives(desk: Desk) -> None:
    answer = cut_off(desk, "/v1/ready")
    assert (answer.status_code, json_of(answer)["code"]) == (503, "link_down")
    assert json_of(answer)["facts"] == {"links": {"royal": "does not answer"}}
    assert cut_off(desk, "/v1/health").status_code == 200


def test_a_query_with_thousands_of_digits_is_refused_like_any_other_that_is_too_large(
    desk: Desk,
) -> None:
    answer = desk.ask(f"{ROYAL}/awards?after={'9' * 5000}")
    assert (answer.status_code, json_of(answer)["code"]) == (422, "bad_query")


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        (f"{ROYAL}/awards?limti=5", "'limti': it takes after, limit, once each"),
        (f"{ROYAL}/awards?limit=5&limit=6", "'limit': it takes after, limit, once each"),
        ("/v1/tables?limit=5", "'limit': it takes none"),
        ("/v1/health?verbose", "'verbose': it takes none"),
    ],
)
def test_a_parameter_that_is_not_known_is_refused_with_those_that_are(
    path: str, detail: str, desk: Desk
) -> None:
    answer = desk.ask(path)
    assert (answer.status_code, json_of(answer)["code"]) == (422, "bad_query")
    assert json_of(answer)["detail"] == detail


def test_a_device_that_signs_a_parameter_is_refused_and_has_changed_nothing(desk: Desk) -> None:
    said = {"table": "MB-101", "epoch": 5, "sequence": 1, "round": 1, "seats": [1]}
    answer = desk.hub.post("/v1/messages?x=1", said)
    assert (answer.status_code, json_of(answer)["code"]) == (422, "bad_query")
    assert json_of(desk.ask("/v1/tables/MB-101"))["seats"] == []


def test_nothing_is_documented_that_cannot_be_met() -> None:
    named = {code for route in ROUTES for code in problems_of(route)}
    assert set(KINDS) == named == set(PROVOKED)


@pytest.mark.parametrize("code", PROVOKED)
def test_a_problem_says_what_is_wrong_and_what_to_do(code: str, desk: Desk) -> None:
    response = PROVOKED[code](desk)
    assert response.mimetype == MEDIA_TYPE, response.text
    problem = json_of(response)
    assert (problem["code"], response.status_code) == (code, KINDS[code].status), problem
    assert problem["detail"]
    assert problem["remedy"]
    challenge = response.headers.get("WWW-Authenticate", "")
    assert bool(challenge) is (response.status_code == 401)
    if challenge:
        scheme = "Progressive-Signature" if code in OF_DEVICES else "Bearer"
        assert challenge == f'{scheme} realm="progressive"'


def test_what_a_device_signed_for_one_address_is_good_for_no_other(desk: Desk) -> None:
    said = msgspec.json.encode({"table": "MB-101", "epoch": 5, "sequence": 1, "round": 1})
    now = desk.services.now_ms()
    headers = {
        "Progressive-Device": "hub",
        "Progressive-Time": str(now),
        "Progressive-Signature": sign_request(desk.hub.key, "POST", "/v1/messages", now, said),
    }

    def post(path: str) -> str:
        answer = desk.bare.post(path, data=said, headers=headers, content_type="application/json")
        return str(json_of(answer).get("code", "taken"))

    assert [post(path) for path in ("/v1/cards", "/v1/messages/batch", "/v1/messages?x=1")] == [
        "wrong_signature"
    ] * 3
    assert post("/v1/messages") == "taken"
