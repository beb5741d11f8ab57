"""The steps of a round in the model."""

from collections.abc import Mapping

from meters import entries as e
from meters.errors import Refused
from meters.model import awards
from meters.model.books import Books
from meters.seats import mask_of, seats_of
from meters.state import NO_CARDS, Award, Table

# (phase, step) -> phase; a round that is over has its next one open at once.
TRANSITIONS = {
    ("open", "Lock"): "locked",
    ("open", "Cancel"): "open",
    ("locked", "Deal"): "dealt",
    ("locked", "Void"): "open",
    ("dealt", "Correct"): "dealt",
    ("dealt", "Void"): "open",
    ("dealt", "End"): "open",
}
CARDS = [rank + suit for rank in "A23456789TJQK" for suit in "SHDC"]


def table_of(books: Books, name: str) -> Table:
    """Find a table."""
    try:
        return books.state.tables[name]
    except KeyError:
        raise Refused("unknown_table", name) from None


def check_step(books: Books, event: e.Step) -> Table:
    """Refuse a step that its table's round cannot take."""
    table = table_of(books, event.table)
    if event.round < table.round:
        raise Refused("stale_round", str(event.round))
    if event.round > table.round:
        raise Refused("round_ahead", str(event.round))
    if table.status != "open":
        raise Refused("table_closed", event.table)
    if (table.phase, type(event).__name__) not in TRANSITIONS:
        raise Refused("wrong_phase", table.phase)
    return table


def advance(table: Table, event: e.Step) -> None:
    """Go to the step's next phase; where the round is over, open the next one."""
    table.phase = TRANSITIONS[table.phase, type(event).__name__]
    if table.phase != "open":
        return
    table.round += 1
    table.prev_locked = table.locked
    table.seats = table.late = table.locked = table.lock = 0
    table.cycle = table.value = table.corrections = 0
    table.kind = table.cards = table.first = table.awards = table.reader = ""


def take_cards(table: Table, cards: list[str], by: int = 1) -> None:
    """Take cards out of the shoe, or put them back."""
    counts = [int(digit) for digit in table.counts]
    for card in cards:
        if card not in CARDS:
            raise Refused("bad_card", card)
        counts[CARDS.index(card)] += by
        if counts[CARDS.index(card)] > table.decks:
            raise Refused("card_not_in_shoe", card)
    table.counts = "".join(map(str, counts))


def lock(books: Books, event: e.Lock) -> dict[str, object]:
    """No more bets: every wager contributes."""
    table = check_step(books, event)
    saw = mask_of(event.seats)
    if saw != table.seats:
        raise Refused("seats_mismatch", f"{event.seats}, {seats_of(table.seats)}")
    if event.kind != "played" and saw:
        raise Refused("no_wagers_in_a_free_round", event.kind)
    wagers = len(seats_of(saw))
    stakes = wagers * books.state.terms.stake_micros
    taken = books.contribute(wagers)
    books.post("players", -stakes)
    books.post("house", stakes - taken)
    must_hit = books.must_hit()
    if must_hit:
        table.cycle, table.value = books.numbers["cycle"], books.meter(must_hit.name)
    table.locked, table.kind, table.lock, table.winners = saw, event.kind, books.entry, 0
    advance(table, event)
    return {"cycle": table.cycle, "value": table.value}


def _decide(
    books: Books, table: Table, event: e.Deal, kept: dict[int, Award] | None = None
) -> list[e.WonAward]:
    """Win the lines' awards; `kept` are the seats' awards that stand already."""
    won = dict(kept or {})
    for seat, line in sorted((int(seat), line) for seat, line in event.lines.items()):
        if seat not in won:
            award = awards.win(books, awards.Place(event.table, event.round, seat, line))
            if award:
                won[seat] = award
    table.winners = mask_of(list(won))
    table.awards = ",".join(str(won[seat].award) for seat in sorted(won))
    return [awards.shown(won[seat]) for seat in sorted(won) if seat not in (kept or {})]


def _check_cards(books: Books, table: Table, event: e.Deal, *, put_back: bool) -> None:
    if (len(event.player), len(event.banker)) != (2, 2):
        raise Refused("bad_card", "two cards each")
    if put_back:
        old = table.cards
        take_cards(table, [old[i : i + 2] for i in range(0, len(old), 2)], by=-1)
    take_cards(table, event.player + event.banker)
    for line in event.lines.values():
        if line != "loss" and line not in books.state.terms.lines:
            raise Refused("unknown_line", line)
    if mask_of([int(seat) for seat in event.lines]) != table.locked:
        raise Refused("lines_mismatch", str(event.lines))


def deal(books: Books, event: e.Deal) -> dict[str, object]:
    """Record the first four cards: every bettor's awards are won."""
    table = check_step(books, event)
    _check_cards(books, table, event, put_back=False)
    table.cards = table.first = "".join(event.player + event.banker)
    won = _decide(books, table, event)
    advance(table, event)
    return {"awards": won, "in_force": books.in_force}


