"""`progressive rng`: what a test laboratory collects and reads: raw values, outcomes, a report."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from meters.money import CENT, MoneyError, parse_dollars, plain
from progressive.commands.stream import Stream
from progressive.draws import lab, suite
from progressive.draws.drbg import REQUEST_BYTES_MAX, Source
from progressive.draws.process import process_drbg
from progressive.draws.report import report_json, report_page, report_plots
from progressive.draws.scaling import Draw, DrawError
from progressive.draws.shoe import DECKS
from progressive.rules.must_hit import Segment
from progressive.rules.rulebooks import SEATS_MAX

VALUE_BITS_MAX: Final = 4096
TRIGGER, WINNER, SHUFFLE = "trigger", "winner", "shuffle"


class Seed(click.ParamType[bytes]):
    """A seed in hex, as a report names it."""

    name = "HEX"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes:
        """Read 64 hex digits."""
        if isinstance(value, bytes):
            return value
        try:
            seed = bytes.fromhex(str(value))
        except ValueError:
            seed = b""
        if len(seed) != lab.SEED_BYTES:
            self.fail(f"a seed is {2 * lab.SEED_BYTES} hex digits", param, ctx)
        return seed


class Amount(click.ParamType[int]):
    """A whole-cent amount of dollars."""

    name = "AMOUNT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read dollars as micro-dollars."""
        if isinstance(value, int):
            return value
        try:
            amount = parse_dollars(str(value))
        except MoneyError as error:
            self.fail(str(error), param, ctx)
        if amount % CENT:
            self.fail(f"{value} is not in whole cents", param, ctx)
        return amount


class Stretch(click.ParamType[Segment]):
    """A part of the range such as `500:3`: up to $500 with weight 3."""

    name = "UPTO:WEIGHT"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Segment:
        """Read amount and weight."""
        upto, _, weight = str(value).partition(":")
        if not weight.isdecimal():
            self.fail("write an amount, a colon and a weight: 500:3", param, ctx)
        return Segment(Amount().convert(upto, param, ctx), int(weight))


COUNT = click.option("-n", "--count", type=click.IntRange(1), required=True, help="How many.")
SEED = click.option(
    "--seed", type=Seed(), help="Repeat a run.  [default: fresh from the operating system]"
)
OUT = click.option("--out", type=Stream("wb"), default="-", help="A file.  [default: stdout]")


@click.group()
def rng() -> None:
    """Collect and test draws, for a test laboratory.

    Everything here uses the functions that draw in play, with secrets of its own: no cycle of any
    link is touched or told.
    """


