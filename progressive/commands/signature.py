"""`progressive signature`: what exactly is installed here, and whether it is still the same."""

import sys
from pathlib import Path

import click
import msgspec

from progressive.signature import Signature, differences, take_signature

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("--site", type=FILE, help="The site file, which is hashed as well.")
@click.option(
    "--check", "earlier", type=FILE, help="Compare with what `--json` printed at another time."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for --check.")
def signature(site: Path | None, earlier: Path | None, *, as_json: bool) -> None:
    """Print a hash of every installed file of the product, and one hash of them all.

    Also the versions of the product, of Python and of everything it depends on, and the hash of the
    configuration. The lines of files are as sha256sum writes them. Exits with 0, or with 1 if
    --check finds a difference.
    """
    now = take_signature(site)
    if earlier is None:
        click.echo(msgspec.json.encode(now) if as_json else _text(now), nl=as_json)
        return
    found = list(differences(_read(earlier), now))
    if as_json:
        click.echo(msgspec.json.encode({"same": not found, "differences": found}))
    else:
        for line in found:
            click.echo(line)
        click.echo(f"{len(found)} differences" if found else f"the same: {now.overall}")
    sys.exit(bool(found))


def _read(path: Path) -> Signature:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Signature)
    except msgspec.DecodeError as error:
        raise click.UsageError(f"{path} was not printed by `signature --json`: {error}") from None


def _text(found: Signature) -> str:
    lines = [f"{digest}  {name}" for name, digest in found.files.items()]
    lines += ["", f"{found.product} {found.version} on {found.python}"]
    lines += [f"  {name} {number}" for name, number in found.dependencies.items()]
    if found.configuration:
        lines.append(f"configuration {found.configuration}")
    lines += [f"overall       {found.overall}", ""]
    return "\n".join(lines)