def _reverse_all(
    books: Books, table: Table, lines: Mapping[str, str]
) -> tuple[list[e.Reversal], dict[int, Award]]:
    """Reverse the round's awards; those that `lines` would win again stand, and are given too."""
    reversals, kept = [], {}
    for number in reversed([int(text) for text in table.awards.split(",") if text]):
        award = books.state.award(number)
        if award is None:
            raise AssertionError(f"award {number} of an open round is not pending")
        if lines.get(str(award.seat)) == award.line:
            kept[award.seat] = award
        else:
            reversals.append(awards.reverse(books, award))
    return reversals, kept


def correct(books: Books, event: e.Correct) -> dict[str, object]:
    """Correct a misread card: reverse the awards whose line changes, and decide anew."""
    table = check_step(books, event)
    if event.number != table.corrections + 1:
        raise Refused("correction_number", str(table.corrections + 1))
    _check_cards(books, table, event, put_back=True)
    reversals, kept = _reverse_all(books, table, event.lines)
    won = _decide(books, table, event, kept)
    table.cards = "".join(event.player + event.banker)
    table.corrections = event.number
    return {"awards": won, "reversed": reversals, "in_force": books.in_force}


def end(books: Books, event: e.End) -> dict[str, object]:
    """Pay tray awards, decide Must Hit as the event says, open the next round."""
    table = check_step(books, event)
    take_cards(table, event.more)
    paid = []
    for number in [int(text) for text in table.awards.split(",") if text]:
        award = books.state.award(number)
        if award is None:
            raise AssertionError(f"award {number} of an open round is not pending")
        if award.kind == "fixed" and award.amount <= books.state.terms.hand_pay_above_micros:
            awards.pay(books, award)
            paid.append(number)
        else:
            award.over = True
    won = _end_must_hit(books, table, event, event.must_hit) if event.must_hit else None
    advance(table, event)
    return {"paid": paid, "must_hit": won, "in_force": books.in_force}


def _end_must_hit(books: Books, table: Table, event: e.End, win: e.MustHitWin) -> e.MustHitWin:
    level, numbers = books.must_hit(), books.numbers
    if level is None:
        raise Refused("unknown_level", "the link has no Must Hit")
    seat, cycle = win.award.seat, numbers["cycle"]
    if table.cycle != cycle or not table.locked >> (seat - 1) & 1:
        raise Refused("not_a_bettor", str(seat))
    award = awards.win_must_hit(books, level.name, table=event.table, round_=event.round, seat=seat)
    numbers["cycle"] = cycle + 1
    numbers["opening"] = books.meter(level.name)
    hands = [table.first[at : at + 2] for at in range(0, 8, 2)]
    books.state.texts["opening_cards"] = "".join(sorted(hands[:2]) + sorted(hands[2:]))
    del books.state.commits[str(cycle)]
    books.state.commits[str(cycle + 2)] = win.commit
    table.winners |= 1 << (seat - 1)
    return e.MustHitWin(
        cycle, numbers["opening"], win.secret, win.salt, win.commit, awards.shown(award)
    )


def abandon(books: Books, event: e.Void | e.Cancel) -> dict[str, object]:
    """Void after the lock (wagers go back, contributions stay), or cancel before it."""
    table = check_step(books, event)
    effects: dict[str, object] = {}
    if isinstance(event, e.Void):
        stakes = len(seats_of(table.locked)) * books.state.terms.stake_micros
        effects["reversed"], _ = _reverse_all(books, table, {})
        books.post("house", -stakes)
        books.post("players", stakes)
    table.winners = 0
    advance(table, event)
    return effects


def shoe(books: Books, event: e.Shoe) -> dict[str, object]:
    """Bring new cards, between rounds."""
    table = table_of(books, event.table)
    if event.shoe != table.shoe + 1:
        raise Refused("shoe_number", str(table.shoe + 1))
    if table.status != "open":
        raise Refused("table_closed", event.table)
    if table.phase != "open":
        raise Refused("wrong_phase", table.phase)
    if table.commit and not event.secret:
        raise Refused("reveal_needed", event.table)
    table.shoe, table.counts, table.commit = event.shoe, NO_CARDS, event.commit
    return {}


def card(books: Books, event: e.Card) -> dict[str, object]:
    """Take a card that a shoe reader saw."""
    table = table_of(books, event.table)
    if (event.round, table.status) != (table.round, "open") or table.phase == "open":
        raise Refused("wrong_phase", table.phase)
    table.reader += event.card
    return {}


def seats(books: Books, event: e.Seats) -> dict[str, object]:
    """Take what a table's sensors report, in time or late."""
    table = table_of(books, event.table)
    mask = mask_of(event.seats)
    if isinstance(event, e.Late):
        if event.round == table.round:
            table.late |= mask
    else:
        if (event.round, table.phase, table.status) != (table.round, "open", "open"):
            raise Refused("wrong_phase", table.phase)
        table.seats = mask
    return {}
