"""`progressive rounds` and `progressive awards`: the past of a data folder, from its index."""

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from rich.console import Console
from rich.table import Table

from meters.money import dollars
from progressive.audit.history import (
    LIMIT_MAX,
    STATES,
    AwardRecord,
    Between,
    History,
    Page,
    RoundRecord,
)
from progressive.audit.shelf import NotSealed, Shelf
from progressive.data_folder import DataFolder

R = TypeVar("R", RoundRecord, AwardRecord)
DATA = click.option(
    "--data",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The data folder; the controller may be running.",
)
DAY = click.DateTime(["%Y-%m-%d"])
AFTER = click.option("--after", default=0, type=click.IntRange(0), help="Go on after this number.")
LIMIT = click.option(
    "--limit", default=100, show_default=True, type=click.IntRange(1, LIMIT_MAX), help="At most."
)
FROM = click.option("--from", "first", type=DAY, help="Only from this gaming day on.")
TO = click.option("--to", "last", type=DAY, help="Only up to this gaming day, with it.")
JSON = click.option("--json", "as_json", is_flag=True, help="Exact micro-dollars, for programs.")


@contextmanager
def _history(data: Path, link: str | None) -> Iterator[History]:
    shelf = Shelf(DataFolder(data).logs)
    links = [name for name in shelf.names() if name != "site"]
    named = link or (links[0] if len(links) == 1 else "")
    if named not in links:
        known = f"the links are {', '.join(links)}" if links else f"nothing in {data} is sealed yet"
        raise click.UsageError(f"name one link with --link: {known}")
    try:
        with shelf.history(named) as found:
            yield found
    except NotSealed as error:
        raise click.UsageError(str(error)) from None


def _between(first: dt.datetime | None, last: dt.datetime | None) -> Between:
    return Between(first.date() if first else None, last.date() if last else None)


@click.command()
@click.argument("table")
@DATA
@click.option("--link", help="The table's link.  [default: the only one]")
@FROM
@TO
@AFTER
@LIMIT
@JSON
def rounds(  # noqa: PLR0913 - one parameter an option
    table: str,
    *,
    data: Path,
    link: str | None,
    first: dt.datetime | None,
    last: dt.datetime | None,
    after: int,
    limit: int,
    as_json: bool,
) -> None:
    """List the sealed rounds of TABLE: who bet, the cards, the lines that won.

    Exits with 0, or 2 when there is no such folder or link. The last line says how to go on.
    """
    with _history(data, link) as history:
        page = history.rounds(table, after, limit, _between(first, last))
    _show(page, "rounds", _rounds, as_json=as_json)


@click.command()
@DATA
@click.option("--link", help="The link.  [default: the only one]")
@click.option("--state", type=click.Choice(STATES), help="Only awards of this state.")
@FROM
@TO
@AFTER
@LIMIT
@JSON
def awards(  # noqa: PLR0913 - one parameter an option
    *,
    data: Path,
    link: str | None,
    state: str | None,
    first: dt.datetime | None,
    last: dt.datetime | None,
    after: int,
    limit: int,
    as_json: bool,
) -> None:
    """List the sealed awards: where won, how much, and how settled.

    `progressive audit proof AWARD` tells one award's whole story. Exits with 0, or 2 when there is
    no such folder or link. The last line says how to go on.
    """
    with _history(data, link) as history:
        page = history.awards(after, limit, state, _between(first, last))
    _show(page, "awards", _awards, as_json=as_json)


def _show(page: Page[R], name: str, table: Callable[[list[R]], Table], *, as_json: bool) -> None:
    if as_json:
        body: dict[str, Any] = {name: page.items, "next": page.next}
        click.echo(msgspec.json.encode(body))
        return
    Console().print(table(page.items))
    if page.next is not None:
        click.echo(f"more: --after {page.next}", err=True)


def _rounds(rows: list[RoundRecord]) -> Table:
    table = Table("round", "locked", "bets", "cards", "lines", "outcome", box=None)
    for row in rows:
        bets = " ".join(map(str, row.seats)) or "-"
        lines = ", ".join(f"{seat} {line}" for seat, line in sorted(row.lines.items()))
        cards = " ".join(part for part in (row.cards or row.first, row.more) if part)
        table.add_row(str(row.round), _time(row.locked_at), bets, cards, lines, row.outcome)
    return table


def _awards(rows: list[AwardRecord]) -> Table:
    table = Table("award", "won", "table", "round", "seat", "line", box=None)
    table.add_column("amount", justify="right")
    table.add_column("state")
    for row in rows:
        table.add_row(
            *map(str, (row.award, _time(row.won_at), row.table, row.round, row.seat)),
            row.line or row.kind,
            dollars(row.amount),
            row.state,
        )
    return table


def _time(milliseconds: int) -> str:
    if not milliseconds:
        return "-"
    return f"{dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC):%Y-%m-%d %H:%M:%S}Z"
