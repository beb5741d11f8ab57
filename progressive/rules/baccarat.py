"""The underlying game: point counts, the drawing table, naturals, and what a round comes to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from progressive.rules.cards import Card, Hand

PLAYER = "player"
BANKER = "banker"
TIE = "tie"

CARDS_MAX: Final = 3
NATURAL_MIN: Final = 8

PLAYER_DRAWS: Final = frozenset(range(6))
BANKER_DRAWS_AFTER_PLAYER_STOOD: Final = frozenset(range(6))

# Banker's two-card total -> points of Player's third card on which Banker draws.
BANKER_DRAWS: Final[Mapping[int, frozenset[int]]] = {
    0: frozenset(range(10)),
    1: frozenset(range(10)),
    2: frozenset(range(10)),
    3: frozenset(range(10)) - {8},
    4: frozenset(range(2, 8)),
    5: frozenset(range(4, 8)),
    6: frozenset(range(6, 8)),
    7: frozenset(),
}


class RoundError(ValueError):
    """Cards that cannot have been dealt to a round by the drawing rules."""


def points(cards: Iterable[Card]) -> int:
    """Add up a hand's points, of which only the last digit counts."""
    return sum([card.points for card in cards]) % 10


def is_natural(cards: Hand) -> bool:
    """Tell whether the hand is 8 or 9 on two cards."""
    return len(cards) == 2 and points(cards) >= NATURAL_MIN


def next_card(player: Hand, banker: Hand) -> str | None:
    """Say which hand the next card goes to, or None when the round is complete."""
    if len(player) < 2 or len(banker) < 2:
        return PLAYER if len(player) == len(banker) else BANKER
    player_two, banker_two = points(player[:2]), points(banker[:2])
    if len(banker) == CARDS_MAX or max(player_two, banker_two) >= NATURAL_MIN:
        return None
    if len(player) == CARDS_MAX:
        draws = player[2].points in BANKER_DRAWS[banker_two]
    elif player_two in PLAYER_DRAWS:
        return PLAYER
    else:
        draws = banker_two in BANKER_DRAWS_AFTER_PLAYER_STOOD
    return BANKER if draws else None


@dataclass(frozen=True, slots=True)
class Round:
    """The two hands as dealt: complete, or so far (then `next` says who draws)."""

    player: Hand
    banker: Hand
    player_points: int
    banker_points: int
    next: str | None

    @property
    def outcome(self) -> str | None:
        """The winning hand or the tie; None while a card is still to come."""
        if self.next is not None:
            return None
        if self.player_points == self.banker_points:
            return TIE
        return PLAYER if self.player_points > self.banker_points else BANKER

    @property
    def first_four(self) -> Hand:
        """The first two cards of Player and of Banker."""
        return self.player[:2] + self.banker[:2]


def round_of(player: Hand, banker: Hand) -> Round:
    """Make a round of two or three cards a hand, refusing cards that the rules never deal."""
    for name, cards in ((PLAYER, player), (BANKER, banker)):
        if not 2 <= len(cards) <= CARDS_MAX:
            raise RoundError(f"{name} has {len(cards)} cards: a hand has two or three")
    due = next_card(player[:2], banker[:2])
    if len(player) == CARDS_MAX:
        if due != PLAYER:
            raise RoundError(_why_no_third(PLAYER, player, banker))
        due = next_card(player, banker[:2])
    if len(banker) == CARDS_MAX:
        if due != BANKER:
            raise RoundError(_why_no_third(BANKER, player, banker))
        due = None
    return Round(player, banker, points(player), points(banker), due)


def _why_no_third(name: str, player: Hand, banker: Hand) -> str:
    if is_natural(player[:2]) or is_natural(banker[:2]):
        return f"{name} has a third card, but a natural ends the round at two cards each"
    if name == BANKER and len(player) == 2 and points(player) in PLAYER_DRAWS:
        return f"banker has a third card, but player must draw first on {points(player)}"
    if name == BANKER and len(player) == CARDS_MAX:
        return (
            f"banker has a third card, but stands on {points(banker[:2])} "
            f"when player's third card counts {player[2].points}"
        )
    two = points((player if name == PLAYER else banker)[:2])
    return f"{name} has a third card, but stands on {two}"


def play(cards: Iterable[Card]) -> Round:
    """Deal a round from the cards in order, taking no more of them than it needs."""
    source = iter(cards)
    player: Hand = ()
    banker: Hand = ()
    while due := next_card(player, banker):
        try:
            drawn = next(source)
        except StopIteration:
            raise RoundError(
                "too few cards to complete the round: it is void and every wager goes back"
            ) from None
        if due == PLAYER:
            player += (drawn,)
        else:
            banker += (drawn,)
    return Round(player, banker, points(player), points(banker), None)
