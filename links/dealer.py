"""A simulated dealer: a table's rounds as moves, which others carry out."""

import random
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Literal

from links.cards import Shoe

Who = Literal["dealer", "supervisor", "hub", "shoe"]


@dataclass(frozen=True, slots=True)
class Habits:
    """How often a table does what it seldom does, as parts of one."""

    correct: float = 0.03
    void: float = 0.03
    cancel: float = 0.02
    late: float = 0.10
    withdraw: float = 0.20
    lucky: float = 0.10  # rounds that deal a seat's own King-9, so that there is something to pay


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that somebody at the table does, and how long it takes at the usual pace."""

    who: Who
    verb: str
    round: int
    body: dict[str, Any] = field(default_factory=dict)
    takes_s: float = 0.0


Play = Generator[Move, dict[str, Any], None]
Told = Generator[Move, dict[str, Any], dict[str, Any]]


@dataclass
class Dealer:
    """A table and who deals at it; every choice comes from its own generator."""

    table: dict[str, Any]  # as the link's definition has it
    round: int
    shoe_number: int
    two_person_above_micros: int
    rng: random.Random
    habits: Habits
    shoe: Shoe = field(init=False)

    def __post_init__(self) -> None:
        self.shoe = Shoe(self.table["decks"], self.rng)

    def play(self) -> Play:
        """Play one round, and a new shoe before it where one is due."""
        if self.shoe.is_over:
            yield from self._change_shoe()
        seats = yield from self._bets()
        if self._chance(self.habits.cancel):
            yield from self._give_up("dealer", "cancel", "called off")
            return
        kind = "played" if seats else "free"
        yield self._move("dealer", "lock", {"seats": seats, "kind": kind}, 2.0)
        if self._chance(self.habits.late):
            yield self._move("hub", "seats", {"seats": self._some_seats()}, 0.5)
        if self._chance(self.habits.void / 2):
            yield from self._give_up("supervisor", "void", "card exposed before the deal")
            return
        awards, thirds = yield from self._cards()
        if self._chance(self.habits.void / 2):
            yield from self._give_up("supervisor", "void", "dealt out of turn")
            return
        ended = yield self._move("dealer", "end", {"cards": thirds}, 6.0)
        self.round += 1
        yield from self._pay(awards, ended)

    def _move(self, who: Who, verb: str, body: dict[str, Any], takes_s: float) -> Move:
        return Move(who, verb, self.round, body, takes_s * self.rng.uniform(0.5, 1.5))

    def _chance(self, rate: float) -> bool:
        return self.rng.random() < rate

    def _some_seats(self) -> list[int]:
        places = range(1, self.table["seats"] + 1)
        return sorted(self.rng.sample(places, self.rng.randint(0, len(places))))

    def _change_shoe(self) -> Play:
        self.shoe.shuffle()
        self.shoe_number += 1
        yield self._move("dealer", "new shoe", {"shoe": self.shoe_number}, 10.0)

    def _bets(self) -> Generator[Move, dict[str, Any], list[int]]:
        """Place wagers, a few at a time; the lock names what the lamps show."""
        seats = self._some_seats()
        few = seats[: self.rng.randint(0, len(seats))]
        if few and self._chance(self.habits.withdraw):
            few = self._some_seats()
        for shown in (few, seats):
            told = yield self._move("hub", "seats", {"seats": shown}, 4.0)
        return [place for place, lamp in enumerate(told["lamps"], 1) if lamp == "accepted"]

    def _give_up(self, who: Who, verb: str, reason: str) -> Play:
        yield self._move(who, verb, {"reason": reason}, 3.0)
        self.round += 1

    def _cards(self) -> Generator[Move, dict[str, Any], tuple[list[dict[str, Any]], list[str]]]:
        """Deal by the table's kind; gives the awards that stand, and the third cards."""
        if self.table["kind"] == "automated":
            drawn = yield self._move("dealer", "draw", {}, 3.0)
            del self.shoe.left[-4 - len(drawn.get("thirds", [])) :]  # only their number matters
            return drawn.get("awards", []), drawn.get("thirds", [])
        four = self.shoe.draw(self._wanted())
        hands = {"player": four[0::2], "banker": four[1::2]}
        if self.table["kind"] == "dealer-assist":
            for card in four:
                yield self._move("shoe", "card", {"card": card}, 1.0)
        elif self._chance(self.habits.correct):
            misread = {**hands, "player": [four[0], self.rng.choice(self.shoe.left)]}
            yield self._move("dealer", "deal", misread, 5.0)
            dealt = yield self._move("supervisor", "correct", {"number": 1, **hands}, 5.0)
            return dealt.get("awards", []), self.shoe.thirds(**hands)
        dealt = yield self._move("dealer", "deal", hands, 5.0)  # of cards read: to confirm them
        return dealt.get("awards", []), self.shoe.thirds(**hands)

    def _wanted(self) -> list[str]:
        """Give a lucky round's cards: a seat's own King-9 as Player's, now and then as both."""
        if not self._chance(self.habits.lucky):
            return []
        own = self.rng.choice(self.table["combinations"])
        king, nine = own[:2], own[2:]
        banker = (king, nine) if self._chance(0.2) else ()
        return [king, *banker[:1], nine, *banker[1:]]

    def _pay(self, awards: list[dict[str, Any]], ended: dict[str, Any]) -> Play:
        """Have a supervisor pay what one person may pay; the rest waits for two."""
        due = [award for award in awards if award["award"] not in ended.get("paid", [])]
        if "must_hit" in ended:
            due.append(ended["must_hit"]["award"])
        for award in due:
            if award["amount"] <= self.two_person_above_micros:
                yield Move("supervisor", "pay", self.round - 1, {"award": award["award"]}, 4.0)
