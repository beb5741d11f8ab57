"""What players were told, against the journal: every step that was acknowledged is there once."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from device_store import Answer, Seen, Sent, Told, read_record
from floor import STAKE
from players import trigger

from meters import entries as e
from meters.link import Meters
from meters.replay import audit, imbalances, replay
from meters.state import differences

ROUND_OVER = (e.End, e.Void, e.Cancel)
SHOWN = {"awards", "reversed", "paid", "must_hit", "seats", "cycle", "value", "amount", "shoe"}


class Stores:
    """The stores of all players of a floor, read when they are done."""

    def __init__(self, folder: Path) -> None:
        self.told: dict[str, Answer] = {}
        self.sent: set[str] = set()
        self.seen: list[Seen] = []
        for path in sorted(folder.glob("*.jsonl")):
            for line in path.read_bytes().splitlines():
                self._take(read_record(line))

    def _take(self, record: object) -> None:
        if isinstance(record, Seen):
            self.seen.append(record)
        elif isinstance(record, Sent):
            self.sent.update(record.keys)
        elif isinstance(record, Told):
            for key in record.keys:
                assert key not in self.told, f"{key} was told twice"
                # A batch's messages have no entry of their own in their answers.
                self.told[key] = record.answers[0] if len(record.keys) == 1 else {}


def key_of(entry: e.AnyEntry) -> str:
    """Name a journal entry as the player does that asked for it."""
    kind = str(entry.__struct_config__.tag)
    match entry:
        case e.Seats():
            return f"{kind} {entry.device} {entry.sequence}"
        case e.Correct():
            return f"{kind} {entry.number} {entry.table} {entry.round}"
        case e.Step():
            return f"{kind} {entry.table} {entry.round}"
        case e.Shoe():
            return f"{kind} {entry.table} {entry.shoe}"
        case e.Pay():
            return f"{kind} {entry.award}"
        case e.Propose() | e.Approve():
            return f"{kind} {entry.number}"
    raise AssertionError(f"no player sends this: {entry}")


def read_journal(meters: Meters) -> list[e.AnyEntry]:
    return [e.read_entry(line) for _, line in meters.journal(1)]


def assert_exact(meters: Meters) -> None:
    """Journal and totals agree, from the first entry on and since the last balance."""
    found = audit(meters)
    assert found.is_exact, found.problems
    held = meters.snapshot()
    assert differences(replay(meters, 1, held.numbers["head"]), held) == []
    assert imbalances(held) == []


def assert_rounds_have_no_gaps(journal: Iterable[e.AnyEntry]) -> None:
    over: dict[str, int] = {}
    cycle = 0
    locks: dict[str, e.Lock] = {}
    for entry in journal:
        if not isinstance(entry, e.Step):
            continue
        assert entry.round == over.get(entry.table, 0) + 1, entry
        if isinstance(entry, e.Lock):
            locks[entry.table] = entry
        if isinstance(entry, ROUND_OVER):
            over[entry.table] = entry.round
        if isinstance(entry, e.End) and entry.must_hit:
            cycle += 1
            assert entry.must_hit.cycle == locks[entry.table].cycle == cycle
            assert locks[entry.table].value >= trigger(cycle)
    assert over
    assert cycle


def assert_told_is_the_journal(journal: list[e.AnyEntry], stores: Stores) -> None:
    """Every step that a player was told of is there once, as it was told, and nothing else is."""
    found: dict[str, e.AnyEntry] = {}
    for entry in journal:
        if not isinstance(entry, (e.Open, e.Balance)):  # the owner's
            key = key_of(entry)
            assert key not in found, f"{key} counts twice: {found[key]} and {entry}"
            found[key] = entry
    assert set(stores.told) - set(found) == set(), "told, and not in the journal"
    assert set(found) - set(stores.told) == set(), "in the journal, and nobody was told"
    for key, answer in stores.told.items():
        entry = found[key]
        assert answer.get("entry", entry.n) == entry.n, key
        for name in SHOWN & answer.keys():
            assert answer[name] == msgspec.to_builtins(getattr(entry, name)), (key, name)


def assert_players_got_what_they_were_told(
    meters: Meters, journal: list[e.AnyEntry], stores: Stores
) -> None:
    """Add up wagers, refunds and pays as the players know them, and compare with the account."""

    def told(verb: str) -> list[tuple[str, Answer]]:
        return [(key, one) for key, one in stores.told.items() if key.startswith(f"{verb} ")]

    seats = {key.removeprefix("lock "): one["seats"] for key, one in told("lock")}
    wagers = sum(map(len, seats.values()))
    refunds = sum(len(seats[key.removeprefix("void ")]) for key, _ in told("void"))
    won = [
        award
        for verb in ("deal", "correct")
        for _, one in told(verb)
        for award in one.get("awards", [])
    ]
    amounts = {award["award"]: award["amount"] for award in won}
    tray = sum(amounts[number] for _, one in told("end") for number in one.get("paid", []))
    by_one = sum(one["amount"] for _, one in told("pay"))
    by_two = sum(entry.post.get("players", 0) for entry in journal if isinstance(entry, e.Approve))
    assert wagers
    assert by_one
    assert meters.numbers()["players"] == STAKE * (refunds - wagers) + tray + by_one + by_two


def assert_all_is_as_told(meters: Meters, folder: Path) -> Stores:
    """Insist on everything at once, when all players of a floor are done."""
    stores, journal = Stores(folder), read_journal(meters)
    assert_exact(meters)
    assert_rounds_have_no_gaps(journal)
    assert_told_is_the_journal(journal, stores)
    assert_players_got_what_they_were_told(meters, journal, stores)
    return stores
