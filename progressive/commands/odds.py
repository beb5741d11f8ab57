"""`progressive odds`: the exact odds of every wager, and a simulation to check them."""

import secrets
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TimeRemainingColumn

from meters.money import CENT, MoneyError, parse_dollars, parse_rate
from progressive import odds_tables
from progressive.commands import site_file
from progressive.montecarlo import Checked, Deviation, deal, deviations
from progressive.odds_report import (
    Royal9Report,
    checked_royal9,
    checked_wager,
    default_levels,
    royal9_json,
    royal9_report,
    wager_json,
    wager_reports,
)
from progressive.rules.baccarat import BANKER, PLAYER
from progressive.rules.must_hit import uniform
from progressive.rules.odds import WagerOdds
from progressive.rules.returns import LevelTerms, MustHitTerms
from progressive.rules.royal9 import (
    CARD_LEVELS,
    PAYTABLES,
    Royal9Paytable,
    SeatingError,
    combination,
    seating_of,
)
from progressive.rules.rulebooks import SEATS_MAX
from progressive.rules.wagers import WAGERS, WagerError

ROYAL_9 = "royal_9"
OF_ROYAL_9 = {
    "--table-seats", "--seat", "--combination", "--seed", "--reset", "--rate", "--must-hit",
}  # fmt: skip


class KeyValue(click.ParamType[tuple[str, Any]]):
    """An option such as `star=9%`: a key, and a value read by a function."""

    def __init__(self, name: str, keys: Sequence[str], read: Callable[[str], Any]) -> None:
        self.name = name
        self.keys = keys
        self.read = read

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        """Read `key=value`."""
        key, sign, text = str(value).partition("=")
        if not sign or key not in self.keys:
            self.fail(f"write one of {', '.join(self.keys)}, =, and a value", param, ctx)
        try:
            return key, self.read(text)
        except (MoneyError, SeatingError) as error:
            self.fail(str(error), param, ctx)


class MustHitPair(click.ParamType[MustHitTerms]):
    """An option such as `250:1000:2%`: reset, maximum and increment."""

    name = "RESET:MAXIMUM:RATE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> MustHitTerms:
        """Read the three parts."""
        parts = str(value).split(":")
        if len(parts) != len(self.name.split(":")):
            self.fail("write reset, maximum and rate: 250:1000:2%", param, ctx)
        try:
            low, high, ppm = parse_dollars(parts[0]), parse_dollars(parts[1]), parse_rate(parts[2])
        except MoneyError as error:
            self.fail(f"{error}; write reset, maximum and rate: 250:1000:2%", param, ctx)
        if low >= high or not ppm:
            self.fail("the maximum lies above the reset, and the rate above 0", param, ctx)
        if low % CENT or high % CENT:
            self.fail("reset and maximum are whole cents", param, ctx)
        return MustHitTerms(low, ppm, uniform(high))


AMOUNT = KeyValue("LEVEL=AMOUNT", CARD_LEVELS, parse_dollars)
RATE = KeyValue("LEVEL=RATE", CARD_LEVELS, parse_rate)
COMBINATION = KeyValue("SEAT=CARDS", [str(n) for n in range(1, SEATS_MAX + 1)], combination)


