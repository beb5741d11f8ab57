"""A simulated floor against the real API: lost, repeated and killed, and the books are equal."""

import io
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
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
        ("--loss 120%", "is no part of all"),
        ("--speed 0", "is no speed"),
        ("--tables 0", "not in the range"),
    ],
)
def test_a_wrong_call_says_what_is_right(arguments: str, said: str) -> None:
    done = CliRunner().invoke(main, ["simulate", *arguments.split()])
    assert done.exit_code == 2
    assert said in done.output
