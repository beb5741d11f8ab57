"""Must Hit decided while others act: voids, corrections, and forty tables at once."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from cycles import (
    Referee,
    assert_commitments_run_ahead,
    assert_found_right,
    awarded,
    due_at,
    entries_of,
    foreseen,
    play_to_the_brink,
    trigger_of,
)
from floor import usd
from journals import CARD_LEVELS, LOSS, must_hit_level, open_play, royal_link
from redis import Redis

from meters.calls import Call, Message
from meters.errors import Refused
from meters.functions import ensure_loaded
from meters.link import A, Meters
from meters.server import EmbeddedServer
from progressive.controller import Controller
from progressive.draws.process import process_drbg
from progressive.draws.vault import make
from progressive.rules.cards import hand
from progressive.rules.rulebooks import RULEBOOKS

SEATS = [1, 3, 4, 7]
MISREAD = (hand("2♠ 3♥"), hand("4♣ 7♦"))  # of LOSS, in its last card


class Between(Meters):
    """The face of a link where something happens between a decision and its writing."""

    then: Callable[[], None] | None = None

    def run(self, call: Call[A]) -> A:
        """Let it happen just before an end is written."""
        happens, self.then = (self.then, None) if call.function == "pm_end" else (None, self.then)
        if happens:
            happens()
        return super().run(call)


class Race:
    """Two tables that locked in turn, each at or over the trigger."""

    def __init__(self, client: Redis, folder: Path) -> None:
        ensure_loaded(client)
        vault = make(folder / "draws.key", cycle_open=False)
        self.play = open_play(client, vault, royal_link())
        self.between = Between(client, "royal")
        self.late = Controller(self.between, vault, process_drbg(), RULEBOOKS["MD"])
        self.folder = folder
        play_to_the_brink(self.play, "T1", SEATS)
        for table in ("T1", "T2"):
            self.play.new_shoe(table)
            self.play.lock(table, SEATS)
            self.play.deal(table, LOSS)
        assert due_at(self.play.controller, "T1").value >= self.trigger
        first, second = (
            foreseen(self.play.controller, table, SEATS, due_at(self.play.controller, table).value)
            for table in ("T1", "T2")
        )
        self.first, self.second = first, second

    @property
    def trigger(self) -> int:
        return trigger_of(self.play.controller, due_at(self.play.controller, "T1"))

    def end_late(self, table: str, then: Callable[[], None]) -> None:
        """Decide a table's end, let something happen, and write it."""
        self.between.then = then
        self.late.end(table, self.play.at(table), "dealer")
        self.play.rounds[table] += 1

    def check(self) -> None:
        entries = entries_of(self.play)
        assert awarded(entries) == Referee(entries).decided
        assert_commitments_run_ahead(self.play.controller, entries)
        assert_found_right(self.play, self.folder / "check")


@pytest.fixture
def race(client: Redis, tmp_path: Path) -> Race:
    return Race(client, tmp_path)


def test_a_winning_round_voided_before_its_award_is_written_passes_it_on(race: Race) -> None:
    with pytest.raises(Refused):
        race.end_late("T1", lambda: race.play.void("T1"))
    assert awarded(entries_of(race.play)) == []
    race.play.end("T2")
    assert awarded(entries_of(race.play)) == [race.second]
    race.check()


def test_a_round_decided_as_second_wins_when_the_first_is_voided_before_it_is_written(
    race: Race,
) -> None:
    race.end_late("T2", lambda: race.play.void("T1"))
    assert awarded(entries_of(race.play)) == [race.second]
    race.check()


def test_a_round_decided_as_second_has_nothing_when_the_first_ends_before_it_is_written(
    race: Race,
) -> None:
    race.end_late("T2", lambda: race.play.end("T1"))
    assert awarded(entries_of(race.play)) == [race.first]
    race.check()


def test_a_round_that_ends_before_an_earlier_winner_leaves_the_award_to_it(race: Race) -> None:
    race.play.end("T2")
    assert awarded(entries_of(race.play)) == []
    race.play.end("T1")
    assert awarded(entries_of(race.play)) == [race.first]
    race.check()


@pytest.mark.parametrize("moment", ["before the decision", "before the writing"])
def test_a_corrected_card_of_the_winning_round_does_not_draw_anew(race: Race, moment: str) -> None:
    if moment == "before the decision":
        race.play.correct("T1", 1, MISREAD)
        race.play.end("T1")
    else:
        race.end_late("T1", lambda: race.play.correct("T1", 1, MISREAD))
    assert awarded(entries_of(race.play)) == [race.first]
    race.play.end("T2")
    race.play.new_shoe("T1")
    play_to_the_brink(race.play, "T1", SEATS)  # the next trigger has the cards as first recorded
    race.play.new_shoe("T1")
    race.play.play("T1", SEATS)
    assert len(awarded(entries_of(race.play))) == 2
    race.check()


