"""Two persons who pay what one alone may not: one proposes, at the next look the other approves."""

import threading
from dataclasses import dataclass, field
from typing import Any, Final

from links.compare import read
from links.http import Answer, Line, Person
from links.table import StuckError, persistent

LOOK_S: Final = 60.0  # at the usual pace
NUMBER_TAKEN: Final = "proposal_number"  # by somebody else in the meantime
REASON: Final = "witnessed at the table, paid by two"


@dataclass
class Cage:
    """Looks at the pending awards now and then; what others have left is taken up too."""

    line: Line
    first: Person
    second: Person
    links: list[str]
    speed: float
    problems: list[str] = field(default_factory=list)
    _closed: threading.Event = field(default_factory=threading.Event)

    def work(self) -> None:
        """Look until told to stop; what is refused is noted and looked at again."""
        while not self._closed.wait(LOOK_S / self.speed):
            try:
                for link in self.links:
                    self.look(f"/v1/links/{link}")
            except (StuckError, PermissionError) as error:
                self.problems.append(f"cage: {error}")
                return

    def stop(self) -> None:
        """Go home."""
        self._closed.set()

    def look(self, link: str) -> None:
        """Approve what the first person has proposed, and propose what waits for two."""
        found = read(self.line, self.second, f"{link}/proposals")
        proposed = {
            each["body"]["award"]: each for each in found["proposals"] if each["what"] == "pay"
        }
        me = read(self.line, self.second, "/v1/session")["user"]
        for award, proposal in proposed.items():
            if proposal["by"] != me:
                self._settle(link, award, proposal["number"])
        number = found["next_number"]
        for award in self._waiting(link):
            if award not in proposed:
                body = {"number": number, "what": "pay", "reason": REASON, "body": {"award": award}}
                answer = persistent(self.line, self.first, "POST", f"{link}/proposals", body)
                if answer.code == NUMBER_TAKEN:
                    return  # the next look sees it
                _insist(answer)
                number += 1

    def _settle(self, link: str, award: int, number: int) -> None:
        """Approve, or turn down what somebody has paid or voided meanwhile."""
        path = f"{link}/proposals/{number}"
        answer = persistent(self.line, self.second, "POST", f"{path}/approve")
        if answer.code == "unknown_award":
            reason = {"reason": f"award {award} is settled"}
            answer = persistent(self.line, self.second, "POST", f"{path}/reject", reason)
        if answer.code not in {"unknown_proposal", "proposal_settled"}:
            _insist(answer)

    def _waiting(self, link: str) -> list[int]:
        """List the awards whose rounds are over and that one person alone may not pay."""
        name = link.rpartition("/")[2]
        links: list[dict[str, Any]] = read(self.line, self.first, "/v1/links")["links"]
        [most] = [
            each["terms"]["two_person_above_micros"] for each in links if each["link"] == name
        ]
        awards = read(self.line, self.first, f"{link}/awards")["awards"]
        return [each["award"] for each in awards if each["payable"] and each["amount"] > most]


def _insist(answer: Answer) -> None:
    if not answer.is_fine:
        raise StuckError(answer.body.decode(errors="replace")[:300])
