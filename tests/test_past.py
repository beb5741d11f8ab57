"""The past over HTTP: rounds, awards, days and proofs of what is sealed."""

from hashlib import sha256
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sealed import plan, seal_once
from test_api import Hub, http, hub, json_of, message, person, services

from meters.server import EmbeddedServer
from progressive.api.services import Services
from progressive.audit.checkpoint import Checkpoint
from progressive.audit.merkle import check_consistency
from progressive.audit.note import Verifier, verify
from progressive.audit.proof import Proof
from progressive.people.roles import Role

__all__ = ["http", "hub", "services"]


@pytest.fixture
def sealed(
    services: Services, http: FlaskClient, hub: Hub, server: EmbeddedServer, tmp_path: Path
) -> None:
    """One round in which both who bet win, ended and sealed."""
    headers = person(services, http, "dina", Role.DEALER)
    at = "/v1/tables/MB-101/rounds/1"
    hub.post("/v1/messages", message(seats=[1, 3]))
    http.post(f"{at}/lock", json={"seats": [1, 3]}, headers=headers)
    deal = {"player": ["KS", "9H"], "banker": ["2D", "4C"]}
    assert http.post(f"{at}/deal", json=deal, headers=headers).status_code == 200
    assert http.post(f"{at}/end", json={"cards": []}, headers=headers).status_code == 200
    seal_once(plan(tmp_path / "log"), server)
    person(services, http, "ada", Role.AUDITOR)


@pytest.mark.usefixtures("sealed")
def test_a_round_is_told_with_its_awards(http: FlaskClient) -> None:
    [row] = json_of(http.get("/v1/tables/MB-101/rounds"))["rounds"]
    told = json_of(http.get("/v1/tables/MB-101/rounds/1"))
    assert told["round"] == row
    assert (row["seats"], row["outcome"]) == ([1, 3], "ended")
    assert [award["seat"] for award in told["awards"]] == [1, 3]
    missing = http.get("/v1/tables/MB-101/rounds/2")
    assert (missing.status_code, json_of(missing)["code"]) == (404, "unknown_round")


@pytest.mark.usefixtures("sealed")
def test_an_award_is_listed_told_and_proved(http: FlaskClient) -> None:
    [award] = json_of(http.get("/v1/links/royal/past/awards?state=pending"))["awards"]
    assert json_of(http.get("/v1/links/royal/past/awards?state=voided"))["awards"] == []
    at = f"/v1/links/royal/past/awards/{award['award']}"
    story = json_of(http.get(at))
    assert (story["award"], story["problems"]) == (award, [])
    [log] = [one for one in json_of(http.get("/v1/logs"))["logs"] if one["log"] == "royal"]
    proof = Proof.parse(http.get(f"{at}/proof").data)
    proof.verify(story["entry"].encode(), Verifier.parse(log["key"]))
    assert proof.index == award["won"] - 1
    assert http.get("/v1/links/royal/past/awards/99").status_code == 404
    assert http.get("/v1/links/royal/past/awards/99/proof").status_code == 404
    wrong = http.get("/v1/links/royal/past/awards?state=lost")
    assert (wrong.status_code, json_of(wrong)["code"]) == (422, "bad_query")


@pytest.mark.usefixtures("sealed")
def test_a_day_is_told_with_what_was_posted_in_it(http: FlaskClient) -> None:
    [day] = json_of(http.get("/v1/links/royal/past/days"))["days"]
    told = json_of(http.get(f"/v1/links/royal/past/days/{day}"))
    assert (told["rounds"], told["wagers"]) == (1, 2)
    assert sum(flow["micros"] for flow in told["flows"]) == 0
    assert json_of(http.get(f"/v1/links/royal/past/days?after={day}"))["days"] == []
    assert json_of(http.get("/v1/links/royal/past/days/1999-01-01"))["code"] == "unknown_day"
    assert json_of(http.get("/v1/links/royal/past/days/tomorrow"))["code"] == "unknown_day"
    wrong = http.get("/v1/links/royal/past/days?after=tomorrow")
    assert (wrong.status_code, json_of(wrong)["code"]) == (422, "bad_query")


@pytest.mark.usefixtures("sealed")
@pytest.mark.parametrize(
    ("lists", "name"), [("tables/MB-101/rounds", "rounds"), ("links/royal/past/awards", "awards")]
)
def test_a_list_of_the_past_is_asked_for_by_gaming_day(
    lists: str, name: str, http: FlaskClient
) -> None:
    [day] = json_of(http.get("/v1/links/royal/past/days"))["days"]
    [first] = json_of(http.get(f"/v1/{lists}?from={day}&to={day}&limit=1"))[name]
    assert first
    assert json_of(http.get(f"/v1/{lists}?to=2001-01-01"))[name] == []
    assert json_of(http.get(f"/v1/{lists}?from=2999-01-01"))[name] == []
    wrong = http.get(f"/v1/{lists}?from=today")
    assert (wrong.status_code, json_of(wrong)["code"]) == (422, "bad_query")


@pytest.mark.usefixtures("sealed")
def test_every_log_is_read_from_its_first_entry_and_proved(http: FlaskClient) -> None:
    logs = json_of(http.get("/v1/logs"))["logs"]
    assert [log["log"] for log in logs] == ["royal", "site"]
    for log in logs:
        at, key = f"/v1/logs/{log['log']}", Verifier.parse(log["key"])
        checkpoint = Checkpoint.parse(verify(http.get(f"{at}/checkpoint").data, [key]).text)
        assert (checkpoint.size, checkpoint.root.hex()) == (log["size"], log["root"])
        first = json_of(http.get(f"{at}/entries?limit=1"))
        assert (first["entries"][0]["n"], first["next"]) == (1, 1)
        rest = json_of(http.get(f"{at}/entries?after=1"))
        assert [entry["n"] for entry in rest["entries"]] == list(range(2, log["size"] + 1))
        proof = Proof.parse(http.get(f"{at}/entries/1/proof").data)
        assert proof.extra is not None
        proof.verify(proof.extra, key)
        beyond = http.get(f"{at}/entries/{log['size'] + 1}/proof")
        assert json_of(beyond)["code"] == "unknown_entry"


@pytest.mark.usefixtures("sealed")
def test_the_log_of_now_begins_with_the_log_of_then(services: Services, http: FlaskClient) -> None:
    told = json_of(http.get("/v1/logs/royal/consistency?old=2"))
    with services.shelf.log("royal") as log:
        path = [bytes.fromhex(node) for node in told["path"]]
        check_consistency(2, told["new"], _root_of(services, 2), log.root, path)
    wrong = http.get("/v1/logs/royal/consistency?old=5&new=2")
    assert (wrong.status_code, json_of(wrong)["code"]) == (404, "unknown_entry")


def _root_of(services: Services, size: int) -> bytes:
    with services.shelf.log("royal") as log:
        one, two = (sha256(b"\0" + line).digest() for line in log.entries(0, size))
    return sha256(b"\1" + one + two).digest()


def test_what_is_not_sealed_yet_is_said_to_be_so(services: Services, http: FlaskClient) -> None:
    person(services, http, "ada", Role.AUDITOR)
    for path in ("/v1/tables/MB-101/rounds", "/v1/logs/royal/checkpoint", "/v1/logs/site/entries"):
        answer = http.get(path)
        assert (answer.status_code, json_of(answer)["code"]) == (404, "not_sealed")
    assert json_of(http.get("/v1/logs"))["logs"] == []
    assert json_of(http.get("/v1/logs/other/checkpoint"))["code"] == "unknown_link"
