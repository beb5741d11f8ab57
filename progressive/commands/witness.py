"""`progressive witness`: a second pair of eyes on the log, on a machine of somebody else's."""

import socket
import sys
from functools import partial
from pathlib import Path

import click
from flask import Flask
from granian import Granian
from granian.constants import Interfaces

from progressive.audit.key_file import KeyFileError
from progressive.audit.note import KeyTextError, Verifier
from progressive.audit.witness import load_app
from progressive.audit.witness_record import RecordError, WitnessRecord
from progressive.commands.listen_address import ListenAddress
from progressive.commands.log_options import PublicKey

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"level": "INFO", "handlers": ["stderr"]},
    "loggers": {},
}


@click.command()
@click.option(
    "--folder",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the witness keeps its key and what it has signed.",
)
@click.option(
    "--log-key", "logs", multiple=True, type=PublicKey(Verifier), help="The key of a log to watch."
)
@click.option("--listen", type=ListenAddress(), default="127.0.0.1:7380", show_default=True)
@click.option("--name", help="Name of the key made on first start.  [default: this host's]")
@click.option("--show-key", is_flag=True, help="Print the witness's own key and stop.")
def witness(
    folder: Path,
    logs: tuple[Verifier, ...],
    listen: tuple[str, int],
    name: str | None,
    *,
    show_key: bool,
) -> None:
    """Cosign a log's checkpoints, each only if it extends the last one.

    The witness makes its key on first start and prints the public part: give that to whoever runs
    the log and to whoever verifies it. It belongs on a machine that the log's operator does not
    control. What contradicts an earlier checkpoint is refused and kept in the folder `evidence`.
    Exits with 0 when stopped, and 1 when the folder or the address cannot be used.
    """
    if not logs and not show_key:
        raise click.UsageError("name the log to watch: --log-key NAME+ID+KEY")
    named = name or f"{socket.gethostname()}/witness"
    try:
        key = WitnessRecord(folder).prepare(named).verifier
    except (RecordError, KeyFileError, KeyTextError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    click.echo(str(key))
    if not show_key:
        _insist_on_free(listen)
        _serve(listen, partial(load_app, folder, named, logs))


def _insist_on_free(listen: tuple[str, int]) -> None:
    """Refuse an address in use: the server would share it, and answers would come from either."""
    family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
    try:
        socket.create_server(listen, family=family).close()
    except OSError as error:
        click.echo(f"Error: {listen[0]}:{listen[1]} cannot be listened on: {error}", err=True)
        sys.exit(1)


def _serve(listen: tuple[str, int], load: partial[Flask]) -> None:
    server = Granian(
        "witness",
        address=listen[0],
        port=listen[1],
        interface=Interfaces.WSGI,
        workers=1,
        blocking_threads=1,
        websockets=False,
        log_dictconfig=LOGGING,
        workers_kill_timeout=10,
    )
    server.serve(target_loader=load, wrap_loader=False)