@click.command(epilog=f"Wagers: {', '.join([*WAGERS, ROYAL_9])}.")
@click.argument("wager", type=click.Choice([*WAGERS, ROYAL_9]), required=False, metavar="[WAGER]")
@click.option("--paytable", help="Only this paytable, such as A or MD-C.")
@click.option("--on", type=click.Choice([PLAYER, BANKER]), help="Only on this hand.")
@click.option(
    "--decks",
    type=click.IntRange(6, 8),
    multiple=True,
    help="Decks in the shoe; may be given several times.  [default: 8]",
)
@click.option(
    "--table-seats",
    type=click.IntRange(1, SEATS_MAX),
    help="Royal 9: seats of the table.  [default: 7, or 9 in the multi-level edition]",
)
@click.option(
    "--seat", type=click.IntRange(1, SEATS_MAX), help="Royal 9: whose odds.  [default: 1]"
)
@click.option("--combination", type=COMBINATION, multiple=True, help="Royal 9: a seat's own.")
@click.option("--seed", type=AMOUNT, multiple=True, help="Royal 9: a level's seed.")
@click.option("--reset", type=AMOUNT, multiple=True, help="Royal 9: a level's reset.")
@click.option("--rate", type=RATE, multiple=True, help="Royal 9: a level's increment.")
@click.option("--must-hit", type=MustHitPair(), help="Royal 9: a Must Hit level.")
@click.option(
    "--site",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Royal 9: take everything from the links of a site file.",
)
@click.option(
    "--simulate",
    type=click.IntRange(1),
    metavar="N",
    help="Deal N rounds as well, and print the deviation in standard errors.",
)
@click.option("--random-seed", type=int, help="Repeat the simulation that printed this seed.")
@click.option("--json", "as_json", is_flag=True, help="Print counts and fractions as exact texts.")
def odds(*, wager: str | None, site: Path | None, as_json: bool, **options: Any) -> None:
    """Print the exact odds of a wager, or the house edge of all of them.

    Ways are counted by enumeration, never sampled. Without WAGER, every wager under every paytable
    is worked out; with --json, with all its lines.
    """
    decks = options["decks"] or (8,)
    if wager is None and site is not None:
        wager = ROYAL_9
    _refuse_what_nobody_reads(wager, site, options)
    try:
        wagers = _wagers(wager, decks, options)
        royal = _royal9(wager, decks, site, options)
    except (WagerError, SeatingError) as error:
        raise click.UsageError(str(error)) from None
    console = odds_tables.console()
    simulated = _simulate(wagers, royal, options) if options["simulate"] else None
    if as_json:
        found: dict[str, Any] = {
            "odds": [*map(wager_json, wagers), *map(royal9_json, royal)],
        }
        if simulated is not None:
            found["simulation"] = simulated
        click.echo(msgspec.json.encode(found))
    else:
        _print(console, wager, wagers, royal)
        if simulated is not None:
            _print_simulation(console, simulated)
    if simulated is not None and simulated["doubtful"]:
        sys.exit(1)


def _refuse_what_nobody_reads(
    wager: str | None, site: Path | None, options: dict[str, Any]
) -> None:
    """Refuse an option that would change nothing: who gave it expects that it does."""
    given = {f"--{name.replace('_', '-')}" for name, value in options.items() if value}
    given |= {"--site"} if site is not None else set()
    if wager == ROYAL_9:
        _refuse(given & {"--on"}, "Royal 9 is not placed on a hand")
    elif wager is not None:
        _refuse(given & {*OF_ROYAL_9, "--site"}, "of Royal 9 only")
    else:
        _refuse(given & {"--paytable", "--on"}, "it needs a WAGER")
    if site is not None:
        _refuse(given & {*OF_ROYAL_9, "--paytable", "--decks"}, "--site says it already")
    if options["simulate"] is None and options["random_seed"] is not None:
        _refuse({"--random-seed"}, "it needs --simulate")


def _refuse(options: Iterable[str], why: str) -> None:
    for option in sorted(options):
        raise click.UsageError(f"{option}: {why}")


def _wagers(wager: str | None, decks: Sequence[int], options: dict[str, Any]) -> list[WagerOdds]:
    if wager == ROYAL_9:
        return []
    if wager is not None:
        return wager_reports([WAGERS[wager]], decks, options["paytable"], options["on"])
    return wager_reports(WAGERS.values(), decks, None, None)


def _royal9(
    wager: str | None, decks: Sequence[int], site: Path | None, options: dict[str, Any]
) -> list[Royal9Report]:
    if wager not in (None, ROYAL_9):
        return []
    if site is not None:
        return _of_site(site)
    names = [options["paytable"] or "MD-C"] if wager == ROYAL_9 else list(PAYTABLES)
    if names[0] not in PAYTABLES:
        raise click.UsageError(f"--paytable: choose one of {', '.join(PAYTABLES)}")
    return [_of_options(PAYTABLES[name], number, options) for name in names for number in decks]


