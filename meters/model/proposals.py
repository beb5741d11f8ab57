"""What needs two persons, in the model: proposals, and how each kind is carried out."""

from collections.abc import Callable
from typing import Any

import msgspec

from meters import entries as e
from meters.definitions import TableDefinition, Terms
from meters.errors import Refused
from meters.levels import Level
from meters.model import awards
from meters.model.books import Books
from meters.model.rounds import table_of
from meters.money import AMOUNT_MAX
from meters.state import Proposal, Table, Transfer

Body = dict[str, Any]


def propose(books: Books, event: e.Propose) -> dict[str, object]:
    """Record what the first person asks for."""
    last = books.numbers["proposals"]
    if event.number != last + 1:
        raise Refused("proposal_number", str(last + 1))
    if event.what not in CARRY_OUT or not event.by or not event.reason:
        raise Refused("bad_call", event.what)
    books.numbers["proposals"] = event.number
    body = msgspec.json.encode(event.body).decode()
    books.state.proposals.append(
        Proposal(event.number, event.by, event.what, event.reason, body, books.entry)
    )
    return {}


def _take_out(books: Books, number: int) -> Proposal:
    for proposal in books.state.proposals:
        if proposal.number == number:
            books.state.proposals.remove(proposal)
            return proposal
    raise Refused("unknown_proposal", str(number))


def approve(books: Books, event: e.Approve) -> dict[str, object]:
    """Carry out what another person proposed."""
    proposal = _take_out(books, event.number)
    if event.by == proposal.by or not event.by:
        raise Refused("same_person", event.by)
    effects = CARRY_OUT[proposal.what](books, msgspec.json.decode(proposal.body))
    return {**effects, "in_force": books.in_force}


def reject(books: Books, event: e.Reject) -> dict[str, object]:
    """Turn a proposal down."""
    _take_out(books, event.number)
    return {}


def open_level(books: Books, name: str | None) -> Level:
    """Find a level that takes money."""
    level = books.state.levels.get(name or "")
    if level is None or level.closed:
        raise Refused("unknown_level", str(name))
    return level


def _amount(body: Body, least: int) -> int:
    amount = body.get("amount_micros")
    if not isinstance(amount, int) or not least <= amount <= AMOUNT_MAX or amount == 0:
        raise Refused("bad_amount", str(amount))
    return amount


def _adjust(books: Books, body: Body) -> dict[str, object]:
    level, amount = open_level(books, body.get("level")), _amount(body, -AMOUNT_MAX)
    part = body.get("part", "meter")
    if part not in {"meter", "reserve", "overflow"}:
        raise Refused("bad_call", part)
    if part == "meter" and amount > 0:
        books.fill(level, amount)
    else:
        books.post(f"{level.name}.{part}", amount)
    books.post("house", -amount)
    if part != "reserve":
        books.count(level.name, "moved", amount)
    return {}


def put(books: Books, level: Level, amount: int) -> None:
    """Put transferred money onto a meter."""
    books.fill(level, amount)
    books.count(level.name, "moved", amount)


def _transfer(books: Books, body: Body) -> dict[str, object]:
    amount, level = _amount(body, 1), open_level(books, body.get("level"))
    if books.meter(level.name) < amount:
        raise Refused("not_enough", level.name)
    books.post(f"{level.name}.meter", -amount)
    books.count(level.name, "moved", -amount)
    to_link = body.get("to_link")
    if to_link is None:
        put(books, open_level(books, body.get("to")), amount)
        return {}
    number = books.state.sent.get(to_link, 0) + 1
    books.post("transit", amount)
    books.state.sent[to_link] = number
    books.state.transfers[f"{to_link}.{number}"] = Transfer(amount, body["to"], books.time)
    return {"transfer": number}


def _limit(books: Books, body: Body) -> dict[str, object]:
    level, limit = open_level(books, body.get("level")), body.get("limit_micros")
    if level.maximum_micros or not isinstance(limit, int) or limit > AMOUNT_MAX:
        raise Refused("bad_call", "limit")
    if limit <= books.meter(level.name):
        raise Refused("limit_below_meter", level.name)
    waiting = books.state.next.get(level.name)
    if any(limit <= max(one.seed_micros, one.reset_micros) for one in (level, waiting) if one):
        raise Refused("bad_call", "limit")
    books.state.levels[level.name] = msgspec.structs.replace(level, limit_micros=limit)
    books.numbers["config"] = books.entry
    if waiting:
        books.state.next[level.name] = msgspec.structs.replace(waiting, limit_micros=limit)
    return {}


