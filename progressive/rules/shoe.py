"""The shoe: cutting, burning, the cover card, and which hand is the last."""

from dataclasses import dataclass, replace
from typing import Final

from progressive.rules.cards import Card
from progressive.rules.rulebooks import Rulebook

CARDS_PER_DECK: Final = 52
COVER_FROM_BACK: Final = 14  # where the cover card goes unless the house says otherwise


class ShoeError(ValueError):
    """A cut, cover card or deal that the shoe does not allow."""


@dataclass(frozen=True, slots=True)
class Shoe:
    """How far a shoe has been dealt; it knows positions, not which cards lie there."""

    decks: int
    cover_at: int  # cards in front of the cover card
    first_card_of_hand_is_last: bool
    dealt: int = 0
    hands_left: int | None = None  # None until the cover card is out

    @property
    def size(self) -> int:
        """How many cards the full shoe holds."""
        return self.decks * CARDS_PER_DECK

    @property
    def remaining(self) -> int:
        """How many cards are still in it."""
        return self.size - self.dealt

    @property
    def is_over(self) -> bool:
        """Whether the cards must be replaced before another round."""
        return self.hands_left == 0

    @property
    def is_last_hand(self) -> bool:
        """Whether the next hand is announced as the last."""
        return self.hands_left == 1

    def burn(self, first: Card) -> "Shoe":
        """Remove the first card and as many more as it counts."""
        if self.dealt:
            raise ShoeError("cards are burned before the first round only")
        return replace(self, dealt=1 + first.burn_value)

    def after_round(self, cards: int) -> "Shoe":
        """Deal a round of so many cards, noticing the cover card on the way."""
        if self.is_over:
            raise ShoeError("the shoe is over: replace the cards first")
        if cards > self.remaining:
            raise ShoeError(
                f"the round needs {cards} cards and {self.remaining} are left: "
                "it is void, every wager goes back, and the cards are replaced"
            )
        start, end = self.dealt, self.dealt + cards
        if self.hands_left is not None:
            left: int | None = self.hands_left - 1
        elif self.cover_at <= start:  # less: it came out with the burned cards
            left = 0 if self.first_card_of_hand_is_last else 1
        elif self.cover_at < end:
            left = 1
        else:
            left = None
        return replace(self, dealt=end, hands_left=left)


def new_shoe(book: Rulebook, decks: int, cover_from_back: int | None = None) -> Shoe:
    """Start a shoe with the cover card so many cards from the back, as the rulebook allows."""
    least = book.cover_from_back_min
    back = COVER_FROM_BACK if cover_from_back is None else cover_from_back
    if decks not in book.decks:
        raise ShoeError(f"{decks} decks: {book.name} allows {book.decks_text}")
    if not least <= back < decks * CARDS_PER_DECK:
        raise ShoeError(f"cover card {back} cards from the back: {book.name} asks for {least}")
    return Shoe(decks, decks * CARDS_PER_DECK - back, book.cover_first_is_last)


def check_cut(book: Rulebook, decks: int, cards_from_end: int) -> None:
    """Refuse a cut that lies closer to either end of the stack than the rulebook allows."""
    nearest = min(cards_from_end, decks * CARDS_PER_DECK - cards_from_end)
    if nearest < book.cut_min:
        raise ShoeError(
            f"cut {nearest} cards from an end: {book.name} asks for at least {book.cut_min}"
        )
