"""What becomes of a card drawn in error, and which rounds take no wagers."""

from enum import StrEnum

from progressive.rules.baccarat import BANKER, CARDS_MAX, PLAYER, next_card
from progressive.rules.cards import Hand


class Fate(StrEnum):
    """Where a card drawn in error goes."""

    FIRST_OF_NEXT_HAND = "first card of the next hand"
    BANKERS_THIRD = "Banker's third card"
    DISCARD_WITH_ONE_MORE = "discarded with one more unseen card"
    FIRST_OF_SIMULATED_ROUND = "first card of a simulated round"


class DisclosedCard(StrEnum):
    """The house's choice for a disclosed card that neither hand may take."""

    DISCARD = "discard"
    SIMULATE = "simulate"


class RoundKind(StrEnum):
    """A round that counts, a courtesy hand without wagers, or one that uses up a seen card."""

    PLAYED = "played"
    FREE = "free"
    SIMULATED = "simulated"

    @property
    def takes_wagers(self) -> bool:
        """Whether anyone may bet on it."""
        return self is RoundKind.PLAYED


def card_in_error(*, disclosed: bool) -> Fate:
    """Decide any card drawn in error, or found face up, but for Player's unauthorised third."""
    return Fate.FIRST_OF_SIMULATED_ROUND if disclosed else Fate.FIRST_OF_NEXT_HAND


def unauthorised_third_card(
    player: Hand, banker: Hand, *, disclosed: bool, house: DisclosedCard
) -> Fate:
    """Decide a third card dealt to a Player hand that stands."""
    due = next_card(player, banker)
    if due == PLAYER or len(player) == CARDS_MAX:
        raise ValueError("Player is entitled to a third card here: it is not an error")
    if due == BANKER:
        return Fate.BANKERS_THIRD
    if not disclosed:
        return Fate.FIRST_OF_NEXT_HAND
    if house is DisclosedCard.DISCARD:
        return Fate.DISCARD_WITH_ONE_MORE
    return Fate.FIRST_OF_SIMULATED_ROUND