def _level(books: Books, body: Body) -> dict[str, object]:
    level = open_level(books, body["definition"].get("name"))
    try:
        changed = msgspec.convert({**body["definition"], "limit_micros": level.limit_micros}, Level)
    except msgspec.ValidationError:
        raise Refused("bad_call", "level") from None
    if (level.maximum_micros is None) != (changed.maximum_micros is None):
        raise Refused("bad_call", "kind")
    books.state.next[level.name] = changed
    return {}


def _table(books: Books, body: Body) -> dict[str, object]:
    definition = msgspec.convert(body["definition"], TableDefinition)
    table = books.state.tables.get(definition.name)
    books.numbers["config"] = books.entry
    if table is None:
        books.state.tables[definition.name] = Table(
            definition, definition.seats, definition.decks, status="closed"
        )
        books.state.texts["tables"] += f",{definition.name}"
        return {}
    if table.status != "closed":
        raise Refused("table_not_closed", definition.name)
    table.definition, table.places, table.decks = definition, definition.seats, definition.decks
    books.numbers["config"] = books.entry
    return {}


def _all_closed(books: Books) -> None:
    for name, table in books.state.tables.items():
        if table.status != "closed":
            raise Refused("table_not_closed", name)


def _terms(books: Books, body: Body) -> dict[str, object]:
    _all_closed(books)
    terms = msgspec.convert(body["terms"], Terms)
    if terms.stake_micros != books.state.terms.stake_micros:
        raise Refused("bad_call", "stake")
    books.state.terms = terms
    books.numbers["config"] = books.entry
    return {}


def _decommission(books: Books, body: Body) -> dict[str, object]:
    level, numbers = open_level(books, body.get("level")), books.numbers
    name = level.name
    if level.maximum_micros is None:
        _all_closed(books)
    elif any(table.lock and table.locked for table in books.state.tables.values()):
        raise Refused("rounds_open", name)
    else:
        for cycle in (numbers["cycle"], numbers["cycle"] + 1):
            del books.state.commits[str(cycle)]
    meter, overflow = books.meter(name), numbers[f"{name}.overflow"]
    reset, reserve = min(level.reset_micros, meter + overflow), numbers[f"{name}.reserve"]
    left = meter + overflow - reset
    books.post(f"{name}.overflow", -overflow)
    books.post(f"{name}.meter", -meter)
    books.post(f"{name}.reserve", -reserve)
    books.count(name, "moved", -meter - overflow)
    books.post("house", reserve + reset)
    if body.get("to"):
        put(books, open_level(books, body["to"]), left)
    else:
        books.post("house", left)
    books.state.levels[name] = msgspec.structs.replace(level, closed=True)
    books.state.next.pop(name, None)
    numbers["config"] = books.entry
    return {}


def _pay(books: Books, body: Body) -> dict[str, object]:
    award = awards.payable(books, body["award"])
    awards.pay(books, award)
    return {"paid": [award.award]}


def _void_award(books: Books, body: Body) -> dict[str, object]:
    return {"reversed": [awards.reverse(books, awards.payable(books, body["award"]))]}


def _hand_award(books: Books, body: Body) -> dict[str, object]:
    table = table_of(books, body["table"])
    pay = books.state.terms.lines.get(body["line"])
    if pay is None:
        raise Refused("unknown_line", body["line"])
    if not 1 <= body["seat"] <= table.places:
        raise Refused("seat_out_of_range", str(body["seat"]))
    if not 1 <= body["round"] < table.round:
        raise Refused("round_not_over", str(body["round"]))
    if pay.level:
        open_level(books, pay.level)
    place = awards.Place(body["table"], body["round"], body["seat"], body["line"], hand=True)
    award = awards.win(books, place)
    if award is None:
        raise AssertionError("a line of the paytable pays")
    award.over = True
    return {"awards": [awards.shown(award)]}


CARRY_OUT: dict[str, Callable[[Books, Body], dict[str, object]]] = {
    "adjust": _adjust,
    "transfer": _transfer,
    "limit": _limit,
    "level": _level,
    "table": _table,
    "terms": _terms,
    "decommission": _decommission,
    "pay": _pay,
    "void_award": _void_award,
    "hand_award": _hand_award,
}
