"""`progressive device`: the devices of a running controller and their keys."""

import datetime as dt
from pathlib import Path

import click
import msgspec

from meters.link import Meters
from progressive.commands.running import (
    Running,
    WrongCall,
    address_option,
    by_option,
    data_option,
    running,
)
from progressive.data_folder import StartRefused, load_vaults, read_site
from progressive.devices import Device, Devices, Kind, stored_devices
from progressive.last_seen import last_seen

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group()
def device() -> None:
    """Issue, rotate, revoke and list the keys that devices sign with.

    A key is shown once, as hex, and stored sealed under the folder's devices.key. Every change is
    an entry of the site's journal. Exit codes: 0 done, 1 refused, 2 wrong call.
    """


@device.command()
@click.argument("name")
@click.option("--kind", required=True, type=click.Choice([kind.value for kind in Kind]))
@click.option(
    "--table", "tables", multiple=True, required=True, help="A gateway may have many of them."
)
@by_option
@data_option
@address_option
@json_option
def add(  # noqa: PLR0913 - one parameter an option
    *,
    name: str,
    kind: str,
    tables: tuple[str, ...],
    by: str,
    data: Path,
    address: str | None,
    as_json: bool,
) -> None:
    """Add a device; its key is shown once."""
    if kind != Kind.GATEWAY and len(tables) > 1:
        raise click.UsageError(f"a {kind} belongs to one table")
    with running(data, address) as controller:
        _insist_on_tables(controller, tables)
        key = _devices(controller).add(name, Kind(kind), sorted(set(tables)), by)
    _show_key(name, key, as_json=as_json)


@device.command()
@click.argument("name")
@by_option
@data_option
@address_option
@json_option
def rotate(*, name: str, by: str, data: Path, address: str | None, as_json: bool) -> None:
    """Give a device a new key, shown once; the last one stays good until the next rotation."""
    with running(data, address) as controller:
        key = _devices(controller).rotate(name, by)
    _show_key(name, key, as_json=as_json)


@device.command()
@click.argument("name")
@by_option
@data_option
@address_option
def revoke(*, name: str, by: str, data: Path, address: str | None) -> None:
    """Take a device's word away for good."""
    with running(data, address) as controller:
        _devices(controller).revoke(name, by)
    click.echo(f"{name} is revoked")


@device.command(name="list")
@data_option
@address_option
@json_option
def list_(*, data: Path, address: str | None, as_json: bool) -> None:
    """List the devices, and when each was last heard; without their keys."""
    with running(data, address) as controller:
        found = stored_devices(controller.journal)
        seen = last_seen(controller.journal)
    if as_json:
        shown = [_shown(each, seen.get(each.device, {})) for each in found]
        click.echo(msgspec.json.encode({"devices": shown}))
        return
    for each in found:
        state = _heard(each, seen.get(each.device, {})) if each.active else "(revoked)"
        click.echo(f"{each.device:<32}  {each.kind:<8}  {', '.join(each.tables)}  {state}")


def _devices(controller: Running) -> Devices:
    return Devices(controller.journal, load_vaults(controller.folder).devices)


def _insist_on_tables(controller: Running, tables: tuple[str, ...]) -> None:
    try:
        site = read_site(controller.folder, None).site
    except StartRefused as error:
        raise WrongCall(str(error)) from None
    known = {name for link in site.links for name in Meters(controller.client, link.name).tables()}
    unknown = sorted(set(tables) - known)
    if unknown:
        listed = ", ".join(sorted(known))
        raise WrongCall(f"there is no table {', '.join(unknown)}; the tables are {listed}")


def _heard(each: Device, seen_ms: dict[str, int]) -> str:
    """Say when a device last posted, and of many tables which is silent the longest."""
    if not seen_ms:
        return "(never heard)"
    last = max(seen_ms, key=seen_ms.__getitem__)
    heard = f"(heard {_utc(seen_ms[last])}"
    if len(each.tables) == 1:
        return f"{heard})"
    silent = min(each.tables, key=lambda table: seen_ms.get(table, 0))
    since = f"since {_utc(seen_ms[silent])}" if silent in seen_ms else "from the first"
    return f"{heard} for {last}; {silent} silent {since})"


def _utc(time_ms: int) -> str:
    when = dt.datetime.fromtimestamp(time_ms // 1000, dt.UTC)
    return when.isoformat().replace("+00:00", "Z")


def _shown(each: Device, seen_ms: dict[str, int]) -> dict[str, object]:
    return {
        "device": each.device,
        "kind": each.kind,
        "tables": each.tables,
        "active": each.active,
        "rotating": bool(each.last_sealed),
        "seen_ms": seen_ms,
    }


def _show_key(name: str, key: bytes, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode({"device": name, "key": key.hex()}))
    else:
        click.echo(f"{name}, key {key.hex()} (shown this once)")
