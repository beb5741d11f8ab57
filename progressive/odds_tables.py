"""Odds as tables to look at."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from meters.money import dollars, percent
from progressive.montecarlo import Deviation
from progressive.odds_report import (
    Royal9Report,
    decimal,
    fixed,
    line_return,
    pay_value,
    pct,
)
from progressive.rules.odds import WagerOdds
from progressive.rules.paytables import LOSS
from progressive.rules.royal9 import STAKE_MICROS, Fixed, Pay
from progressive.rules.wagers import WAGERS

WIDTH = 80  # columns that every table fits into, unless its amounts are in the millions
WIDTH_MIN = 120  # columns; a figure is never cut short to fit a narrower screen


def console() -> Console:
    """Make a console that is wide enough for the figures."""
    found = Console(highlight=False)
    found.width = max(found.width, WIDTH_MIN)
    return found


def grid(*columns: str, left: int = 1) -> Table:
    """Make a table without edges, its first columns to the left and the others to the right."""
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
        padding=(0, 1),
    )
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number < left else "right", no_wrap=True)
    return table


def sheet(heading: str, table: Table, note: str = "") -> Group:
    """Put a heading over a table and a note under it."""
    under = ["", note] if note else []
    return Group(Text(heading, style="bold"), "", table, *under, "")


def title(odds: WagerOdds) -> str:
    """Name a wager with its hand, paytable and decks."""
    wager = WAGERS[odds.wager]
    on = f" on {odds.on}" if odds.on else ""
    table = f", paytable {odds.paytable}" if len(wager.paytables) > 1 else ""
    return f"{wager.title}{on}{table}, {odds.decks} decks"


def wager_table(odds: WagerOdds) -> Group:
    """Show one wager line by line."""
    table = _lines_table("pays\nto 1")
    for row in odds.lines:
        chance = Fraction(row.ways, odds.total)
        pays = {0: "push", -1: "-"}.get(int(row.pays) if row.pays <= 0 else 1, str(row.pays))
        if row.pays > 0 and row.pays.denominator > 1:
            pays = decimal(row.pays)
        _add_line(table, row.line, row.ways, chance, pays, line_return(row.pays, chance))
    table.add_section()
    table.add_row("all", f"{odds.total:,}", "1", "", "", pct(1 - odds.house_edge), style="bold")
    return sheet(title(odds), table, f"house edge {pct(odds.house_edge)}")


def _lines_table(pays: str) -> Table:
    return grid("line", "ways", "probability", "one in", pays, "return")


def _add_line(  # noqa: PLR0913, PLR0917 - one argument a column
    table: Table, line: str, ways: int, chance: Fraction, pays: str, back: Fraction
) -> None:
    one_in = fixed(1 / chance, 2) if ways else "never"
    table.add_row(line, f"{ways:,}", fixed(chance, 10), one_in, pays, pct(back))


def royal9_table(report: Royal9Report) -> Group:
    """Show Royal 9 at one seat line by line, with every meter at its seed."""
    odds = report.odds
    table = _lines_table("pays for one")
    for line, ways in odds.ways.items():
        chance = odds.probability(line)
        pay = report.paytable.pays.get(line)
        back = pay_value(pay, report.levels) * chance / STAKE_MICROS
        _add_line(table, line, ways, chance, _pay_text(pay), back)
    table.add_section()
    at_seeds = pct(report.returns.at_seeds)
    table.add_row("all", f"{odds.total:,}", "1", "", "at the seeds", at_seeds, style="bold")
    heading = (
        f"Royal 9, paytable {report.paytable.name} ({report.paytable.edition} edition), "
        f"{odds.decks} decks, seat {odds.seat} of {len(report.seating.combinations)}"
    )
    edge = pct(report.returns.house_edge_at_seeds)
    return sheet(heading, table, f"house edge at the seeds {edge}")


def _pay_text(pay: Pay | None) -> str:
    if pay is None:
        return "-"
    if isinstance(pay, Fixed):
        return dollars(pay.amount_micros)
    return f"{pay.percent} % {pay.level}"


def levels_table(report: Royal9Report) -> Group:
    """Show what each meter comes to."""
    columns = ("level", "seed", "reset", "rate", "wagers\na hit", "expected\nat a hit")
    table = grid(*columns, "breaks\neven at")
    for name, level in report.returns.levels.items():
        terms = report.levels[name]
        rate = "-" if terms.increment_ppm is None else percent(terms.increment_ppm)
        table.add_row(
            name,
            dollars(terms.seed_micros),
            dollars(terms.reset_micros),
            rate,
            f"{round(level.wagers_between_hits):,}",
            _dollars(level.meter_at_hit_micros, "needs the rate"),
            _dollars(level.break_even_micros, "always"),
        )
    note = "breaks even: the other meters at their seeds, Must Hit not counted"
    return sheet("Meters", table, note)


def _dollars(micros: Fraction | None, otherwise: str) -> str:
    return otherwise if micros is None else f"${fixed(micros / 1_000_000, 2)}"


def returns_text(report: Royal9Report) -> str:
    """Say in words what the wager returns."""
    returns = report.returns
    lines = [f"return at the seeds  {pct(returns.at_seeds)}, of it fixed pays {pct(returns.fixed)}"]
    if returns.must_hit is not None and returns.must_hit_wagers is not None:
        lines.append(
            f"Must Hit             {pct(returns.must_hit)}, once in "
            f"{fixed(returns.must_hit_wagers, 1)} wagers"
        )
    if returns.long_run is None:
        lines.append(
            "long-run return      needs the rates: give --rate star=9% and so on, or --site"
        )
    else:
        lines.append(
            f"long-run return      {pct(returns.long_run)} with increments"
            f"{' and Must Hit' if returns.must_hit is not None else ''}, "
            f"edge {pct(1 - returns.long_run)}"
        )
    return "\n".join(lines)


def summary_table(odds: Sequence[WagerOdds]) -> Group:
    """Show the house edge of every wager, one column a number of decks."""
    decks = list(dict.fromkeys(one.decks for one in odds))
    names = ("wager", "on", "paytable", *(f"{number} decks" for number in decks))
    table = grid(*names, left=3)
    edges: dict[tuple[str, str, str], dict[int, Fraction]] = {}
    for one in odds:
        edges.setdefault((one.wager, one.on or "", one.paytable), {})[one.decks] = one.house_edge
    for key, by_decks in edges.items():
        table.add_row(*key, *(pct(by_decks[number]) for number in decks))
    return sheet("House edge of every wager", table)


def royal9_summary(reports: Mapping[str, Sequence[Royal9Report]]) -> Group:
    """Show the return of every Royal 9 paytable at its least seeds."""
    decks = (f"{report.odds.decks} decks" for report in next(iter(reports.values())))
    table = grid("paytable", "seats", *decks)
    for name, row in reports.items():
        seats = str(len(row[0].seating.combinations))
        table.add_row(name, seats, *(pct(report.returns.at_seeds) for report in row))
    return sheet("Return of Royal 9 at the seeds", table)


def deviations_table(heading: str, rows: Sequence[Deviation], rounds: int) -> Group:
    """Show how a simulation compares with the exact odds."""
    table = grid("line", "seen", "expected", "standard errors")
    for row in rows:
        table.add_row(
            row.line,
            f"{row.seen:,}",
            f"{row.expected:,.2f}",
            f"{row.standard_errors:+.2f}",
            style="bold red" if row.is_doubtful else "dim" if row.line == LOSS else None,
        )
    return sheet(heading, table, f"{rounds:,} {'round' if rounds == 1 else 'rounds'} dealt")
