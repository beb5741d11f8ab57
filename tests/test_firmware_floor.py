"""The firmware as a process at a table of the real controller, over a wire that fails."""

import json
import random
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest
from controller_process import ControllerProcess, until
from hubs import (
    CORE,
    CUT_THROUGH,
    FATES,
    FIRMWARE,
    GOOD,
    HURRIED,
    SANITIZED,
    HubProcess,
    LossyWire,
    compiled,
    has_sanitizers,
)
from redis import RedisError

from meters.connect import connect
from meters.errors import Refused
from meters.replay import audit
from progressive.api.services import Services
from progressive.controller import Controller
from progressive.data_folder import DataFolder
from progressive.devices import Kind
from progressive.rules.cards import hand
from progressive.serve import services_of

STAKE_MICROS = 5_000_000
SUITS = "SHDC"  # in turn, so that no card is seen more often than the shoe has it


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hub")
    flags = SANITIZED if has_sanitizers(folder) else ["-O2"]
    return compiled(folder / "hub", [FIRMWARE / "hub.c", *CORE], [*flags, *HURRIED])


@pytest.fixture(scope="module")
def controller(
    binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControllerProcess]:
    assert binary.exists()  # without a compiler there is nothing to start it for
    found = ControllerProcess(tmp_path_factory.mktemp("up") / "data")
    found.start()
    yield found
    found.stop()


@pytest.fixture(scope="module")
def services(controller: ControllerProcess) -> Iterator[Services]:
    folder = DataFolder(controller.data)
    connection = connect(folder.address)
    yield services_of(folder, connection.client)
    connection.close()


@dataclass
class Place:
    """A table with a hub, its dealer, and what was on the felt at each lock."""

    binary: Path
    folder: Path
    port: int
    name: str
    table: str
    royal: Controller
    hub: HubProcess | None = None
    felt: set[int] = field(default_factory=set)
    locks: dict[int, list[int]] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.hub and self.hub.process.poll() is None:
            self.hub.kill()

    def provision(self, key: bytes) -> Self:
        (self.folder / "key").write_text(key.hex(), encoding="ascii")
        return self

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def power_up(self, clock: str = "0") -> HubProcess:
        seats = str(len(self.royal.known().tables[self.table].definition.combinations))
        where = "127.0.0.1", str(self.port), self.name, self.table, seats
        self.hub = HubProcess([self.binary, *where, self.folder / "key", self.store, clock])
        self.hub.sense(self.felt)
        return self.hub

    def bet(self, seats: set[int]) -> None:
        assert self.hub
        self.felt = seats
        self.hub.sense(seats)

    def wait_for_lamps(self, lamp: str, seats: set[int]) -> None:
        round_ = len(self.locks) + 1
        until(lambda: self.hub and self.hub.shows(round_, lamp, seats))

    def lock(self) -> None:
        round_ = len(self.locks) + 1
        until(lambda: done(lambda: self.royal.lock(self.table, round_, self.felt, "dina")))
        self.locks[round_] = sorted(self.felt)

    def wait_for_lamps_after_lock(self, chance: random.Random) -> None:
        """See the lock at the seats, and sometimes put a chip down too late."""
        round_ = len(self.locks)
        locked = set(self.locks[round_])
        until(lambda: self.hub and self.hub.shows(round_, "locked", locked))
        late = set(range(1, 8)) - locked
        if chance.random() < 0.5:
            self.bet(locked | late)
            until(lambda: self.hub and self.hub.shows(round_, "late", late))

    def finish(self) -> None:
        """Deal, take the chips off, and end the round."""
        round_ = len(self.locks)
        suit = SUITS[round_ % len(SUITS)]
        hands = hand(f"2{suit} 3{suit}"), hand(f"4{suit} 5{suit}")  # nobody's King-9
        until(lambda: done(lambda: self.royal.deal(self.table, round_, *hands, "dina")))
        self.bet(set())
        until(lambda: done(lambda: self.royal.end(self.table, round_, "dina")))


def done(step: Callable[[], object]) -> bool:
    """Do a step unless the store is away just now; its own repeat is harmless."""
    try:
        step()
    except Refused as refusal:
        if refusal.code != "not_audited":
            raise
        return False
    except RedisError:
        return False
    return True


Trouble = Callable[[Place, ControllerProcess], None]


def power_cut(place: Place, _: ControllerProcess) -> None:
    assert place.hub
    place.hub.kill()
    place.power_up()


def store_lost(place: Place, _: ControllerProcess) -> None:
    assert place.hub
    place.hub.kill()
    place.store.unlink(missing_ok=True)
    place.power_up()


def old_store(place: Place, _: ControllerProcess) -> None:
    """Bring back what was in the store some messages ago."""
    assert place.hub
    old = place.folder / "old"
    shutil.copy(place.store, old)
    before = place.store.read_bytes()
    until(lambda: place.store.read_bytes() != before)
    place.hub.kill()
    old.replace(place.store)
    place.power_up()


def clock_lost(place: Place, _: ControllerProcess) -> None:
    assert place.hub
    place.hub.kill()
    place.power_up(clock="none")


