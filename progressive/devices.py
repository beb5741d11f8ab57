"""Devices of the floor: which table each belongs to, and the key it signs with."""

import re
import secrets
import time
from enum import StrEnum
from typing import Final, cast

import msgspec

from meters.errors import Refused
from meters.site import Change, SiteJournal
from progressive.draws.vault import Vault
from progressive.last_seen import LastSeen, last_seen

KEY_BYTES: Final = 32
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")  # it travels in a header
RECORD: Final = "devices"
TRUST_S: Final = 1.0  # how late another process hears that a device was revoked


class Kind(StrEnum):
    """What a device is."""

    HUB = "hub"  # bet sensors of one table
    SHOE = "shoe"  # card reader of one table
    GATEWAY = "gateway"  # posts for the hubs of many tables


class Device(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A device as stored; its key is sealed, so that a copy of the store does not give it away."""

    device: str
    kind: Kind
    tables: list[str]
    sealed: str
    last_sealed: str = ""  # still good while a new key is being brought to the device
    active: bool = True

    def __repr__(self) -> str:
        return f"Device({self.device!r}, {self.kind!r}, {self.tables!r})"


def stored_devices(journal: SiteJournal) -> list[Device]:
    """List the devices by name; that needs no key."""
    found = cast("dict[str, str]", journal.client.hgetall(journal.key(RECORD)))
    return [msgspec.json.decode(found[name], type=Device) for name in sorted(found)]


class Devices:
    """The site's devices; every change is an entry of the site's journal."""

    def __init__(self, journal: SiteJournal, vault: Vault) -> None:
        self._journal = journal
        self._vault = vault
        self.seen = LastSeen(journal)
        self._trusted: dict[str, tuple[float, Device, list[bytes]]] = {}

    def trusted(self, name: str) -> tuple[Device, list[bytes]] | None:
        """Find a device and its keys as they were a second ago at most: many post many times."""
        kept = self._trusted.get(name)
        if kept and time.monotonic() < kept[0]:
            return kept[1], kept[2]
        return self.looked_up(name)

    def looked_up(self, name: str) -> tuple[Device, list[bytes]] | None:
        """Find a device and its keys as they are now."""
        now = time.monotonic()
        device = self.find(name)
        if device is None:
            return None
        keys = self.keys_of(device)
        self._trusted[name] = (now + TRUST_S, device, keys)
        return device, keys

    def find(self, name: str) -> Device | None:
        """Find a device by name."""
        text = cast("str | None", self._journal.client.hget(self._journal.key(RECORD), name))
        return msgspec.json.decode(text, type=Device) if text else None

    def all(self) -> list[Device]:
        """List the devices by name."""
        return stored_devices(self._journal)

    def last_seen(self) -> dict[str, dict[str, int]]:
        """Tell when each device last posted for each table, as of some seconds ago."""
        return last_seen(self._journal)

    def add(self, name: str, kind: Kind, tables: list[str], by: str) -> bytes:
        """Add a device; its key is told once."""
        if not NAME.fullmatch(name):
            raise Refused(
                "bad_call",
                f"{name!r} is no device name: at most 64 letters, digits, dots and dashes",
            )
        if self.find(name):
            raise Refused("device_exists", f"there is a device {name}: rotate its key instead")
        key = secrets.token_bytes(KEY_BYTES)
        device = Device(device=name, kind=kind, tables=tables, sealed=self._seal(name, key))
        self._write(device, by, "device")
        return key

    def rotate(self, name: str, by: str) -> bytes:
        """Give a device a new key; the last one stays good until the next rotation."""
        device = self._known(name)
        key = secrets.token_bytes(KEY_BYTES)
        changed = msgspec.structs.replace(
            device, sealed=self._seal(name, key), last_sealed=device.sealed
        )
        self._write(changed, by, "device_rotated")
        return key

    def revoke(self, name: str, by: str) -> None:
        """Take a device's word away for good."""
        device = self._known(name)
        gone = msgspec.structs.replace(device, active=False, sealed="", last_sealed="")
        self._write(gone, by, "device_revoked")

    def keys_of(self, device: Device) -> list[bytes]:
        """Open the keys that a device may sign with, the newest first."""
        sealed = [text for text in (device.sealed, device.last_sealed) if text]
        return [self._vault.open_bytes(text, self._context(device.device)) for text in sealed]

    def _known(self, name: str) -> Device:
        device = self.find(name)
        if device is None or not device.active:
            raise Refused("no_such_device", f"there is no device {name}")
        return device

    def _seal(self, name: str, key: bytes) -> str:
        return self._vault.seal_bytes(key, self._context(name))

    @staticmethod
    def _context(name: str) -> bytes:
        return f"device-key/1:{name}".encode()

    def _write(self, device: Device, by: str, kind: str) -> None:
        body = {"device": device.device, "kind": device.kind, "tables": device.tables}
        stored = msgspec.json.encode(device).decode()
        self._journal.note(by, kind, body, [Change(RECORD, device.device, stored)])
        self._trusted.pop(device.device, None)
