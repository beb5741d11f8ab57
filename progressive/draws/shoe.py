"""The automated shoe: committed before it is dealt, each round drawn only after its lock."""

import hmac
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from progressive.draws.drbg import Source
from progressive.draws.fields import fields_bytes
from progressive.draws.scaling import Draw, DrawError, draw_below
from progressive.draws.secret import DrawSecret
from progressive.rules.baccarat import Round, play
from progressive.rules.cards import ALL_CARDS, Card
from progressive.rules.rulebooks import Rulebook
from progressive.rules.shoe import Shoe, new_shoe

DECKS: Final = (6, 8)

_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ShoeName:
    """Which shoe of which table of which link; a table's shoes are numbered from 1."""

    link: str
    table: str
    number: int
    decks: int

    def __post_init__(self) -> None:
        if self.number < 1:
            raise DrawError(f"shoe {self.number}: shoes are numbered from 1")
        if self.decks not in DECKS:
            raise DrawError(f"{self.decks} decks: an automated shoe has six or eight")

    @property
    def fields(self) -> tuple[str, str, str, str]:
        """Its part of every hashed array."""
        return self.link, self.table, str(self.number), str(self.decks)


class Lock(NamedTuple):
    """A round's number and the hash of the journal entry that locked its bets, in hex."""

    round_number: int
    entry_hash: str


class DealtRound(NamedTuple):
    """A round from the shoe, and the draw behind every card in the order of dealing."""

    round_number: int
    played: Round
    draws: tuple[Draw, ...]


@dataclass(frozen=True, slots=True)
class AutomatedShoe:
    """How many of each card are left, and how far the cover card is."""

    name: ShoeName
    position: Shoe
    remaining: tuple[int, ...] = field(repr=False)  # of every card, in the order of ALL_CARDS

    def deal(self, secret: DrawSecret, lock: Lock) -> tuple[DealtRound, "AutomatedShoe"]:
        """Draw a locked round's cards, and give it with the shoe that is left."""
        if self.position.is_over:
            raise DrawError("the shoe is over: commit to another one first")
        taken = _Taken(self.remaining, round_drbg(self.name, secret, lock))
        played = play(taken)
        position = self.position.after_round(len(taken.draws))
        dealt = DealtRound(lock.round_number, played, tuple(taken.draws))
        return dealt, replace(self, position=position, remaining=tuple(taken.remaining))


class _Taken:
    """Cards drawn one by one, no sooner than they are asked for."""

    def __init__(self, remaining: Iterable[int], source: Source) -> None:
        self.remaining = list(remaining)
        self.draws: list[Draw] = []
        self._source = source

    def __iter__(self) -> Iterator[Card]:
        while any(self.remaining):
            card, draw = take_card(self._source, self.remaining)
            self.draws.append(draw)
            yield card


def open_shoe(name: ShoeName, book: Rulebook) -> AutomatedShoe:
    """Start a full shoe: no card burned, the cover card 14 from the back."""
    return AutomatedShoe(name, new_shoe(book, name.decks), (name.decks,) * len(ALL_CARDS))


def commit(name: ShoeName, secret: DrawSecret) -> str:
    """Commit to a shoe's secret without telling it."""
    return secret.commit("shoe-commit/1", *name.fields)


def keeps(commitment: str, name: ShoeName, secret: DrawSecret) -> bool:
    """Tell whether this is the secret that was committed to."""
    return hmac.compare_digest(commitment.encode(), commit(name, secret).encode())


def seal_context(name: ShoeName) -> bytes:
    """Name the shoe to the vault, so that its sealed secret opens as no other's."""
    return fields_bytes(("shoe-secret/1", *name.fields))


def round_drbg(name: ShoeName, secret: DrawSecret, lock: Lock) -> Source:
    """Make the generator of one round, which nobody can make before the lock is written."""
    if not _HASH.fullmatch(lock.entry_hash):
        raise DrawError("a lock entry's hash is 64 lower-case hex digits")
    link, table, number, _ = name.fields
    return secret.drbg("shoe-round/1", link, table, number, str(lock.round_number), lock.entry_hash)


def take_card(source: Source, remaining: list[int]) -> tuple[Card, Draw]:
    """Draw one of the cards left, all alike, and take it out."""
    draw = draw_below(source, sum(remaining))
    below = draw.value
    for index, count in enumerate(remaining):
        if below < count:
            remaining[index] -= 1
            return ALL_CARDS[index], draw
        below -= count
    raise AssertionError("the value was drawn below the number of cards")


def replay(
    shoe: AutomatedShoe, secret: DrawSecret, locks: Iterable[Lock]
) -> tuple[DealtRound, ...]:
    """Deal every round of a revealed shoe again, from its secret and its locks."""
    rounds: list[DealtRound] = []
    for lock in locks:
        dealt, shoe = shoe.deal(secret, lock)
        rounds.append(dealt)
    return tuple(rounds)
