"""A running controller, for the commands that change its people and devices."""

import getpass
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from meters.client import Client
from meters.connect import FAILURES, connect
from meters.errors import Refused
from meters.server_error import ServerError
from meters.site import SiteJournal
from progressive.clock import now_ms
from progressive.data_folder import DataFolder
from progressive.draws.key_file import VaultError
from progressive.people.users import Users

WAIT_S = 1.0
F = TypeVar("F", bound=Callable[..., Any])


class WrongCall(click.ClickException):
    """Something that cannot be done as it was asked for."""

    exit_code = 2


def data_option(command: F) -> F:
    """Take the data folder."""
    kind = click.Path(exists=True, file_okay=False, path_type=Path)
    text = "The data folder of the running controller."
    return click.option("--data", required=True, type=kind, help=text)(command)


def address_option(command: F) -> F:
    """Take the server's address, where it is not the embedded one."""
    text = "The controller's server.  [default: the embedded one in the folder]"
    return click.option("--address", envvar="PROGRESSIVE_ADDRESS", help=text)(command)


def by_option(command: F) -> F:
    """Take who does this."""
    return click.option(
        "--by",
        default=getpass.getuser,
        show_default="who is logged in here",
        help="The person who does this, for the journal.",
    )(command)


class Running:
    """The people and devices of a running controller."""

    def __init__(self, folder: DataFolder, client: Client) -> None:
        self.folder = folder
        self.journal = SiteJournal(client)
        self.client = client
        self.users = Users(self.journal, now_ms)


@contextmanager
def running(data: Path, address: str | None) -> Iterator[Running]:
    """Connect; what is refused is said in a sentence, with exit code 1, or 2 for a wrong call."""
    folder = DataFolder(data)
    try:
        found = connect(address or folder.address, wait_s=WAIT_S)
    except ServerError as error:
        hint = "" if address else f" Is it running? Start it: progressive up --data {data}"
        raise WrongCall(f"{error}{hint}") from None
    try:
        yield Running(folder, found.client)
    except Refused as refusal:
        raise click.ClickException(refusal.message) from None
    except VaultError as error:
        raise WrongCall(str(error)) from None
    except FAILURES as error:
        raise click.ClickException(f"the server does not answer: {error}") from None
    finally:
        found.close()
