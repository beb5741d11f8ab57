"""The data folder: where a site keeps its server, site file, keys, logs and witness."""

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from meters.folder import prepare_folder, socket_path
from progressive.audit import durable, key_file, note
from progressive.audit.checkpoint import Checkpoint
from progressive.audit.note import Signer, Verifier
from progressive.config.load import load_site
from progressive.config.values import Site
from progressive.draws import vault
from progressive.draws.vault import Vault

SITE_JOURNAL = "site"


class StartRefused(Exception):  # noqa: N818 - it is the start that is refused
    """The controller does not start; says why and what to do. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class DataFolder:
    """Names what lies where."""

    path: Path

    @property
    def valkey(self) -> Path:
        """The embedded server's folder."""
        return self.path / "valkey"

    @property
    def site_file(self) -> Path:
        """The site file in force."""
        return self.path / "site.toml"

    @property
    def keys(self) -> Path:
        """Keys, outside the server: whoever copies it does not get them."""
        return self.path / "keys"

    @property
    def draws_key(self) -> Path:
        """What seals the secrets of draws."""
        return self.keys / "draws.key"

    @property
    def devices_key(self) -> Path:
        """What seals the devices' keys."""
        return self.keys / "devices.key"

    @property
    def log_key(self) -> Path:
        """What signs the logs' checkpoints."""
        return self.keys / "log.key"

    @property
    def logs(self) -> Path:
        """The sealed logs, one a journal."""
        return self.path / "log"

    @property
    def witness(self) -> Path:
        """The local witness: its key and what it signed."""
        return self.path / "witness"

    @property
    def log_file(self) -> Path:
        """The one log of all processes."""
        return self.path / "progressive.log"

    @property
    def address(self) -> str:
        """The embedded server's address for programs on this machine; it holds no secret."""
        return f"unix://{quote(str(socket_path(self.valkey.resolve())))}"

    def sealed(self, journal: str) -> int:
        """Tell how many entries of a journal are sealed, none if it has no log yet."""
        try:
            signed = (self.logs / journal / "checkpoint").read_bytes()
        except FileNotFoundError:
            return 0
        return Checkpoint.parse(note.parse(signed).text).size

    def prepare(self) -> "DataFolder":
        """Make the folder, closed to everybody else."""
        folder = DataFolder(prepare_folder(self.path))
        for each in (folder.keys, folder.logs):
            prepare_folder(each)
        return folder


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A site file that was read and found sound."""

    site: Site
    text: str

    @property
    def sha256(self) -> str:
        """Name the very text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def example_site() -> str:
    """Give the site file that a first start begins with."""
    return (files("progressive") / "example.toml").read_text(encoding="utf-8")


def read_site(folder: DataFolder, named: Path | None) -> SiteFile:
    """Read the site file that was named, or the one in force, or else the example."""
    path = named or folder.site_file
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        if named or any(folder.logs.glob("*/checkpoint")):
            raise StartRefused(f"{path} is missing: put the site file back") from None
        text = example_site()
    except (OSError, UnicodeDecodeError) as error:
        raise StartRefused(f"{path} cannot be read: {error}") from None
    return site_in(text, str(path))


def site_in(text: str, called: str) -> SiteFile:
    """Take a site file's text, or refuse it with everything that is wrong."""
    loaded = load_site(text)
    if loaded.site is None:
        listed = "".join(f"\n  {problem}" for problem in loaded.problems)
        raise StartRefused(f"{called} cannot be used; nothing was started.{listed}")
    return SiteFile(loaded.site, text)


def keep_site(folder: DataFolder, found: SiteFile) -> None:
    """Put the site file in force into the folder."""
    content = found.text.encode()
    if not folder.site_file.exists() or folder.site_file.read_bytes() != content:
        durable.replace(folder.site_file, content)


@dataclass(frozen=True, slots=True)
class Vaults:
    """The two key files that a process of the controller opens."""

    draws: Vault
    devices: Vault


def start_vaults(
    folder: DataFolder, draws_in_use: Collection[str], devices_in_use: Collection[str]
) -> Vaults:
    """Open the key files, made on the very first start and never while something needs them."""
    return Vaults(
        vault.start(folder.draws_key, cycle_open=bool(draws_in_use), in_use=draws_in_use),
        vault.start(folder.devices_key, cycle_open=False, in_use=devices_in_use),
    )


def load_vaults(folder: DataFolder) -> Vaults:
    """Open the key files that are there."""
    return Vaults(vault.load(folder.draws_key), vault.load(folder.devices_key))


def log_verifiers(folder: DataFolder, site: Site) -> list[Verifier]:
    """Give the public key of every journal's log; the private one is made on first start."""
    if not folder.log_key.exists():
        if any(folder.logs.glob("*/checkpoint")):
            raise StartRefused(
                f"{folder.log_key} is missing: put it back, {folder.logs} holds logs that it signed"
            )
        key_file.make(folder.log_key, Signer.generate(_slug(site.name)))
    signer = key_file.read(folder.log_key, Signer)
    journals = (*(link.name for link in site.links), SITE_JOURNAL)
    return [signer.named(f"{signer.name}/{journal}").verifier for journal in journals]


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "site"
