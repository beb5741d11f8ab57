"""Sentences that say what must be so: wins, lamps, meters, awards, and who is up or down."""

from typing import Final

from pit import Pit, Win
from story import TELLS, Language

from meters.calls import Message
from meters.errors import Refused
from meters.money import dollars

says: Final = Language()


def _claim(pit: Pit, win: Win) -> None:
    told = "; ".join(map(str, pit.untold)) or "nobody wins"
    assert win in pit.untold, f"not so: {told}"
    pit.untold.remove(win)


@says(TELLS, "Seat(s) {seats} at {table} win(s) {line}, {money}[ each]")
def wins(pit: Pit, seats: list[int], table: str, line: str, money: int) -> None:
    name = pit.at(table)[1]
    for seat in seats:
        _claim(pit, Win(name, seat, line, money))


@says(TELLS, "One of seats {seats} at {table} wins {line}, {money}[ to {money_most}]")
def one_wins(
    pit: Pit, *, seats: list[int], table: str, line: str, money: int, money_most: int | None = None
) -> None:
    assert pit.untold, "nobody wins"
    win = pit.untold.pop(0)
    assert (win.table, win.line) == (pit.at(table)[1], line), f"not so: {win}"
    assert win.seat in seats, f"not so: {win}"
    assert money <= win.amount <= (money_most or money), f"not so: {win}"


@says(TELLS, "Seat(s) {seats} at {table} lose(s)")
def loses(pit: Pit, seats: list[int], table: str) -> None:
    lines = pit.lines(table)
    for seat in seats:
        assert lines.get(str(seat)) == "loss", f"seat {seat}: {lines.get(str(seat), 'no wager')}"


@says(TELLS, "Nobody wins at {table}", "Must Hit is not won at {table}")
def nobody_wins(pit: Pit, table: str) -> None:
    name = pit.at(table)[1]
    won = [str(win) for win in pit.untold if win.table == name]
    assert not won, "; ".join(won)


@says(TELLS, "The tray pays seat {number} at {table} {line}, {money}")
def tray_pays(pit: Pit, number: int, table: str, line: str, money: int) -> None:
    link, name, _ = pit.at(table)
    paid = [pit.won[link.meters.link, award] for award in pit.paid]
    assert Win(name, number, line, money) in paid, f"the tray pays {[*map(str, paid)]}"


@says(TELLS, "Lamps at {table}: {lamps}")
def shows_lamps(pit: Pit, table: str, lamps: str) -> None:
    link, name, now = pit.at(table)
    hub = pit.sensor(name)
    hub.heartbeats += 1
    said = Message(
        table=name,
        device=f"lamps-{name}",
        epoch=1,
        sequence=hub.heartbeats,
        round=now.round,
        kind="heartbeat",
    )
    [answer] = link.report([said])
    if isinstance(answer, Refused):
        raise answer
    assert answer.lamps == lamps, f"the lamps are {answer.lamps}, not {lamps}"


@says(TELLS, "{table} is at round {number}, {phase}")
def stands_at(pit: Pit, table: str, number: int, phase: str) -> None:
    _, _, now = pit.at(table)
    assert (now.round, now.phase) == (number, phase), f"it is at round {now.round}, {now.phase}"


@says(
    TELLS,
    "The {level} {part}[ of {link}] shows {money}",
    "The {level} {part}[ of {link}] holds {money}",
)
def meter_shows(pit: Pit, level: str, part: str, money: int, link: str | None = None) -> None:
    held = pit.state(link).numbers[f"{level}.{part}"]
    assert held == money, f"it is {dollars(held)}"


@says(TELLS, "{level} counts {number} hit(s), {money} won, {money_in} in")
def level_counts(pit: Pit, level: str, number: int, money: int, money_in: int) -> None:
    numbers = pit.state().numbers
    counts = [numbers[f"{level}.{count}"] for count in ("hits", "wins", "in")]
    assert counts == [number, money, money_in], f"it counts {counts}"


def _is_up(pit: Pit, account: str, way: str, money: int, link: str | None = None) -> None:
    held = pit.state(link).numbers[account]
    assert held == (money if way == "up" else -money), f"it is {dollars(held)}"


@says(TELLS, "The house[ of {link}] is {way} {money}")
def house_is(pit: Pit, way: str, money: int, link: str | None = None) -> None:
    _is_up(pit, "house", way, money, link)


@says(TELLS, "The players are {way} {money}")
def players_are(pit: Pit, way: str, money: int) -> None:
    _is_up(pit, "players", way, money)


@says(TELLS, "The {line} of seat {number} at {table} is pending, {money}")
def is_pending(pit: Pit, line: str, number: int, table: str, money: int) -> None:
    _, award = pit.award(table, number, line)
    assert award.amount == money, f"it comes to {dollars(award.amount)}"


@says(TELLS, "An addition to the {line} of seat {number} at {table} is pending, {money}")
def addition_is_pending(pit: Pit, line: str, number: int, table: str, money: int) -> None:
    _, award = pit.award(table, number, line)
    assert award.kind == "addition", f"it is {award.kind}"
    assert award.amount == money, f"it comes to {dollars(award.amount)}"


@says(TELLS, "Nothing is pending")
def nothing_is_pending(pit: Pit) -> None:
    awards = pit.state().awards
    assert not awards, f"{[(award.table, award.seat, award.line) for award in awards]}"


@says(TELLS, "{money} is in transit from {link} to {link_to}")
def in_transit(pit: Pit, money: int, link: str, link_to: str) -> None:
    state = pit.state(link)
    waiting = [
        sent.amount_micros
        for name, sent in state.transfers.items()
        if name.startswith(f"{link_to}.")
    ]
    assert waiting == [money], f"in transit are {[dollars(amount) for amount in waiting]}"


@says(TELLS, "Nothing is in transit from {link}")
def nothing_in_transit(pit: Pit, link: str) -> None:
    assert not pit.state(link).transfers, "something is"
