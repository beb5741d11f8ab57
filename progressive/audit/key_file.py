"""Key files: one signer key each, readable by its owner only, never shown."""

from pathlib import Path
from typing import TypeVar

from progressive.audit import durable
from progressive.audit.note import KeyTextError, Signer

OWNER_ONLY = 0o600
OTHERS = 0o077

S = TypeVar("S", bound=Signer)


class KeyFileError(Exception):
    """A key file cannot be used; says why and what to do, never what is in it."""


def read(path: Path, kind: type[S]) -> S:
    """Read a key that nobody else may read."""
    try:
        if path.stat().st_mode & OTHERS:
            raise KeyFileError(
                f"{path}: others may read this key; run chmod 600 on it, and make a new one "
                "if anybody could have copied it"
            )
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise KeyFileError(
            f"{path}: the key is missing; put it back from where it is kept"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileError(f"{path}: the key cannot be read ({type(error).__name__})") from None
    try:
        return kind.parse(text)
    except KeyTextError as error:
        raise KeyFileError(f"{path}: {error}") from None


def make(path: Path, signer: Signer) -> None:
    """Write a new key; one that is there already is never replaced."""
    try:
        durable.create(path, f"{signer.secret_text()}\n".encode(), OWNER_ONLY)
    except FileExistsError:
        raise KeyFileError(f"{path}: there is a key already") from None
