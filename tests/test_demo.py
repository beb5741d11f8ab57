"""`progressive demo`, the real command: a floor that plays, is killed, goes on and adds up.

The tests share a folder, in the order in which they stand here.
"""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from controller_process import PROGRAM, ControllerProcess, is_alive, until

from links.compare import read
from links.http import KeptLine, Person, call
from progressive.config.load import load_site
from progressive.demonstration import demo_site

LEVELS = {"star", "spade", "heart", "must_hit"}


class DemoProcess(ControllerProcess):
    command = "demo"

    @property
    def people_password(self) -> str:
        told = next(line for line in self.shown.splitlines() if line.startswith("their password"))
        return told.split()[-1]

    def as_(self, name: str) -> Person:
        """Log somebody in, once a start."""
        known = self.__dict__.setdefault("known", {})
        key = (name, self.people_password)
        if key not in known:
            known[key] = Person.logged_in(f"http://127.0.0.1:{self.port}", *key)
        found: Person = known[key]
        return found

    def ask(self, path: str) -> Any:  # noqa: ANN401 - what the API answers
        line = KeptLine(f"http://127.0.0.1:{self.port}")
        try:
            return read(line, self.as_("audrey"), path)
        finally:
            line.close()

    def meters(self) -> dict[str, dict[str, Any]]:
        return {row["level"]: row for row in self.ask("/v1/links/royal/meters")["levels"]}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoProcess]:
    found = DemoProcess(tmp_path_factory.mktemp("demo") / "data")
    yield found
    if found.is_running:
        found.stop()


def test_the_demonstrations_site_has_nothing_to_complain_about() -> None:
    loaded = load_site(demo_site())
    assert loaded.problems == ()
    assert loaded.site
    kinds = [table.kind for table in loaded.site.tables]
    assert sorted(kinds) == ["automated", "dealer-assist", "live", "live"]


def test_meters_move_and_awards_are_won_and_paid(demo: DemoProcess) -> None:
    demo.start("--speed", "150")
    assert demo.is_ready()
    before = demo.meters()
    assert set(before) == LEVELS
    until(lambda: demo.meters()["must_hit"]["hits"] >= 1)
    assert demo.meters()["star"]["progressive_in"] > before["star"]["progressive_in"]
    until(lambda: _paid(demo))
    assert {line.get("table") for line in demo.log()} >= {"MB-101", "MB-102", "DA-201", "AU-301"}


def _paid(demo: DemoProcess) -> bool:
    return any(line.get("route") == "pay" and line["status"] == 200 for line in demo.log())


def test_an_award_above_the_limit_is_proposed_by_one_and_approved_by_another(
    demo: DemoProcess,
) -> None:
    until(lambda: _paid_by_two(demo))
    [link] = demo.ask("/v1/links")["links"]
    for award in _paid_by_two(demo):
        assert award["amount"] > link["terms"]["two_person_above_micros"]
        assert {award["by"], award["second"]} == {"sam", "sue"}


def _paid_by_two(demo: DemoProcess) -> list[dict[str, Any]]:
    found = demo.ask("/v1/links/royal/past/awards?state=paid&limit=500")["awards"]
    return [award for award in found if award["second"]]


def test_a_table_that_somebody_has_touched_is_played_on(demo: DemoProcess) -> None:
    table = "/v1/tables/MB-101"
    line = KeptLine(f"http://127.0.0.1:{demo.port}")

    def void() -> bool:
        path = f"{table}/rounds/{demo.ask(table)['round']}/void"
        return call(line, demo.as_("sam"), "POST", path, {"reason": "poked"}).is_fine

    until(void)
    line.close()
    reached = demo.ask(table)["round"]
    until(lambda: demo.ask(table)["round"] > reached + 3)


def test_a_killed_floor_and_a_killed_api_play_on(demo: DemoProcess) -> None:
    for name in ("floor", "api"):
        gone = demo.kill(name)
        until(lambda name=name, gone=gone: demo.pids()[name] != gone)  # type: ignore[misc]  # bound here
        until(demo.is_ready)
        entry = demo.ask("/v1/links/royal/meters")["entry"]
        until(lambda entry=entry: demo.ask("/v1/links/royal/meters")["entry"] > entry + 20)  # type: ignore[misc]  # bound here


def test_an_interrupt_stops_all_of_it_and_every_log_is_right(demo: DemoProcess) -> None:
    pids = demo.pids()
    assert demo.stop(signal.SIGINT) == 0
    assert not any(map(is_alive, pids.values()))
    checked = [PROGRAM, "audit", "verify", "--data", str(demo.data), "--json"]
    done = subprocess.run(checked, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - the program under test
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["ok"]


def test_rounds_and_awards_of_the_past_are_listed(demo: DemoProcess) -> None:
    found = _said(demo, "awards", "--state", "paid", "--limit", "2", "--json")
    first, second = found["awards"]
    assert (first["state"], found["next"]) == ("paid", second["award"])
    after = ("--after", str(first["round"] - 1), "--limit", "1")
    [row] = _said(demo, "rounds", first["table"], *after, "--json")["rounds"]
    assert first["seat"] in row["seats"]
    shown = _run(demo, "rounds", first["table"], *after)
    assert row["outcome"] in shown.stdout
    assert shown.stderr == f"more: --after {row['round']}\n"
    assert first["table"] in _run(demo, "awards").stdout
    assert _run(demo, "awards", "--link", "moon").returncode == 2


def _run(demo: DemoProcess, *call: str) -> "subprocess.CompletedProcess[str]":
    words = [PROGRAM, *call, "--data", str(demo.data)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - the program under test


def _said(demo: DemoProcess, *call: str) -> Any:  # noqa: ANN401 - JSON
    return json.loads(_run(demo, *call).stdout)


def test_it_goes_on_in_its_folder_and_stops_by_itself(demo: DemoProcess) -> None:
    before = demo.people_password
    demo.start("--for", "1", "--speed", "150")
    assert demo.people_password != before
    assert demo.process
    assert demo.process.wait(40) == 0
    assert demo.process.stdout
    demo.process.stdout.close()


def test_its_folder_is_not_the_projects_own() -> None:
    ignored = (Path(__file__).parent.parent / ".gitignore").read_text(encoding="utf-8")
    assert "demo-data/" in ignored.splitlines()
