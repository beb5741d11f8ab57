"""`progressive up`: everything on one machine, by one command."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from meters.server_error import ServerError
from progressive.audit.key_file import KeyFileError
from progressive.audit.witness_record import RecordError
from progressive.commands.listen_address import ListenAddress
from progressive.data_folder import DataFolder, SiteFile, StartRefused, read_site
from progressive.draws.key_file import VaultError
from progressive.processes.core_dumps import forbid_core_dumps
from progressive.processes.parent import Parent, ServerLost, Wishes

REFUSALS = (StartRefused, ServerError, VaultError, KeyFileError, RecordError)


class CannotStart(click.ClickException):
    """A start that is refused; nothing was changed."""

    exit_code = 2


@click.command()
@click.option(
    "--data",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The data folder, made on first start.",
)
@click.option(
    "--site",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The site file.  [default: the one in the folder; on first start the example]",
)
@click.option("--listen", type=ListenAddress(), default="127.0.0.1:8080", show_default=True)
@click.option(
    "--address",
    envvar="PROGRESSIVE_ADDRESS",
    help="A server of your own.  [default: the embedded one]",
)
@click.option(
    "--witness", "witnesses", multiple=True, metavar="URL=KEY", help="A further witness to ask."
)
@click.option(
    "--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Of the API."
)
@click.option(
    "--threads", default=4, show_default=True, type=click.IntRange(1, 256), help="A worker's."
)
@click.option(
    "--rotate-keys",
    is_flag=True,
    help="Seal draws and device keys under new keys from this start on.",
)
@click.option(
    "--behind-tls",
    is_flag=True,
    help="A proxy in front speaks TLS: browsers send the session's cookie over TLS only.",
)
def up(  # noqa: PLR0913 - one parameter an option
    *,
    data: Path,
    site: Path | None,
    listen: tuple[str, int],
    address: str | None,
    witnesses: tuple[str, ...],
    workers: int,
    threads: int,
    rotate_keys: bool,
    behind_tls: bool,
) -> None:
    """Run the whole controller on this machine, by one command.

    The first start makes keys, a site from the example and an administrator, whose password is
    shown once. Every journal is audited before anything is accepted. What dies is started again.
    Ctrl-C or SIGTERM stops everything in order. Exits with 0 when stopped, 1 when the server is
    lost, and 2 when it cannot start: the site file, the address, the folder or a key.
    """
    wishes = Wishes(
        listen,
        address,
        witnesses,
        workers,
        threads,
        rotate_keys=rotate_keys,
        behind_tls=behind_tls,
    )
    run_parent(Parent(DataFolder(data), wishes, click.echo), partial(read_site, named=site))


def run_parent(parent: Parent, read: Callable[[DataFolder], SiteFile]) -> None:
    """Run it until it is stopped, and say in a sentence why it cannot."""
    forbid_core_dumps()
    os.umask(0o077)
    try:
        parent.run(read)
    except ServerLost as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    except REFUSALS as error:
        raise CannotStart(str(error)) from None
