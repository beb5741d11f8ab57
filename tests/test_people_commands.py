"""`progressive user` and `progressive device` on a running controller."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from controller_process import PROGRAM, ControllerProcess, until

MESSAGE = {"table": "MB-101", "epoch": 1, "sequence": 1, "round": 1, "seats": []}


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControllerProcess]:
    found = ControllerProcess(tmp_path_factory.mktemp("people") / "data")
    found.start()
    yield found
    found.stop()


def call(
    controller: ControllerProcess, *words: str, told: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - the program under test
        [PROGRAM, *words, "--data", str(controller.data)],
        input=told,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def done(controller: ControllerProcess, *words: str, told: str = "") -> dict[str, Any]:
    found = call(controller, *words, "--json", told=told)
    assert found.returncode == 0, found.stderr
    answer: dict[str, Any] = json.loads(found.stdout)
    return answer


def refused(controller: ControllerProcess, *words: str, told: str = "") -> tuple[int, str]:
    found = call(controller, *words, told=told)
    assert found.stderr.startswith(("Error: ", "Usage: "))
    return found.returncode, found.stderr


def add(controller: ControllerProcess, name: str, role: str) -> str:
    words = ("user", "add", name, "--role", role, "--second", "admin")
    password: str = done(controller, *words, told=f"{controller.password}\n")["password"]
    return password


def log_in(controller: ControllerProcess, user: str, password: str) -> int:
    return controller.request("/v1/session", {"user": user, "password": password})[0]


def test_an_added_user_logs_in_with_the_password_that_was_shown(
    controller: ControllerProcess,
) -> None:
    assert log_in(controller, "dina", add(controller, "dina", "dealer")) == 200
    users = {each["user"]: each for each in done(controller, "user", "list")["users"]}
    assert users["dina"] == {"user": "dina", "roles": ["dealer"], "active": True}


def test_nobody_is_asked_for_a_password_on_a_closed_input(controller: ControllerProcess) -> None:
    words = f'user add eve --role dealer --second admin --data "{controller.data}" <&-'
    found = subprocess.run(  # noqa: S602 - only a shell closes a stream for the program it starts
        f'"{PROGRAM}" {words}', shell=True, check=False, capture_output=True, timeout=60
    )
    assert (found.returncode, b"Traceback" in found.stderr) == (2, False)
    assert b"standard input is closed" in found.stderr


def test_a_change_of_people_needs_an_administrators_password(controller: ControllerProcess) -> None:
    words = ("user", "add", "eve", "--role", "supervisor", "--second")
    assert refused(controller, *words, "admin", told="a wrong password\n")[0] == 1
    assert refused(controller, *words, "eve", told="whatever it is\n")[0] == 1
    code, said = refused(controller, *words, "admin", "--by", "admin", told="x\n")
    assert (code, "cannot be both persons" in said) == (1, True)
    password = add(controller, "otto", "accounting")
    code, said = refused(controller, *words, "otto", told=f"{password}\n")
    assert (code, "otto is no administrator" in said) == (1, True)
    assert "eve" not in {each["user"] for each in done(controller, "user", "list")["users"]}


def test_roles_change_passwords_are_reset_and_people_retire(controller: ControllerProcess) -> None:
    first = add(controller, "rita", "dealer")
    agreed = f"{controller.password}\n"
    words = ("--role", "supervisor", "--role", "auditor", "--second", "admin")
    assert call(controller, "user", "roles", "rita", *words, told=agreed).returncode == 0
    again = done(controller, "user", "password", "rita", "--second", "admin", told=agreed)
    assert log_in(controller, "rita", first) == 401
    assert log_in(controller, "rita", again["password"]) == 200
    own = f"{again['password']}\nOf-my-own-choice-7\n"
    assert call(controller, "user", "password", "rita", told=own).returncode == 0
    assert log_in(controller, "rita", "Of-my-own-choice-7") == 200
    retired = call(controller, "user", "retire", "rita", "--second", "admin", told=agreed)
    assert retired.returncode == 0, retired.stderr
    assert log_in(controller, "rita", "Of-my-own-choice-7") == 401
    code, said = refused(controller, "user", "add", "rita", *words, told=agreed)
    assert (code, "there is, or was, a user rita" in said) == (1, True)


def test_the_meters_of_a_running_controller_are_shown_by_its_folder(
    controller: ControllerProcess,
) -> None:
    told = done(controller, "meters", "royal")
    assert [level["level"] for level in told["levels"]] == ["star", "spade", "heart", "must_hit"]
    nowhere = [PROGRAM, "meters", "royal"]
    found = subprocess.run(nowhere, capture_output=True, text=True, check=False)  # noqa: S603 - see above
    assert (found.returncode, "--data" in found.stderr) == (2, True)


def test_the_last_administrator_stays(controller: ControllerProcess) -> None:
    code, said = refused(controller, "user", "retire", "admin", "--second", "admin", told="x\n")
    assert (code, "is the last administrator" in said) == (1, True)
    assert log_in(controller, "admin", controller.password) == 200


def test_a_rotated_key_is_good_beside_the_last_one_and_a_revoked_device_is_not_heard(
    controller: ControllerProcess,
) -> None:
    words = ("device", "add", "hub-101", "--kind", "hub", "--table", "MB-101")
    first = bytes.fromhex(done(controller, *words)["key"])
    second = bytes.fromhex(done(controller, "device", "rotate", "hub-101")["key"])
    for key in (first, second):
        assert controller.post("hub-101", key, MESSAGE)[0] == 200
    third = bytes.fromhex(done(controller, "device", "rotate", "hub-101")["key"])
    until(lambda: controller.post("hub-101", first, MESSAGE)[0] == 401)  # a second at most
    assert controller.post("hub-101", third, MESSAGE)[0] == 200
    assert call(controller, "device", "revoke", "hub-101").returncode == 0
    until(lambda: controller.post("hub-101", third, MESSAGE)[0] == 401)
    (device,) = done(controller, "device", "list")["devices"]
    assert (device["device"], device["active"]) == ("hub-101", False)
    shown = call(controller, "device", "list").stdout
    assert "(revoked)" in shown
    until(lambda: "MB-101" in done(controller, "device", "list")["devices"][0]["seen_ms"])
    assert refused(controller, *words)[0] == 1


def test_a_device_of_an_unknown_table_is_a_wrong_call(controller: ControllerProcess) -> None:
    code, said = refused(controller, "device", "add", "hub-9", "--kind", "hub", "--table", "MB-999")
    assert (code, "there is no table MB-999; the tables are AU-301" in said) == (2, True)


def test_a_controller_that_does_not_run_is_named_with_the_remedy(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    other = ControllerProcess(tmp_path_factory.mktemp("nobody"))
    code, said = refused(other, "user", "list")
    assert (code, "Is it running? Start it: progressive up" in said) == (2, True)
