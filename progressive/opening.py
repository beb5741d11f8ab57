"""Opening a site on its server: the site file against what is in force, links, and the audit."""

import getpass
import logging
import secrets
from collections.abc import Callable, Collection, Iterable
from importlib.metadata import version
from typing import Any, cast

import msgspec

from meters.client import Client
from meters.connect import Connection
from meters.definitions import LinkDefinition
from meters.functions import ensure_loaded
from meters.keys import Keys
from meters.link import Meters
from meters.replay import audit
from meters.site import Change, SiteJournal
from meters.state import State
from meters.transfers import Waiting, deliver
from progressive.clock import now_ms
from progressive.controller import Controller
from progressive.data_folder import (
    SITE_JOURNAL,
    DataFolder,
    SiteFile,
    StartRefused,
    Vaults,
    start_vaults,
)
from progressive.definition import link_definition
from progressive.devices import stored_devices
from progressive.draws.process import process_drbg
from progressive.draws.vault import Vault, sealed_under
from progressive.people.roles import Role
from progressive.people.users import Users

RECORD = "site_file"  # the definitions of the site file that was accepted last
FIRST_USER = "admin"
log = logging.getLogger(__name__)


class Opening:
    """A site on its server: opened with `open_`, audited again whenever the server lost its say."""

    def __init__(
        self, folder: DataFolder, site: SiteFile, connection: Connection, by: str = ""
    ) -> None:
        self._folder = folder
        self._file = site
        self._connection = connection
        self._client = connection.client
        self._journal = SiteJournal(self._client)
        self._by = by or getpass.getuser()
        self._failed: set[str] = set()
        self._waiting: set[Waiting] = set()

    def open_(
        self, tell_password: Callable[[str, str], None], *, rotate_keys: bool = False
    ) -> list[str]:
        """Check, audit, open what is new; gives the audit's problems."""
        self.load_library()
        recorded = self._recorded()
        self._insist_on_same_site(recorded)
        draws, devices = draws_in_use(self._client, self._links), self._devices_in_use()
        vaults = start_vaults(self._folder, draws, devices)
        if rotate_keys:  # nobody else has loaded them yet
            vaults = Vaults(rotated(vaults.draws, draws), rotated(vaults.devices, devices))
        problems = self.audit()
        if SITE_JOURNAL in self._failed:
            return problems  # nothing can be recorded, so nothing new begins
        self._open_links(vaults)
        self._first_user(tell_password)
        self._note_start(vaults, recorded)
        return problems

    def load_library(self) -> None:
        """Bring the function library to every primary."""
        for _, client in self._connection.primaries():
            ensure_loaded(client)

    def _recorded(self) -> dict[str, str]:
        found = self._journal.client.hgetall(self._journal.key(RECORD))
        return cast("dict[str, str]", found)

    def _meters(self, link: str) -> Meters:
        return Meters(self._client, link)

    @property
    def _links(self) -> list[str]:
        return [link.name for link in self._file.site.links]

    def _insist_on_same_site(self, recorded: dict[str, str]) -> None:
        """Refuse another site's data, and a change of the file that two persons must agree on."""
        site = self._file.site
        held = recorded.get("name", site.name)
        if held != site.name:
            raise StartRefused(
                f"{self._folder.path} holds the data of {held}, and the site file is of "
                f"{site.name}: name the right folder or the right file"
            )
        found = [
            f"links.{name}: is open, and not in the site file"
            for name in sorted(_links_in(recorded) - set(self._links))
        ]
        for link in site.links:
            found += self._differences(link_definition(site, link), recorded)
        if found:
            listed = "".join(f"\n  {each}" for each in found)
            raise StartRefused(
                "The site file is not what is in force. Put the old values back and propose the "
                f"change while the controller runs; two persons agree on it.{listed}"
            )

    def _differences(self, wanted: LinkDefinition, recorded: dict[str, str]) -> list[str]:
        meters = self._meters(wanted.link)
        if not meters.tables():
            sealed = self._folder.sealed(wanted.link)
            if sealed:
                raise StartRefused(
                    f"The log holds {sealed} entries of {wanted.link}, and the server none: "
                    "restore the server's newest data; do not go on from here"
                )
            return []
        if recorded.get(wanted.link) == msgspec.json.encode(wanted).decode():
            return []  # as accepted before; proposals may have moved on from it since
        return differences(f"links.{wanted.link}", in_force(meters.snapshot()), in_file(wanted))

    def _devices_in_use(self) -> set[str]:
        devices = stored_devices(self._journal)
        sealed = (text for one in devices for text in (one.sealed, one.last_sealed) if text)
        return {sealed_under(text) for text in sealed}

    def audit(self, *, again: bool = False) -> list[str]:
        """Audit what is closed, and open it where all is exact; gives what is wrong.

        What failed stays closed and is not looked at again until the server has restarted.
        """
        if again:
            self._failed.clear()
        problems: list[str] = []
        for name in (SITE_JOURNAL, *self._links):
            if name in self._failed or self._is_open(name):
                continue
            found = self._audit(name)
            if found:
                self._failed.add(name)
                problems += [f"{name}: {each}" for each in found]
                log.error("%s failed its audit and stays closed: %s", name, "; ".join(found))
        return problems

    def deliver(self) -> None:
        """Bring transfers to the links they go to; one that cannot arrive is an alarm."""
        waiting = {each for link in self._links for each in deliver(self._client, link)}
        for each in waiting - self._waiting:
            log.error(
                "transfer %d of %s to %s has not arrived and stays in transit: %s",
                each.number, each.link, each.to_link, each.reason,
            )  # fmt: skip
        for each in self._waiting - waiting:
            log.warning(
                "transfer %d of %s to %s is no longer held up", each.number, each.link, each.to_link
            )
        self._waiting = waiting

    def _is_open(self, name: str) -> bool:
        """Tell whether a journal takes entries, or was not begun yet."""
        if name != SITE_JOURNAL:
            meters = self._meters(name)
            return not meters.tables() or meters.is_audited()
        key = self._journal.keys[0]
        if not self._journal.head() and not self._folder.sealed(name):
            return True
        return bool(self._journal.client.fcall_ro("pm_is_audited", 1, key))

    def _audit(self, name: str) -> list[str]:
        sealed = self._folder.sealed(name)
        if name == SITE_JOURNAL:
            problems = self._journal.audit(sealed)
            head = self._journal.head()
        else:
            found = audit(self._meters(name), sealed)
            problems, head = found.problems, found.head
        if not problems:
            log.info("%s is audited up to entry %d", name, head)
        return problems

    def _open_links(self, vaults: Vaults) -> None:
        site = self._file.site
        for link in site.links:
            meters = self._meters(link.name)
            if meters.tables():
                continue
            controller = Controller(meters, vaults.draws, process_drbg(), site.rulebook)
            controller.open_link(link_definition(site, link), self._by)
            log.info("%s is opened", link.name, extra={"person": self._by})

    def _first_user(self, tell_password: Callable[[str, str], None]) -> None:
        users = Users(self._journal, now_ms)
        if users.all():
            return
        password = secrets.token_urlsafe(15)
        tell_password(FIRST_USER, password)  # before it is written: a kill between loses nothing
        users.put(FIRST_USER, [Role.ADMINISTRATOR], self._by, password=password)

    def _note_start(self, vaults: Vaults, recorded: dict[str, str]) -> None:
        site = self._file.site
        record = {"name": site.name} | {
            link.name: msgspec.json.encode(link_definition(site, link)).decode()
            for link in site.links
        }
        changed = [
            Change(RECORD, name, text)
            for name, text in record.items()
            if recorded.get(name) != text
        ]
        body = {
            "version": version("linked-progressive"),
            "site": site.name,
            "site_file": self._file.sha256,
            "keys": {"draws": vaults.draws.current, "devices": vaults.devices.current},
        }
        self._journal.note(self._by, "start", body, changed)


