"""The site's own journal: users, devices, keys, site files and starts, which belong to no link."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec

from meters.answers import Entered
from meters.calls import Call
from meters.client import Client
from meters.errors import Refused
from meters.link import Meters

SITE: Final = "site"  # no link may have this name
_ENTERED = msgspec.json.Decoder(Entered)


class Change(NamedTuple):
    """A field of one of the site's records, and its new value; None removes it."""

    record: str
    field: str
    value: str | None


class SiteJournal:
    """Entries are numbered without gaps, as a link's are, and sealed alike."""

    def __init__(self, client: Client) -> None:
        self._meters = Meters(client, SITE)
        self.client = self._meters.client
        tag = "{" + SITE + "}"
        self.keys = (f"{tag}:site", f"{tag}:journal")

    def head(self) -> int:
        """Give the number of the last entry."""
        return int(cast("str | None", self._meters.client.hget(self.keys[0], "head")) or 0)

    def record(
        self,
        number: int,
        by: str,
        kind: str,
        body: Mapping[str, Any],
        changes: Sequence[Change] = (),
    ) -> int:
        """Write entry `number`, the next one, with the records it changes, in one step."""
        text = msgspec.json.encode(body).decode()
        hashes = sorted({change.record for change in changes})
        keys = (*self.keys, *(self.key(name) for name in hashes))
        args: list[str | int] = [number, by, kind, text]
        for change in changes:
            args += [hashes.index(change.record) + 1, change.field, change.value or ""]
        return self._meters.run(Call("pm_record", keys, args, _ENTERED)).entry

    def key(self, record: str) -> str:
        """Name the key of one of the site's records, such as its users."""
        return "{" + SITE + "}:" + record

    def note(
        self, by: str, kind: str, body: Mapping[str, Any], changes: Sequence[Change] = ()
    ) -> int:
        """Write the next entry, whatever its number turns out to be."""
        number = self.head() + 1
        while True:
            try:
                return self.record(number, by, kind, body, changes)
            except Refused as refusal:
                if refusal.code != "entry_number":
                    raise
                number = int(refusal.detail["next"])

    def entries(self, first: int = 1) -> Iterator[tuple[int, str]]:
        """Give the entries from a number on, as far as they are kept."""
        return self._meters.journal(first)

    def audit(self, sealed: int = 0) -> list[str]:
        """Check that nothing is missing at the end, and then open the journal for entries."""
        start = self._meters.start()
        head = self.head()
        last = self._meters.client.xrevrange(self.keys[1], count=1)
        found = [int(name.split("-")[0]) for name, _ in cast("list[tuple[str, Any]]", last)]
        problems = []
        if found != ([head] if head else []):
            problems.append(f"the site journal ends at entry {found}, its head says {head}")
        if head < sealed:
            problems.append(
                f"the seal holds {sealed} entries of the site journal, the server {head}"
            )
        if not problems and head:
            self._meters.client.fcall("pm_audited", len(self.keys), *self.keys, head, start)
        return problems
