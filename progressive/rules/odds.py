"""Exact odds by enumeration: every way the cards can fall, counted in integers.

Each family of wagers has the sample space that is natural to it: six-card orderings for what
depends on the finished hands, four-card deals in order for pairs, sets of four cards for nines and
poker hands, and pairs of two-card hands for Royal 9. A probability is a count over the space's
total, so figures of different families compare exactly.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import comb, perm, prod
from typing import Any

from progressive.rules.baccarat import (
    BANKER_DRAWS,
    BANKER_DRAWS_AFTER_PLAYER_STOOD,
    NATURAL_MIN,
    PLAYER_DRAWS,
)
from progressive.rules.cards import RANKS, SUITS
from progressive.rules.paytables import LOSS, Paytable
from progressive.rules.poker import poker_line
from progressive.rules.royal9 import LINES, ROYAL_HANDS, RoyalHand, Seating
from progressive.rules.shoe import CARDS_PER_DECK
from progressive.rules.wagers import Family, Hands, Pairs, Wager, pay_of

VALUES = range(10)


@dataclass(frozen=True, slots=True)
class LineOdds:
    """How many ways lead to a line, and what it pays net to one."""

    line: str
    ways: int
    pays: Fraction


@dataclass(frozen=True, slots=True)
class WagerOdds:
    """The exact odds of one wager under one paytable."""

    wager: str
    on: str | None
    paytable: str
    decks: int
    total: int
    lines: tuple[LineOdds, ...]

    @property
    def house_edge(self) -> Fraction:
        """What the house keeps of each unit wagered, pushes counted as wagered."""
        return -sum((line.ways * line.pays for line in self.lines), Fraction(0)) / self.total


def wager_odds(wager: Wager, paytable: Paytable, decks: int, on: str | None = None) -> WagerOdds:
    """Count the ways to every line of a wager."""
    space = _family_counts(wager.family, decks)
    ways: Counter[str] = Counter()
    for facts, count in space.items():
        ways[wager.line(facts, paytable, on)] += count
    lines = [line for line in (*(name for name, _ in wager.lines), LOSS) if ways[line]]
    return WagerOdds(
        wager.name,
        on,
        paytable.name,
        decks,
        sum(space.values()),
        tuple(LineOdds(line, ways[line], _net(paytable, line)) for line in lines),
    )


def _net(paytable: Paytable, line: str) -> Fraction:
    pay = pay_of(paytable, line)
    return pay * (1 - paytable.vigorish) if pay > 0 else pay


@cache
def _family_counts(family: Family, decks: int) -> Counter[Any]:
    return _SPACES[family.name](decks)


def _two_cards(counts: list[int]) -> Iterator[tuple[int, int, int]]:
    """Give each unordered pair of kinds with the number of ordered ways to draw it."""
    for a, b in combinations_with_replacement(range(len(counts)), 2):
        ways = counts[a] * (counts[a] - 1) if a == b else 2 * counts[a] * counts[b]
        yield a, b, ways


def _without(counts: list[int], *drawn: int) -> list[int]:
    left = counts.copy()
    for kind in drawn:
        left[kind] -= 1
    return left


def hands_counts(decks: int) -> Counter[Hands]:
    """Count six-card orderings by the points and number of cards of both finished hands."""
    shoe = [16 * decks] + [4 * decks] * 9
    unused = (sum(shoe) - 4) * (sum(shoe) - 5)
    found: Counter[Hands] = Counter()
    for a, b, player_ways in _two_cards(shoe):
        player = (a + b) % 10
        left = _without(shoe, a, b)
        for c, d, banker_ways in _two_cards(left):
            banker, ways = (c + d) % 10, player_ways * banker_ways
            if max(player, banker) >= NATURAL_MIN:
                found[Hands(player, 2, banker, 2)] += ways * unused
            else:
                _count_draws(found, player, banker, ways, _without(left, c, d))
    return found


def _count_draws(
    found: Counter[Hands], player: int, banker: int, ways: int, left: list[int]
) -> None:
    cards = sum(left)
    if player in PLAYER_DRAWS:
        for third in VALUES:
            drawn = ways * left[third]
            total = (player + third) % 10
            if third not in BANKER_DRAWS[banker]:
                found[Hands(total, 3, banker, 2)] += drawn * (cards - 1)
                continue
            for last in VALUES:
                after = drawn * (left[last] - (last == third))
                found[Hands(total, 3, (banker + last) % 10, 3)] += after
    elif banker in BANKER_DRAWS_AFTER_PLAYER_STOOD:
        for third in VALUES:
            drawn = ways * left[third] * (cards - 1)
            found[Hands(player, 2, (banker + third) % 10, 3)] += drawn
    else:
        found[Hands(player, 2, banker, 2)] += ways * cards * (cards - 1)


def pairs_counts(decks: int) -> Counter[Pairs]:
    """Count four-card deals in order by the pairs in the two hands."""
    shoe = [4 * decks] * len(RANKS)
    found: Counter[Pairs] = Counter()
    for a, b, player_ways in _two_cards(shoe):
        player = RANKS[a] if a == b else None
        for c, d, banker_ways in _two_cards(_without(shoe, a, b)):
            banker = RANKS[c] if c == d else None
            found[Pairs(player, banker)] += player_ways * banker_ways
    return found


def nines_counts(decks: int) -> Counter[tuple[str, ...]]:
    """Count sets of four cards by the suits of the nines among them."""
    others = (CARDS_PER_DECK - len(SUITS)) * decks
    return Counter(
        {
            suits: prod(comb(decks, suits.count(s)) for s in SUITS) * comb(others, 4 - nines)
            for nines in range(5)
            for suits in combinations_with_replacement(sorted(SUITS), nines)
        }
    )


def poker_counts(decks: int) -> Counter[str]:
    """Count sets of four cards by the poker hand they make."""
    found: Counter[str] = Counter()
    for ranks in combinations_with_replacement(RANKS, 4):
        held = Counter(ranks).values()
        ways = prod(comb(len(SUITS) * decks, times) for times in held)
        suited = len(SUITS) * prod(comb(decks, times) for times in held)
        found[poker_line(ranks, suited=True)] += suited
        found[poker_line(ranks, suited=False)] += ways - suited
    return found


_SPACES: Mapping[str, Callable[[int], Counter[Any]]] = {
    "hands": hands_counts,
    "pairs": pairs_counts,
    "nines": nines_counts,
    "poker": poker_counts,
}


@dataclass(frozen=True, slots=True)
class Royal9Odds:
    """How many two-hand deals lead each line of one seat."""

    seat: int
    decks: int
    total: int
    ways: Mapping[str, int]  # every line of the edition, `loss` last

    def probability(self, line: str) -> Fraction:
        """Give the chance of a line, for one wager."""
        return Fraction(self.ways[line], self.total)


def royal9_odds(seating: Seating, seat: int, decks: int) -> Royal9Odds:
    """Count, for one seat, the ways of two hands of two cards to every line."""
    ways = dict.fromkeys(LINES[seating.edition], 0)
    for player, banker, count in _royal_deals(decks):
        ways[seating.line_of(seat, player, banker)] += count
    return Royal9Odds(seat, decks, sum(ways.values()), ways)


@cache
def _royal_deals(decks: int) -> tuple[tuple[RoyalHand | None, RoyalHand | None, int], ...]:
    """List what is a Royal 9 in each hand, with the number of unordered two-hand deals."""
    cards = CARDS_PER_DECK * decks
    other_hands = comb(cards - 2, 2)
    royals = sorted(set(ROYAL_HANDS.values()))
    deals: list[tuple[RoyalHand | None, RoyalHand | None, int]] = []
    for first in royals:
        both = 0
        for second in royals:
            count = decks * decks * _copies_left(first, second, decks)
            both += count
            deals.append((first, second, count))
        alone = decks * decks * other_hands - both
        deals += [(first, None, alone), (None, first, alone)]
    neither = comb(cards, 2) * other_hands - sum(count for _, _, count in deals)
    return (*deals, (None, None, neither))


def _copies_left(first: RoyalHand, second: RoyalHand, decks: int) -> int:
    """Count the ways to make the second hand once the first has left the shoe."""
    same_face = first.face == second.face and first.suits.face_suit == second.suits.face_suit
    same_nine = first.suits.nine_suit == second.suits.nine_suit
    return (decks - same_face) * (decks - same_nine)


def orderings(decks: int) -> int:
    """Count the ways in which six cards can come out of the shoe."""
    return perm(CARDS_PER_DECK * decks, 6)
