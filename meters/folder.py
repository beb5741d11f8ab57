"""The data folder: private to one user, and claimed by one server at a time."""

import fcntl
import hashlib
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from meters.server_error import Fault, ServerError

PRIVATE: Final = 0o700
SOCKET_BYTES_MAX: Final = 107  # sun_path holds 108 with its closing zero
LOCK_PAUSE_S: Final = 0.02


@contextmanager
def usable(folder: Path) -> Iterator[None]:
    """Turn what the operating system says about the folder into an error with a remedy."""
    try:
        yield
    except OSError as error:
        raise ServerError(
            Fault.FOLDER_UNUSABLE,
            f"The data folder {folder} cannot be used: {error.strerror or error}. "
            "Name a folder that this user owns and can write to, on a disk with room.",
        ) from error


def prepare_folder(folder: Path) -> Path:
    """Make the folder where it is missing, and close it to everybody else."""
    with usable(folder):
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        folder = folder.resolve(strict=True)
        if stat.S_IMODE(folder.stat().st_mode) != PRIVATE:
            folder.chmod(PRIVATE)
    return folder


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody else can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)


def kept_password(folder: Path) -> str:
    """Give the folder's password, drawn at its first use."""
    path = folder / "password"
    if not path.exists() or not path.stat().st_size:
        write_private(path, secrets.token_urlsafe(32))
    return path.read_text(encoding="ascii")


def _short_folder(folder: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"valkey-{os.geteuid()}-{digest}"


def socket_path(folder: Path) -> Path:
    """Place the socket in the folder, or under a short name of its own when that is too long."""
    path = folder / "valkey.sock"
    if len(os.fsencode(path)) <= SOCKET_BYTES_MAX:
        return path
    short = _short_folder(folder)
    short.mkdir(mode=PRIVATE, exist_ok=True)
    seen = short.lstat()
    mine = seen.st_uid == os.geteuid() and seen.st_mode == stat.S_IFDIR | PRIVATE
    if not mine:  # in a folder open to all, somebody else may have been there first
        raise ServerError(
            Fault.FOLDER_UNUSABLE,
            f"The data folder's name is too long for a socket, and {short} belongs to "
            "somebody else. Remove it, or use a data folder with a shorter name.",
        )
    return short / "valkey.sock"


def remove_socket(folder: Path) -> None:
    """Leave no socket behind, wherever it was placed."""
    short = _short_folder(folder)
    for path in (folder / "valkey.sock", short / "valkey.sock"):
        path.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        short.rmdir()


def _lock(path: Path, wait_s: float) -> int | None:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(handle)
                return None
            time.sleep(LOCK_PAUSE_S)
        else:
            return handle


def _write_pid(handle: int, pid: int) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{pid}\n".encode(), 0)


def _read_pid(path: Path) -> str:
    return path.read_text(encoding="ascii").strip() or "unknown"


@dataclass(slots=True)
class Claim:
    """Two locks: the owner's ends with its process, the server's is inherited and outlives it."""

    owner: int
    server: int

    @classmethod
    def take(cls, folder: Path, wait_s: float) -> "Claim":
        """Claim the folder at once or refuse; only a server that lost its owner is waited for."""
        owner_path, server_path = folder / "owner.lock", folder / "server.lock"
        with usable(folder):
            owner = _lock(owner_path, 0)
        if owner is None:
            raise ServerError(
                Fault.FOLDER_LOCKED,
                f"The data folder {folder} is in use by process {_read_pid(owner_path)}. Nothing "
                "was touched. Connect to the server that runs there, stop that process, or name "
                "another folder.",
            )
        _write_pid(owner, os.getpid())
        server = _lock(server_path, wait_s)
        if server is None:
            os.close(owner)
            raise ServerError(
                Fault.FOLDER_LOCKED,
                f"A server without an owner, process {_read_pid(server_path)}, still runs in "
                f"{folder} and did not stop within {wait_s:.0f} s. Nothing was touched. Stop it "
                f"with `kill {_read_pid(server_path)}`, then start again.",
            )
        return cls(owner, server)

    def name_server(self, pid: int) -> None:
        """Write down which process the server is, for whoever finds the folder locked."""
        _write_pid(self.server, pid)

    def release(self) -> None:
        """Let go, once the server is gone."""
        for handle in (self.server, self.owner):
            fcntl.flock(handle, fcntl.LOCK_UN)  # also where a fork of the owner still holds it open
            os.close(handle)
