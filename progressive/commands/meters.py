"""`progressive meters`: every level's meters, as a regulator asks for them."""

import sys

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
    "--address",
    envvar="PROGRESSIVE_ADDRESS",
    required=True,
    help="The server, as redis://, rediss://, unix://, sentinel:// or cluster:// address.",
)
@click.option("--reconcile", is_flag=True, help="Replay the journal since the last balance, too.")
@click.option("--json", "as_json", is_flag=True, help="Exact micro-dollars, for programs.")
def meters(link: str, *, address: str, reconcile: bool, as_json: bool) -> None:
    """Show the meters of every level of LINK.

    In, display, hits, wins, overflow, reserve and pending are read in one look. Exit code 1: the
    accounts do not sum to zero, a meter does not agree with its history, or, with --reconcile, the
    journal does not come to what the meters show.
    """
    try:
        server = connect(address)
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
