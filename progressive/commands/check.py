"""`progressive check`: is this site file right, and what would be filed for it."""

import sys
from pathlib import Path

import click
import msgspec

from progressive.commands import site_file
from progressive.config.load import Loaded
from progressive.submission import submission


@click.command()
@click.argument("site", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print problems as one JSON object.")
@click.option(
    "--submission",
    "sheet",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write the rules submission that an operator files, as Markdown.",
)
def check(site: Path, sheet: Path | None, *, as_json: bool) -> None:
    """Check a site file and list everything that is wrong with it.

    Each problem says where it stands, what is wrong, what is allowed, and which rule says so.
    Exits with 0 when the site may be used (warnings included), 1 when it may not, and 2 when the
    file cannot be read or the sheet cannot be written.
    """
    if sheet is not None and sheet.exists() and sheet.samefile(site):
        raise click.UsageError("--submission would overwrite the site file: name another file")
    loaded = site_file.read(site)
    if as_json:
        click.echo(msgspec.json.encode(_as_json(loaded)))
    else:
        _print(site, loaded)
    if loaded.site is None:
        sys.exit(1)
    if sheet is not None:
        sheet.write_text(submission(loaded.site), encoding="utf-8")
        if not as_json:
            click.echo(f"wrote {sheet}")


def _as_json(loaded: Loaded) -> dict[str, object]:
    return {"ok": loaded.site is not None, "problems": loaded.problems}


def _print(path: Path, loaded: Loaded) -> None:
    for problem in loaded.problems:
        click.echo(f"{path}: {problem}")
    if loaded.site is None:
        errors = sum(problem.severity == "error" for problem in loaded.problems)
        click.echo(f"{errors} {'error' if errors == 1 else 'errors'}: the site cannot be used.")
        return
    found = loaded.site
    seats = sum(table.seats for table in found.tables)
    click.echo(
        f"{found.name}: fine under {found.rulebook.title}; {len(found.links)} link(s), "
        f"{len(found.tables)} table(s), {seats} seats."
    )
