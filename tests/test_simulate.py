"""A simulated floor against the real API: lost, repeated and killed, and the books are equal."""

import io
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from servers import wait_for

from links.floor import Floor, Order
from meters.replay import audit
from progressive.cli import main
from progressive.trial import Trial

BAD_NETWORK = {"loss": 0.2, "repeat": 0.2, "reorder": 0.05}


def played(trial: Trial, rounds: int, kills: int) -> dict[str, Any]:
    """Play a floor, killing the API whenever another part of it has been played."""
    order = Order(
        url=trial.url,
        tables=trial.order["tables"],
        people=trial.order["people"],
        rounds=rounds,
        faults=BAD_NETWORK,
    )
    floor = Floor(order, io.StringIO())
    results: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: results.append(floor.run()))
    thread.start()
    share = trial.tables * rounds * 2 // (kills + 1)  # of at least two steps a round
    for number in range(1, kills + 1):
        wait_for(lambda: sum(map(len, floor.steps.values())) >= number * share)  # noqa: B023 - waited for here
        trial.kill_api()
    thread.join()
    [result] = results
    return result


def test_books_are_equal_after_losses_repeats_and_kills(tmp_path: Path) -> None:
    with Trial(tmp_path / "trial", tables=12) as trial:
        result = played(trial, rounds=15, kills=4)
        found = [audit(each.meters) for each in trial.services.controllers.values()]
    assert result["problems"] == []
    assert [problem for each in found for problem in each.problems] == []
    assert (result["tables"], result["rounds"], trial.kills) == (12, 180, 4)
    assert min(result["lost"], result["repeated"], result["awards"]) > 0


@pytest.mark.long
def test_books_of_200_tables_are_equal_after_losses_repeats_and_kills() -> None:
    arguments = "--tables 200 --rounds 10 --loss 20% --repeat 20% --reorder 5% --kill-every 3"
    done = CliRunner().invoke(main, ["simulate", *arguments.split(), "--json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.output)
    assert (result["rounds"], result["problems"]) == (2000, [])
    assert result["kills"] >= 3


def test_the_command_says_that_the_books_are_equal() -> None:
    done = CliRunner().invoke(main, ["simulate", "--tables", "2", "--rounds", "1", "--loss", "10%"])
    assert done.exit_code == 0, done.output
    assert "The books are equal to the micro-dollar." in done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--url http://127.0.0.1:1", "go together"),
        (f"--url http://127.0.0.1:1 --keys {__file__}", "does not hold `tables` and `people`"),
        ("--loss 120%", "is no part of all"),
        ("--speed 0", "is no speed"),
        ("--tables 0", "not in the range"),
    ],
)
def test_a_wrong_call_says_what_is_right(arguments: str, said: str) -> None:
    done = CliRunner().invoke(main, ["simulate", *arguments.split()])
    assert done.exit_code == 2
    assert said in done.output


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    with Trial(tmp_path_factory.mktemp("trial"), tables=2) as found:
        yield found


def at_running(trial: Trial, keys: Path, rounds: int, **people: dict[str, str]) -> Result:
    """Play at the first table of a controller that runs already."""
    first = dict(list(trial.order["tables"].items())[:1])
    held = {"tables": first, "people": trial.order["people"] | people}
    keys.write_text(json.dumps(held), encoding="utf-8")
    arguments = ["--url", trial.url, "--keys", str(keys), "--rounds", str(rounds), "--json"]
    return CliRunner().invoke(main, ["simulate", *arguments])


def test_it_plays_at_a_controller_that_runs_already(trial: Trial, tmp_path: Path) -> None:
    for _ in range(2):  # the second finds the table where the first left it
        done = at_running(trial, tmp_path / "keys.json", 3)
        assert done.exit_code == 0, done.output
        assert json.loads(done.output)["rounds"] == 3


def test_what_the_floor_did_not_do_is_a_difference(trial: Trial, tmp_path: Path) -> None:
    [controller] = trial.services.controllers.values()
    head = controller.meters.numbers()["head"]
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(at_running, trial, tmp_path / "keys.json", 40)
        wait_for(lambda: controller.meters.numbers()["head"] > head + 5)
        controller.lock("T002", 1, [], "somebody", "free")
        done = playing.result()
    assert done.exit_code == 1, done.output
    assert "lock was not acknowledged to this floor" in done.output


def test_a_floor_without_entrance_says_so(trial: Trial, tmp_path: Path) -> None:
    done = at_running(trial, tmp_path / "keys.json", 1, auditor={"token": "pt_wrong"})
    assert done.exit_code == 2
    assert "the floor cannot play: /v1/links: not_logged_in" in done.output
