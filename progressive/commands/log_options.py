"""What the audit commands take: keys of logs and witnesses, folders of logs, a server."""

from pathlib import Path
from typing import Any, TypeVar, cast

import click
from redis import Redis

from meters.connect import connect
from meters.server_error import ServerError
from progressive.audit import log_key
from progressive.audit.checkpoint import CosignatureVerifier
from progressive.audit.key_file import KeyFileError
from progressive.audit.note import KeyTextError, Verifier

V = TypeVar("V", bound=Verifier)


class WrongCall(click.ClickException):
    """Something that cannot be done as it was asked for."""

    exit_code = 2


class PublicKey(click.ParamType[V]):
    """A public key of one kind, `name+id+key`."""

    name = "KEY"

    def __init__(self, kind: type[V]) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> V:
        """Read the key, or say why it is none."""
        if isinstance(value, self._kind):
            return value
        try:
            return self._kind.parse(str(value))
        except KeyTextError as error:
            self.fail(str(error), param, ctx)


class WitnessOption(click.ParamType[tuple[str, CosignatureVerifier]]):
    """A witness to ask: its address and its key."""

    name = "URL=KEY"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, CosignatureVerifier]:
        """Read both."""
        if isinstance(value, tuple):
            return value
        url, _, key = str(value).partition("=")
        if not url.startswith(("http://", "https://")):
            self.fail("write http://HOST:PORT=NAME+ID+KEY", param, ctx)
        return url, PublicKey(CosignatureVerifier).convert(key, param, ctx)


FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
ADDRESS_HELP = "The server, such as redis://host:6379; a password is better in the environment."


def log_folders(path: Path) -> list[Path]:
    """Give the logs in a data folder, or the one log that the folder is."""
    if (path / "checkpoint").exists():
        return [path]
    found = sorted(one.parent for one in (path / "log").glob("*/checkpoint"))
    if not found:
        raise click.UsageError(f"{path} is neither a log nor a data folder with logs in it")
    return found


def key_of(folder: Path, named: Verifier | None) -> Verifier:
    """Give the key that was named, or the one that the sealer left beside the log."""
    try:
        return named or log_key.published(folder)
    except (KeyFileError, KeyTextError) as error:
        raise WrongCall(f"{error}; name it with --key") from None


def open_server(address: str) -> Redis:
    """Connect to a server that is fit for money."""
    try:
        return cast("Redis", connect(address).client)
    except ServerError as error:
        raise WrongCall(str(error)) from None
