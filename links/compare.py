"""Compares what the floor did with what the controller says, to the micro-dollar."""

from collections.abc import Iterable
from typing import Any

from links.books import TOLD, Books, Step
from links.http import Line, Person
from links.table import GIVE_UP_S, persistent

PAGE = 500
# Entries that move no money and that the floor need not know by number.
OF_DEVICES = frozenset({"seats", "late", "card", "balance"})


def read(line: Line, person: Person, path: str, *, give_up_s: float = GIVE_UP_S) -> Any:  # noqa: ANN401 - what the API answers
    """Read something that must be there."""
    answer = persistent(line, person, "GET", path, give_up_s=give_up_s)
    if not answer.is_fine:
        raise PermissionError(f"{path}: {answer.code}")
    return answer.json()


def journal(line: Line, person: Person, link: str, after: int) -> Iterable[dict[str, Any]]:
    """Read a link's journal after an entry, page by page."""
    at: int | None = after
    while at is not None:
        page = read(line, person, f"/v1/links/{link}/journal?after={at}&limit={PAGE}")
        yield from page["entries"]
        at = page.get("next")


def differences(
    books: Books, steps: list[Step], entries: Iterable[dict[str, Any]], meters: dict[str, Any]
) -> list[str]:
    """Name everything in which a link's journal and meters are not what the floor's books say."""
    expected = books.take(steps)
    found = [*books.problems, *_entries(expected, entries, books)]
    for row in meters["levels"]:
        own = books.meters[row["level"]]
        for name in TOLD:
            ours, theirs = getattr(own, name), row[name]
            if ours != theirs:
                found.append(f"{own.name}: {name} should be {ours}, the controller says {theirs}")
    return found


def _entries(
    expected: dict[int, dict[str, int]], entries: Iterable[dict[str, Any]], books: Books
) -> list[str]:
    found = []
    totals: dict[str, int] = {}
    missing = dict(expected)
    for entry in entries:
        number, posted = entry["n"], entry.get("post", {})
        for account, amount in posted.items():
            totals[account] = totals.get(account, 0) + amount
        if number not in expected:
            if entry["k"] not in OF_DEVICES:
                found.append(f"entry {number}: {entry['k']} was not acknowledged to this floor")
            continue
        if posted != missing.pop(number):
            found.append(f"entry {number}: {posted}, should post {expected[number]}")
    found += [f"entry {number} was acknowledged and is not in the journal" for number in missing]
    for account in sorted({*totals, *books.accounts}):
        ours, theirs = books.accounts.get(account, 0), totals.get(account, 0)
        if ours != theirs:
            found.append(f"{account}: should have moved {ours}, the journal says {theirs}")
    return found
