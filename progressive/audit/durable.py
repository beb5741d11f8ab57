"""Files that are there after a power cut: written whole, synced, then put in place."""

import os
from pathlib import Path


def replace(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Give a file new content so that a crash leaves the old or the new one, never a mixture."""
    _write(_beside(path), content, mode)
    _beside(path).replace(path)
    sync_folder(path.parent)


def create(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Make a file that must not be there yet, whole or not at all."""
    _write(_beside(path), content, mode)
    try:
        path.hardlink_to(_beside(path))
    finally:
        _beside(path).unlink()
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable: new, changed and removed ones."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """Make a file's content durable, whoever wrote it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")


def _write(path: Path, content: bytes, mode: int) -> None:
    path.unlink(missing_ok=True)  # what a crash left may have other permissions
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