def rotated(vault: Vault, in_use: Collection[str]) -> Vault:
    """Seal under a new key from now on, and drop the keys that nothing is sealed under."""
    vault = vault.rotate()
    for name in vault.key_ids:
        if name != vault.current and name not in in_use:
            vault = vault.retire(name, in_use)
    return vault


def draws_in_use(client: Client, links: Iterable[str]) -> set[str]:
    """Name the keys that the secrets of open cycles and shoes are sealed under."""
    found: set[str] = set()
    for link in links:
        sealed = cast("list[str]", client.hvals(Keys(link).secrets))
        found |= {sealed_under(text) for text in sealed}
    return found


def _links_in(recorded: dict[str, str]) -> set[str]:
    return set(recorded) - {"name"}


def in_force(state: State) -> dict[str, Any]:
    """Give the definition that a link works by now, levels and tables by name."""
    levels = {name: level for name, level in state.levels.items() if not level.closed}
    tables = {name: table.definition for name, table in state.tables.items()}
    return _as_values({"terms": state.terms, "levels": levels, "tables": tables})


def in_file(definition: LinkDefinition) -> dict[str, Any]:
    """Give a site file's definition in the same form."""
    levels = {level.name: level for level in definition.levels}
    tables = {table.name: table for table in definition.tables}
    return _as_values({"terms": definition.terms, "levels": levels, "tables": tables})


def _as_values(values: dict[str, Any]) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(values)
    return built


def differences(place: str, held: Any, wanted: Any) -> list[str]:  # noqa: ANN401 - JSON values
    """Name every place where the file differs from what is in force."""
    if held == wanted:
        return []
    if isinstance(held, dict) and isinstance(wanted, dict):
        return [
            line
            for name in sorted({*held, *wanted})
            for line in differences(f"{place}.{name}", held.get(name), wanted.get(name))
        ]
    return [f"{place}: in force {_told(held)}, in the file {_told(wanted)}"]


def _told(value: Any) -> str:  # noqa: ANN401 - a JSON value
    if value is None:
        return "not there"
    return "there" if isinstance(value, dict) else str(value)
