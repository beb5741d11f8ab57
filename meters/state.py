"""The state of a link: what Valkey holds of it, and what a replay of its journal comes to."""

from typing import Any

import msgspec

from meters.definitions import TableDefinition, Terms
from meters.levels import Level

GROWING = ("players", "house", "fixed.pending", "transit")
PARTS = ("meter", "reserve", "overflow", "pending")
COUNTS = ("in", "hits", "wins", "added", "resets", "moved")
NO_CARDS = "0" * 52


class Award(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A pending award."""

    award: int
    table: str
    round: int
    seat: int
    line: str
    kind: str  # full, share, fixed, must_hit, addition
    amount: int
    entry: int
    time: int
    level: str | None = None
    added: int = 0
    from_reserve: int = 0
    from_house: int = 0
    over: bool = False  # its round is over: it may be paid
    hand: bool = False  # found after its round
    next: int | None = None  # the level's first later award, to which a reversal goes
    next_at: tuple[str, int, int] | None = None
    of: int | None = None  # an addition: the paid award that it adds to


class Proposal(msgspec.Struct, forbid_unknown_fields=True):
    """An open proposal; its body is JSON as it was given."""

    number: int
    by: str
    what: str
    reason: str
    body: str
    entry: int


class Table(msgspec.Struct, forbid_unknown_fields=True):
    """A table: where its round stands."""

    definition: TableDefinition = msgspec.field(name="def")
    places: int
    decks: int
    round: int = 1
    seats: int = 0  # masks: seat 1 is bit 0
    late: int = 0
    locked: int = 0
    lock: int = 0  # entry of the round's lock
    cycle: int = 0
    value: int = 0
    corrections: int = 0
    winners: int = 0
    prev_locked: int = 0
    shoe: int = 0
    status: str = "open"
    phase: str = "open"
    kind: str = ""
    cards: str = ""
    first: str = ""
    awards: str = ""
    counts: str = NO_CARDS
    reader: str = ""  # cards that a shoe reader saw in this round
    commit: str = ""  # an automated shoe is committed to before it is dealt


class Transfer(msgspec.Struct, forbid_unknown_fields=True):
    """Money on its way to another link."""

    amount_micros: int
    level: str
    time: int


class State(msgspec.Struct, forbid_unknown_fields=True):
    """A whole link, without the answers that are kept for repeats."""

    numbers: dict[str, int]
    texts: dict[str, str]
    terms: Terms
    levels: dict[str, Level]
    tables: dict[str, Table]
    next: dict[str, Level] = {}
    firsts: dict[str, str] = {}
    commits: dict[str, str] = {}
    sent: dict[str, int] = {}
    received: dict[str, int] = {}
    transfers: dict[str, Transfer] = {}
    awards: list[Award] = []
    proposals: list[Proposal] = []

    def award(self, number: int) -> Award | None:
        """Find a pending award."""
        return next((award for award in self.awards if award.award == number), None)

    def copy(self) -> "State":
        """Give a state that shares nothing with this one."""
        return msgspec.convert(msgspec.to_builtins(self), State)


def read_state(text: str | msgspec.Raw) -> State:
    """Read a state as the function library writes it, lists in the order of their numbers."""
    state = msgspec.json.decode(text, type=State)
    for name in (*GROWING, "balance"):
        state.numbers.setdefault(name, 0)
    for proposal in state.proposals:  # as it was given, blanks and all; what it says is compared
        proposal.body = msgspec.json.encode(msgspec.json.decode(proposal.body)).decode()
    state.awards.sort(key=lambda award: award.award)
    state.proposals.sort(key=lambda proposal: proposal.number)
    return state


def differences(ours: State, theirs: State) -> list[str]:
    """Name every place where two states differ, as `place: ours, theirs`."""
    return list(_walk("", msgspec.to_builtins(ours), msgspec.to_builtins(theirs)))


def _walk(place: str, ours: Any, theirs: Any) -> list[str]:  # noqa: ANN401 - any JSON value
    if ours == theirs:
        return []
    if isinstance(ours, dict) and isinstance(theirs, dict):
        names = sorted({*ours, *theirs})
        return [
            line
            for name in names
            for line in _walk(f"{place}.{name}".strip("."), ours.get(name), theirs.get(name))
        ]
    return [f"{place}: {ours!r}, {theirs!r}"]
