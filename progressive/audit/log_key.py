"""The key that signs a site's logs: one file, a name of its own in every log."""

from pathlib import Path

from progressive.audit import durable, key_file
from progressive.audit.key_file import KeyFileError
from progressive.audit.note import Signer, Verifier

PUBLIC_SUFFIX = ".pub"


def open_log_key(path: Path, name: str, logs: Path) -> Signer:
    """Read the key, or make it on first start; none is made where a log waits for its own."""
    if not path.exists() and not any(logs.glob("*/checkpoint")):
        path.parent.mkdir(parents=True, exist_ok=True)
        key_file.make(path, Signer.generate(name))
    try:
        return key_file.read(path, Signer)
    except KeyFileError as error:
        if path.exists():
            raise
        raise KeyFileError(f"{error}; {logs} holds logs that it has signed") from None


def signer_of(key: Signer, journal: str) -> Signer:
    """Give the key under the name of one journal's log."""
    return key.named(f"{key.name}/{journal}")


def publish(folder: Path, key: Verifier) -> None:
    """Write a log's public key beside its folder, for whoever verifies on this machine."""
    path = public_file(folder)
    content = f"{key}\n".encode()
    if not path.exists() or path.read_bytes() != content:
        durable.replace(path, content)


def published(folder: Path) -> Verifier:
    """Read the public key that stands beside a log's folder."""
    path = public_file(folder)
    try:
        return Verifier.parse(path.read_text(encoding="ascii").strip())
    except FileNotFoundError:
        raise KeyFileError(f"{path} is missing: name the log's public key") from None


def public_file(folder: Path) -> Path:
    """Name the file."""
    return folder.with_name(folder.name + PUBLIC_SUFFIX)
