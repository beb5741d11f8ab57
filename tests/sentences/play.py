"""Sentences of the floor: sensors, the steps of a round, cards and doors."""

from typing import Any, Final, TypeVar

from pit import Pit, Step
from story import ACTS, Language

from meters.answers import Ended
from progressive.rules.cards import Hand, hand

A = TypeVar("A")
says: Final = Language()
ROUNDS_MAX: Final = 500  # of a table that plays until something happens
LOSING: Final = (hand("8♠ 10♦"), hand("7♣ Q♦"))


@says(ACTS, "Seat(s) {seats} bet(s) at {table}")
def bet(pit: Pit, seats: list[int], table: str) -> Step:
    return pit.message(table, pit.sensor(pit.at(table)[1]).chips | set(seats), "applied")


@says(ACTS, "Seat(s) {seats} bet(s) too late at {table}")
def bet_too_late(pit: Pit, seats: list[int], table: str) -> Step:
    return pit.message(table, pit.sensor(pit.at(table)[1]).chips | set(seats), "late")


@says(ACTS, "Seat(s) {seats} bet(s) at {table} while it is closed")
def bet_while_closed(pit: Pit, seats: list[int], table: str) -> Step:
    return pit.message(table, set(seats), "closed")


@says(ACTS, "Seat(s) {seats} withdraw(s) at {table}")
def withdraw(pit: Pit, seats: list[int], table: str) -> Step:
    return pit.message(table, pit.sensor(pit.at(table)[1]).chips - set(seats), "applied")


@says(ACTS, "The sensors of {table} lose a message and report seat(s) {seats}")
def lose_a_message(pit: Pit, table: str, seats: list[int]) -> Step:
    return pit.message(table, set(seats), "gap", skipped=1)


@says(ACTS, "The sensors of {table} use a number twice and report seat(s) {seats}")
def use_a_number_twice(pit: Pit, table: str, seats: list[int]) -> Step:
    return pit.message(table, set(seats), "applied", skipped=-1)


@says(ACTS, "The sensors of {table} start anew and report seat(s) {seats}")
def start_anew(pit: Pit, table: str, seats: list[int]) -> Step:
    hub = pit.sensor(pit.at(table)[1])
    hub.epoch, hub.sequence = hub.epoch + 1, 0
    return pit.message(table, set(seats), "applied")


@says(ACTS, "{person} locks {table}[ seeing seat(s) {seats}][ for a {kind}]")
def lock(
    pit: Pit, person: str, table: str, seats: list[int] | None = None, kind: str = "played"
) -> Step:
    link, name, now = pit.at(table)
    shown = [seat for seat in range(1, now.places + 1) if now.seats >> (seat - 1) & 1]
    return lambda: link.lock(name, now.round, shown if seats is None else seats, person, kind)


@says(ACTS, "{person} locks round {number} of {table}")
def lock_a_round(pit: Pit, person: str, number: int, table: str) -> Step:
    link, name, _ = pit.at(table)
    return lambda: link.lock(name, number, [], person)


@says(ACTS, "Cards at {table}: Player {cards}, Banker {cards_banker}")
def deal(pit: Pit, table: str, cards: Hand, cards_banker: Hand) -> Step:
    link, name, now = pit.at(table)

    def step() -> Any:  # noqa: ANN401 - as every step
        answer = link.deal(name, now.round, cards, cards_banker, "dealer")
        pit.decided[name] = answer.entry
        return answer

    return step


@says(ACTS, "Corrected cards at {table}: Player {cards}, Banker {cards_banker}")
def correct(pit: Pit, table: str, cards: Hand, cards_banker: Hand) -> Step:
    link, name, now = pit.at(table)
    number = now.corrections + 1

    def step() -> Any:  # noqa: ANN401 - as every step
        answer = link.correct(
            name, now.round, number, player=cards, banker=cards_banker, by="supervisor"
        )
        pit.decided[name] = answer.entry
        return answer

    return step


def _over(pit: Pit, name: str, answer: A) -> A:
    """Take the chips off the table."""
    pit.sensor(name).chips = set()
    return answer


@says(ACTS, "{person} ends the round at {table}[ with {cards}]")
def end(pit: Pit, person: str, table: str, cards: Hand = ()) -> Step:
    link, name, now = pit.at(table)
    return lambda: _over(pit, name, link.end(name, now.round, person, "".join(cards)))


@says(ACTS, "{person} voids the round at {table}: {reason}")
def void(pit: Pit, person: str, table: str, reason: str) -> Step:
    link, name, now = pit.at(table)
    call = link.meters.calls.void(name, now.round, person, reason)
    return lambda: _over(pit, name, link.meters.run(call))


@says(ACTS, "{person} cancels the round at {table}: {reason}")
def cancel(pit: Pit, person: str, table: str, reason: str) -> Step:
    link, name, now = pit.at(table)
    call = link.meters.calls.cancel(name, now.round, person, reason)
    return lambda: _over(pit, name, link.meters.run(call))


@says(ACTS, "A new shoe comes to {table}")
def new_shoe(pit: Pit, table: str) -> Step:
    link, name, now = pit.at(table)
    return lambda: link.new_shoe(name, now.shoe + 1, "dealer")


@says(ACTS, "{person} closes {table}: {reason}")
def close_table(pit: Pit, person: str, table: str, reason: str) -> Step:
    link, name, _ = pit.at(table)
    call = link.meters.calls.close_table(name, person, reason)
    return lambda: _over(pit, name, link.meters.run(call))


@says(ACTS, "{person} opens {table}: {reason}")
def open_table(pit: Pit, person: str, table: str, reason: str) -> Step:
    link, name, _ = pit.at(table)
    return lambda: link.meters.run(link.meters.calls.open_table(name, person, reason))


@says(ACTS, "Seat(s) {seats} play(s) at {table} until Must Hit is won")
def play_until_must_hit(pit: Pit, seats: list[int], table: str) -> Step:
    link, name, now = pit.at(table)

    def step() -> Ended:
        for played in range(ROUNDS_MAX):
            round_ = now.round + played
            link.new_shoe(name, now.shoe + played + 1, "dealer")
            pit.look()
            pit.message(table, set(seats), "applied")()
            link.lock(name, round_, seats, "dealer")
            link.deal(name, round_, *LOSING, "dealer")
            answer = link.end(name, round_, "dealer")
            if answer.must_hit:
                return _over(pit, name, answer)
        raise AssertionError(f"Must Hit was not won in {ROUNDS_MAX} rounds")

    return step