def test_an_award_voided_by_two_persons_does_not_open_its_cycle_again(race: Race) -> None:
    race.play.end("T1")
    [won] = [award for award in race.play.pending() if award.kind == "must_hit"]
    race.play.carry_out("void_award", {"award": won.award})
    race.play.end("T2")
    assert awarded(entries_of(race.play)) == [race.first]
    race.check()


TABLES = 40


class FortyTables:
    """Forty tables, each with a dealer and a connection of its own, in step with each other."""

    def __init__(self, server: EmbeddedServer, client: Redis, folder: Path, seed: int) -> None:
        ensure_loaded(client)
        vault = make(folder / "draws.key", cycle_open=False)
        levels = [*CARD_LEVELS, must_hit_level("62.00")]
        self.play = open_play(client, vault, royal_link(levels, tables=TABLES))
        self.names = [f"T{number}" for number in range(1, TABLES + 1)]
        self.clients = {name: server.client() for name in self.names}
        self.controllers = {
            name: Controller(Meters(one, "royal"), vault, process_drbg(), RULEBOOKS["MD"])
            for name, one in self.clients.items()
        }
        self.chance = random.Random(seed)  # noqa: S311 - a test's own randomness
        self.gate = Barrier(TABLES)

    def turn(self, number: int) -> None:
        """Play a round at all tables: locks at once, then ends at once, voids among them."""
        voided = set(self.chance.sample(self.names, 3))
        seats = {
            name: self.chance.sample(range(1, 8), self.chance.randint(1, 7)) for name in self.names
        }

        def dealer(name: str) -> None:
            controller, calls = self.controllers[name], self.play.meters.calls
            if number % 8 == 1:
                controller.new_shoe(name, number // 8 + 1, "dealer")
            bet = Message(
                table=name, device=f"hub-{name}", epoch=1, sequence=number, round=number,
                seats=seats[name],
            )  # fmt: skip
            controller.report([bet])
            self.gate.wait()
            controller.lock(name, number, seats[name], "dealer")
            controller.deal(name, number, *LOSS, "dealer")
            self.gate.wait()
            if name in voided:
                controller.meters.run(calls.void(name, number, "sue", "misdeal"))
            else:
                controller.end(name, number, "dealer")

        with ThreadPoolExecutor(TABLES) as pool:
            list(pool.map(dealer, self.names))

    def to_the_brink(self) -> None:
        """Bring the meter to a dollar below its maximum, so that the next locks cross."""
        goal = usd("61.00") - self.play.meters.numbers()["must_hit.meter"]
        if goal > 0:
            body = {"level": "must_hit", "amount_micros": goal, "part": "meter"}
            self.play.carry_out("adjust", body)

    def close(self) -> None:
        for client in self.clients.values():
            client.close()


def play_forty(server: EmbeddedServer, client: Redis, folder: Path, turns: int) -> None:
    seed = random.randrange(10**9)  # noqa: S311 - a test's own randomness
    print("seed", seed)  # noqa: T201 - to repeat it
    forty = FortyTables(server, client, folder, seed)
    try:
        for number in range(1, turns + 1):
            forty.to_the_brink()
            before = len(awarded(entries_of(forty.play)))
            forty.turn(number)
            assert len(awarded(entries_of(forty.play))) > before, "every turn crosses the trigger"
        entries = entries_of(forty.play)
        assert [won.cycle for won in awarded(entries)] == list(range(1, len(awarded(entries)) + 1))
        assert awarded(entries) == Referee(entries).decided
        assert_commitments_run_ahead(forty.play.controller, entries)
        assert_found_right(forty.play, folder / "check")
    finally:
        forty.close()


def test_forty_tables_that_cross_the_trigger_at_once_have_one_winner_a_cycle(
    server: EmbeddedServer, client: Redis, tmp_path: Path
) -> None:
    play_forty(server, client, tmp_path, turns=6)


@pytest.mark.long
def test_forty_tables_have_one_winner_in_each_of_hundreds_of_cycles(
    server: EmbeddedServer, client: Redis, tmp_path: Path
) -> None:
    play_forty(server, client, tmp_path, turns=200)
