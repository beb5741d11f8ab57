"""Cards and hands, written the way a dealer reads them: `KS`, `9H`, `TD`, also `K♠`."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

RANKS = "A23456789TJQK"
SUITS = "SHDC"
SYMBOLS = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}
FACES = "JQK"

_POINTS = {rank: min(index, 10) % 10 for index, rank in enumerate(RANKS, start=1)}
_BURN_VALUES = {rank: min(index, 10) for index, rank in enumerate(RANKS, start=1)}


class CardError(ValueError):
    """A text that names no card, or a hand that no shoe can deal."""


class Card(str):
    """One of the 52 cards; equal to its canonical two-letter text, and a single object each."""

    __slots__ = ("burn_value", "points", "rank", "suit")
    rank: str
    suit: str
    points: int
    burn_value: int

    def __new__(cls, text: str) -> Self:
        """Give the card that `text` names, in any accepted spelling."""
        try:
            return _BY_SPELLING[text]  # type: ignore[return-value]
        except (KeyError, TypeError):
            raise CardError(
                f"{text!r} is not a card: write a rank (A 2-9 T J Q K, or 10) and a suit "
                "(S H D C or ♠ ♥ ♦ ♣), such as KS, 9H, TD or K♠"
            ) from None

    def __getnewargs__(self) -> tuple[str]:
        return (str.__str__(self),)

    @property
    def symbol(self) -> str:
        """The card as printed on a layout, such as `K♠`."""
        return self.rank + SYMBOLS[self.suit]


Hand = tuple[Card, ...]


def _make(rank: str, suit: str) -> Card:
    made = str.__new__(Card, rank + suit)
    made.rank, made.suit = rank, suit
    made.points, made.burn_value = _POINTS[rank], _BURN_VALUES[rank]
    return made


def _spellings(rank: str, suit: str) -> Iterable[str]:
    for r in (rank, "10") if rank == "T" else (rank,):
        for s in (suit, SYMBOLS[suit]):
            yield r + s
            yield (r + s).lower()


ALL_CARDS: tuple[Card, ...] = tuple(_make(rank, suit) for rank in RANKS for suit in SUITS)
_BY_SPELLING: dict[str, Card] = {
    spelling: card for card in ALL_CARDS for spelling in _spellings(card.rank, card.suit)
}


def hand(text: str) -> Hand:
    """Read cards separated by spaces: `hand("K♠ 9♥")`."""
    return tuple(Card(word) for word in text.split())


def symbols(cards: Sequence[Card]) -> str:
    """Write cards as a person reads them: `K♠ 9♥`."""
    return " ".join(card.symbol for card in cards)


def too_many(cards: Sequence[Card], decks: int) -> dict[Card, int]:
    """Give the cards that occur more often than `decks` decks hold, with how often they occur."""
    if len(cards) <= decks:
        return {}
    return {card: seen for card, seen in Counter(cards).items() if seen > decks}
