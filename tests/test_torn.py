"""The append-only file torn at any byte of its last call: the link opens exact, or stays closed."""

import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from floor import COMMITS, opened, small_link
from redis import Redis
from servers import BINARIES, BOTH, ON_REDIS, answers, wait_for
from torn_file import LAST, LastCall, ask, go_on

from meters.address import parse_address
from meters.client import open_single
from meters.entries import AnyEntry, Balance, read_entry
from meters.errors import Refused
from meters.functions import ensure_loaded
from meters.link import Meters
from meters.replay import audit, imbalances
from meters.server import Change, EmbeddedServer
from meters.state import State, differences, read_state

LANES = 6  # servers side by side: most of a start is waiting
EVERY = 7  # bytes, where not every byte is tried
WAIT_S = 60.0
Rows = list[tuple[str, dict[str, str]]]


class Torn(LastCall):
    """A link's last call, and the link before and after it."""

    def __init__(self, meters: Meters, data: Path, last: str) -> None:
        prepare, call = LAST[last]
        prepare(meters)
        self.last = last
        self.call = call(meters)
        self.before = meters.snapshot()
        super().__init__(data, lambda: ask(meters, self.call))
        self.after = meters.snapshot()

    def state(self, cut: int) -> State:
        """Give the state that is to be found after this cut."""
        return self.after if cut == len(self.record) else self.before


class Lane:
    """A server that crashes with a torn file as often as it is asked to, and is brought back."""

    def __init__(self, kind: str, data: Path, last: str) -> None:
        self.up = threading.Event()
        self.cut: int | None = None
        self.server = EmbeddedServer(data, binary=BINARIES[kind], on_change=self._changed)
        self.server.start()
        with self.server.client() as client:
            self.torn = Torn(opened(client), self.server.folder, last)

    def _changed(self, change: Change) -> None:
        if change == Change.DOWN and self.cut is not None:
            self.torn.put(self.server.folder, self.cut)
        if change == Change.UP:
            self.up.set()

    @contextmanager
    def crashed(self, cut: int | None = None) -> Iterator[Meters]:
        """Crash, tearing the file if so asked, and give the link as it is found then."""
        self.cut = cut
        self.up.clear()
        os.kill(self.server.pid, signal.SIGKILL)
        assert self.up.wait(WAIT_S), self.server.failure
        with self.server.client() as client:
            yield Meters(client, "royal")

    def tear(self, cut: int, *, twice: bool) -> None:
        torn = self.torn
        with self.crashed(cut) as meters:
            with pytest.raises(Refused, match="not_audited"):
                ask(meters, torn.call)
            assert_opens_as(meters, torn.state(cut))
            if not twice:
                return
            if cut < len(torn.record) or torn.last != "balance":  # a balance is no step
                assert_same(ask(meters, torn.call), torn.answers)
            assert_same_but_time(meters.snapshot(), torn.after)
            go_on(meters)
            last = meters.snapshot()
        with self.crashed() as meters:
            assert_opens_as(meters, last)

    def close(self) -> None:
        os.kill(self.server.pid, signal.SIGKILL)
        self.server.stop()


def assert_opens_as(meters: Meters, state: State) -> None:
    found = audit(meters)
    assert found.is_exact, found.problems
    held = meters.snapshot()
    assert differences(held, state) == []
    assert imbalances(held) == []
    assert meters.is_audited()


def assert_same(again: list[Any], first: list[Any]) -> None:
    """A repeat is answered as the first call was; devices and other links are told it is one."""
    for ours, theirs in zip(again, first, strict=True):
        if ours.get("result") == "duplicate":
            told = {name: value for name, value in ours.items() if value}
            assert told.items() <= (theirs | {"result": "duplicate"}).items()
        else:
            assert ours == theirs


def assert_same_but_time(held: State, state: State) -> None:
    def timeless(one: State) -> State:
        one = one.copy()
        one.numbers["time"] = 0
        for award in one.awards:
            award.time = 0
        return one

    assert differences(timeless(held), timeless(state)) == []


def tear(kind: str, last: str, folder: Path, every: int, *, twice_every: int) -> int:
    """Tear the last call at these bytes, on several servers side by side; tells how often."""

    def work(lane_number: int) -> int:
        lane = Lane(kind, folder / f"{lane_number}", last)
        try:
            twice = set(lane.torn.cuts(twice_every))
            cuts = lane.torn.cuts(every)[lane_number::LANES]
            for cut in cuts:
                lane.tear(cut, twice=cut in twice)
            return len(cuts)
        finally:
            lane.close()

    with ThreadPoolExecutor(LANES) as lanes:
        return sum(lanes.map(work, range(LANES)))


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Leave out what the server's keeper says about every crash."""
    caplog.set_level(logging.CRITICAL, "meters.server")


