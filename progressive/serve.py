"""The API as a process: services from a data folder, the application, granian in front of it."""

import ctypes
import os
import signal
from functools import partial
from pathlib import Path
from typing import Final

import click
from granian import Granian
from granian.constants import HTTPModes, Interfaces

from meters.client import Client
from meters.connect import connect
from meters.link import Meters
from meters.site import SiteJournal
from progressive import logs
from progressive.api.app import create_app
from progressive.api.services import Services
from progressive.api.whole import WAITING_MAX, WholeRequests
from progressive.audit.shelf import Shelf
from progressive.clock import now_ms
from progressive.commands.listen_address import ListenAddress
from progressive.controller import Controller
from progressive.data_folder import DataFolder, load_vaults, read_site
from progressive.devices import Devices
from progressive.draws.process import process_drbg
from progressive.opening import draws_in_use
from progressive.people.approvals import Approvals
from progressive.people.sessions import Sessions
from progressive.people.users import Users
from progressive.processes.core_dumps import forbid_core_dumps

PROCESS: Final = "api"
PR_SET_PDEATHSIG: Final = 1  # from <linux/prctl.h>
STOP_WAIT_S: Final = 10
TO_ROOT: Final = {"handlers": [], "propagate": True}
LOGGING: Final = {"loggers": {"_granian": TO_ROOT, "granian.access": TO_ROOT}}


def services_of(folder: DataFolder, client: Client, *, behind_tls: bool = False) -> Services:
    """Put together what the handlers work with."""
    site = read_site(folder, None).site
    vaults = load_vaults(folder)
    vaults.draws.require(draws_in_use(client, [link.name for link in site.links]))
    journal = SiteJournal(client)
    users = Users(journal, now_ms)
    sessions = Sessions(journal, users, now_ms)
    return Services(
        site=site,
        controllers={
            link.name: Controller(
                Meters(client, link.name), vaults.draws, process_drbg(), site.rulebook
            )
            for link in site.links
        },
        users=users,
        sessions=sessions,
        approvals=Approvals(journal, users, sessions),
        devices=Devices(journal, vaults.devices),
        shelf=Shelf(folder.logs),
        now_ms=now_ms,
        behind_tls=behind_tls,
    )


def load_app(
    folder: DataFolder, address: str, parent: int, threads: int, *, behind_tls: bool
) -> WholeRequests:
    """Make the application in a worker process, which ends when its parent does."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        raise SystemExit("the parent is gone")
    services = services_of(folder, connect(address).client, behind_tls=behind_tls)
    services.devices.seen.keep_writing()
    return WholeRequests(create_app(services), threads, services.limits.body_bytes_max)


@click.command()
@click.option("--data", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--address", required=True, envvar="PROGRESSIVE_ADDRESS")
@click.option("--listen", required=True, type=ListenAddress())
@click.option("--workers", default=1, type=click.IntRange(1, 64))
@click.option("--threads", default=4, type=click.IntRange(1, 256))
@click.option("--behind-tls", is_flag=True)
def main(  # noqa: PLR0913 - one parameter an option
    *,
    data: Path,
    address: str,
    listen: tuple[str, int],
    workers: int,
    threads: int,
    behind_tls: bool,
) -> None:
    """Serve the API of a data folder until told to stop."""
    forbid_core_dumps()
    folder = DataFolder(data)
    logs.configure(folder.log_file, PROCESS)
    server = Granian(
        PROCESS,
        address=listen[0],
        port=listen[1],
        interface=Interfaces.WSGI,
        workers=workers,
        blocking_threads=threads + WAITING_MAX,  # started as they are needed
        http=HTTPModes.http1,
        websockets=False,
        log_dictconfig=LOGGING,
        workers_kill_timeout=STOP_WAIT_S,
    )
    load = partial(load_app, folder, address, os.getpid(), threads, behind_tls=behind_tls)
    server.serve(target_loader=load, wrap_loader=False)


if __name__ == "__main__":
    main()
