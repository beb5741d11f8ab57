"""An append-only file whose last call can be cut off at any byte, and calls of every kind."""

import shutil
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from floor import usd

from meters.calls import Call, Draw, Message, SealedShoe
from meters.link import Meters

HANDS = ("KS9H", "2C3D")
LINES = {1: "spade", 2: "heart", 3: "any_royal"}
SECRET = "aa"  # noqa: S105 - meters only carry it
Asked = Call[Any] | list[Message]


def said(table: str, sequence: int, seats: Sequence[int], round_: int = 1) -> Message:
    return Message(
        table=table, device=f"hub-{table}", epoch=1, sequence=sequence, round=round_, seats=seats
    )


def begin(meters: Meters) -> None:
    """Play until T1 has wagers and T2 is locked, so that every step finds something to do."""
    calls = meters.calls
    meters.run(calls.shoe("T1", 1, "ann"))
    meters.report([said("T1", 1, [1, 2, 3]), said("T2", 1, [1, 2])])
    meters.run(calls.lock("T2", 1, "ann", [1, 2]))


def locked(meters: Meters) -> None:
    begin(meters)
    meters.run(meters.calls.lock("T1", 1, "ann", [1, 2, 3]))


def dealt(meters: Meters) -> None:
    locked(meters)
    meters.run(meters.calls.deal("T1", 1, "ann", HANDS, LINES))


def ended(meters: Meters) -> None:
    dealt(meters)
    meters.run(end(meters))


def proposed(meters: Meters) -> None:
    ended(meters)
    body = {"level": "star", "amount_micros": usd("3.00")}
    meters.run(meters.calls.propose(1, "ann", "adjust", "test", body))


def shoe_sealed(meters: Meters) -> None:
    ended(meters)
    meters.run(meters.calls.shoe("T1", 2, "ann", sealed_shoe(2)))


def sealed_shoe(number: int) -> SealedShoe:
    last = f"secret-{number - 1}", f"salt-{number - 1}"
    return SealedShoe(
        commit=f"commit-{number}", ciphertext=f"sealed-{number}",
        last_secret=last[0], last_salt=last[1],
    )  # fmt: skip


def end(meters: Meters) -> Call[Any]:
    """End T1's round, in which seat 2 takes Must Hit."""
    due = meters.run(meters.calls.due("T1"))
    draw = Draw(seat=2, secret=SECRET, salt="bb", commit="commit-3", ciphertext="sealed-3")
    basis = due.present, due.earlier
    return meters.calls.end("T1", 1, "ann", "4H5D", decided=basis, draw=draw)


LAST: dict[str, tuple[Callable[[Meters], None], Callable[[Meters], Asked]]] = {
    "message": (begin, lambda m: m.calls.message(said("T1", 2, [1]))),
    "batch": (begin, lambda _: [said("T1", 2, [1]), said("T3", 1, [2, 4])]),
    "lock": (begin, lambda m: m.calls.lock("T1", 1, "ann", [1, 2, 3])),
    "late": (locked, lambda m: m.calls.message(said("T1", 2, [1, 2, 3, 4]))),
    "deal": (locked, lambda m: m.calls.deal("T1", 1, "ann", HANDS, LINES)),
    "correct": (
        dealt,
        lambda m: m.calls.correct(
            "T1", 1, "sue", 1, hands=("KS9D", "2C3D"), lines=LINES | {1: "star"}
        ),
    ),
    "end": (dealt, end),
    "void": (dealt, lambda m: m.calls.void("T1", 1, "sue", "misdeal")),
    "cancel": (begin, lambda m: m.calls.cancel("T1", 1, "ann", "no dealer")),
    "shoe": (ended, lambda m: m.calls.shoe("T1", 2, "ann")),
    "sealed shoe": (shoe_sealed, lambda m: m.calls.shoe("T1", 3, "ann", sealed_shoe(3))),
    "close": (ended, lambda m: m.calls.close_table("T1", "ann", "night")),
    "pay": (ended, lambda m: m.calls.pay(1, "sue")),
    "propose": (ended, lambda m: m.calls.propose(1, "ann", "pay", "test", {"award": 1})),
    "approve": (proposed, lambda m: m.calls.approve(1, "bob")),
    "reject": (proposed, lambda m: m.calls.reject(1, "bob", "no")),
    "receive": (ended, lambda m: m.calls.receive("ann", "silver", 1, "star", usd("2.00"))),
    "balance": (ended, lambda m: m.calls.balance(["T1", "T2", "T3"], "ann")),
}


def ask(meters: Meters, asked: Asked) -> list[Any]:
    """Run a call, or take a batch of messages; gives the answers as plain values."""
    given = meters.report(asked) if isinstance(asked, list) else [meters.run(asked)]
    return [msgspec.to_builtins(answer) for answer in given]


def go_on(meters: Meters) -> None:
    """Write some more, at another table."""
    due = meters.run(meters.calls.due("T2"))
    meters.run(meters.calls.deal("T2", 1, "ann", ("KD9C", "2S3S"), {1: "loss", 2: "any_royal"}))
    meters.run(meters.calls.end("T2", 1, "ann", decided=(due.present, due.earlier)))


def command_starts(record: bytes) -> list[int]:
    """Find where each command of the append-only file begins."""
    starts, at = [], 0
    while at < len(record):
        starts.append(at)
        line_end = record.index(b"\r\n", at)
        words = int(record[at + 1 : line_end])
        at = line_end + 2
        for _ in range(words):
            line_end = record.index(b"\r\n", at)
            at = line_end + 2 + int(record[at + 1 : line_end]) + 2
    return starts


def folder_of(data: Path) -> Path:
    return data / "appendonlydir"


def newest(data: Path) -> Path:
    """Find the file that the server appends to: names count up."""
    return max(folder_of(data).glob("*.incr.aof"), key=lambda path: int(path.name.split(".")[2]))


class LastCall:
    """The append-only file after a call, of which that call can be cut off."""

    def __init__(self, data: Path, do: Callable[[], list[Any]]) -> None:
        size = newest(data).stat().st_size
        self.answers = do()
        self.files = {path.name: path.read_bytes() for path in folder_of(data).iterdir()}
        self.name = newest(data).name
        self.kept, self.record = self.files[self.name][:size], self.files[self.name][size:]

    def put(self, data: Path, cut: int) -> None:
        """Put the file back as it was, with so many bytes of the last call."""
        shutil.rmtree(folder_of(data))
        folder_of(data).mkdir()
        for name, content in (self.files | {self.name: self.kept + self.record[:cut]}).items():
            (folder_of(data) / name).write_bytes(content)

    def cuts(self, every: int) -> list[int]:
        """Give the cuts: those around the edges of commands, and every so many bytes."""
        size = len(self.record)
        edges = {start + off for start in command_starts(self.record) for off in (-1, 0, 1)}
        return sorted({*range(0, size, every), *edges, size - 1, size} & {*range(size + 1)})

    def middles(self) -> list[int]:
        """Give a cut in the middle of every command."""
        edges = [*command_starts(self.record), len(self.record)]
        return [(start + after) // 2 for start, after in pairwise(edges)]