@pytest.mark.parametrize("kind", BOTH)
def test_a_call_torn_at_any_byte_is_as_if_it_had_never_been(kind: str, tmp_path: Path) -> None:
    assert tear(kind, "pay", tmp_path, 1, twice_every=EVERY) > 500


@pytest.mark.long
@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("kind", BOTH)
def test_every_call_torn_at_any_byte_is_as_if_it_had_never_been(
    kind: str, last: str, tmp_path: Path
) -> None:
    assert tear(kind, last, tmp_path, 1, twice_every=EVERY) > 300


@pytest.mark.parametrize("kind", BOTH)
def test_a_link_whose_opening_is_torn_is_opened_anew(kind: str, tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path, binary=BINARIES[kind], supervise=False).start()
    meters = Meters(server.client(), "royal")
    ensure_loaded(meters.client)
    call = meters.calls.open_link(small_link(), "boss", COMMITS)
    opening = LastCall(tmp_path, lambda: ask(meters, call))
    for cut in opening.middles():
        os.kill(server.pid, signal.SIGKILL)
        server.stop()
        opening.put(tmp_path, cut)
        server.start()
        assert meters.client.keys() == []
        assert ask(meters, call) == opening.answers
        assert audit(meters).is_exact
    meters.client.close()
    server.stop()


@contextmanager
def plain_redis(data: Path) -> Iterator[Redis]:
    """Run Redis as it comes, but for its append-only file; kill it in the end."""
    socket = data / "plain.sock"
    socket.unlink(missing_ok=True)
    arguments = ("--port", "0", "--unixsocket", socket, "--dir", data, "--save", "")
    durable = ("--appendonly", "yes", "--appendfsync", "always")
    with (data / "log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - Debian's program
            [BINARIES["redis"] or "", *arguments, *durable], stdout=log
        )
    try:
        with open_single(parse_address(f"unix://{socket}")) as client:
            wait_for(partial(answers, client))
            yield client
    finally:
        process.kill()
        process.wait()


def untimed(line: str) -> tuple[AnyEntry, State | None]:
    """Read an entry but for its time; a balance's state lists things in any order."""
    entry = msgspec.structs.replace(read_entry(line), t=0)
    if not isinstance(entry, Balance):
        return entry, None
    return msgspec.structs.replace(entry, state=msgspec.Raw()), read_state(entry.state)


def everything(client: Redis) -> dict[str, Any]:
    """Read all that the server holds, also what is kept for repeats, but for entries' times."""
    readers: dict[str, Callable[[str], Any]] = {
        "hash": client.hgetall,
        "zset": lambda key: client.zrange(key, 0, -1, withscores=True),
        "stream": lambda key: [
            untimed(fields["e"]) for _, fields in cast("Rows", client.xrange(key))
        ],
    }
    return {key: readers[str(client.type(key))](key) for key in sorted(map(str, client.keys()))}


def half_comes_back(data: Path, torn: Torn, cut: int, *, repeated: bool) -> bool:
    """Tear, restart, write and restart on plain Redis; tells whether the audit closed the link."""
    torn.put(data, cut)
    with plain_redis(data) as client:
        meters = Meters(client, "royal")
        assert_opens_as(meters, torn.before)  # nothing is wrong yet
        if repeated:
            ask(meters, torn.call)
        go_on(meters)
        held = everything(client)
    with plain_redis(data) as client:
        meters = Meters(client, "royal")
        found = audit(meters)
        if found.is_exact:
            assert everything(client) == held, "the audit missed something"
            return False
        assert not meters.is_audited()
        with pytest.raises(Refused, match="not_audited"):
            ask(meters, torn.call)
        return True


def closed_by_audit(data: Path, last: str) -> list[bool]:
    """Tear in the middle of every command of a call, on plain Redis."""
    data.mkdir()
    with plain_redis(data) as client:
        torn = Torn(opened(client), data, last)
    return [
        half_comes_back(data, torn, cut, repeated=repeated)
        for cut in torn.middles()
        for repeated in (False, True)
    ]


@ON_REDIS
@pytest.mark.parametrize("last", LAST)
def test_on_plain_redis_half_a_call_comes_back_and_the_audit_keeps_the_link_closed(
    last: str, tmp_path: Path
) -> None:
    assert any(closed_by_audit(tmp_path / "data", last))
