"""The names of a link's keys, in one place."""

from collections.abc import Iterable


class Keys:
    """The keys of one link; all carry its hash tag, so that they live on one shard."""

    def __init__(self, link: str) -> None:
        tag = "{" + link + "}"
        self.link = f"{tag}:link"
        self.journal = f"{tag}:journal"
        self.proposals = f"{tag}:proposals"
        self.locked = f"{tag}:locked"
        self.awards = f"{tag}:awards"
        self.settled = f"{tag}:settled"
        self.secrets = f"{tag}:secrets"
        self._table = f"{tag}:table:"

    def table(self, name: str) -> str:
        """Name the key of a table."""
        return self._table + name

    def step(self, table: str) -> tuple[str, ...]:
        """Name the keys of a step of a round."""
        return (
            self.link,
            self.journal,
            self.table(table),
            self.locked,
            self.awards,
            self.settled,
            self.secrets,
        )

    def all(self, tables: Iterable[str] = ()) -> tuple[str, ...]:
        """Name the keys of what concerns the link as a whole, and these tables."""
        return (
            self.link,
            self.journal,
            self.proposals,
            self.locked,
            self.awards,
            self.settled,
            self.secrets,
            *(self.table(name) for name in tables),
        )