def api_killed(_: Place, controller: ControllerProcess) -> None:
    controller.kill("api")


def valkey_killed(_: Place, controller: ControllerProcess) -> None:
    controller.kill("valkey")


TROUBLES: tuple[Trouble, ...] = (
    power_cut, api_killed, store_lost, clock_lost, valkey_killed, old_store,
)  # fmt: skip


def contributed(royal: Controller, locks: dict[int, list[int]]) -> dict[str, int]:
    """Work out what the meters must have taken in from what was on the felt."""
    wagers = sum(map(len, locks.values()))
    levels = royal.known().levels.values()
    return {
        level.name: wagers * STAKE_MICROS * level.increment_ppm // 1_000_000 for level in levels
    }


def locked_in_journal(royal: Controller, table: str) -> dict[int, list[int]]:
    entries = (json.loads(line) for _, line in royal.meters.journal(1))
    return {
        entry["round"]: entry["seats"]
        for entry in entries
        if entry["k"] == "lock" and entry["table"] == table
    }


def test_every_wager_is_counted_once_whatever_fails(
    binary: Path, controller: ControllerProcess, services: Services, tmp_path: Path
) -> None:
    seed = secrets.randbelow(2**32)
    print(f"seed {seed}")  # noqa: T201 - to play it again
    chance = random.Random(seed)  # noqa: S311 - chance, not secrecy
    royal = services.controllers["royal"]
    key = services.devices.add("hub-101", Kind.HUB, ["MB-101"], "tess")
    before = royal.meters.numbers()
    wire = LossyWire(controller.port, random.Random(seed))  # noqa: S311 - chance, not secrecy
    at_table = Place(binary, tmp_path, wire.port, "hub-101", "MB-101", royal)
    with wire.open(), at_table.provision(key) as place:
        place.power_up()
        for trouble in (*TROUBLES, *chance.sample(TROUBLES, len(TROUBLES))):
            seats = sorted(chance.sample(range(1, 8), chance.randint(1, 5)))
            place.bet({seats[0]})
            trouble(place, controller)
            place.bet(set(seats))
            place.wait_for_lamps("accepted", set(seats))
            place.lock()
            place.wait_for_lamps_after_lock(chance)
            place.finish()
        assert place.hub
        assert place.hub.epoch >= 3  # the store was lost twice
        place.hub.stop()
    assert all(wire.fates[fate] for fate in FATES), wire.fates
    assert locked_in_journal(royal, "MB-101") == place.locks
    numbers = royal.meters.numbers()
    taken = {
        level: numbers[f"{level}.in"] - before[f"{level}.in"] for level in royal.known().levels
    }
    assert taken == contributed(royal, place.locks)
    assert audit(royal.meters).is_exact


def test_a_wrong_clock_is_set_by_the_signed_refusal(
    binary: Path, controller: ControllerProcess, services: Services, tmp_path: Path
) -> None:
    royal = services.controllers["royal"]
    key = services.devices.add("hub-102", Kind.HUB, ["MB-102"], "tess")
    for number, clock in enumerate(("none", "7200000", "-86400000")):
        (folder := tmp_path / str(number)).mkdir()
        at_table = Place(binary, folder, controller.port, "hub-102", "MB-102", royal)
        with at_table.provision(key) as place:
            hub = place.power_up(clock)
            place.bet({1 + number, 9})
            place.wait_for_lamps("accepted", {1 + number, 9})
            assert "clock_skew" in hub.codes
            hub.stop()


def test_a_cut_wire_shows_link_down_and_loses_no_wager(
    binary: Path, controller: ControllerProcess, services: Services, tmp_path: Path
) -> None:
    royal = services.controllers["royal"]
    key = services.devices.add("hub-201", Kind.HUB, ["DA-201"], "tess")
    wire = LossyWire(controller.port, random.Random(1), GOOD)  # noqa: S311 - it has no choice
    at_table = Place(binary, tmp_path, wire.port, "hub-201", "DA-201", royal)
    with wire.open(), at_table.provision(key) as place:
        hub = place.power_up()
        place.bet({1, 2})
        place.wait_for_lamps("accepted", {1, 2})
        wire.weights = CUT_THROUGH
        until(lambda: hub.is_down)
        place.bet({2, 3})
        wire.weights = GOOD
        place.wait_for_lamps("accepted", {2, 3})
        hub.stop()


def test_a_hub_with_its_last_key_goes_on_until_the_next_rotation(
    binary: Path, controller: ControllerProcess, services: Services, tmp_path: Path
) -> None:
    royal = services.controllers["royal"]
    key = services.devices.add("hub-301", Kind.HUB, ["AU-301"], "tess")
    at_table = Place(binary, tmp_path, controller.port, "hub-301", "AU-301", royal)
    with at_table.provision(key) as place:
        hub = place.power_up()
        services.devices.rotate("hub-301", "tess")
        place.bet({4})
        place.wait_for_lamps("accepted", {4})
        services.devices.rotate("hub-301", "tess")
        until(lambda: hub.is_down and hub.code == "wrong_signature")
        services.devices.revoke("hub-301", "tess")
        until(lambda: hub.code == "revoked_device")
        hub.stop()