@rng.command()
@COUNT
@click.option(
    "--format", "form", type=click.Choice(["binary", "hex"]), default="hex", show_default=True
)
@click.option("--bytes", "size", type=click.IntRange(1, 512), help="Bytes a value.  [default: 4]")
@click.option("--bits", type=click.IntRange(1, VALUE_BITS_MAX), help="Bits a value, instead.")
@SEED
@OUT
def raw(  # noqa: PLR0913 - one parameter an option
    *, count: int, form: str, size: int | None, bits: int | None, seed: bytes | None, out: BinaryIO
) -> None:
    """Give values straight from the generator, one hex number a line or packed in binary.

    A value of so many bits is cut from whole bytes, big-endian, the upper bits of the first byte
    cleared, as scaling does; in binary it fills those bytes.
    """
    if size and bits:
        raise click.UsageError("give --bytes or --bits, not both")
    bits = bits or 8 * (size or 4)
    size = (bits + 7) // 8
    source: Source = process_drbg() if seed is None else lab.lab_source(seed, "raw")
    mask, digits = (1 << bits) - 1, (bits + 3) // 4
    with _progress("values", count) as done:
        for first, block in _blocks(source, count, size):
            if form == "binary" and bits == 8 * size:
                out.write(block)
            else:
                out.write(b"".join(_values(block, size, mask, digits, form)))
            done(first + len(block) // size)


@rng.command()
@click.option("--what", type=click.Choice([TRIGGER, WINNER, SHUFFLE]), required=True)
@COUNT
@click.option(
    "--format", "form", type=click.Choice(["json", "text"]), default="json", show_default=True
)
@click.option("--reset", type=Amount(), default="250", help="Trigger: reset.  [default: $250.00]")
@click.option(
    "--maximum", type=Amount(), default="1000", help="Trigger: maximum.  [default: $1,000.00]"
)
@click.option("--segment", type=Stretch(), multiple=True, help="Trigger: draw by segments.")
@click.option("--opening-span", type=Amount(), default="0", help="Trigger: open up to this above.")
@click.option("--bettors", type=click.IntRange(1, SEATS_MAX), default=9, help="Winner: seats 1 to.")
@click.option(
    "--decks", type=click.Choice([str(n) for n in DECKS]), default="8", help="Shuffle: decks."
)
@SEED
@OUT
def outcomes(*, what: str, count: int, form: str, out: BinaryIO, **options: Any) -> None:
    """Give final outcomes: hidden triggers, winning seats, or whole shoes in dealing order.

    JSON lines hold everything that an outcome was drawn from, so that it can be recomputed; text
    lines hold the outcome alone.
    """
    seed = options["seed"] or process_drbg().generate(lab.SEED_BYTES)
    source = lab.lab_source(seed, what)
    try:
        lines = _OUTCOMES[what](source, options)
        with _progress(f"{what}s", count) as done:
            for number, (text, record) in enumerate(islice(lines, count), start=1):
                line = msgspec.json.encode(record) if form == "json" else text.encode()
                out.write(line + b"\n")
                done(number)
    except DrawError as error:
        raise click.UsageError(str(error)) from None


@rng.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for report.html, its plots and report.json.  [default: print the verdicts only]",
)
@SEED
@click.option(
    "--cycles", type=click.IntRange(suite.CYCLES_MIN), default=suite.CYCLES, show_default=True
)
@click.option(
    "--shoes", type=click.IntRange(suite.SHOES_MIN), default=suite.SHOES, show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def report(*, out: Path | None, seed: bytes | None, cycles: int, shoes: int, as_json: bool) -> None:
    """Test the draws at 99 % confidence and write a report with plots.

    Exit code 1 when a test fails. One sound report in a hundred does: run it again with a fresh
    seed, and take it seriously if the same test fails twice.
    """
    seed = seed or process_drbg().generate(lab.SEED_BYTES)
    with _stages() as stage:
        found = suite.run_suite(seed, cycles, shoes, stage)
    content = msgspec.json.format(msgspec.json.encode(report_json(found)))
    if out is not None:
        _write_report(out, found, content)
    if as_json:
        click.echo(content)
    else:
        _print_verdicts(found, out)
    sys.exit(0 if found.passed else 1)


def _blocks(source: Source, count: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Ask for as many values at once as one request may give."""
    most = REQUEST_BYTES_MAX // size
    for first in range(0, count, most):
        yield first, source.generate(min(most, count - first) * size)


def _values(block: bytes, size: int, mask: int, digits: int, form: str) -> Iterator[bytes]:
    for start in range(0, len(block), size):
        value = int.from_bytes(block[start : start + size], "big") & mask
        yield value.to_bytes(size, "big") if form == "binary" else b"%0*x\n" % (digits, value)


def _trigger_lines(source: Source, options: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    parameters = lab.lab_parameters(options["reset"], options["maximum"], options["segment"])
    for one in lab.triggers(source, parameters, options["opening_span"]):
        yield (
            plain(one.trigger.micros),
            {
                **_cycle(one),
                "parameters": parameters.hash,
                "opening": plain(one.opening_micros),
                "cards": one.won_before.text if one.won_before else "",
                "draws": [_draw(draw) for draw in one.trigger.draws],
                "trigger": plain(one.trigger.micros),
            },
        )


def _winner_lines(source: Source, options: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for one in lab.winners(source, options["bettors"]):
        table, number, cards, bettors = one.won_round
        yield (
            str(one.winner.seat),
            {
                **_cycle(one),
                "table": table,
                "round": number,
                "cards": cards.text,
                "bettors": bettors,
                "draws": [_draw(one.winner.draw)],
                "seat": one.winner.seat,
            },
        )


def _shuffle_lines(source: Source, options: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for one in lab.shuffles(source, int(options["decks"])):
        secret, salt = one.secret.reveal()
        link, table, number, decks = one.name.fields
        yield (
            " ".join(one.cards),
            {
                "link": link,
                "table": table,
                "shoe": int(number),
                "decks": int(decks),
                "secret": secret,
                "salt": salt,
                "locks": [lock.entry_hash for lock in one.locks],
                "cards": " ".join(one.cards),
            },
        )


_OUTCOMES = {TRIGGER: _trigger_lines, WINNER: _winner_lines, SHUFFLE: _shuffle_lines}


def _cycle(one: lab.DrawnTrigger | lab.DrawnWinner) -> dict[str, Any]:
    link, level, _ = one.cycle.fields
    secret, salt = one.secret.reveal()
    return {
        "link": link,
        "level": level,
        "cycle": one.cycle.number,
        "secret": secret,
        "salt": salt,
    }


def _draw(draw: Draw) -> dict[str, Any]:
    return {"value": draw.value, "rejected": draw.rejected}


def _write_report(folder: Path, found: suite.Suite, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    plots = report_plots(found)
    for name, plot in plots.items():
        (folder / f"{name}.svg").write_text(plot, encoding="utf-8")
    (folder / "report.html").write_text(report_page(found, plots), encoding="utf-8")
    (folder / "report.json").write_bytes(content + b"\n")


def _print_verdicts(found: suite.Suite, folder: Path | None) -> None:
    for one in found.verdicts:
        verdict = "FAILED" if one.failed else "passed"
        click.echo(f"{verdict}  p={one.outcome.p_value:.6f}  {one.stream}: {one.outcome.test}")
    failed = sum(one.failed for one in found.verdicts)
    click.echo(
        f"{failed} of {len(found.verdicts)} tests failed, 99 % confidence with Holm's correction"
        f"{'' if folder is None else f'; the report is in {folder}'} (seed {found.seed.hex()})"
    )


@contextmanager
def _stages() -> Iterator[suite.Progress]:
    """Show a bar for each stream, where a person is watching."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        tasks: dict[str, Any] = {}

        def show(stream: str, done: int, total: int) -> None:
            if stream not in tasks:
                tasks[stream] = bar.add_task(stream, total=total)
            bar.update(tasks[stream], completed=done)

        yield show


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int], object]]:
    with _stages() as show:
        yield lambda done: show(what, done, total)
