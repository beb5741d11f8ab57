"""`progressive audit`: seal the journals, verify the logs, prove and report an award."""

import datetime as dt
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from progressive.audit import durable
from progressive.audit.folder import LogFolder
from progressive.audit.history import History
from progressive.audit.index import Index
from progressive.audit.index_file import fill, index_file, known_days, rebuild_index
from progressive.audit.note import Verifier
from progressive.audit.proof import SUFFIX
from progressive.audit.report import UnknownAward, award_report
from progressive.audit.report_text import report_text
from progressive.audit.segments import LogDamaged
from progressive.audit.writer import LogBusy, LogWriter
from progressive.commands import site_file
from progressive.commands.audit_seal import seal
from progressive.commands.audit_verify import verify
from progressive.commands.log_options import FOLDER, PublicKey, WrongCall, key_of, log_folders
from progressive.gaming_day import GamingDays

SITE_LOG = "site"
ANY_DAYS = GamingDays("UTC", dt.time())  # for an index of a moment, asked for awards only


@click.group()
def audit() -> None:
    """Seal the journals, verify the logs, and prove an award to anyone."""


@audit.command()
@click.argument("award", type=click.IntRange(min=1))
@click.option("--folder", required=True, type=FOLDER, help="The log of the award's link.")
@click.option("--key", type=PublicKey(Verifier), help="The log's key.  [default: what lies beside]")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help=f"Where the proof goes.  [default: award-AWARD{SUFFIX}]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
def proof(
    award: int, folder: Path, key: Verifier | None, out: Path | None, *, as_json: bool
) -> None:
    """Prove an award and report how its amount arose.

    Writes a C2SP tlog-proof file that shows offline that the winning entry is in the log; the entry
    itself is its extra data. Prints the report: opening value, contributions, other movements,
    cards, seats, draws, amount and payment, each worked out again from the log. Exits with 0 when
    everything agrees, 1 when something does not, and 2 when there is no such award.
    """
    path = out or Path(f"award-{award}{SUFFIX}")
    try:
        with LogFolder(folder, key_of(folder, key)) as log, _history(log, award) as history:
            log.refresh()
            report = award_report(log, history, award)
            proved = log.proof(report.award.won - 1, extra=report.entry.encode())
    except UnknownAward as error:
        raise WrongCall(str(error)) from None
    except LogDamaged as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    durable.replace(path, bytes(proved))
    if as_json:
        click.echo(msgspec.json.encode({"proof": str(path), **msgspec.to_builtins(report)}))
    else:
        click.echo(report_text(report), nl=False)
        click.echo(f"wrote {path}", err=True)
    sys.exit(bool(report.problems))


@contextmanager
def _history(log: LogFolder, award: int) -> Iterator[History]:
    """Open the index if it knows the award, or else make one in memory."""
    if index_file(log.folder).exists():
        history = History.open(index_file(log.folder))
        try:
            if history.award(award):
                yield history
                return
        finally:
            history.close()
    index = Index(":memory:", ANY_DAYS)
    try:
        fill(index, log)
        yield History(index.connection)
    finally:
        index.close()


@audit.command(name="rebuild-index")
@click.option("--data", required=True, type=FOLDER, help="A data folder, or the folder of one log.")
@click.option("--key", type=PublicKey(Verifier), help="The log's key.  [default: what lies beside]")
@click.option(
    "--site",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The site file, for when gaming days begin.  [default: as the present index has it]",
)
def rebuild(data: Path, key: Verifier | None, site: Path | None) -> None:
    """Make the index of rounds, awards and days again, from the entries.

    The sealer must not be running. Exits with 0 when it is made, 1 when it cannot be.
    """
    os.umask(0o077)  # as the controller made it
    named = GamingDays.of_site(site_file.read_sound(site)) if site else None
    for folder in log_folders(data):
        if folder.name == SITE_LOG:
            continue
        days = named or known_days(folder)
        if days is None:
            raise click.UsageError(f"{folder} has no index yet: name the site file with --site")
        try:
            with LogWriter(folder, key_of(folder, key)) as log:
                count = rebuild_index(log, days)
        except (LogBusy, LogDamaged, ValueError) as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(1)
        click.echo(f"{index_file(folder)}: {count:,} entries")


audit.add_command(seal)
audit.add_command(verify)
