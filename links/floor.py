"""A simulated floor: many tables, a bad network, one seed; `python -m links.floor`.

It reads its order as JSON from standard input, since keys do not belong into arguments, and writes
JSON lines: `progress` while it plays, `won` for awards, and one `result` at the end.
"""

import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TextIO

from links.books import Books, Step
from links.cage import Cage
from links.compare import differences, journal, read
from links.dealer import Dealer, Habits
from links.faults import Faults, FaultyLine
from links.http import Device, KeptLine, Line, Person
from links.hub import Hub, HubError
from links.shoe import ShoeReader
from links.table import People, StuckError, Table, persistent

THREADS: Final = 16  # at full speed; a table that waits for its players has one of its own
TELL_EVERY_S: Final = 0.1
AGAIN_S: Final = 2.0  # before a table that somebody else has touched is played on
GREET_S: Final = 5.0  # for the first answer of a controller that may not be there


@dataclass(frozen=True)
class Order:
    """What a floor is told to do; `tables` maps a table to its devices' names and keys."""

    url: str
    tables: dict[str, dict[str, dict[str, str]]]
    people: dict[str, dict[str, str]]  # as `People` names them: a token, or user and password
    seed: str = "1"
    rounds: int | None = 10  # of each table; None: until it is stopped
    speed: float = 0.0
    faults: dict[str, float] = field(default_factory=dict)
    habits: dict[str, float] = field(default_factory=dict)


class Teller:
    """Writes JSON lines, one at a time, and counts rounds."""

    def __init__(self, out: TextIO, total: int) -> None:
        self._out, self._total = out, total
        self._guard = threading.Lock()
        self._done, self._last = 0, 0.0

    def tell(self, **said: Any) -> None:  # noqa: ANN401 - JSON
        """Write a line."""
        with self._guard:
            self._out.write(json.dumps(said) + "\n")
            self._out.flush()

    def count(self) -> None:
        """Count a round; says so now and then."""
        with self._guard:
            self._done += 1
            due = time.monotonic() - self._last > TELL_EVERY_S
            self._last = time.monotonic() if due else self._last
        if due:
            self.tell(progress=self._done, of=self._total)


