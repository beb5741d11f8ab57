"""Servers and clients killed at any instant: every acknowledged step is there, and there once."""

import logging
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from floor import opened, small_link
from players import Pit, errors_of, start
from redis import ConnectionError as LinkDown
from redis import Redis
from servers import BINARIES, BOTH, wait_for
from told import assert_all_is_as_told

from meters.answers import Entered
from meters.calls import Call, Message
from meters.errors import Refused
from meters.functions import source
from meters.link import Meters
from meters.replay import audit
from meters.server import EmbeddedServer

PITS = 4
TABLES = [f"T{number}" for number in range(1, 2 * PITS + 1)]
ENTRIES_BETWEEN_MAX = 40
BALANCE_EVERY = 10  # kills
# To open a link again changes nothing, to vouch for it is the auditor's own call, and the sealer is
# told where it stands.
ALLOWED = {"pm_open", "pm_audited", "pm_sealed"}
ENTERED = msgspec.json.Decoder(Entered)
STEPS = 10**9  # more than they get to
HOWS = ("server", "server", "server", "player", "player", "both", "closed", "auditing", "starting")


def refusals(client: Redis) -> int:
    told: dict[str, dict[str, int]] = client.info("errorstats")
    return told.get("errorstat_REFUSED", {}).get("count", 0)