def _of_options(paytable: Royal9Paytable, decks: int, options: dict[str, Any]) -> Royal9Report:
    seeds: dict[str, int] = dict(options["seed"])
    resets: dict[str, int] = dict(options["reset"])
    rates: dict[str, int] = dict(options["rate"])
    levels = {
        name: LevelTerms(
            seeds.get(name, terms.seed_micros),
            resets.get(name, seeds.get(name, terms.reset_micros)),
            rates.get(name, terms.increment_ppm),
        )
        for name, terms in default_levels(paytable).items()
    }
    own = {int(seat): cards for seat, cards in options["combination"]}
    seating = seating_of(paytable, options["table_seats"] or paytable.seats_default, own)
    must_hit, seat = options["must_hit"], options["seat"] or 1
    return royal9_report(paytable, seating, decks, levels, must_hit, seat=seat)


def _of_site(path: Path) -> list[Royal9Report]:
    site = site_file.read_sound(path)
    return [
        royal9_report(
            link.paytable,
            seating,
            link.decks,
            link.terms,
            link.must_hit.terms if link.must_hit else None,
        )
        for link in site.links
        for seating in dict.fromkeys(t.seating(link.paytable) for t in site.tables_of(link.name))
    ]


def _print(
    console: Console, wager: str | None, wagers: list[WagerOdds], royal: list[Royal9Report]
) -> None:
    if wager is None:
        console.print(odds_tables.summary_table(wagers))
        by_paytable: dict[str, list[Royal9Report]] = {}
        for report in royal:
            by_paytable.setdefault(report.paytable.name, []).append(report)
        console.print(odds_tables.royal9_summary(by_paytable))
        console.print("Lines and ways of one wager: progressive odds WAGER")
        return
    for one in wagers:
        console.print(odds_tables.wager_table(one))
    for report in royal:
        console.print(odds_tables.royal9_table(report))
        console.print(odds_tables.levels_table(report))
        console.print(odds_tables.returns_text(report))


def _simulate(
    wagers: list[WagerOdds], royal: list[Royal9Report], options: dict[str, Any]
) -> dict[str, Any]:
    """Deal from each number of decks in turn, with a progress bar where a person is watching."""
    rounds: int = options["simulate"]
    seed = secrets.randbits(64) if options["random_seed"] is None else options["random_seed"]
    named: list[tuple[str, int, Checked]] = [
        *((odds_tables.title(one), one.decks, checked_wager(one)) for one in wagers),
        *((_royal_title(report), report.odds.decks, checked_royal9(report)) for report in royal),
    ]
    results: list[dict[str, Any]] = []
    columns = (*Progress.get_default_columns()[:1], BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    quiet = not console.is_terminal
    with Progress(
        *columns, TimeRemainingColumn(), console=console, transient=True, disable=quiet
    ) as bar:
        for decks in dict.fromkeys(number for _, number, _ in named):
            group = [(title, one) for title, number, one in named if number == decks]
            task = bar.add_task(f"dealing from {decks} decks", total=rounds)
            counts = deal(
                rounds,
                decks,
                seed,
                [one for _, one in group],
                partial(_show_progress, bar, task),
            )
            results += [
                {"wager": title, "lines": deviations(one, seen, rounds)}
                for (title, one), seen in zip(group, counts, strict=True)
            ]
    doubtful = sum(row.is_doubtful for result in results for row in result["lines"])
    return {"rounds": rounds, "random_seed": seed, "doubtful": doubtful, "wagers": results}


def _show_progress(bar: Progress, task: TaskID, done: int) -> None:
    bar.update(task, completed=done)


def _royal_title(report: Royal9Report) -> str:
    odds = report.odds
    return f"Royal 9, paytable {report.paytable.name}, {odds.decks} decks, seat {odds.seat}"


def _print_simulation(console: Console, simulated: dict[str, Any]) -> None:
    worst: list[Deviation] = []
    for result in simulated["wagers"]:
        worst += result["lines"]
        console.print(
            odds_tables.deviations_table(result["wager"], result["lines"], simulated["rounds"])
        )
    far = max((abs(row.standard_errors) for row in worst if row.expected >= 1), default=0)
    verdict = (
        f"{simulated['doubtful']} of {len(worst)} lines deviate more than chance explains"
        if simulated["doubtful"]
        else f"all {len(worst)} lines as expected, the farthest {far:.2f} standard errors away"
    )
    console.print(f"{verdict} (random seed {simulated['random_seed']})")
