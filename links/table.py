"""A simulated table: its dealer's moves, carried out over a line until each is answered."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from links.books import Step
from links.dealer import Dealer, Move
from links.http import Answer, Caller, Device, Line, LostError, Person, call
from links.hub import Hub
from links.shoe import PATH as CARDS
from links.shoe import ShoeReader

GIVE_UP_S: Final = 60.0
PAUSE_S_MAX: Final = 0.2
LATER_IS_AS_GOOD: Final = frozenset({429, 502, 503, 504})
LEFT_FOR_TWO: Final = "second_person_needed"


class StuckError(Exception):
    """A table that cannot go on: refused, or not answered for too long."""


@dataclass(frozen=True)
class People:
    """Who acts for the floor."""

    dealer: Person
    supervisor: Person
    auditor: Person
    second: Person | None = None  # who approves what the supervisor proposes


def persistent(  # noqa: PLR0913 - a call has these parts
    line: Line,
    caller: Caller,
    method: str,
    path: str,
    body: Any = None,  # noqa: ANN401 - JSON
    *,
    give_up_s: float = GIVE_UP_S,
) -> Answer:
    """Ask until there is an answer that settles it; every request here may be repeated."""
    began = time.monotonic()
    pause_s = 0.002
    why = ""
    while time.monotonic() - began < give_up_s:
        try:
            answer = call(line, caller, method, path, body)
            if answer.status not in LATER_IS_AS_GOOD:
                return answer
            why = answer.code
        except LostError as error:
            why = str(error)
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, PAUSE_S_MAX)
    raise StuckError(f"{path}: no answer for {give_up_s:.0f} s: {why}")


@dataclass
class Table:
    """A table of the floor at play."""

    link: str
    dealer: Dealer
    hub: Hub
    hub_device: Device
    line: Line
    people: People
    reader: ShoeReader | None = None
    reader_device: Device | None = None
    speed: float = 0.0  # 0: as fast as it goes
    told: Callable[[Step], None] = field(default=lambda _: None)

    @property
    def name(self) -> str:
        """Give the table's name."""
        return self.hub.table

    def play_round(self) -> None:
        """Play a round to its end."""
        moves = self.dealer.play()
        answer: dict[str, Any] | None = None
        while True:
            try:
                move = moves.send(answer) if answer is not None else next(moves)
            except StopIteration:
                return
            answer = self._make(move)
            if self.speed:
                time.sleep(move.takes_s / self.speed)

    def _make(self, move: Move) -> dict[str, Any]:
        if move.who == "hub":
            self.hub.say(move.round, move.body["seats"])
            return self._deliver(self.hub, self.hub_device, "/v1/messages")
        if move.who == "shoe":
            if self.reader is None or self.reader_device is None:
                raise StuckError(f"{self.name} has no shoe reader")
            self.reader.read(move.round, move.body["card"])
            return self._deliver(self.reader, self.reader_device, CARDS)
        return self._step(move)

    def _deliver(self, hub: Hub, device: Device, path: str) -> dict[str, Any]:
        """Send what a hub keeps until it keeps nothing."""
        answer = Answer(0, b"{}")
        while hub.kept is not None:
            answer = persistent(self.line, device, "POST", path, hub.kept)
            hub.take(answer)
        found: dict[str, Any] = answer.json()
        return found

    def _step(self, move: Move) -> dict[str, Any]:
        person = self.people.dealer if move.who == "dealer" else self.people.supervisor
        body = None if move.verb in {"draw", "pay"} else move.body
        answer = persistent(self.line, person, "POST", self._path(move), body)
        if answer.code == LEFT_FOR_TWO:
            return {}
        if not answer.is_fine:
            shown = answer.body.decode(errors="replace")[:300]
            raise StuckError(f"{self.name}: {move.verb} of round {move.round}: {shown}")
        found: dict[str, Any] = answer.json()
        self.told(Step(found["entry"], move.verb, self.name, move.round, move.body, found))
        return found

    def _path(self, move: Move) -> str:
        if move.verb == "pay":
            return f"/v1/links/{self.link}/awards/{move.body['award']}/pay"
        if move.verb == "new shoe":
            return f"/v1/tables/{self.name}/shoe"
        return f"/v1/tables/{self.name}/rounds/{move.round}/{move.verb}"
