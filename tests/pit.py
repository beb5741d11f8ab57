"""The pit in which a story is played: a real server, the controller, sensors and people."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from draft import Draft
from redis import Redis
from story import ACTS, SETS, Sentence, Story

from meters.calls import Message
from meters.entries import Deal, read_entry
from meters.errors import Refused
from meters.functions import ensure_loaded
from meters.link import Meters
from meters.money import dollars
from meters.replay import audit, imbalances
from meters.state import Award, State, Table, differences
from progressive.controller import Controller
from progressive.draws.process import process_drbg
from progressive.draws.vault import Vault
from progressive.rules.rulebooks import RULEBOOKS

Step = Callable[[], Any]  # one call, with everything it names: run again, it is a repeat


@dataclass(frozen=True)
class Win:
    """An award that a story has to tell of."""

    table: str
    seat: int
    line: str
    amount: int

    def __str__(self) -> str:
        return f"seat {self.seat} at {self.table} wins {self.line}, {dollars(self.amount)}"


@dataclass
class Sensors:
    """A table's sensor hub: the chips that lie on it, and how far its messages are."""

    chips: set[int] = field(default_factory=set)
    epoch: int = 1
    sequence: int = 0
    heartbeats: int = 0


class Pit:
    """The links of one story, and what it has still to tell."""

    def __init__(self, client: Redis, vault: Vault) -> None:
        self.client = client
        self.vault = vault
        self.drafts: list[Draft] = []
        self.links: dict[str, Controller] = {}
        self.states: dict[str, State] = {}
        self.sensors: dict[str, Sensors] = {}
        self.untold: list[Win] = []
        self.paid: list[int] = []  # by the last end of a round
        self.won: dict[tuple[str, int], Win] = {}
        self.decided: dict[str, int] = {}  # table -> entry of its last deal or correction
        self.transfers: list[tuple[str, int]] = []
        self._done: dict[str, tuple[Step, Any]] = {}

    def describe(self, link: str, paytable: str, decks: int) -> None:
        """Begin the description of a link; what is said next belongs to it."""
        self.drafts.append(Draft(link, paytable, decks))

    def open(self) -> None:
        """Open the links that were described."""
        ensure_loaded(self.client)
        for draft in self.drafts:
            meters = Meters(self.client, draft.link)
            link = Controller(meters, self.vault, process_drbg(), RULEBOOKS["MD"])
            link.open_link(draft.definition(), "opener")
            self.links[draft.link] = link
        self.look()

    def look(self) -> None:
        """Read every link, and check the sums that hold at all times."""
        for name, link in self.links.items():
            self.states[name] = link.meters.snapshot()
            problems = imbalances(self.states[name])
            assert not problems, f"the books of {name} are wrong: {problems}"

    def link(self, name: str | None = None) -> Controller:
        """Find a link; a story with one link need not name it."""
        assert name or len(self.links) == 1, "this story has several links: say of which"
        known = {each.casefold(): each for each in self.links}
        assert name is None or name in known, f"there is no link {name}"
        return self.links[known[name] if name else next(iter(self.links))]

    def state(self, link: str | None = None) -> State:
        """Give what a link held after the last sentence."""
        return self.states[self.link(link).meters.link]

    def at(self, table: str) -> tuple[Controller, str, Table]:
        """Find a table: its link, its name as it was first written, and where it stands."""
        for link, state in self.states.items():
            for name, found in state.tables.items():
                if name.casefold() == table:
                    return self.links[link], name, found
        raise AssertionError(f"there is no table {table}")

    def award(self, table: str, seat: int, line: str) -> tuple[Controller, Award]:
        """Find the one pending award of this line at this seat."""
        link, name, _ = self.at(table)
        found = [
            award
            for award in self.states[link.meters.link].awards
            if (award.table, award.seat, award.line) == (name, seat, line)
        ]
        assert len(found) == 1, f"{len(found)} such awards are pending"
        return link, found[0]

    def sensor(self, name: str) -> Sensors:
        """Give a table's sensor hub."""
        return self.sensors.setdefault(name, Sensors())

    def message(self, table: str, seats: set[int], want: str, *, skipped: int = 0) -> Step:
        """Prepare a message of a table's sensors; sent again it must be taken for a repeat."""
        link, name, now = self.at(table)
        hub, sent = self.sensor(name), list[Any]()
        said = Message(
            table=name,
            device=f"hub-{name}",
            epoch=hub.epoch,
            sequence=hub.sequence + 1 + skipped,
            round=now.round,
            seats=sorted(seats),
        )

        def send() -> Any:  # noqa: ANN401 - as every step
            [answer] = link.report([said])
            if isinstance(answer, Refused):
                raise answer
            expected = "duplicate" if sent else want
            assert answer.result == expected, f"the message is {answer.result}, not {expected}"
            sent.append(answer)
            if want != "gap":
                hub.sequence = said.sequence
            if want in {"applied", "late"}:  # else the dealer hands the chips back
                hub.chips = set(seats)
            return sent[0]

        return send

    def propose(
        self, link: Controller, by: str, what: str, reason: str, body: Mapping[str, Any]
    ) -> int:
        """Let the first of two persons ask for something."""
        number = self.states[link.meters.link].numbers["proposals"] + 1
        link.meters.run(link.meters.calls.propose(number, by, what, reason, body))
        self.look()
        return number

    def lines(self, table: str) -> dict[str, str]:
        """Give the lines that the rules decided at the table's last deal or correction."""
        link, name, _ = self.at(table)
        entry = self.decided[name]
        [(_, line)] = link.meters.journal(entry, entry)
        decided = read_entry(line)
        assert isinstance(decided, Deal)
        return decided.lines

    def _told(self) -> None:
        assert not self.untold, f"before this the story should tell that {self.untold[0]}"

    def _act(self, sentence: Sentence) -> None:
        self._told()
        first = None
        if sentence.repeated:
            assert sentence.text in self._done, "nothing like it was done before"
            step, first = self._done[sentence.text]
        else:
            step = sentence.phrase.meaning(self, **sentence.words)
        before = dict(self.states)
        answer, code = _run(step)
        assert code == sentence.refused, f"it is refused: {answer}" if code else "it is not refused"
        assert first is None or code or answer == first, f"the answer is {answer}, it was {first}"
        self.look()
        if sentence.refused or sentence.repeated:
            for name, state in self.states.items():
                changed = differences(before[name], state)
                assert not changed, f"it should change nothing, but: {changed}"
        else:
            self._done[sentence.text] = step, answer
            self._listen(answer, before)

    def _listen(self, answer: Any, before: Mapping[str, State]) -> None:  # noqa: ANN401 - any answer
        """Note what an answer says was won and paid: the story has to tell of it."""
        self.paid = getattr(answer, "paid", [])
        must_hit = getattr(answer, "must_hit", None)
        won = [*getattr(answer, "awards", []), *([must_hit.award] if must_hit else [])]
        for link, state in self.states.items():
            if state != before[link]:
                for award in won:
                    pending = state.award(award.award)
                    assert pending is not None, f"award {award.award} is not pending"
                    win = Win(pending.table, award.seat, award.line, award.amount)
                    self.untold.append(win)
                    self.won[link, award.award] = win

    def hear(self, sentence: Sentence) -> None:
        """Do what a sentence says, or check it."""
        if sentence.phrase.does == SETS:
            assert not self.links, "links and tables are described before anything is done"
            sentence.phrase.meaning(self, **sentence.words)
            return
        if not self.links:
            self.open()
        if sentence.phrase.does == ACTS:
            self._act(sentence)
        else:
            sentence.phrase.meaning(self, **sentence.words)

    def close(self) -> None:
        """End the story: everything told, and every journal replayed to the same totals."""
        self._told()
        for link in self.links.values():
            found = audit(link.meters)
            assert found.is_exact, found.problems


def _run(step: Step) -> tuple[Any, str | None]:
    """Give a step's answer, or its refusal with the code."""
    try:
        return step(), None
    except Refused as refusal:
        return refusal, refusal.code


def play(story: Story, client: Redis, vault: Vault) -> dict[str, list[bytes]]:
    """Play a story, and give each link's journal; the first sentence that is not true is named."""
    pit = Pit(client, vault)
    line, text = 1, "the beginning"
    try:
        for sentence in story.sentences:
            line, text = sentence.line, sentence.text
            pit.hear(sentence)
        text = "the end of the story"
        pit.close()
    except AssertionError as error:
        story.fail(line, f"{text!r}: {error}")
    return {
        name: [entry.encode() for _, entry in link.meters.journal(1)]
        for name, link in pit.links.items()
    }
