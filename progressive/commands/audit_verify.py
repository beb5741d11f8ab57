"""`progressive audit verify`: the stand-alone verifier, then what only a live server can show."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import msgspec

import progressive.audit
from progressive.audit.checkpoint import CosignatureVerifier
from progressive.audit.folder import LogFolder
from progressive.audit.live import LiveCheck, check_journal, check_link
from progressive.audit.note import Verifier
from progressive.audit.sealing import SITE
from progressive.audit.segments import LogDamaged
from progressive.audit.stream import JournalStream
from progressive.commands.log_options import (
    ADDRESS_HELP,
    FOLDER,
    PublicKey,
    WrongCall,
    key_of,
    log_folders,
    open_server,
)

VERIFIER = Path(progressive.audit.__file__).with_name("verifier.py")
FINE, FOUND, WRONG_CALL = 0, 1, 2


class Verdict(msgspec.Struct):
    """What was found out about one log."""

    log: str
    verifier: Any  # what it says, as JSON
    code: int
    live: LiveCheck | None = None

    @property
    def exit_code(self) -> int:
        """Give 0, 1 or 2."""
        if self.code not in {FINE, FOUND}:
            return WRONG_CALL
        return FOUND if self.code or (self.live and self.live.problems) else FINE


@click.command()
@click.option("--data", required=True, type=FOLDER, help="A data folder, or the folder of one log.")
@click.option("--key", type=PublicKey(Verifier), help="The log's key.  [default: what lies beside]")
@click.option(
    "--witness",
    "witnesses",
    multiple=True,
    type=PublicKey(CosignatureVerifier),
    help="A witness that must have cosigned.",
)
@click.option("--address", envvar="PROGRESSIVE_ADDRESS", help=ADDRESS_HELP)
@click.option(
    "--verifier",
    default=VERIFIER,
    type=click.Path(dir_okay=False, path_type=Path),
    help="A copy of the verifier to run.  [default: the installed one]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(  # noqa: PLR0913 - one parameter an option
    data: Path,
    key: Verifier | None,
    witnesses: tuple[CosignatureVerifier, ...],
    address: str | None,
    verifier: Path,
    *,
    as_json: bool,
) -> None:
    """Verify logs from beginning to end, with a program that shares no code with the server.

    With an address, each log is then compared with what the server still has, and the server's
    totals with its journal; a link that was closed and is exact is open afterwards. Exits with 0
    when all is right, 1 when something is not, and 2 when it could not be found out.
    """
    folders = log_folders(data)
    if key and len(folders) > 1:
        raise click.UsageError("--key is the key of one log: name its folder with --data")
    if not verifier.exists():
        raise WrongCall(f"{verifier} is not there: install the product again, or name a copy")
    verdicts = []
    for folder in folders:
        verdict = _run(verifier, folder, key_of(folder, key), witnesses, as_json=as_json)
        if address:
            verdict.live = _check_live(address, folder, key_of(folder, key))
            if not as_json:
                _print_live(verdict.live)
        verdicts.append(verdict)
    code = max(verdict.exit_code for verdict in verdicts)
    if as_json:
        click.echo(msgspec.json.encode({"ok": code == FINE, "logs": verdicts}))
    sys.exit(code)


def _run(
    verifier: Path,
    folder: Path,
    key: Verifier,
    witnesses: tuple[CosignatureVerifier, ...],
    *,
    as_json: bool,
) -> Verdict:
    call = [sys.executable, str(verifier), str(folder), "--key", str(key)]
    for witness in witnesses:
        call += ["--witness", str(witness)]
    if not as_json:
        click.echo(f"{key.name}:")
        return Verdict(key.name, None, subprocess.run(call, check=False).returncode)  # noqa: S603 - the verifier
    done = subprocess.run([*call, "--json"], check=False, stdout=subprocess.PIPE)  # noqa: S603 - the verifier
    try:
        said = msgspec.json.decode(done.stdout)
    except msgspec.DecodeError:
        said = done.stdout.decode(errors="replace")
    return Verdict(key.name, said, done.returncode)


def _check_live(address: str, folder: Path, key: Verifier) -> LiveCheck:
    with closing(open_server(address)) as client:
        stream = JournalStream(client, folder.name)
        try:
            with LogFolder(folder, key) as log:
                return (
                    check_journal(stream, log) if folder.name == SITE else check_link(stream, log)
                )
        except LogDamaged as error:
            return LiveCheck(
                journal=folder.name, head=0, sealed=0, compared=0, problems=[str(error)]
            )


def _print_live(live: LiveCheck) -> None:
    waiting = live.head - live.sealed
    click.echo(
        f"  server: {live.head:,} entries, {live.sealed:,} sealed, {live.compared:,} compared"
        + (f", {waiting:,} waiting for the sealer" if waiting > 0 else "")
    )
    for problem in live.problems:
        click.echo(f"  server: {problem}")
    if not live.problems:
        click.echo("  server: journal, log and totals agree")
