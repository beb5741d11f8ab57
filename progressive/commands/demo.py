"""`progressive demo`: a living floor to watch and to poke at."""

from pathlib import Path

import click

from progressive.commands.listen_address import ListenAddress
from progressive.commands.up import run_parent
from progressive.data_folder import DataFolder, SiteFile, read_site, site_in
from progressive.demonstration import demo_site, floor_task
from progressive.processes.children import Task
from progressive.processes.parent import Opened, Parent, Wishes

WORKERS, THREADS = 1, 4


@click.command()
@click.option(
    "--data",
    default="demo-data",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The data folder, made on first start; later starts go on with it.",
)
@click.option("--listen", type=ListenAddress(), default="127.0.0.1:8080", show_default=True)
@click.option(
    "--speed",
    default=10.0,
    show_default=True,
    type=click.FloatRange(0.1, 1000),
    help="Times the pace of a real table.",
)
@click.option(
    "--for", "seconds", type=click.FloatRange(0.1), help="Stop by itself after so many seconds."
)
def demo(*, data: Path, listen: tuple[str, int], speed: float, seconds: float | None) -> None:
    """Run the whole controller with a simulated floor of four tables of all kinds.

    Bet sensors, a shoe reader, dealers and a supervisor play over HTTP, by the real protocols and
    through a network that loses and repeats messages. Awards are shown as they are won. One
    supervisor pays them, two where two are needed, a while later. Exit codes as `progressive up`.
    """
    wishes = Wishes(listen, None, (), WORKERS, THREADS, stop_after_s=seconds)

    def guests(opened: Opened) -> list[Task]:
        return [floor_task(opened, speed, click.echo)]

    run_parent(Parent(DataFolder(data), wishes, click.echo, guests), _read)


def _read(folder: DataFolder) -> SiteFile:
    if folder.site_file.exists():
        return read_site(folder, None)
    return site_in(demo_site(), "the demonstration's site file")
