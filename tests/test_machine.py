"""Random play of every verb, good and bad, on a real server: it does what the model says."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from floor import opened, small_link, usd
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.strategies import SearchStrategy
from redis import Redis

from meters import entries as e
from meters import model
from meters.calls import Call, CardSaid, Draw, Message
from meters.errors import Refused
from meters.functions import source
from meters.model.devices import Devices
from meters.replay import audit, imbalances, replay
from meters.seats import seats_of
from meters.state import differences

TABLES = st.sampled_from(["T1", "T2", "T3", "T1", "T2", "T9"])
ALL_TABLES = st.sampled_from(["T1", "T2", "T3"])
PEOPLE = st.sampled_from(["ann", "bob"])
LEVELS = st.sampled_from(["star", "spade", "heart", "must_hit", "moon"])
LINES = ["loss", "loss", "star", "any_two", "spade", "heart", "suited_both", "any_royal"]
CARDS = st.sampled_from(["KS", "9H", "2C", "TD", "QS", "JC", "AD", "5H", "7C", "8D"])
SEATS = st.lists(st.integers(1, 4), max_size=4, unique=True)
AMOUNTS = st.sampled_from([usd("1.00"), usd("3.50"), usd("150.00"), 2**53 - 1, -usd("2.00"), 0, 7])
SECRET = "00"  # noqa: S105 - meters only carry it
RARELY = st.sampled_from([False] * 9 + [True])


Draws = Callable[[SearchStrategy[Any]], Any]


class Play(RuleBasedStateMachine):
    client: Redis
    simultaneous_seconds: int

    @initialize()
    def open_link(self) -> None:
        self.client.flushall()
        definition = small_link(simultaneous_seconds=self.simultaneous_seconds)
        self.meters = opened(self.client, definition)
        opening = next(self._entries(1))
        self.state, again = model.begin(opening)
        assert again == opening
        self.devices = Devices()
        self.sequences = {"T1": 0, "T2": 0, "T3": 0, "T9": 0}
        self.readings = {"T1": 0, "T2": 0, "T3": 0}
        self.done: dict[tuple[str, int, str], tuple[Call[Any], Any]] = {}
        self.said: dict[str, tuple[Message, str]] = {}
        self.secrets = 2
        self.received = 0

    def _entries(self, first: int) -> Any:  # noqa: ANN401 - entries of any kind
        return (e.read_entry(line) for _, line in self.meters.journal(first))

    def do(self, call: Call[Any], event: e.AnyEntry) -> Any:  # noqa: ANN401 - the call's answer
        """Run a call on the server and its event on the model: the same entry, or the same no."""
        head = self.state.numbers["head"]
        answer, refusal = self._try(call)
        if refusal:
            with pytest.raises(Refused) as expected:
                model.apply(self.state, event)
            assert expected.value.code == refusal.code
            return None
        entries = list(self._entries(head + 1))
        assert len(entries) == 1, entries
        self.state, expected_entry = model.apply(
            self.state, msgspec.structs.replace(event, t=entries[0].t)
        )
        assert entries[0] == expected_entry
        return answer

    def _try(self, call: Call[Any]) -> tuple[Any, Refused | None]:
        try:
            return self.meters.run(call), None
        except Refused as refusal:
            return None, refusal

    def step(self, verb: str, table: str, call: Call[Any], event: e.AnyEntry) -> Any:  # noqa: ANN401
        known = self.done.get((table, event.round, verb))  # type: ignore[union-attr]
        if known and event.round >= self.round_of(table) - 1:  # type: ignore[union-attr]
            return self._again(known, call)
        answer = self.do(call, event)
        if answer is not None:
            self.done[table, event.round, verb] = (call, answer)  # type: ignore[union-attr]
        return answer

    def _again(self, known: tuple[Call[Any], Any], call: Call[Any]) -> None:
        """The same step again is answered with the first answer; another one is refused."""
        if known[0].args == call.args:
            assert self.meters.run(call) == known[1]
        else:
            self._refused(call, {"conflict", "stale_round"})

    def round_of(self, table: str, off: int = 0) -> int:
        known = self.state.tables.get(table)
        return (known.round if known else 1) + off

    def locked(self, table: str) -> list[int]:
        known = self.state.tables.get(table)
        return seats_of(known.locked) if known else []

    @rule(table=TABLES, seats=SEATS, off=st.sampled_from([0, 0, 0, 0, -1, -2, 1]), beat=RARELY)
    def message(self, table: str, seats: list[int], off: int, beat: bool) -> None:
        self.sequences[table] += 1
        self._say(
            Message(
                table=table,
                device=f"hub-{table}",
                epoch=1,
                sequence=self.sequences[table],
                round=max(0, self.round_of(table, off)),
                seats=seats,
                kind="heartbeat" if beat else "state",
            )
        )

    @rule(table=TABLES, epoch=st.integers(1, 3), sequence=st.integers(1, 9), seats=SEATS)
    def odd_message(self, table: str, epoch: int, sequence: int, seats: list[int]) -> None:
        device = f"odd-{table}"
        said = Message(
            table=table, device=device, epoch=epoch, sequence=sequence, round=1, seats=seats
        )
        self._say(said)

    def _say(self, said: Message) -> None:
        head = self.state.numbers["head"]
        memory = Devices(dict(self.devices.last))
        answer, refusal = self._try(self.meters.calls.message(said))
        if refusal:
            with pytest.raises(Refused) as expected:
                memory.hear(self.state, said)
            assert expected.value.code == refusal.code
            return
        result, event = memory.hear(self.state, said)
        assert answer.result == result
        self.devices = memory
        entries = list(self._entries(head + 1))
        if event is None:
            assert entries == []
        else:
            event = msgspec.structs.replace(event, t=entries[0].t)
            self.state, expected_entry = model.apply(self.state, event)
            assert entries == [expected_entry]

    @rule(table=ALL_TABLES, card=CARDS, off=RARELY)
    def card(self, table: str, card: str, off: bool) -> None:
        known = self.state.tables[table]
        self.readings[table] += 1
        said = CardSaid(
            table=table,
            device=f"shoe-{table}",
            epoch=1,
            sequence=self.readings[table],
            round=known.round + off,
            card=card,
        )
        head = self.state.numbers["head"]
        answer = self.meters.run(self.meters.calls.card(said))
        entries = list(self._entries(head + 1))
        assert [answer.result == "applied"] * len(entries) == [True] * len(entries)
        expected = known.phase != "open" and known.status == "open" and not off
        assert len(entries) == (expected and len(known.reader) < 12)
        for entry in entries:
            self.state, again = model.apply(self.state, entry)
            assert again == entry
        assert "".join(answer.cards) == self.state.tables[table].reader
        assert self.meters.run(self.meters.calls.card(said)).result == "duplicate"

    @rule(table=TABLES, wrong=RARELY, off=RARELY, kind=st.sampled_from(["played"] * 5 + ["free"]))
    def lock(self, table: str, wrong: bool, off: bool, kind: str) -> None:
        known = self.state.tables.get(table)
        seats = seats_of(known.seats ^ 1 if wrong else known.seats) if known else []
        round_ = self.round_of(table, 1 if off else 0)
        self.step(
            "lock",
            table,
            self.meters.calls.lock(table, round_, "ann", seats, kind),
            e.Lock(table=table, round=round_, by="ann", seats=seats, kind=kind),
        )

    @rule(
        table=TABLES,
        cards=st.tuples(CARDS, CARDS, CARDS, CARDS),
        data=st.data(),
        number=st.sampled_from([None, 1, 1, 2]),
        wrong=RARELY,
    )
    def deal(
        self,
        table: str,
        cards: tuple[str, ...],
        data: st.DataObject,
        number: int | None,
        wrong: bool,
    ) -> None:
        seats = self.locked(table) + ([4] if wrong else [])
        lines = {seat: data.draw(st.sampled_from(LINES)) for seat in seats}
        round_ = self.round_of(table)
        hands = ("".join(cards[:2]), "".join(cards[2:]))
        parts: dict[str, Any] = {
            "table": table,
            "round": round_,
            "by": "ann",
            "player": list(cards[:2]),
            "banker": list(cards[2:]),
            "lines": {str(seat): line for seat, line in lines.items()},
        }
        calls = self.meters.calls
        if number is None:
            call = calls.deal(table, round_, "ann", hands, lines)
            self.step("deal", table, call, e.Deal(**parts))
            return
        number += self.state.tables[table].corrections if table in self.state.tables else 0
        call = calls.correct(table, round_, "bob", number, hands=hands, lines=lines)
        known = self.done.get((table, round_, "correct"))
        if known and known[0].args == call.args:
            self._again(known, call)
            return
        answer = self.do(call, e.Correct(**(parts | {"by": "bob", "number": number})))
        if answer is not None:
            self.done[table, round_, "correct"] = (call, answer)

    @rule(
        table=TABLES,
        more=st.sampled_from(["", "", "2C", "KS9H"]),
        stale=RARELY,
        win=st.booleans(),
        seat=st.integers(1, 4),
    )
    def end(self, table: str, more: str, stale: bool, win: bool, seat: int) -> None:
        round_ = self.round_of(table)
        if table not in self.state.tables:
            return
        due = self.meters.run(self.meters.calls.due(table))
        level_open = not self.state.levels["must_hit"].closed
        must_hit, draw = None, None
        if win and level_open:
            commit = f"commit-{self.state.numbers['cycle'] + 2}"
            draw = Draw(seat=seat, secret=SECRET, salt="sa", commit=commit, ciphertext="ci")
            won = e.WonAward(0, seat, "", 0)
            must_hit = e.MustHitWin(0, 0, SECRET, "sa", commit, won)
        cards = [more[at : at + 2] for at in range(0, len(more), 2)]
        decided = (due.present + 1, due.earlier) if stale else (due.present, due.earlier)
        call = self.meters.calls.end(table, round_, "ann", more, decided=decided, draw=draw)
        event = e.End(table=table, round=round_, by="ann", more=cards, must_hit=must_hit)
        if stale and level_open:
            self._refused(call, {"decide_again", "wrong_phase", "table_closed", "card_not_in_shoe"})
        else:
            self.step("end", table, call, event)

    def _refused(self, call: Call[Any], codes: set[str]) -> None:
        with pytest.raises(Refused) as refusal:
            self.meters.run(call)
        assert refusal.value.code in codes

    @rule(
        table=ALL_TABLES, seats=SEATS, data=st.data(), cards=st.tuples(CARDS, CARDS, CARDS, CARDS)
    )
    def go_on(
        self, table: str, seats: list[int], data: st.DataObject, cards: tuple[str, ...]
    ) -> None:
        """Take the table's next step, so that rounds are played and not only begun."""
        known = self.state.tables[table]
        if known.status == "closed":
            self.door(table, True)
        elif known.phase == "open":
            self.message(table, [seat for seat in seats if seat <= known.places], 0, False)
            self.lock(table, False, False, "played")
        elif known.phase == "locked":
            self.deal(table, cards, data, None, False)
        else:
            self.end(table, "", False, data.draw(st.booleans()), data.draw(st.integers(1, 4)))

    go_on_again = go_on
    go_on_more = go_on

    @rule(table=TABLES, verb=st.sampled_from(["void", "cancel"]))
    def abandon(self, table: str, verb: str) -> None:
        round_ = self.round_of(table)
        kind = e.Void if verb == "void" else e.Cancel
        event = kind(table=table, round=round_, by="bob", reason="misdeal")
        call = getattr(self.meters.calls, verb)(table, round_, "bob", "misdeal")
        self.step(verb, table, call, event)

    @rule(table=TABLES, off=st.sampled_from([1, 1, 1, 2]))
    def shoe(self, table: str, off: int) -> None:
        known = self.state.tables.get(table)
        number = (known.shoe if known else 0) + off
        event = e.Shoe(table=table, shoe=number, by="ann")
        self.do(self.meters.calls.shoe(table, number, "ann"), event)

    @rule(table=TABLES, opens=st.booleans())
    def door(self, table: str, opens: bool) -> None:
        known = self.state.tables.get(table)
        if known and (known.status == "open") == opens:
            return  # a repeat, which changes nothing
        kind = e.OpenTable if opens else e.CloseTable
        verb = self.meters.calls.open_table if opens else self.meters.calls.close_table
        self.do(verb(table, "bob", "shift"), kind(table=table, by="bob", reason="shift"))

    @rule(data=st.data())
    def open_all(self, data: st.DataObject) -> None:
        """Random doors alone would keep most tables closed."""
        for table, known in self.state.tables.items():
            if known.status == "closed" and data.draw(st.booleans()):
                self.door(table, True)

    @rule(award=st.integers(1, 30), known=st.booleans())
    def pay(self, award: int, known: bool) -> None:
        pending = [held.award for held in self.state.awards]
        if known and pending:
            award = pending[award % len(pending)]
        elif award <= self.state.numbers["awards"]:
            return  # settled before: answered from memory
        self.do(self.meters.calls.pay(award, "bob"), e.Pay(by="bob", award=award))

    def _propose(self, by: str, what: str, body: dict[str, Any], off: int = 1) -> None:
        number = self.state.numbers["proposals"] + off
        self.do(
            self.meters.calls.propose(number, by, what, "because", body),
            e.Propose(number=number, by=by, what=what, reason="because", body=body),
        )

    @rule(by=PEOPLE, data=st.data(), at_once=st.booleans(), off=RARELY)
    def propose(self, by: str, data: st.DataObject, at_once: bool, off: bool) -> None:
        kinds = {
            "adjust": self._adjust, "transfer": self._transfer, "limit": self._limit,
            "level": self._level, "table": self._table, "terms": self._terms,
            "decommission": self._decommission, "pay": self._award, "void_award": self._award,
            "hand_award": self._hand_award,
        }  # fmt: skip
        what = data.draw(st.sampled_from(sorted(kinds)))
        self._propose(by, what, kinds[what](data.draw), 2 if off else 1)
        if at_once and self.state.proposals:
            self.approve("bob" if by == "ann" else "ann", len(self.state.proposals) - 1)

    def _adjust(self, draw: Draws) -> dict[str, Any]:
        part = draw(st.sampled_from(["meter", "meter", "reserve", "overflow", "pocket"]))
        return {"level": draw(LEVELS), "amount_micros": draw(AMOUNTS), "part": part}

    def _transfer(self, draw: Draws) -> dict[str, Any]:
        link = draw(st.sampled_from([{}, {"to_link": "other"}]))
        amount = draw(st.sampled_from([usd("1.00"), usd("2.50"), usd("150.00")]))
        return {"level": draw(LEVELS), "to": draw(LEVELS), "amount_micros": amount, **link}

    def _limit(self, draw: Draws) -> dict[str, Any]:
        return {"level": draw(LEVELS), "limit_micros": draw(AMOUNTS)}

    def _level(self, draw: Draws) -> dict[str, Any]:
        known = self.state.levels[draw(st.sampled_from(["star", "spade", "must_hit"]))]
        maximum = known.maximum_micros + usd("1.00") if known.maximum_micros else None
        changed = msgspec.structs.replace(
            known, reset_micros=known.reset_micros + usd("0.50"), maximum_micros=maximum
        )
        odd = draw(
            st.sampled_from(
                [{}, {}, {}, {"reset_micros": usd("900.00")}, {"increment_ppm": 900_000}]
            )
        )
        return {"definition": msgspec.to_builtins(changed) | odd}

    def _table(self, draw: Draws) -> dict[str, Any]:
        known = self.state.tables["T1"].definition
        name, seats = draw(st.sampled_from(["T1", "T2", "T4"])), draw(st.integers(3, 4))
        changed = msgspec.structs.replace(known, name=name, seats=seats)
        return {"definition": msgspec.to_builtins(changed)}

    def _terms(self, _: Draws) -> dict[str, Any]:
        above = self.state.terms.hand_pay_above_micros + 10_000
        changed = msgspec.structs.replace(self.state.terms, hand_pay_above_micros=above)
        return {"terms": msgspec.to_builtins(changed)}

    def _decommission(self, draw: Draws) -> dict[str, Any]:
        level = draw(st.sampled_from(["must_hit", "moon", "moon", "moon", "heart"]))
        return {"level": level, "to": draw(st.sampled_from(["star", "spade", "heart"]))}

    def _award(self, draw: Draws) -> dict[str, Any]:
        pending = [held.award for held in self.state.awards]
        return {"award": draw(st.sampled_from(pending)) if pending else 1}

    def _hand_award(self, draw: Draws) -> dict[str, Any]:
        table = draw(st.sampled_from(["T1", "T2"]))
        round_ = max(1, self.round_of(table, -1))
        line = draw(st.sampled_from(LINES[1:]))
        return {"table": table, "round": round_, "seat": 2, "line": line}

    def _tables_for(self, what: str, body: dict[str, Any]) -> list[str]:
        if what == "table":
            return [body["definition"]["name"]]
        if what == "hand_award":
            return [body["table"]]
        return self.meters.tables() if what in {"terms", "decommission"} else []

    @rule(by=PEOPLE, pick=st.integers(0, 9))
    @precondition(lambda self: self.state.proposals)
    def approve(self, by: str, pick: int) -> None:
        proposal = self.state.proposals[pick % len(self.state.proposals)]
        tables = self._tables_for(proposal.what, msgspec.json.decode(proposal.body))
        call = self.meters.calls.approve(proposal.number, by, tables)
        answer = self.do(call, e.Approve(number=proposal.number, by=by))
        if answer is not None:
            assert self.meters.run(call) == answer
        elif proposal.by != by:
            self.reject(by, pick)

    @rule(by=PEOPLE, pick=st.integers(0, 9))
    @precondition(lambda self: self.state.proposals)
    def reject(self, by: str, pick: int) -> None:
        number = self.state.proposals[pick % len(self.state.proposals)].number
        call = self.meters.calls.reject(number, by, "no")
        answer = self.do(call, e.Reject(number=number, by=by, reason="no"))
        assert self.meters.run(call) == answer

    @rule(level=LEVELS, amount=st.sampled_from([usd("1.00"), usd("2.50")]), off=st.integers(0, 1))
    def receive(self, level: str, amount: int, off: int) -> None:
        number = self.state.received.get("other", 0) + 1 + off
        event = e.Receive(by="bob", from_="other", transfer=number, level=level, amount=amount)
        call = self.meters.calls.receive("bob", "other", number, level, amount)
        if self.do(call, event):
            assert self.meters.run(call).result == "duplicate"

    @rule()
    @precondition(lambda self: self.state.transfers)
    def cleared(self) -> None:
        to, number = next(iter(self.state.transfers)).split(".")
        call = self.meters.calls.cleared("bob", to, int(number))
        self.do(call, e.Cleared(by="bob", to=to, transfer=int(number)))
        assert self.meters.run(call).result == "duplicate"

    @rule(trim=st.booleans())
    def balance(self, trim: bool) -> None:
        before = self.meters.snapshot()
        entry = self.meters.run(self.meters.calls.balance(self.meters.tables(), "sealer")).entry
        recorded = next(self._entries(entry))
        self.state, again = model.apply(self.state, recorded)
        assert again == recorded
        assert before.numbers["head"] == entry - 1
        if trim:
            self.meters.run(self.meters.calls.sealed(entry))
            assert next(self.meters.journal(1))[0] == entry

    @rule(pick=st.integers(0, 50))
    @precondition(lambda self: self.done)
    def repeat(self, pick: int) -> None:
        (table, round_, verb), (call, answer) = list(self.done.items())[pick % len(self.done)]
        if round_ < self.state.tables[table].round - 1:
            self._refused(call, {"stale_round"})
            del self.done[table, round_, verb]
        else:
            assert self.meters.run(call) == answer

    @rule()
    def restart(self) -> None:
        """A library that is loaded anew has forgotten who vouched for the link."""
        self.client.function_load(source(), replace=True)
        round_ = self.round_of("T1")
        self._refused(self.meters.calls.lock("T1", round_, "ann", []), {"not_audited"})
        self._refused(self.meters.calls.balance(self.meters.tables(), "x"), {"not_audited"})
        found = audit(self.meters)
        assert found.is_exact, found.problems

    @invariant()
    def the_server_holds_what_the_model_says(self) -> None:
        if not hasattr(self, "state"):
            return
        held = self.meters.snapshot()
        assert differences(held, self.state) == []
        assert imbalances(held) == []

    def teardown(self) -> None:
        if hasattr(self, "state"):
            first = self.state.numbers["balance"] or 1
            assert replay(self.meters, first, self.state.numbers["head"]) == self.state


def _run(client: Redis, seconds: int, examples: int) -> None:
    kind: Any = type("Playing", (Play,), {"client": client, "simultaneous_seconds": seconds})
    kind.TestCase.settings = settings(
        max_examples=examples,
        stateful_step_count=60,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        report_multiple_bugs=False,
    )
    kind.TestCase("runTest").runTest()


def test_random_play_does_what_the_model_says(any_client: Redis) -> None:
    _run(any_client, 0, 40)


def test_random_play_with_the_full_amount_to_each(any_client: Redis) -> None:
    _run(any_client, 3600, 30)
