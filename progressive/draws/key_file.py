"""A file of keys that only its owner can read, replaced in one step and never half written."""

import os
import re
import stat
from pathlib import Path
from typing import Final

import msgspec

MODE: Final = 0o600
SIZE_MAX: Final = 1 << 20

_HEX = re.compile(r"[0-9a-f]+")


class VaultError(Exception):
    """Draws cannot be made or opened; what was stored is as it was."""


class KeyFileMissingError(VaultError):
    """There is no key file where one is needed."""


class KeyFileUnsafeError(VaultError):
    """Others than the owner could read or change the key file."""


class KeyFileExistsError(VaultError):
    """A new key file would take the place of one that is there."""


class KeyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the file holds: keys in hex by their ids, and which of them is current."""

    current: str
    keys: dict[str, str]

    def __post_init__(self) -> None:
        if not all(_HEX.fullmatch(text) and len(text) % 2 == 0 for text in self.keys.values()):
            raise ValueError("keys are hex")

    def __repr__(self) -> str:
        return f"KeyFile(current={self.current!r})"


def read_key_file(path: Path) -> KeyFile:
    """Read the file, refusing a link, another owner's file, and one open to others."""
    try:
        # Without waiting: a pipe in the file's place would otherwise hold the start up.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise KeyFileMissingError(f"{path} is missing: put the key file back") from None
    except OSError as error:
        raise KeyFileUnsafeError(f"{path} cannot be opened: {error.strerror}") from None
    try:
        _check_owner_and_mode(path, os.fstat(handle))
        text = os.read(handle, SIZE_MAX)
    finally:
        os.close(handle)
    try:
        return msgspec.json.decode(text, type=KeyFile)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # The decoder's own words could quote what the file holds.
        raise VaultError(f"{path} is damaged: put the right key file back") from None


def _check_owner_and_mode(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        raise KeyFileUnsafeError(f"{path} is not a file of this user's own")
    mode = stat.S_IMODE(found.st_mode)
    if mode != MODE:
        raise KeyFileUnsafeError(
            f"{path} has mode {mode:04o}: it must be {MODE:04o}. "
            "Find out who could have read it, rotate the key, then `chmod 600` the file"
        )


def add_key_file(path: Path, content: KeyFile) -> None:
    """Write a first key file, never over another one."""
    fresh = _written_beside(path, content)
    try:
        path.hardlink_to(fresh)
    except FileExistsError:
        raise KeyFileExistsError(f"{path} is there already: it is not written over") from None
    finally:
        fresh.unlink()
    _sync_folder(path)


def write(path: Path, content: KeyFile) -> None:
    """Put a new content in the place of the old, whole or not at all."""
    _written_beside(path, content).replace(path)
    _sync_folder(path)


def _written_beside(path: Path, content: KeyFile) -> Path:
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    fresh.unlink(missing_ok=True)  # left by a process of this number that was killed
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
    with open(handle, "wb") as file:  # noqa: PTH123 - opened above with its mode
        os.fchmod(handle, MODE)  # whatever the umask is
        file.write(msgspec.json.encode(content) + b"\n")
        file.flush()
        os.fsync(handle)
    return fresh


def _sync_folder(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
