"""The function library: read from its files, loaded into the server, and known by its version."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final

import redis

LIBRARY: Final = "progressive_meters"
PARTS: Final = (
    "core",
    "json",
    "definitions",
    "ledger",
    "levels",
    "awards",
    "tables",
    "rounds",
    "devices",
    "changes",
    "proposals",
    "upkeep",
    "register",
)


@cache
def source() -> str:
    """Join the library's files into the text that the server loads."""
    folder = files("meters") / "library"
    parts = [(folder / f"{part}.lua").read_text(encoding="utf-8") for part in PARTS]
    body = "\n".join(parts)
    version = hashlib.sha256(body.encode()).hexdigest()[:16]
    return f"#!lua name={LIBRARY}\n-- version {version}\n{body}"


def ensure_loaded(client: redis.Redis) -> bool:
    """Load the library unless the server has this very version; True if it was loaded now.

    Loading anew closes every link until it is audited, so what is there is left alone.
    """
    for library in client.function_list(LIBRARY, withcode=True):
        known = library if isinstance(library, dict) else dict(_pairs(library))
        if known.get("library_code") == source():
            return False
    client.function_load(source(), replace=True)
    return True


def _pairs(flat: list[str]) -> Iterator[tuple[str, str]]:
    """Give the names and values of a reply that lists them in turn."""
    return zip(flat[::2], flat[1::2], strict=True)
