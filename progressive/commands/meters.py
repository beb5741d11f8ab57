"""`progressive meters`: every level's meters, as a regulator asks for them."""

import sys
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.table import Table

from meters.connect import connect
from meters.link import Meters
from meters.money import dollars
from meters.replay import audit, imbalances
from meters.report import LevelMeters, level_meters
from meters.server_error import ServerError
from progressive.data_folder import DataFolder

COLUMNS = {
    "progressive_in": "progressive in",
    "display": "display",
    "hits": "hits",
    "wins": "wins",
    "overflow": "overflow",
    "reserve": "reserve",
    "pending": "pending",
}


@click.command("meters")
@click.argument("link")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The data folder of the running controller.",
)
@click.option(
    "--address",
    envvar="PROGRESSIVE_ADDRESS",
    help="Or its server: redis://, rediss://, unix://, sentinel:// or cluster://.",
)
@click.option("--reconcile", is_flag=True, help="Replay the journal since the last balance, too.")
@click.option("--json", "as_json", is_flag=True, help="Exact micro-dollars, for programs.")
def meters(
    link: str, *, data: Path | None, address: str | None, reconcile: bool, as_json: bool
) -> None:
    """Show the meters of every level of LINK.

    In, display, hits, wins, overflow, reserve and pending are read in one look. Exit code 1: the
    accounts do not sum to zero, a meter does not agree with its history, or, with --reconcile, the
    journal does not come to what the meters show.
    """
    named = address or (DataFolder(data).address if data else None)
    if named is None:
        raise click.UsageError("name the data folder with --data, or its server with --address")
    try:
        server = connect(named)
    except ServerError as error:
        raise click.UsageError(str(error)) from None
    face = Meters(server.client, link)
    if not face.tables():
        raise click.UsageError(f"there is no link {link!r} on that server")
    state = face.snapshot()
    rows = level_meters(state.numbers, state.texts["levels"].split(","))
    problems = imbalances(state)
    if reconcile:
        problems = audit(face).problems
    if as_json:
        body = {"link": link, "entry": state.numbers["head"], "levels": rows, "problems": problems}
        click.echo(msgspec.json.encode(body))
    else:
        Console().print(_table(link, rows))
        for problem in problems:
            click.echo(f"problem: {problem}", err=True)
    sys.exit(1 if problems else 0)


def _table(link: str, rows: list[LevelMeters]) -> Table:
    table = Table("level", title=link, box=None, title_justify="left")
    for title in COLUMNS.values():
        table.add_column(title, justify="right")
    for row in rows:
        amounts = [getattr(row, name) for name in COLUMNS]
        shown = [
            f"{amount:,}" if name == "hits" else dollars(amount)
            for name, amount in zip(COLUMNS, amounts, strict=True)
        ]
        table.add_row(row.level, *shown)
    return table
