"""A simulated sensor hub: epoch, sequence, and the message it keeps until that is answered."""

from dataclasses import dataclass, field
from typing import Any

from links.http import Answer


class HubError(Exception):
    """The controller refused what a sound hub would never be refused."""


@dataclass
class Hub:
    """A device's own state; nothing here knows how its messages travel."""

    table: str
    epoch: int
    sequence: int = 0
    kept: dict[str, Any] | None = None
    lamps: list[str] = field(default_factory=list)
    round: int = 0
    phase: str = ""
    results: dict[str, int] = field(default_factory=dict)

    def say(self, round_: int, seats: list[int], kind: str = "state") -> None:
        """Take up the state of the seats, or a heartbeat."""
        self.keep({"round": round_, "seats": seats, "kind": kind})

    def keep(self, said: dict[str, Any]) -> None:
        """Give a message its number and keep it; the last one must have been answered."""
        if self.kept is not None:
            raise HubError(f"{self.table}: the last message is not answered yet")
        self.sequence += 1
        numbered = {"table": self.table, "epoch": self.epoch, "sequence": self.sequence}
        self.kept = numbered | said

    def take(self, answer: Answer) -> bool:
        """Settle the kept message by its answer; False where it has to be sent (again)."""
        if self.kept is None:
            return True
        if not answer.is_fine:
            return self._refused(answer)
        body = answer.json()
        result = body["result"]
        self.results[result] = self.results.get(result, 0) + 1
        self.round, self.phase, self.lamps = body["round"], body["phase"], body["lamps"]
        if result == "gap":
            self._renumber(self.epoch, body["expected"])
            return False
        if result == "stale":
            raise HubError(f"{self.table}: sequence {self.sequence} was overtaken by its own kind")
        self.kept = None
        return True

    def _refused(self, answer: Answer) -> bool:
        if answer.code == "epoch_lower":
            self._renumber(answer.json()["facts"]["epoch"] + 1, 1)
            return False
        if answer.status >= 500 or answer.status == 429:  # noqa: PLR2004 - later is as good
            return False
        raise HubError(f"{self.table}: {answer.code}: {answer.body.decode(errors='replace')[:300]}")

    def _renumber(self, epoch: int, sequence: int) -> None:
        self.epoch, self.sequence = epoch, sequence
        if self.kept is not None:
            self.kept |= {"epoch": epoch, "sequence": sequence}
