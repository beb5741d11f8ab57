"""Real clients for the fault proofs: each process plays the tables of one pit, and retries.

Whoever comes after a killed player finds in its store what it was about to send, and sends the very
same call again. It plays the round from its beginning: what was answered before is not sent.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import msgspec
from device_store import Answer, Over, Seen, Sent, Store, Told
from floor import usd
from redis import ConnectionError as LinkDown
from redis import TimeoutError as LinkSlow

from meters.address import parse_address
from meters.answers import Due
from meters.calls import Call, Draw, Message
from meters.client import open_single
from meters.errors import Refused
from meters.link import Meters

LINK: Final = "royal"
PAUSE_S: Final = 0.004  # between two tries while the link is down
ROUNDS_A_SHOE: Final = 10
REPEATED: Final = 0.06  # of all calls, sent twice on purpose
SHOE: Final = [rank + suit for rank in "A23456789TJQK" for suit in "SHDC"] * 2
LINES: Final = ["loss"] * 14 + ["star", "any_two", "spade", "heart", "suited_both", "any_royal"]
ENDINGS: Final = ["end"] * 16 + ["void locked", "void dealt", "cancel", "end"]
_ANY = msgspec.json.Decoder(Answer)


class Plan:
    """What happens in one round of a table, the same whoever asks."""

    def __init__(self, seed: str, table: str, number: int) -> None:
        chance = Random(f"{seed} {table} {number}")  # noqa: S311 - a test's own randomness
        place = (number - 1) % ROUNDS_A_SHOE
        shoe = SHOE.copy()
        Random(f"{seed} {table} {number - place}").shuffle(shoe)  # noqa: S311 - as above
        self.cards = shoe[8 * place : 8 * place + 8]
        self.first = _some_seats(chance)
        self.seats = _some_seats(chance) if chance.random() < 0.3 else self.first
        self.kind = "played" if self.seats or chance.random() < 0.5 else "free"
        self.ending = chance.choice(ENDINGS)
        self.late = [seat for seat in range(1, 5) if seat not in self.seats][:1]
        self.is_late = bool(self.late) and chance.random() < 0.1
        corrections = chance.choice([0] * 8 + [1, 2])
        self.lines = [
            {seat: chance.choice(LINES) for seat in self.seats} for _ in range(corrections + 1)
        ]
        self.more = "".join(self.cards[6 : chance.choice([6, 7, 8])])
        self.is_award_void = chance.random() < 0.1

    def hands(self, number: int) -> tuple[str, str]:
        """Give the four cards as they were dealt, or as a correction has them."""
        four = [self.cards[3 + number] if number else self.cards[0], *self.cards[1:4]]
        return four[0] + four[1], four[2] + four[3]


def _some_seats(chance: Random) -> list[int]:
    return sorted(chance.sample(range(1, 5), chance.choice([0, 1, 2, 2, 3, 4])))


def trigger(cycle: int) -> int:
    """Give the value at which a cycle of Must Hit is won."""
    return usd("2.00") + Random(cycle).randint(1, 400) * 10_000  # noqa: S311 - as above


def decided(table: str, due: Due) -> Draw | None:
    """Decide Must Hit as a controller does, with a trigger that every player knows."""
    goal = trigger(due.present)
    earlier = (text.rsplit(" ", 2) for text in due.earlier.split(";") if text)
    if due.cycle != due.present or not due.seats or due.value < goal:
        return None
    if any(int(cycle) == due.present and int(value) >= goal for _, cycle, value in earlier):
        return None
    mark = f"{due.present} {table} {due.round}"
    return Draw(seat=due.seats[0], secret=mark, salt=mark, commit=mark, ciphertext=mark)


class Pit(NamedTuple):
    """Some tables, and the folder that what happens at them is written to."""

    folder: Path
    name: str
    seed: str
    tables: tuple[str, ...]


class Player:
    """The hubs, dealer screens and supervisor of one pit."""

    def __init__(self, meters: Meters, pit: Pit) -> None:
        self.meters = meters
        self.calls = meters.calls
        self.pit = pit
        self.store = Store(pit.folder / f"{pit.name}.jsonl")
        self.seen = Seen()
        seed = f"{pit.seed} {pit.name} {self.store.steps}"
        self.chance = Random(seed)  # noqa: S311 - as above
        self.kept: dict[tuple[str, str], tuple[int, Sent, Told]] = {}
        self.at: dict[str, int] = {}

    def play(self, steps: int) -> None:
        if self.store.told or self.store.pending:  # the round that a killed player was in
            self._round(self.store.rounds + 1)
        while self.store.steps < steps and not (self.pit.folder / "stop").exists():
            self._round(self.store.rounds + 1)
        self.store.write(self.seen)

    def _round(self, number: int) -> None:
        seed, tables = self.pit.seed, self.pit.tables
        self.at = dict.fromkeys(tables, number)
        plans = {table: Plan(seed, table, number) for table in tables}
        self._say(f"bets {number}", number, {table: plans[table].first for table in tables})
        turns = [self._table(table, number, plans[table]) for table in tables]
        order = Random(f"{seed} {self.pit.name} {number}")  # noqa: S311 - as above
        while turns:
            turn = order.choice(turns)
            if next(turn, "over") == "over":
                turns.remove(turn)
            self._repeat_an_old_step()
        self.store.write(Over(number))

    def _table(self, table: str, number: int, plan: Plan) -> Iterator[None]:
        calls = self.calls
        if plan.seats != plan.first:
            self._say(f"change {table} {number}", number, {table: plan.seats})
            yield
        if plan.ending == "cancel":
            self._step("cancel", table, number, calls.cancel(table, number, "ann", "no dealer"))
        else:
            lock = calls.lock(table, number, "ann", plan.seats, plan.kind)
            self._step("lock", table, number, lock)
            yield
            if plan.is_late:
                late = [*plan.seats, *plan.late]
                self._say(f"late {table} {number}", number, {table: late}, late=plan.late)
            yield from self._dealt(table, number, plan)
        if number % ROUNDS_A_SHOE == 0:
            yield
            shoe = number // ROUNDS_A_SHOE
            self._step("shoe", table, shoe, calls.shoe(table, shoe, "ann"))

    def _dealt(self, table: str, number: int, plan: Plan) -> Iterator[None]:
        calls, won = self.calls, []
        for at, lines in enumerate(plan.lines if plan.ending != "void locked" else []):
            hands = plan.hands(at)
            call = calls.deal(table, number, "ann", hands, lines)
            if at:
                call = calls.correct(table, number, "sue", at, hands=hands, lines=lines)
            verb = f"correct {at}" if at else "deal"
            won = self._step(verb, table, number, call).get("awards", [])
            yield
        if plan.ending != "end":
            self._step("void", table, number, calls.void(table, number, "sue", "misdeal"))
            return
        ended = self._end(table, number, plan.more)
        must_hit = [ended["must_hit"]["award"]] if "must_hit" in ended else []
        for award in won + must_hit:
            if award["award"] not in ended.get("paid", []):
                yield
                self._settle(award["award"], is_void=plan.is_award_void)

    def _end(self, table: str, number: int, more: str) -> Answer:
        def end() -> Sent:
            due = self._retried(lambda: self.meters.run(self.calls.due(table)))
            basis, draw = (due.present, due.earlier), decided(table, due)
            call = self.calls.end(table, number, "ann", more, decided=basis, draw=draw)
            return _sent(f"end {table} {number}", call)

        while True:
            try:
                return self._do(f"end {table} {number}", end, table, number)
            except Refused as refusal:
                if refusal.code != "decide_again":
                    raise
                self.seen.decided_again += 1

    def _settle(self, award: int, *, is_void: bool) -> None:
        """Pay an award, or where it needs two persons have it paid or voided by them."""
        calls, label = self.calls, f"pay {award}"
        paid = self._do(
            label, lambda: _sent(label, calls.pay(award, "sue")), may_be="second_person"
        )
        if "refused" not in paid:
            return
        number = self._propose(award, "void_award" if is_void else "pay")
        agreed = f"approve {number}"
        self._do(agreed, lambda: _sent(agreed, calls.approve(number, "tom")))

    def _propose(self, award: int, what: str) -> int:
        """Propose under the next number, whoever else takes numbers at the same time."""
        number = 1

        def propose() -> Sent:
            call = self.calls.propose(number, "sue", what, f"award {award}", {"award": award})
            return Sent(f"propose {award}", [f"propose {number}"], *call[:3])

        while True:
            try:
                return int(self._do(f"propose {award}", propose)["number"])
            except Refused as refusal:
                if refusal.code != "proposal_number":
                    raise
                number = refusal.detail["next"]

    def _step(self, verb: str, table: str, number: int, call: Call[Any]) -> Answer:
        label = f"{verb} {table} {number}"
        return self._do(label, lambda: _sent(label, call), table, number)

    def _say(
        self, label: str, number: int, seats: dict[str, list[int]], late: Collection[int] = ()
    ) -> None:
        def say() -> Sent:
            said = [self._message(table, number, seats[table]) for table in seats]
            kind, empty = ("late", False) if late else ("seats", label.startswith("bets"))
            keys = [f"{kind} {m.device} {m.sequence}" for m in said if m.seats or not empty]
            return Sent(label, keys, said=said)

        self._do(label, say)

    def _message(self, table: str, number: int, seats: list[int]) -> Message:
        device = f"hub-{table}"
        sequence = self.store.sequences.get(device, 0) + 1
        return Message(
            table=table, device=device, epoch=1, sequence=sequence, round=number, seats=seats
        )

    def _do(
        self,
        label: str,
        make: Callable[[], Sent],
        table: str = "",
        number: int = 0,
        *,
        may_be: str = "refused",
    ) -> Answer:
        """Do what is known by this label once, whatever is killed in the middle of it."""
        known = self.store.told.get(label)
        if known:
            return known.answers[0]
        sent = self.store.pending
        if not sent or sent.label != label:
            sent = make()
            self.store.write(sent)
        try:
            told = Told(label, sent.keys, self._run(sent))
        except Refused as refusal:
            if not refusal.code.startswith(may_be):
                self.store.pending = None
                raise
            told = Told(label, [], [{"refused": refusal.code}])
        self.store.write(told)
        if table:
            self.kept[table, label.split(" ", maxsplit=1)[0]] = number, sent, told
            self.at[table] = told.answers[0].get("round", self.at[table])
        if told.keys and self.chance.random() < REPEATED:
            self._repeat(sent, told)
        return told.answers[0]

    def _run(self, sent: Sent) -> list[Answer]:
        if not sent.said:
            call = Call(sent.function, sent.at, sent.args, _ANY)
            return [self._retried(lambda: self.meters.run(call))]
        if len(sent.said) == 1:
            [said] = sent.said
            return [_plain(self._retried(lambda: self.meters.run(self.calls.message(said))))]
        return [_plain(one) for one in self._retried(lambda: self.meters.report(sent.said))]

    def _retried(self, send: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever is asked for
        """Send until there is an answer: a link that is down, or closed, comes back."""
        while True:
            try:
                return send()
            except (LinkDown, LinkSlow):
                self.seen.down += 1
            except Refused as refusal:
                if refusal.code != "not_audited":
                    raise
                self.seen.closed += 1
            time.sleep(PAUSE_S)

    def _repeat(self, sent: Sent, told: Told) -> None:
        mark = {"result": "duplicate"} if sent.said else {}
        assert self._run(sent) == [one | mark for one in told.answers], sent
        self.seen.repeats += 1

    def _repeat_an_old_step(self) -> None:
        """A step of this or the last round is answered as it was; an older one is refused."""
        if not self.kept or self.chance.random() > REPEATED:
            return
        (table, verb), (number, sent, told) = self.chance.choice(list(self.kept.items()))
        if verb == "shoe":
            return
        if number >= self.at[table] - 1:
            self._repeat(sent, told)
            return
        assert self._is_stale(sent), f"{sent} was taken, or answered, long after"
        self.seen.repeats += 1

    def _is_stale(self, sent: Sent) -> bool:
        try:
            self._run(sent)
        except Refused as refusal:
            return refusal.code == "stale_round"
        return False


def _sent(label: str, call: Call[Any]) -> Sent:
    return Sent(label, [label], *call[:3])


def _plain(answer: object) -> Answer:
    assert not isinstance(answer, Refused), answer
    plain: Answer = msgspec.to_builtins(answer)
    return plain


def start(address: str, pit: Pit, steps: int) -> "subprocess.Popen[bytes]":
    """Start a player; it plays until it has done its steps, or there is a file named `stop`."""
    arguments = [address, str(pit.folder), pit.name, pit.seed, str(steps), *pit.tables]
    with (pit.folder / f"{pit.name}.err").open("ab") as errors:
        return subprocess.Popen(  # noqa: S603 - the test's own program
            [sys.executable, __file__, *arguments], stderr=errors
        )


def errors_of(folder: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.err")))


def main(address: str, folder: str, name: str, seed: str, steps: str, *tables: str) -> None:
    pit = Pit(Path(folder), name, seed, tables)
    with open_single(parse_address(address)) as client:
        Player(Meters(client, LINK), pit).play(int(steps))


if __name__ == "__main__":
    main(*sys.argv[1:])
