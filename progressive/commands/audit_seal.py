"""`progressive audit seal`: the sealer in the foreground."""

import logging
import os
import re
import signal
import sys
import threading
from pathlib import Path

import click

from meters.connect import FAILURES
from meters.errors import Refused
from progressive.audit.alarms import Alarms
from progressive.audit.checkpoint import CosignatureVerifier
from progressive.audit.key_file import KeyFileError
from progressive.audit.log_key import open_log_key, signer_of
from progressive.audit.note import KeyTextError
from progressive.audit.sealer import SealRefused
from progressive.audit.sealing import SITE, Plan, Sealing
from progressive.audit.segments import LogDamaged
from progressive.audit.writer import LogBusy
from progressive.commands import site_file
from progressive.commands.log_options import ADDRESS_HELP, WitnessOption, WrongCall, open_server
from progressive.config.values import Site
from progressive.gaming_day import GamingDays


@click.command()
@click.option("--address", required=True, envvar="PROGRESSIVE_ADDRESS", help=ADDRESS_HELP)
@click.option(
    "--data",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the logs are: DATA/log/LINK for every link, and DATA/log/site.",
)
@click.option(
    "--site",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The site file: which links there are, and when its gaming days begin.",
)
@click.option(
    "--witness", "witnesses", multiple=True, type=WitnessOption(), help="A witness to ask."
)
@click.option(
    "--key",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The key that signs, made on first start.  [default: DATA/log.key]",
)
@click.option("--name", help="Name of the key made on first start.  [default: the site's name]")
@click.option("--once", is_flag=True, help="Seal what is there and stop.")
def seal(  # noqa: PLR0913 - one parameter an option
    address: str,
    data: Path,
    site: Path,
    witnesses: tuple[tuple[str, CosignatureVerifier], ...],
    *,
    key: Path | None,
    name: str | None,
    once: bool,
) -> None:
    """Take every journal into its log, within a second of each entry.

    Prints the logs' public keys: give these to witnesses and to whoever verifies. Alarms are JSON
    lines on stderr. A journal that does not fit its log is refused and tried again, beside the
    others. SIGTERM stops it. Exits with 0 when stopped, 1 when something stands in the way, and 2
    when it was called wrongly.
    """
    os.umask(0o077)
    found = site_file.read_sound(site)
    plan = _plan(found, data, key or data / "log.key", name or _slug(found.name), witnesses)
    open_server(address).close()
    for journal in plan.journals:
        click.echo(str(signer_of(plan.key, journal).verifier))
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    sealing = Sealing(plan, lambda: open_server(address), Alarms())
    if once:
        _seal_once(sealing)
    else:
        _seal_on(sealing)


def _plan(
    site: Site,
    data: Path,
    key: Path,
    name: str,
    witnesses: tuple[tuple[str, CosignatureVerifier], ...],
) -> Plan:
    links = [link.name for link in site.links]
    if SITE in links:
        raise WrongCall(f"a link cannot be called {SITE}: that is the site's own journal")
    try:
        signer = open_log_key(key, name, data / "log")
    except (KeyFileError, KeyTextError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    return Plan(data / "log", signer, links, GamingDays.of_site(site), witnesses)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "site"


def _seal_once(sealing: Sealing) -> None:
    try:
        sealing.once()
    except (SealRefused, LogDamaged, LogBusy, Refused, *FAILURES) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)


def _seal_on(sealing: Sealing) -> None:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    sealing.start()
    stop.wait()
    sealing.stop()
