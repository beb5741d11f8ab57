"""SIGKILL between any two steps of lock, end, award and next cycle: one award, the same for all."""

import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crash import DONE, ended_with, in_a_child
from cycles import (
    Expected,
    assert_commitments_run_ahead,
    assert_found_right,
    awarded,
    entries_of,
    foreseen,
    play_to_the_brink,
)
from journals import LOSS, open_play, royal_link
from redis import ConnectionError as LinkDown
from redis import TimeoutError as LinkSlow
from redis.connection import AbstractConnection
from servers import wait_for

from meters.calls import Message
from meters.errors import Refused
from meters.functions import ensure_loaded
from meters.link import Meters
from meters.replay import audit
from meters.server import EmbeddedServer
from progressive.controller import Controller
from progressive.draws.process import process_drbg
from progressive.draws.vault import load, make
from progressive.rules.rulebooks import RULEBOOKS

SEATS = [1, 3, 4, 7]
BROKEN = 1  # the client's own end when its server is gone
INSTANTS_MAX = 200


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Leave out what the server's keeper says about every kill."""
    caplog.set_level(logging.CRITICAL, "meters.server")


def at_instant(number: int, act: Callable[[], None]) -> None:
    """Act at the n-th instant: before a call is sent, when it is, and when its answer was read."""
    count = 0

    def passing(call: Callable[..., Any], *, before: bool) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever it is given
            if before:
                tick()
            answer = call(*arguments, **named)
            tick()
            return answer

        return called

    def tick() -> None:
        nonlocal count
        count += 1
        if count == number:
            act()

    kind: Any = AbstractConnection
    kind.send_packed_command = passing(kind.send_packed_command, before=True)
    kind.read_response = passing(kind.read_response, before=False)


def play_winning_round(controller: Controller, table: str, number: int, sequence: int) -> None:
    """Take every step of a round, each as often as it is asked for: a repeat changes nothing."""
    said = Message(
        table=table, device=f"hub-{table}", epoch=1, sequence=sequence, round=number, seats=SEATS
    )
    controller.report([said])
    controller.lock(table, number, SEATS, "dealer")
    controller.deal(table, number, *LOSS, "dealer")
    controller.end(table, number, "dealer")


class Floor:
    """A link whose next round takes Must Hit, and processes that die while they play it."""

    def __init__(self, server: EmbeddedServer, folder: Path) -> None:
        self.server, self.key = server, folder / "draws.key"
        self.client = server.client()
        ensure_loaded(self.client)
        self.play = open_play(self.client, make(self.key, cycle_open=False), royal_link())
        self.expected: list[Expected] = []

    def prepare(self) -> tuple[str, int, int]:
        """Play to the brink; gives the winning round and the number of its message."""
        play = self.play
        play.new_shoe("T1")
        play_to_the_brink(play, "T1", SEATS)
        play.new_shoe("T1")
        play.sequences["T1"] += 1
        level = play.meters.snapshot().levels["must_hit"]
        value = play.meters.numbers()["must_hit.meter"] + 5 * level.increment_ppm * len(SEATS)
        assert level.maximum_micros
        value = min(value, level.maximum_micros)
        self.expected.append(foreseen(play.controller, "T1", SEATS, value))
        return "T1", play.at("T1"), play.sequences["T1"]

    def die_at(self, instant: int, how: str, place: tuple[str, int, int]) -> int:
        """Play the winning round in a process of its own, which or whose server dies."""
        victim, starts = self.server.pid, self.server.starts

        def act() -> None:
            os.kill(os.getpid() if how == "client" else victim, signal.SIGKILL)

        def task() -> None:
            with self.server.client() as client:
                meters = Meters(client, "royal")
                controller = Controller(meters, load(self.key), process_drbg(), RULEBOOKS["MD"])
                controller.known()
                at_instant(instant, act)
                try:
                    play_winning_round(controller, *place)
                except (LinkDown, LinkSlow, Refused):
                    os._exit(BROKEN)

        code = ended_with(in_a_child(task))
        assert code in {DONE, BROKEN, -signal.SIGKILL}
        if how == "server":
            wait_for(lambda: self.server.starts > starts)
        return code

    def go_on(self, place: tuple[str, int, int]) -> None:
        """Take all steps again, as a fresh process does after the crash."""
        if not self.play.meters.is_audited():
            found = audit(self.play.meters)
            assert found.is_exact, found.problems
        play_winning_round(self.play.controller, *place)
        play_winning_round(self.play.controller, *place)
        self.play.rounds["T1"] += 1

    def die_everywhere(self, how: str, instants: int) -> int:
        """Die at one instant after the other, in a cycle each; gives how many there were."""
        for instant in range(1, instants + 1):
            place = self.prepare()
            code = self.die_at(instant, how, place)
            self.go_on(place)
            self.check()
            if how == "client" and code == DONE:
                return instant - 1
        assert how == "server", "a round without an end"
        return instants

    def check(self) -> None:
        entries = entries_of(self.play)
        assert awarded(entries) == self.expected
        assert_commitments_run_ahead(self.play.controller, entries)


def test_whatever_dies_between_two_steps_the_cycle_has_its_one_winner_and_amount(
    tmp_path: Path,
) -> None:
    """The client dies at every instant of the round that wins, then the server at every one."""
    with EmbeddedServer(tmp_path / "data") as server:
        floor = Floor(server, tmp_path)
        instants = floor.die_everywhere("client", INSTANTS_MAX)
        assert instants > 3 * 6, "a round has a message, lock, deal and end, and what they read"
        floor.die_everywhere("server", instants)
        floor.play.new_shoe("T1")
        assert_found_right(floor.play, tmp_path / "check")
        floor.client.close()
