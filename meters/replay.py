"""Replay and audit: every entry is worked out again, and must come to what Valkey holds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from meters import model
from meters.entries import AnyEntry, Balance, Open, read_entry
from meters.errors import Refused
from meters.link import Meters
from meters.state import GROWING, PARTS, State, differences, read_state

Progress = Callable[[int, int], None]  # entries done, entries in all


@dataclass(frozen=True)
class Audit:
    """What an audit found: the entries it replayed, and the problems, first of all the first."""

    link: str
    first: int
    head: int
    problems: list[str] = field(default_factory=list)

    @property
    def is_exact(self) -> bool:
        """Whether journal and totals agree to the micro-dollar."""
        return not self.problems


class ReplayError(Exception):
    """The first entry that is not what the entries before it lead to."""


def replay(meters: Meters, first: int, last: int, progress: Progress | None = None) -> State:
    """Work out the state from the journal, beginning at its opening or at a balance."""
    state: State | None = None
    expected = first
    for number, line in meters.journal(first, last):
        if number != expected:
            raise ReplayError(f"entry {expected} is missing: the next one is {number}")
        entry = _read(number, line)
        state = _begin(entry) if state is None else _go_on(state, entry)
        expected += 1
        if progress:
            progress(number - first + 1, last - first + 1)
    if state is None or expected <= last:
        raise ReplayError(f"the journal ends before entry {expected}, the link is at {last}")
    return state


def _read(number: int, line: str) -> AnyEntry:
    try:
        entry = read_entry(line)
    except ValueError as error:
        raise ReplayError(f"entry {number} cannot be read: {error}") from None
    if entry.n != number:
        raise ReplayError(f"entry {number} says that it is entry {entry.n}")
    return entry


def _begin(entry: AnyEntry) -> State:
    if isinstance(entry, Balance):
        state = read_state(entry.state)
        if state.numbers["head"] != entry.n - 1:
            raise ReplayError(f"entry {entry.n}: the balance is of another entry")
        model.step(state, entry)
        return state
    if isinstance(entry, Open) and entry.n == 1:
        state, again = model.begin(entry)
        _compare(entry, again)
        return state
    raise ReplayError(f"entry {entry.n} is neither an opening nor a balance: nothing to begin with")


def _go_on(state: State, entry: AnyEntry) -> State:
    try:
        again = model.step(state, entry)
    except (Refused, AssertionError, KeyError, ValueError) as error:
        raise ReplayError(f"entry {entry.n} could not have happened: {error}") from None
    _compare(entry, again)
    return state


def _compare(entry: AnyEntry, again: AnyEntry) -> None:
    if entry != again:
        raise ReplayError(f"entry {entry.n} should be {again!r}, but is {entry!r}")


def imbalances(state: State) -> list[str]:
    """Check the sums that hold at all times: zero over all accounts, and each meter's identity."""
    numbers = state.numbers
    accounts = [*GROWING, *(f"{level}.{part}" for level in state.levels for part in PARTS)]
    total = sum(numbers[account] for account in accounts)
    problems = [f"the accounts sum to {total} micro-dollars, not to zero"] if total else []
    for level in state.levels:
        held = numbers[f"{level}.meter"] + numbers[f"{level}.overflow"]
        come = numbers[f"{level}.resets"] + numbers[f"{level}.in"] + numbers[f"{level}.moved"]
        if held != come - numbers[f"{level}.wins"]:
            problems.append(
                f"{level}: meter and overflow hold {held}, their history says otherwise"
            )
    pending = sum(award.amount for award in state.awards)
    owed = numbers["fixed.pending"] + sum(numbers[f"{level}.pending"] for level in state.levels)
    if pending != owed:
        problems.append(f"pending awards come to {pending}, their accounts to {owed}")
    return problems


def _side_records(meters: Meters, state: State) -> list[str]:
    """Check what lies beside the state: the index of locked rounds, and the sealed secrets."""
    client, keys = meters.client, meters.calls.keys
    open_rounds = {
        f"{name} {table.round} {table.cycle} {table.value}"
        for name, table in state.tables.items()
        if table.lock and table.locked and table.cycle
    }
    indexed = set(cast("list[str]", client.zrange(keys.locked, 0, -1)))
    problems = []
    if indexed != open_rounds:
        problems.append(f"locked rounds are indexed as {indexed}, the tables have {open_rounds}")
    sealed = set(cast("list[str]", client.hkeys(keys.secrets)))
    shoes = {f"shoe:{name}" for name, table in state.tables.items() if table.commit}
    if sealed != {*state.commits, *shoes}:
        problems.append(f"secrets are kept of {sealed}, committed are {state.commits} and {shoes}")
    return problems


def audit(meters: Meters, sealed: int = 0, progress: Progress | None = None) -> Audit:
    """Replay since the last balance and compare; where all is exact, open the link for steps.

    `sealed` is how many entries the seal holds: a server that is behind it stays closed.
    """
    start = meters.start()
    held = meters.snapshot()
    head = held.numbers["head"]
    first = held.numbers["balance"] or 1
    problems: list[str] = []
    if head < sealed:
        problems.append(
            f"the seal holds {sealed} entries and this server {head}: it is behind its seal. "
            "Restore the newest data; do not go on from here"
        )
    try:
        replayed = replay(meters, first, head, progress)
    except ReplayError as error:
        problems.append(str(error))
    else:
        problems += differences(replayed, held)
        last = next(iter(_last_entry(meters)), head)
        if last != head and not meters.is_audited():
            problems.append(f"the journal goes on to entry {last}, the link is at {head}")
    problems += imbalances(held)
    if not meters.is_audited():
        problems += _side_records(meters, held)
    if not problems and not meters.is_audited():
        meters.run(meters.calls.audited(head, start))
    return Audit(meters.link, first, head, problems)


def _last_entry(meters: Meters) -> list[int]:
    found = meters.client.xrevrange(meters.calls.keys.journal, count=1)
    return [int(name.split("-")[0]) for name, _ in cast("list[tuple[str, object]]", found)]
