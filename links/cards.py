"""A simulated shoe, and the third cards of a round: enough of the game to deal it."""

import random
from dataclasses import dataclass, field
from typing import Final

RANKS: Final = "A23456789TJQK"
SUITS: Final = "SHDC"
DECK: Final = [rank + suit for rank in RANKS for suit in SUITS]
CUT: Final = 16  # cards left at which the shoe is changed
NATURAL: Final = 8
STANDS: Final = 6
# Points of Player's third card on which Banker draws, by Banker's own points.
BANKER_DRAWS: Final = ("0123456789",) * 3 + ("012345679", "234567", "4567", "67", "")


def points(cards: list[str]) -> int:
    """Add up a hand's points."""
    return sum(min(RANKS.index(card[0]) + 1, 10) for card in cards) % 10


@dataclass
class Shoe:
    """What is left of some shuffled decks."""

    decks: int
    rng: random.Random
    left: list[str] = field(default_factory=list)

    def shuffle(self) -> None:
        """Take new cards."""
        self.left = DECK * self.decks
        self.rng.shuffle(self.left)

    @property
    def is_over(self) -> bool:
        """Tell whether the cut card is out."""
        return len(self.left) < CUT

    def draw(self, wanted: list[str]) -> list[str]:
        """Draw four cards; those wanted come first, as far as the shoe has them."""
        lucky = []
        for card in wanted:
            if card in self.left:
                self.left.remove(card)
                lucky.append(card)
        return lucky + [self.left.pop() for _ in range(4 - len(lucky))]

    def thirds(self, player: list[str], banker: list[str]) -> list[str]:
        """Draw the third cards that the drawing rules ask for."""
        ours, theirs = points(player), points(banker)
        if max(ours, theirs) >= NATURAL:
            return []
        drawn = [self.left.pop()] if ours < STANDS else []
        if str(points(drawn)) in BANKER_DRAWS[theirs] if drawn else theirs < STANDS:
            drawn.append(self.left.pop())
        return drawn
