"""Measures the verifier: entries a second, and whether its memory depends on the log's length."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TypeVar

from journals import ROYAL_SIGNER, must_hit_level, terms_of
from redis import Redis

from meters.calls import Message
from meters.definitions import LinkDefinition, TableDefinition
from meters.errors import Refused
from meters.functions import ensure_loaded
from meters.levels import Level
from meters.link import Meters
from meters.money import MICROS
from meters.server import EmbeddedServer
from progressive.audit import verifier, writer
from progressive.audit.writer import LogWriter
from progressive.controller import Controller
from progressive.definition import draw_parameters
from progressive.draws import must_hit
from progressive.draws.process import process_drbg
from progressive.draws.vault import make
from progressive.rules.baccarat import Round, play
from progressive.rules.cards import ALL_CARDS, Card, hand
from progressive.rules.royal9 import DEFAULT_COMBINATIONS
from progressive.rules.rulebooks import RULEBOOKS

TABLES = [f"MB-{number}" for number in range(101, 121)]
SEATS = 7
SIZES = (200_000, 1_000_000)
PER_SECOND = 100_000
CARDS_LEFT_MIN = 20
BALANCE_EVERY = 50_000
SEED = 20_240_601

A = TypeVar("A")


def link() -> LinkDefinition:
    """Make a link of twenty live tables with meters as they are in practice."""
    amounts = {
        "star": (50_000, 90_000, 20_000),
        "spade": (450, 50_000, 0),
        "heart": (450, 50_000, 0),
    }
    levels = [
        Level(name, seed * MICROS, seed * MICROS, rate, reserve, 5_000_000 * MICROS, 45 * MICROS)
        for name, (seed, rate, reserve) in amounts.items()
    ]
    own = [f"K{one.face_suit}9{one.nine_suit}" for one in DEFAULT_COMBINATIONS[:SEATS]]
    return LinkDefinition(
        link="royal",
        terms=terms_of("MD-C", two_person_above_micros=10_000 * MICROS),
        levels=[*levels, must_hit_level("300.00")],
        tables=[TableDefinition(name, name, "live", SEATS, 8, own) for name in TABLES],
    )


class BusyFloor:
    """Twenty tables that play at once, in pipelines, from whole shoes."""

    def __init__(self, client: Redis, folder: Path) -> None:
        ensure_loaded(client)
        vault = make(folder / "draws.key", cycle_open=False)
        self.meters = Meters(client, "royal")
        self.controller = Controller(self.meters, vault, process_drbg(), RULEBOOKS["MD"])
        self.controller.open_link(link(), "admin")
        self.calls = self.meters.calls
        self.seating = self.controller.seating(TABLES[0])
        self.rng = Random(SEED)  # noqa: S311 - play for a benchmark
        self.shoes: dict[str, list[Card]] = {table: [] for table in TABLES}
        self.numbers = dict.fromkeys(TABLES, 0)
        self.round = 0
        self.cycle = 0
        self.trigger = 0

    def play(self) -> None:
        """Play one round at every table."""
        self.round += 1
        self._shoes()
        bets = {table: sorted(self.rng.sample(range(1, SEATS + 1), 5)) for table in TABLES}
        said = [
            Message(
                table=table,
                device=f"hub-{table}",
                epoch=1,
                sequence=self.round,
                round=self.round,
                seats=seats,
            )
            for table, seats in bets.items()
        ]
        self.meters.report(said)
        locks = [self.calls.lock(table, self.round, "dealer", bets[table]) for table in TABLES]
        locked = [_sure(answer) for answer in self.meters.run_many(locks)]
        rounds = {table: play(self._cards(table)) for table in TABLES}
        self._deal(bets, rounds)
        self._end(rounds, locked[-1].cycle, locked[-1].value)

    def _shoes(self) -> None:
        for table, shoe in self.shoes.items():
            if len(shoe) < CARDS_LEFT_MIN:
                shoe[:] = ALL_CARDS * 8
                self.rng.shuffle(shoe)
                self.numbers[table] += 1
                self.controller.new_shoe(table, self.numbers[table], "dealer")

    def _cards(self, table: str) -> Iterator[Card]:
        while True:
            yield self.shoes[table].pop()

    def _deal(self, bets: dict[str, list[int]], rounds: dict[str, Round]) -> None:
        deals = []
        for table, played in rounds.items():
            hands = "".join(played.player[:2]), "".join(played.banker[:2])
            lines = self.seating.lines(bets[table], played)
            deals.append(self.calls.deal(table, self.round, "dealer", hands, lines))
        for answer in self.meters.run_many(deals):
            _sure(answer)

    def _end(self, rounds: dict[str, Round], cycle: int, value: int) -> None:
        third = {table: "".join(one.player[2:] + one.banker[2:]) for table, one in rounds.items()}
        if cycle != self.cycle:
            self.cycle, self.trigger = cycle, self._trigger()
        if value >= self.trigger:
            for table, more in third.items():
                self.controller.end(table, self.round, "dealer", more)
            return
        ends = [
            self.calls.end(table, self.round, "dealer", more, decided=(cycle, ""))
            for table, more in third.items()
        ]
        for answer in self.meters.run_many(ends):
            _sure(answer)

    def _trigger(self) -> int:
        """Look at what only the controller may know, to tell when the slow way is needed."""
        due = self.meters.run(self.calls.due(TABLES[0]))
        cycle = must_hit.Cycle("royal", "must_hit", due.present)
        secret = self.controller.vault.open_(due.sealed, must_hit.seal_context(cycle))
        level = self.controller.known().levels["must_hit"]
        four = hand(" ".join(due.opening_cards[at : at + 2] for at in range(0, 8, 2)))
        before = must_hit.Dealt(four[:2], four[2:]) if due.opening_cards else None
        parameters = draw_parameters(level)
        return must_hit.draw_trigger(cycle, secret, parameters, due.opening, before).micros

    def settle(self) -> None:
        """Pay what is pending, and let the journal be trimmed."""
        for award in self.meters.snapshot().awards:
            if award.over and award.amount <= 10_000 * MICROS:
                self.meters.run(self.calls.pay(award.award, "sue"))
        self.meters.run(self.calls.balance(TABLES, "jobs"))


def _sure(answer: A | Refused) -> A:
    if isinstance(answer, Refused):
        raise answer
    return answer


def write_logs(folder: Path, sizes: tuple[int, ...]) -> list[Path]:
    """Play one floor, and write a log of each size from its journal."""
    logs = [folder / f"log-{size}" for size in sizes]
    for log in logs:
        writer.create(log, ROYAL_SIGNER)
    with EmbeddedServer(folder / "valkey") as server, server.client() as client:
        client.config_set("appendfsync", "no")  # what is measured is the reading, not the play
        floor = BusyFloor(client, folder)
        writers = [LogWriter(log, ROYAL_SIGNER.verifier) for log in logs]
        while writers[-1].size < sizes[-1]:
            last = writers[-1].size
            while floor.meters.numbers()["head"] < min(last + BALANCE_EVERY, sizes[-1]):
                floor.play()
            floor.settle()
            lines = [line.encode() for _, line in floor.meters.journal(last + 1)]
            for one, size in zip(writers, sizes, strict=True):
                one.append(lines[: max(0, size - one.size)])
                one.seal(ROYAL_SIGNER)
                one.close_segments(ROYAL_SIGNER)
            floor.meters.run(floor.calls.sealed(writers[-1].size))
        for one in writers:
            one.close()
    return logs


RUN = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def measure(log: Path) -> tuple[float, float, float]:
    """Run the verifier as anyone would; gives seconds, processor seconds and the peak in MB.

    A small process runs it: a child's peak begins with that of whoever starts it.
    """
    python = [sys.executable, "-I", "-S"]
    asked = [verifier.__file__, str(log), "--key", str(ROYAL_SIGNER.verifier)]
    run = [*python, "-c", RUN, *python, *asked]
    wall, processor, peak = subprocess.run(run, check=True, capture_output=True).stdout.split()
    return float(wall), float(processor), float(peak)


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Print the figures for logs of these sizes."""
    with tempfile.TemporaryDirectory() as folder:
        peaks = []
        for size, log in zip(sizes, write_logs(Path(folder), sizes), strict=True):
            wall, processor, peak = measure(log)
            peaks.append(peak)
            rate = size / wall
            print(
                f"verifier, {size:,} entries: {rate:,.0f} entries/s, {rate / PER_SECOND:.2f} x the "
                f"target ({processor / size * 1e6:.1f} us of processor time an entry, over two "
                f"processes), peak memory {peak:.0f} MB"
            )
        print(f"verifier, memory of the longest against the shortest: {peaks[-1] / peaks[0]:.2f} x")


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES)