class Floor:
    """All tables of an order."""

    def __init__(self, order: Order, out: TextIO) -> None:
        self.order = order
        self.people = People(**{who: _person(order.url, order.people[who]) for who in order.people})
        self.line = KeptLine(order.url)
        self.teller = Teller(out, len(order.tables) * (order.rounds or 0))
        self.steps: dict[str, list[Step]] = {}
        self.problems: list[str] = []
        self.tables: list[Table] = []
        self.lines: list[FaultyLine] = []
        self.links: list[dict[str, Any]] = []
        self.before: dict[str, dict[str, Any]] = {}

    def run(self) -> dict[str, Any]:
        """Play every round, compare, and say how it went."""
        self._sit_down()
        self.before = {link["link"]: self._meters(link["link"]) for link in self.links}
        began = time.monotonic()
        threads = len(self.tables) if self.order.speed else min(THREADS, len(self.tables))
        with ThreadPoolExecutor(threads) as pool, self._cage():
            list(pool.map(self._play, (self.tables[at::threads] for at in range(threads))))
        took_s = time.monotonic() - began
        wagers = sum(self._compare(link) for link in self.links)
        self.line.close()
        for line in self.lines:
            line.close()
        return self._result(took_s, wagers)

    @contextmanager
    def _cage(self) -> Iterator[None]:
        """Have two persons pay what needs them, where there are two and a pace to do it at."""
        people, names = self.people, [link["link"] for link in self.links]
        if people.second is None or not self.order.speed:
            yield
            return
        line = KeptLine(self.order.url)
        cage = Cage(line, people.supervisor, people.second, names, self.order.speed, self.problems)
        thread = threading.Thread(target=cage.work, name="cage")
        thread.start()
        try:
            yield
        finally:
            cage.stop()
            thread.join()
            line.close()

    def _compare(self, link: dict[str, Any]) -> int:
        """Note where a link's journal and meters differ from our books; gives the wagers."""
        name = link["link"]
        before = self.before[name]
        books = Books(link, before["levels"])
        entries = journal(self.line, self.people.auditor, name, before["entry"])
        found = differences(books, self.steps[name], entries, self._meters(name))
        self.problems += [f"{name}: {each}" for each in found]
        return books.wagers

    def _result(self, took_s: float, wagers: int) -> dict[str, Any]:
        steps = [step for link in self.steps.values() for step in link]
        return {
            "tables": len(self.tables),
            "rounds": sum(step.verb in {"end", "void", "cancel"} for step in steps),
            "steps": len(steps),
            "wagers": wagers,
            "awards": sum(len(step.answer.get("awards", [])) for step in steps),
            "must_hit": sum("must_hit" in step.answer for step in steps),
            "lost": sum(line.lost for line in self.lines),
            "repeated": sum(line.repeated for line in self.lines),
            "reordered": sum(line.reordered for line in self.lines),
            "seed": self.order.seed,
            "seconds": round(took_s, 3),
            "problems": self.problems,
        }

    def _meters(self, link: str) -> dict[str, Any]:
        found: dict[str, Any] = read(self.line, self.people.auditor, f"/v1/links/{link}/meters")
        return found

    def _sit_down(self) -> None:
        """Find where every table stands, and void what somebody left unfinished."""
        auditor = self.people.auditor
        found = read(self.line, auditor, "/v1/links", give_up_s=GREET_S)["links"]
        standing = read(self.line, auditor, "/v1/tables")["tables"]
        at = {table["table"]: table for table in standing}
        self.links = [
            link
            for link in found
            if any(table["name"] in self.order.tables for table in link["tables"])
        ]
        for link in self.links:
            self.steps[link["link"]] = []
            for table in link["tables"]:
                if table["name"] in self.order.tables:
                    self._seat(link, table, self._cleared(self.line, at[table["name"]]))

    def _cleared(self, line: Line, standing: dict[str, Any]) -> dict[str, Any]:
        if standing["phase"] == "open":
            return standing
        path = f"/v1/tables/{standing['table']}/rounds/{standing['round']}/void"
        reason = {"reason": "left unfinished by an earlier simulation"}
        answer = persistent(line, self.people.supervisor, "POST", path, reason)
        if not answer.is_fine:
            raise StuckError(f"{standing['table']} cannot be cleared: {answer.code}")
        return standing | {"round": answer.json()["round"]}

    def _seat(self, link: dict[str, Any], table: dict[str, Any], standing: dict[str, Any]) -> None:
        name, order = table["name"], self.order
        devices = {kind: _device(said) for kind, said in order.tables[name].items()}
        line = FaultyLine(
            KeptLine(order.url), Faults(**order.faults), _rng(order.seed, name, "faults")
        )
        epoch = time.time_ns() // 1_000_000  # above that of any earlier simulation
        dealer = Dealer(
            table,
            standing["round"],
            standing["shoe"],
            link["terms"]["two_person_above_micros"],
            _rng(order.seed, name, "play"),
            Habits(**order.habits),
        )
        reads = "shoe" in devices
        self.lines.append(line)
        self.tables.append(
            Table(
                link["link"],
                dealer,
                Hub(name, epoch),
                devices["hub"],
                line,
                self.people,
                ShoeReader(name, epoch) if reads else None,
                devices["shoe"] if reads else None,
                order.speed,
                self._noted(link["link"]),
            )
        )

    def _noted(self, link: str) -> Any:  # noqa: ANN401 - a function of a step
        steps = self.steps[link]

        def note(step: Step) -> None:
            if self.order.rounds is not None:
                steps.append(step)
            for won in step.answer.get("awards", []):
                self.teller.tell(won=won | {"table": step.table, "round": step.round})

        return note

    def _play(self, tables: list[Table]) -> None:
        """Play some tables in turn, a round each; a table that is stuck leaves the others alone."""
        rounds = 0
        while tables and rounds != self.order.rounds:
            for table in list(tables):
                try:
                    table.play_round()
                except (StuckError, HubError) as error:
                    self.problems.append(str(error))
                    if not self._sits_again(table):
                        tables.remove(table)
                self.teller.count()
            rounds += 1

    def _sits_again(self, table: Table) -> bool:
        """Go on where somebody else has left a table, if the floor plays for people to watch."""
        if self.order.rounds is not None:
            return False
        time.sleep(AGAIN_S)
        try:
            found = read(table.line, self.people.auditor, f"/v1/tables/{table.name}")
            standing = self._cleared(table.line, found)
        except (StuckError, PermissionError) as error:
            self.problems.append(str(error))
            return False
        table.dealer.round, table.dealer.shoe_number = standing["round"], standing["shoe"]
        table.hub = Hub(table.name, time.time_ns() // 1_000_000)
        if table.reader:
            table.reader = ShoeReader(table.name, table.hub.epoch)
        return True


def _rng(seed: str, *what: str) -> random.Random:
    """Give each part a generator of its own, so that faults do not change the play."""
    return random.Random("/".join((seed, *what)))  # noqa: S311 - a simulation that can be replayed


def _device(said: dict[str, str]) -> Device:
    return Device(said["device"], bytes.fromhex(said["key"]))


def _person(url: str, said: dict[str, str]) -> Person:
    if "token" in said:
        return Person.with_token(said["token"])
    return Person.logged_in(url, said["user"], said["password"])


def main() -> None:
    """Play what standard input orders; who cannot begin says why."""
    order = Order(**json.load(sys.stdin))
    try:
        floor = Floor(order, sys.stdout)
        said: dict[str, Any] = {"result": floor.run()}
    except (StuckError, OSError, ValueError) as error:
        said = {"refused": str(error)}
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
