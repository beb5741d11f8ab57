"""Reading a site file named on the command line."""

from pathlib import Path

import click

from progressive.config.load import Loaded, load_site
from progressive.config.values import Site


def read(path: Path) -> Loaded:
    """Load a site file; one that is not text is a wrong call."""
    try:
        return load_site(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{path} is not UTF-8 text: {error}") from None


def read_sound(path: Path) -> Site:
    """Load a site file that must have no errors."""
    loaded = read(path)
    if loaded.site is None:
        for problem in loaded.problems:
            click.echo(f"{path}: {problem}", err=True)
        raise click.ClickException(f"{path} has problems: see `progressive check {path}`")
    return loaded.site
