"""`progressive up`, the real command: first start, deaths of its processes, refusals, a clean stop.

The tests share a folder and its process, in the order in which they stand here.
"""

import base64
import json
import os
import signal
import stat
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from controller_process import PROGRAM, ControllerProcess, is_alive, until

from meters.connect import connect
from meters.site import SiteJournal
from progressive.data_folder import DataFolder, example_site

CHILDREN = ["witness", "sealer", "worker", "api"]
HUB = ("--kind", "hub", "--table", "MB-101")
MESSAGE = {"table": "MB-101", "epoch": 1, "sequence": 1, "round": 1, "seats": [1, 3]}


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControllerProcess]:
    found = ControllerProcess(tmp_path_factory.mktemp("up") / "data")
    yield found
    if found.is_running:
        found.stop()


@pytest.fixture
def running(controller: ControllerProcess) -> ControllerProcess:
    if not controller.is_running:
        controller.start()
    return controller


@pytest.fixture
def stopped(controller: ControllerProcess) -> ControllerProcess:
    if not (controller.data / "site.toml").exists():
        controller.start()
    if controller.is_running:
        controller.stop()
    return controller


def run(controller: ControllerProcess, *call: str, told: str = "") -> dict[str, Any]:
    """Run a command on the folder and read what it says as JSON."""
    done = subprocess.run(  # noqa: S603 - the program under test
        [PROGRAM, *call, "--data", str(controller.data), "--json"],
        input=told,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def journal_of(controller: ControllerProcess) -> list[dict[str, Any]]:
    connection = connect(DataFolder(controller.data).address)
    try:
        return [json.loads(line) for _, line in SiteJournal(connection.client).entries()]
    finally:
        connection.close()


def test_the_first_start_makes_keys_site_and_administrator(running: ControllerProcess) -> None:
    keys = sorted((running.data / "keys").iterdir())
    assert [key.name for key in keys] == ["devices.key", "draws.key", "log.key"]
    assert {stat.S_IMODE(key.stat().st_mode) for key in keys} == {0o600}
    assert stat.S_IMODE(running.data.stat().st_mode) == 0o700
    assert (running.data / "site.toml").read_text(encoding="utf-8") == example_site()
    login = {"user": "admin", "password": running.password}
    status, answer = running.request("/v1/session", login)
    assert (status, answer["roles"]) == (200, ["administrator"])
    assert [entry["k"] for entry in journal_of(running)] == ["user", "start"]


def test_it_prints_addresses_that_answer(running: ControllerProcess) -> None:
    at = f"http://127.0.0.1:{running.port}/v1"
    assert f"{at}\n" in running.shown
    assert f"{at}/docs\n" in running.shown
    with urllib.request.urlopen(f"{at}/docs", timeout=10) as page:  # noqa: S310 - our own address
        assert page.headers.get_content_type() == "text/html"
    assert running.is_ready()


def test_no_process_with_keys_writes_a_core_dump(running: ControllerProcess) -> None:
    assert running.process
    for pid in (running.process.pid, *running.pids().values()):
        limits = Path(f"/proc/{pid}/limits").read_text(encoding="ascii")
        (line,) = (one for one in limits.splitlines() if one.startswith("Max core file size"))
        assert line.split()[4:6] == ["0", "0"]


def test_a_folder_in_use_is_refused(running: ControllerProcess) -> None:
    other = ControllerProcess(running.data)
    assert running.process
    assert f"in use by process {running.process.pid}" in other.refused()


def test_an_address_in_use_is_refused(running: ControllerProcess, tmp_path: Path) -> None:
    other = ControllerProcess(tmp_path / "other")
    other.port = running.port
    assert f"127.0.0.1:{running.port} cannot be listened on" in other.refused()


def test_a_busy_log_has_no_secret_in_it(running: ControllerProcess) -> None:
    key = bytes.fromhex(
        run(running, "device", "add", "hub-101", "--kind", "hub", "--table", "MB-101")["key"]
    )
    told = run(running, "user", "add", "dina", "--role", "dealer", "--second", "admin",
               told=f"{running.password}\n")["password"]  # fmt: skip
    assert running.post("hub-101", key, MESSAGE)[0] == 200
    assert running.post("hub-101", b"x" * 32, MESSAGE)[0] == 401
    assert running.request("/v1/session", {"user": "dina", "password": "Wrong-Secret-1"})[0] == 401
    assert running.request("/v1/session", {"user": "dina", "password": told})[0] == 200
    assert running.request("/v1/messages", {"odd": "Body-Text-2"})[0] == 401
    lines = [line for line in running.log() if line.get("route") == "message"]
    assert {line["status"] for line in lines} >= {200, 401}
    said = [line for line in lines if line.get("device") == "hub-101" and line["status"] == 200]
    assert [(line["table"], line["round"]) for line in said] == [("MB-101", 1)]
    assert len({line["request"] for line in lines}) == len(lines)
    secrets = {"Wrong-Secret-1", "Body-Text-2", running.password, told, *_forms(key)}
    for name in ("draws.key", "devices.key"):
        held = json.loads((running.data / "keys" / name).read_text(encoding="ascii"))
        for text in held["keys"].values():
            secrets |= _forms(bytes.fromhex(text))
    for file in (running.data / "keys" / "log.key", running.data / "witness" / "witness.key"):
        secrets.add(file.read_text(encoding="ascii").strip().split("+", 4)[4])  # it may hold a +
    written = (running.data / "progressive.log").read_text(encoding="utf-8")
    assert len(secrets) >= 14
    assert all(secrets)
    assert [secret for secret in secrets if secret in written] == []
    shown = "".join(_arguments_and_environment(pid) for pid in running.pids().values())
    assert "progressive.serve" in shown
    assert [secret for secret in secrets if secret in shown] == []


def _forms(secret: bytes) -> set[str]:
    encoded = base64.b64encode(secret).decode().rstrip("=")
    return {secret.hex(), secret.hex().upper(), encoded, encoded.translate({43: "-", 47: "_"})}


def _arguments_and_environment(pid: int) -> str:
    return "".join(
        Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
        for name in ("cmdline", "environ")
    )


def test_every_entry_is_sealed_and_cosigned(running: ControllerProcess) -> None:
    folder = DataFolder(running.data)
    run(running, "device", "add", "hub-201", "--kind", "hub", "--table", "DA-201")
    head = len(journal_of(running))
    until(lambda: folder.sealed("site") >= head)
    told = next(line for line in running.shown.splitlines() if line.startswith("witness "))
    checked = [PROGRAM, "audit", "verify", "--data", str(folder.logs / "site")]
    checked += ["--witness", told.split()[1], "--json"]
    until(lambda: subprocess.run(checked, capture_output=True, check=False).returncode == 0)  # noqa: S603 - the program under test


@pytest.mark.parametrize("name", CHILDREN)
def test_a_killed_child_is_started_again(running: ControllerProcess, name: str) -> None:
    gone = running.kill(name)
    pid = until(lambda: running.pids()[name] != gone and running.pids()[name])
    assert is_alive(pid)
    assert until(running.is_ready)
    ended = f"{name} ended by itself"
    assert any(line["message"].startswith(ended) for line in running.log())


def test_an_api_that_was_killed_leaves_no_worker_on_its_address(running: ControllerProcess) -> None:
    before = running.pids()["api"]
    workers = _children_of(before)
    assert workers
    running.kill("api")
    until(lambda: not any(map(is_alive, workers)))
    assert until(running.is_ready)


def _children_of(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(one) for one in text.split()]


def test_a_killed_server_comes_back_audited(running: ControllerProcess) -> None:
    key = bytes.fromhex(
        run(running, "device", "add", "hub-102", "--kind", "hub", "--table", "MB-102")["key"]
    )
    said = MESSAGE | {"table": "MB-102"}
    assert running.post("hub-102", key, said)[1]["result"] == "applied"
    audits = _audits(running)
    running.kill("valkey")
    until(lambda: _audits(running) >= audits + 2)  # the link and the site's journal
    assert until(running.is_ready)
    assert running.post("hub-102", key, said)[1]["result"] == "duplicate"


def _audits(controller: ControllerProcess) -> int:
    return sum(" is audited up to entry " in line["message"] for line in controller.log())


def test_sigterm_stops_the_children_first_and_the_server_last(running: ControllerProcess) -> None:
    pids = running.pids()
    assert running.stop() == 0
    until(lambda: not any(map(is_alive, pids.values())))
    said = [line["message"] for line in running.log()]
    last = said[len(said) - said[::-1].index("told to stop") :]
    order = [text.split()[0] for text in last if " is stopped (status 0)" in text]
    assert order[0] == "api"
    assert order[-1] == "witness"
    assert last[-1] == "stopped"


def test_a_site_file_with_errors_is_refused_with_all_of_them(
    stopped: ControllerProcess, tmp_path: Path
) -> None:
    site = tmp_path / "site.toml"
    text = example_site().replace("decks = 8", "decks = 5").replace('"MD" #', '"XX" #')
    site.write_text(text, encoding="utf-8")
    reason = stopped.refused("--site", str(site))
    assert "links.royal.decks" in reason
    assert "jurisdiction" in reason


def test_a_site_file_that_is_not_in_force_is_refused_with_every_difference(
    stopped: ControllerProcess, tmp_path: Path
) -> None:
    site = tmp_path / "site.toml"
    text = example_site().replace('increment = "9.00 %"', 'increment = "8.00 %"')
    site.write_text(text.replace('asset = "10102"', 'asset = "99999"'), encoding="utf-8")
    reason = stopped.refused("--site", str(site))
    assert "links.royal.levels.star.increment_ppm: in force 90000, in the file 80000" in reason
    assert "links.royal.tables.MB-102.asset: in force 10102, in the file 99999" in reason
    assert (stopped.data / "site.toml").read_text(encoding="utf-8") == example_site()


def test_another_sites_folder_is_refused(stopped: ControllerProcess, tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text(example_site().replace("Harbor Point", "Sandy Cove"), encoding="utf-8")
    reason = stopped.refused("--site", str(site))
    assert "holds the data of Harbor Point Card Room" in reason


def test_a_missing_key_is_refused_while_a_cycle_is_open(stopped: ControllerProcess) -> None:
    key = stopped.data / "keys" / "draws.key"
    aside = key.rename(key.with_suffix(".aside"))
    try:
        assert "draws.key is missing: put the key file back" in stopped.refused()
        assert not key.exists()
    finally:
        aside.rename(key)


def test_keys_are_rotated_and_kept_as_long_as_something_is_sealed_under_them(
    stopped: ControllerProcess,
) -> None:
    before = {name: _key_file(stopped, name) for name in ("draws", "devices")}
    stopped.start("--rotate-keys")
    assert stopped.is_ready()
    for name, file in before.items():
        after = _key_file(stopped, name)
        assert after["current"] not in file["keys"]
        assert set(file["keys"]) <= set(after["keys"]) or name == "devices"
    start = [entry for entry in journal_of(stopped) if entry["k"] == "start"][-1]
    assert start["body"]["keys"]["draws"] == _key_file(stopped, "draws")["current"]
    key = bytes.fromhex(run(stopped, "device", "add", "hub-9", *HUB)["key"])
    assert stopped.post("hub-9", key, MESSAGE)[0] in {200, 409}  # another hub's epoch may be later


def _key_file(controller: ControllerProcess, name: str) -> dict[str, Any]:
    text = (controller.data / "keys" / f"{name}.key").read_text(encoding="ascii")
    found: dict[str, Any] = json.loads(text)
    return found


def test_after_the_parent_was_killed_the_next_start_goes_on(running: ControllerProcess) -> None:
    pids = running.pids()
    running.stop(signal.SIGKILL)
    running.start()
    assert not any(map(is_alive, pids.values()))
    assert running.is_ready()
    assert "password" not in running.shown
    login = {"user": "admin", "password": running.password}
    assert running.request("/v1/session", login)[0] == 200
    assert os.getpgid(running.pids()["api"]) == running.pids()["api"]
