"""`progressive simulate`: a floor of simulated tables, and whether the books agree afterwards."""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from meters.replay import audit
from progressive.commands.running import WrongCall
from progressive.trial import TABLES_MAX, Trial

PERCENT: Final = 100.0
FLOOR: Final = "links.floor"


class Part(click.ParamType[float]):
    """A part of all, such as `20%` or `0.2`."""

    name = "PERCENT"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read a percentage."""
        text = str(value).strip()
        try:
            part = float(text.removesuffix("%")) / (PERCENT if text.endswith("%") else 1.0)
        except ValueError:
            part = -1.0
        if not 0.0 <= part < 1.0:
            self.fail(f"{text!r} is no part of all: write 20% or 0.2, below 100%", param, ctx)
        return part


class Speed(click.ParamType[float]):
    """How many times the usual pace; `max` does not wait at all."""

    name = "FACTOR|max"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read a factor; 0 stands for max."""
        if value in {"max", 0.0}:
            return 0.0
        try:
            speed = float(value)
        except ValueError:
            speed = -1.0
        if not speed > 0:
            self.fail(f"{value!r} is no speed: write a factor above 0, or max", param, ctx)
        return speed


@click.command()
@click.option("--url", help="A running controller; without one, a system is made for the trial.")
@click.option(
    "--keys",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --url: a JSON file with `tables` (devices and keys) and `people` (tokens).",
)
@click.option("--tables", type=click.IntRange(1, TABLES_MAX), default=8, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=10, show_default=True, help="A table.")
@click.option("--speed", type=Speed(), default="max", show_default=True)
@click.option("--loss", type=Part(), default="0%", help="Requests and answers that are lost.")
@click.option("--repeat", type=Part(), default="0%", help="Requests that arrive twice.")
@click.option("--reorder", type=Part(), default="0%", help="Old requests that arrive again.")
@click.option("--delay", type=Part(), default="0%", help="Requests that wait a little.")
@click.option(
    "--seed", default="1", show_default=True, help="The same seed makes the same choices."
)
@click.option(
    "--kill-every",
    type=click.FloatRange(0.1),
    metavar="SECONDS",
    help="Kill the API process, again and again.",
)
@click.option(
    "--workers", type=click.IntRange(1, 16), default=1, help="API processes of the trial."
)
@click.option("--json", "as_json", is_flag=True, help="The result for programs.")
def simulate(**said: Any) -> None:
    """Play simulated tables over the real wires, and compare the books.

    Sensors, shoe readers, dealers and a supervisor act over HTTP, through a network that is as bad
    as you like. The floor keeps books of its own from what was acknowledged. At the end they are
    compared with every entry of the journal and with the meters. Exits with 0 when they are equal,
    1 when they differ, 2 when the call is wrong.
    """
    if bool(said["url"]) != bool(said["keys"]):
        raise click.UsageError("--url and --keys go together: the floor needs its devices' keys")
    if said["url"] and said["kill_every"]:
        raise click.UsageError("--kill-every is for a system that this command starts itself")
    result = _at_running(said) if said["url"] else _at_own(said)
    _show(result, as_json=said["as_json"])
    sys.exit(1 if result["problems"] else 0)


def _at_running(said: dict[str, Any]) -> dict[str, Any]:
    """Play at a controller that runs already, with the keys and tokens of a file."""
    try:
        held = json.loads(said["keys"].read_text(encoding="utf-8"))
        order = {"url": said["url"], "tables": held["tables"], "people": held["people"]}
    except (ValueError, KeyError, TypeError):
        raise click.UsageError(f"{said['keys']} does not hold `tables` and `people`") from None
    return _play(_order(order, said)) | {"kills": 0}


def _at_own(said: dict[str, Any]) -> dict[str, Any]:
    """Play at a system that is made for it; at the end its journals are replayed besides."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trial-")))
        trial = stack.enter_context(Trial(folder, said["tables"], workers=said["workers"]))
        with _killing(trial, said["kill_every"]):
            result = _play(_order({"url": trial.url, **trial.order}, said))
        for link, controller in trial.services.controllers.items():
            found = audit(controller.meters).problems
            result["problems"] += [f"{link}: the replay says: {each}" for each in found]
        return result | {"kills": trial.kills}


def _order(base: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    chosen = dict(list(base["tables"].items())[: said["tables"]])
    faults = {name: said[name] for name in ("loss", "repeat", "reorder", "delay")}
    return {
        "url": base["url"],
        "people": base["people"],
        "tables": chosen,
        "seed": said["seed"],
        "rounds": said["rounds"],
        "speed": said["speed"],
        "faults": faults,
    }


@contextmanager
def _killing(trial: Trial, every_s: float | None) -> Iterator[None]:
    """Kill the API again and again, if that is wished for, until the floor is done."""
    if every_s is None:
        yield
        return
    done = threading.Event()

    def kill() -> None:
        while not done.wait(every_s):
            trial.kill_api()

    thread = threading.Thread(target=kill, name="killer")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _play(order: dict[str, Any]) -> dict[str, Any]:
    """Run the floor, which is a program of its own, and show how far it is."""
    console = Console(stderr=True)
    with (
        Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        ) as bar,
        subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", FLOOR],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as floor,
    ):
        task = bar.add_task("rounds", total=len(order["tables"]) * order["rounds"])
        if floor.stdin is None or floor.stdout is None:
            raise AssertionError("both were asked for")
        with floor.stdin as stdin:
            stdin.write(json.dumps(order))
        refused = ""
        result: dict[str, Any] = {}
        for line in floor.stdout:
            told = json.loads(line)
            if "progress" in told:
                bar.update(task, completed=told["progress"])
            refused = told.get("refused", refused)
            result = told.get("result", result)
    if refused:
        raise WrongCall(f"the floor cannot play: {refused}")
    if not result:
        raise click.ClickException("the floor ended without a result; what it said is above")
    return result


def _show(result: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(result))
        return
    rate = result["wagers"] / result["seconds"]
    click.echo(
        f"{result['tables']} tables, {result['rounds']} rounds, {result['wagers']:,} wagers in "
        f"{result['seconds']:.1f} s ({rate:,.0f} wagers/s); {result['awards']} awards, "
        f"{result['must_hit']} of Must Hit besides"
    )
    click.echo(
        f"Seed {result['seed']}: {result['lost']} messages lost, {result['repeated']} repeated, "
        f"{result['reordered']} out of order; the API was killed {result['kills']} times"
    )
    for problem in result["problems"]:
        click.echo(f"difference: {problem}", err=True)
    books = "differ" if result["problems"] else "are equal to the micro-dollar"
    click.echo(f"The books {books}.")
