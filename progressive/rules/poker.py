"""The poker hand that the first four cards make, for the wagers that look at it."""

from collections import Counter

from progressive.rules.cards import RANKS, Hand

_STRAIGHTS = frozenset(
    frozenset((RANKS + "A")[start : start + 4]) for start in range(len(RANKS) - 2)
)
_ROYAL = frozenset("JQKA")
_TENS_TO_KINGS = frozenset("TJQK")
NOTHING = "nothing"


def poker_hand(cards: Hand) -> str:
    """Name the best line of four cards; several decks make a suited pair possible: a flush."""
    return poker_line(tuple(card.rank for card in cards), len({card.suit for card in cards}) == 1)


def poker_line(ranks: tuple[str, ...], suited: bool) -> str:
    """Name the best line of four ranks that are, or are not, all of one suit."""
    held = frozenset(ranks)
    counts = sorted(Counter(ranks).values(), reverse=True)
    lines = (
        ("royal", suited and held == _ROYAL),
        ("quads", counts[0] == 4),
        ("straight_flush", suited and held in _STRAIGHTS),
        ("trips", counts[0] == 3),
        ("flush", suited),
        ("straight", held in _STRAIGHTS),
        ("two_pair", counts == [2, 2]),
        ("aces", ranks.count("A") == 2),
        ("tens_to_kings", any(ranks.count(rank) == 2 for rank in _TENS_TO_KINGS)),
    )
    return next((name for name, holds in lines if holds), NOTHING)