class Floor:
    """A server and players that are killed, and an owner who audits after every start."""

    def __init__(self, server: EmbeddedServer, folder: Path, seed: int) -> None:
        self.server = server
        self.folder = folder
        self.chance = random.Random(seed)  # noqa: S311 - a test's own randomness
        self.office = server.client()  # the owner's, opened before the first kill and kept
        self.meters = opened(self.office, small_link(tables=TABLES))
        self.kills = 0
        pits = [Pit(folder, f"pit{at}", str(seed), tuple(TABLES[at::PITS])) for at in range(PITS)]
        self.players = {pit: start(server.address, pit, STEPS) for pit in pits}

    def kill(self, how: str) -> None:
        """Kill something now; the link is open again when this returns."""
        self._let_an_instant_pass()
        pit = self.chance.choice(list(self.players))
        if how in {"player", "both"}:
            self.players[pit].kill()
            self.players[pit].wait()
            self.kills += 1
        if how != "player":
            self._kill_server(how)
        if how in {"player", "both"}:
            self.players[pit] = start(self.server.address, pit, STEPS)
        self._reopen(kill_at=self.chance.random() if how == "auditing" else None)

    def _let_an_instant_pass(self) -> None:
        goal = self._head() + self.chance.randrange(ENTRIES_BETWEEN_MAX)
        wait_for(lambda: self._head() >= goal or not self._all_play())
        assert self._all_play(), errors_of(self.folder)
        time.sleep(self.chance.random() / 500)  # anywhere within a call

    def _head(self) -> int:
        return self.meters.numbers()["head"]

    def _all_play(self) -> bool:
        return all(player.poll() is None for player in self.players.values())

    def _kill_server(self, how: str) -> None:
        known, starts = self.server.pid, self.server.starts
        self._end_server(known)
        if how == "starting":
            wait_for(lambda: self.server.pid != known)
            time.sleep(self.chance.random() / 20)
            self._end_server(self.server.pid)
        wait_for(lambda: self.server.starts > starts)
        if how == "closed":
            starts = self.server.starts
            self._end_server(self.server.pid)
            wait_for(lambda: self.server.starts > starts)

    def _end_server(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        self.kills += 1

    def _reopen(self, kill_at: float | None) -> None:
        """Audit as the owner does, after seeing that nobody gets anything written before."""
        while True:
            try:
                self._assert_closed()
                if self._is_exact(kill_at):
                    return
            except LinkDown:
                wait_for(self.server.is_alive)
            else:
                kill_at = None

    def _assert_closed(self) -> None:
        if self.meters.is_audited():
            return  # only a player was killed
        head, before = self._head(), refusals(self.office)
        with pytest.raises(Refused, match="not_audited"):
            self.meters.run(self.meters.calls.balance(TABLES, "owner"))
        wait_for(lambda: refusals(self.office) > before + PITS)
        assert self._head() == head
        assert not self.meters.is_audited()

    def _is_exact(self, kill_at: float | None) -> bool:
        """Audit; where it is to be killed in the middle, it does not open the link."""

        def progress(done: int, entries: int) -> None:
            if kill_at is not None and done == 1 + int(kill_at * entries):
                self._end_server(self.server.pid)

        try:
            found = audit(self.meters, progress=progress)
        except LinkDown:
            assert kill_at is not None
            return False
        assert found.is_exact, found.problems
        return True

    def close(self) -> None:
        """Let every player finish its round."""
        (self.folder / "stop").touch()
        for player in self.players.values():
            assert player.wait(60) == 0, errors_of(self.folder)


@contextmanager
def playing(kind: str, folder: Path, seed: int) -> Iterator[Floor]:
    with EmbeddedServer(folder / "data", binary=BINARIES[kind]) as server:
        floor = Floor(server, folder, seed)
        try:
            yield floor
        finally:
            for player in floor.players.values():
                player.kill()
                player.wait()
            floor.office.close()


def play_and_kill(kind: str, folder: Path, kills: int) -> None:
    seed = random.randrange(10**9)  # noqa: S311 - a test's own randomness
    print("seed", seed)  # noqa: T201 - to repeat it
    with playing(kind, folder, seed) as floor:
        hows: list[str] = []
        while floor.kills < kills:
            hows = hows or floor.chance.sample(HOWS, len(HOWS))
            floor.kill(hows.pop())
            if floor.chance.random() < 1 / BALANCE_EVERY:
                floor.meters.run(floor.meters.calls.balance(TABLES, "owner"))
        floor.close()
        floor.server.restart()
        with floor.server.client() as client:
            stores = assert_all_is_as_told(Meters(client, "royal"), folder)
    assert sum(seen.down for seen in stores.seen), "no player met a dead server"
    assert sum(seen.closed for seen in stores.seen), "no player met a closed link"


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Leave out what the server's keeper says about every kill."""
    caplog.set_level(logging.CRITICAL, "meters.server")


@pytest.mark.parametrize("kind", BOTH)
def test_whatever_is_killed_every_acknowledged_step_is_there_once(
    kind: str, tmp_path: Path
) -> None:
    play_and_kill(kind, tmp_path, 24)


@pytest.mark.long
@pytest.mark.parametrize("kind", BOTH)
def test_hundreds_of_kills_lose_and_repeat_nothing(kind: str, tmp_path: Path) -> None:
    play_and_kill(kind, tmp_path, 220)


def writing_calls(meters: Meters) -> dict[str, Call[Any]]:
    """Give a call of every writing function, by the function's name."""
    calls, hands = meters.calls, ("KS9H", "2C3D")
    said = Message(table="T1", device="hub", epoch=1, sequence=1, round=1, seats=[1])
    table, site = calls.keys.step("T1")[:3], ("{site}:site", "{site}:journal")
    given: list[Call[Any]] = [
        calls.message(said),
        calls.messages([said]),
        calls.lock("T1", 1, "ann", []),
        calls.deal("T1", 1, "ann", hands, {}),
        calls.correct("T1", 1, "ann", 1, hands=hands, lines={}),
        calls.end("T1", 1, "ann"),
        calls.void("T1", 1, "ann", "misdeal"),
        calls.cancel("T1", 1, "ann", "no dealer"),
        calls.shoe("T1", 1, "ann"),
        calls.close_table("T1", "ann", "night"),
        calls.open_table("T1", "ann", "day"),
        calls.pay(1, "ann"),
        calls.propose(1, "ann", "adjust", "test", {}),
        calls.approve(1, "bob"),
        calls.reject(1, "bob", "test"),
        calls.receive("ann", "silver", 1, "star", 1),
        calls.cleared("ann", "silver", 1),
        calls.balance(TABLES, "ann"),
        Call("pm_card", table, ("reader", 1, 1, 1, "KS"), ENTERED),
        Call("pm_record", site, (2, "ann", "start", "{}"), ENTERED),
    ]
    return {call.function: call for call in given}


def functions_that_write(client: Redis) -> set[str]:
    [library] = client.function_list("progressive_meters")
    told = dict(zip(library[::2], library[1::2], strict=True))
    functions = [dict(zip(one[::2], one[1::2], strict=True)) for one in told["functions"]]
    return {one["name"] for one in functions if "no-writes" not in one["flags"]}


def assert_nothing_is_written(meters: Meters) -> None:
    calls = writing_calls(meters)
    writing = functions_that_write(meters.client) - ALLOWED
    assert writing <= calls.keys(), "a function that no call is known of"
    before, head = meters.snapshot(), meters.numbers()["head"]
    for function in sorted(writing):
        with pytest.raises(Refused) as refused:
            meters.run(calls[function])
        assert refused.value.code == "not_audited", function
    meters.run(meters.calls.sealed(head))
    assert len(list(meters.journal(1))) == head, "the journal was trimmed"
    assert meters.snapshot() == before
    assert not meters.is_audited()


@pytest.mark.parametrize("kind", BOTH)
def test_after_a_restart_no_function_writes_until_the_link_is_audited(
    kind: str, tmp_path: Path
) -> None:
    with EmbeddedServer(tmp_path, binary=BINARIES[kind]) as server, server.client() as before:
        meters = opened(before, small_link(tables=TABLES))
        meters.run(writing_calls(meters)["pm_record"]._replace(args=(1, "ann", "start", "{}")))
        meters.run(meters.calls.balance(TABLES, "ann"))
        os.kill(server.pid, signal.SIGKILL)
        wait_for(lambda: server.starts == 2)
        assert_nothing_is_written(meters)  # its client connects again without a word
        with server.client() as newcomer:
            assert_nothing_is_written(Meters(newcomer, "royal"))
            assert audit(Meters(newcomer, "royal")).is_exact
        meters.run(meters.calls.lock("T1", 1, "ann", []))
        before.function_load(source(), replace=True)
        assert_nothing_is_written(meters)
        assert audit(meters).is_exact
        meters.run(meters.calls.deal("T1", 1, "ann", ("KS9H", "2C3D"), {}))


@pytest.mark.parametrize("kind", BOTH)
def test_an_audit_of_before_a_restart_does_not_open_the_link_after_it(
    kind: str, tmp_path: Path
) -> None:
    with EmbeddedServer(tmp_path, binary=BINARIES[kind]) as server, server.client() as client:
        meters = opened(client)
        client.function_load(source(), replace=True)

        def restart(_done: int, _entries: int) -> None:
            os.kill(server.pid, signal.SIGKILL)
            wait_for(lambda: server.starts == 2)

        with pytest.raises(Refused, match="restarted"):
            audit(meters, progress=restart)
        assert not meters.is_audited()
        assert audit(meters).is_exact
        assert meters.is_audited()
