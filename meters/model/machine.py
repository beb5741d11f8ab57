"""The machine itself: an event and a state in, the journal entry and the next state out."""

from collections.abc import Callable
from typing import Any

import msgspec

from meters import entries as e
from meters.errors import Refused
from meters.model import awards, rounds
from meters.model.books import Books
from meters.model.proposals import approve, open_level, propose, put, reject
from meters.model.rounds import table_of
from meters.state import COUNTS, GROWING, PARTS, State, Table, read_state


def apply(state: State, event: e.AnyEntry) -> tuple[State, e.AnyEntry]:
    """Give the state after an event, and the entry that the journal gets; or raise a refusal."""
    after = state.copy()
    return after, step(after, event)


def begin(event: e.Open) -> tuple[State, e.Open]:
    """Open a link: its seeds are funded by the house."""
    definition = event.definition
    numbers = dict.fromkeys(GROWING, 0)
    for level in definition.levels:
        numbers |= {f"{level.name}.{part}": 0 for part in PARTS + COUNTS}
    names = ("head", "time", "cycle", "opening", "awards", "proposals", "balance")
    numbers |= dict.fromkeys(names, 0) | {"config": 1}
    state = State(
        numbers=numbers,
        texts={
            "levels": ",".join(level.name for level in definition.levels),
            "tables": ",".join(table.name for table in definition.tables),
        },
        terms=definition.terms,
        levels={level.name: level for level in definition.levels},
        tables={t.name: Table(t, t.seats, t.decks) for t in definition.tables},
    )
    return state, step(state, event)  # type: ignore[return-value]


def _open(books: Books, event: e.Open) -> dict[str, object]:
    for level in event.definition.levels:
        books.post(f"{level.name}.meter", level.seed_micros)
        books.post("house", -level.seed_micros)
        books.count(level.name, "resets", level.seed_micros)
    must_hit = books.must_hit()
    if must_hit:
        books.numbers["cycle"], books.numbers["opening"] = 1, must_hit.seed_micros
        books.state.commits.update({"1": event.commits[0], "2": event.commits[1]})
    return {}


def _door(books: Books, event: e.CloseTable) -> dict[str, object]:
    table = table_of(books, event.table)
    if table.phase != "open":
        raise Refused("wrong_phase", table.phase)
    opens = isinstance(event, e.OpenTable)
    for level in books.state.levels.values():
        if opens and level.closed and level.maximum_micros is None:
            raise Refused("level_closed", level.name)
    table.status = "open" if opens else "closed"
    table.seats = table.winners = 0
    return {}


def _pay(books: Books, event: e.Pay) -> dict[str, object]:
    award = awards.payable(books, event.award)
    if award.amount > books.state.terms.two_person_above_micros:
        raise Refused("second_person_needed", str(award.award))
    awards.pay(books, award)
    return {"amount": award.amount}


def _receive(books: Books, event: e.Receive) -> dict[str, object]:
    last = books.state.received.get(event.from_, 0)
    if event.transfer != last + 1:
        raise Refused("transfer_order", str(last + 1))
    level = open_level(books, event.level)
    books.post("transit", -event.amount)
    put(books, level, event.amount)
    books.state.received[event.from_] = event.transfer
    return {}


def _cleared(books: Books, event: e.Cleared) -> dict[str, object]:
    books.state.transfers.pop(f"{event.to}.{event.transfer}")
    return {}


def _balance(books: Books, event: e.Balance) -> dict[str, object]:
    if read_state(event.state) != books.state:
        raise Refused("balance_differs", "the balance is not the state that the journal comes to")
    books.numbers["balance"] = books.entry
    return {}


_STEPS: dict[type[e.Entry], Callable[[Books, Any], dict[str, object]]] = {
    e.Open: _open,
    e.Seats: rounds.seats,
    e.Late: rounds.seats,
    e.Card: rounds.card,
    e.Lock: rounds.lock,
    e.Deal: rounds.deal,
    e.Correct: rounds.correct,
    e.End: rounds.end,
    e.Void: rounds.abandon,
    e.Cancel: rounds.abandon,
    e.Shoe: rounds.shoe,
    e.CloseTable: _door,
    e.OpenTable: _door,
    e.Pay: _pay,
    e.Propose: propose,
    e.Approve: approve,
    e.Reject: reject,
    e.Receive: _receive,
    e.Cleared: _cleared,
    e.Balance: _balance,
}


def step(state: State, event: e.AnyEntry) -> e.AnyEntry:
    """Apply an event to the state itself, which is spoilt if the event is refused."""
    books = Books(state, event.t)
    effects = _STEPS[type(event)](books, event)
    entry = msgspec.structs.replace(
        event, n=books.entry, t=books.time, post=books.postings(), **effects
    )
    state.numbers["head"], state.numbers["time"] = books.entry, books.time
    return entry
