"""Every wager but Royal 9: what it looks at, which lines it can win on, and what they pay.

A wager looks at *facts*, the little of a round that matters to it: point counts and card counts,
pairs, nines, or the poker hand of the first four cards. Its lines are predicates over the facts in
order of rank; a paytable says which of them it pays, and the first that holds is the wager's line.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from progressive.rules import paytables
from progressive.rules.baccarat import BANKER, PLAYER, Round
from progressive.rules.cards import Hand
from progressive.rules.paytables import LOSS, Paytable
from progressive.rules.poker import poker_hand

CHOSEN = "chosen"  # the bettor names the hand
LOST: Final = Fraction(-1)


class WagerError(ValueError):
    """A wager that does not exist, or is placed in a way it cannot be."""


class Hands(NamedTuple):
    """The finished round as seen from one hand."""

    points: int
    cards: int
    other_points: int
    other_cards: int

    def swapped(self) -> "Hands":
        """See the same round from the other hand."""
        return Hands(self.other_points, self.other_cards, self.points, self.cards)

    @property
    def wins(self) -> bool:
        """Whether this hand wins the round."""
        return self.points > self.other_points

    @property
    def ties(self) -> bool:
        """Whether the hands are equal."""
        return self.points == self.other_points

    @property
    def is_natural(self) -> bool:
        """Whether this hand is 8 or 9 on two cards."""
        return self.cards == 2 and self.points >= 8

    def is_three_card(self, points: int) -> bool:
        """Whether this hand is so many points on three cards."""
        return self.cards == 3 and self.points == points


class Pairs(NamedTuple):
    """The rank of the pair in the first two cards of a hand and of the other, or None."""

    pair: str | None
    other_pair: str | None

    def swapped(self) -> "Pairs":
        """See the same cards from the other hand."""
        return Pairs(self.other_pair, self.pair)


Facts = Hands | Pairs | tuple[str, ...] | str
Line = tuple[str, Callable[[Any], bool]]


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """A way of looking at a round, and whether it needs the round to be finished."""

    name: str
    facts: Callable[[Round], Any]
    needs_finished_round: bool


def _hands(played: Round) -> Hands:
    return Hands(played.player_points, len(played.player), played.banker_points, len(played.banker))


def _pair_of(cards: Hand) -> str | None:
    return cards[0].rank if cards[0].rank == cards[1].rank else None


def _pairs(played: Round) -> Pairs:
    return Pairs(_pair_of(played.player), _pair_of(played.banker))


def _nines(played: Round) -> tuple[str, ...]:
    return tuple(sorted(card.suit for card in played.first_four if card.rank == "9"))


HANDS: Final = Family("hands", _hands, needs_finished_round=True)
PAIRS: Final = Family("pairs", _pairs, needs_finished_round=False)
NINES: Final = Family("nines", _nines, needs_finished_round=False)
POKER: Final = Family("poker", lambda r: poker_hand(r.first_four), needs_finished_round=False)


@dataclass(frozen=True, slots=True, eq=False)
class Wager:
    """One wager of the rulebooks."""

    name: str
    title: str
    family: Family
    side: str  # the hand its facts are seen from: player, banker, or the one the bettor chose
    lines: tuple[Line, ...]
    paytables: Mapping[str, Paytable]
    both_hands: bool = True  # with a chosen hand: may one seat bet on both

    def paytable(self, name: str | None) -> Paytable:
        """Find a paytable by name; the name may be left out where there is only one."""
        if name is None and len(self.paytables) == 1:
            return next(iter(self.paytables.values()))
        try:
            return self.paytables[name or ""]
        except KeyError:
            have = ", ".join(self.paytables)
            asked = "needs a paytable" if name is None else f"has no paytable {name!r}"
            raise WagerError(f"{self.name} {asked}: choose one of {have}") from None

    def line(self, facts: Facts, paytable: Paytable, on: str | None = None) -> str:
        """Decide which line the wager wins, or `loss`."""
        return _line(self, facts, paytable, on)

    def check_on(self, on: str | None) -> None:
        """Refuse a hand where none is to be named, and its absence where one is."""
        if self.side == CHOSEN and on not in (PLAYER, BANKER):
            raise WagerError(f'{self.name} is placed on a hand: say "on" "player" or "banker"')
        if self.side != CHOSEN and on is not None:
            raise WagerError(f'{self.name} is not placed on a hand: leave "on" out')


@cache
def _line(wager: Wager, facts: Facts, paytable: Paytable, on: str | None) -> str:
    side = on if wager.side == CHOSEN else wager.side
    seen = facts.swapped() if side == BANKER and isinstance(facts, Hands | Pairs) else facts
    for name, holds in wager.lines:
        if name in paytable.pays and holds(seen):
            return name
    return LOSS


def _wins_by(margin: int) -> Line:
    return f"win_by_{margin}", lambda h: h.points - h.other_points == margin


def _poker_line(name: str) -> Line:
    return name, lambda held: bool(held == name)


def _five_treasures(h: Hands) -> bool:
    other = h.swapped()
    return (
        (other.wins and other.is_three_card(7))
        or (h.wins and h.is_three_card(8))
        or h.is_three_card(9)
        or other.is_three_card(9)
        or (h.points == other.points == 7 and h.cards == other.cards)
    )


_TIE: Final[Line] = ("tie", lambda h: h.ties)
_WIN: Final[Line] = ("win", lambda h: h.wins)
_BONUS_LINES: Final[tuple[Line, ...]] = (
    ("natural_tie", lambda h: h.is_natural and h.ties),
    ("natural_win", lambda h: h.is_natural and h.wins),
    *(_wins_by(margin) for margin in range(9, 3, -1)),
)
_NINES_LINES: Final[tuple[Line, ...]] = (
    ("four_nines", lambda suits: len(suits) == 4),
    ("three_suited", lambda suits: len(suits) == 3 and len(set(suits)) == 1),
    ("three", lambda suits: len(suits) == 3),
    ("two_suited", lambda suits: len(suits) == 2 and len(set(suits)) == 1),
    ("two", lambda suits: len(suits) == 2),
    ("nine_of_diamonds", lambda suits: suits == ("D",)),
    ("one_nine", lambda suits: len(suits) == 1),
)


def _three_card_win(name: str, title: str, side: str, total: int, pays: Paytable) -> Wager:
    line: Line = ("win", lambda h: h.wins and h.is_three_card(total))
    return Wager(name, title, HANDS, side, (line,), {"standard": pays})


_ALL: Final = (
    Wager(
        "banker",
        "Banker",
        HANDS,
        BANKER,
        (
            _TIE,
            ("three_card_7", lambda h: h.wins and h.is_three_card(7)),
            ("six", lambda h: h.wins and h.points == 6),
            _WIN,
        ),
        paytables.BANKER,
    ),
    Wager("player", "Player", HANDS, PLAYER, (_TIE, _WIN), paytables.PLAYER),
    Wager("tie", "Tie", HANDS, PLAYER, (("win", lambda h: h.ties),), paytables.TIE),
    Wager("dragon_bonus", "Dragon Bonus", HANDS, CHOSEN, _BONUS_LINES, paytables.DRAGON_BONUS),
    Wager(
        "emperor_bonus",
        "Emperor Bonus",
        HANDS,
        CHOSEN,
        _BONUS_LINES,
        paytables.EMPEROR_BONUS,
        both_hands=False,
    ),
    _three_card_win("dragon_7", "Dragon 7", BANKER, 7, paytables.FORTY),
    _three_card_win("fortune_7_insurance", "Fortune 7 Insurance", BANKER, 7, paytables.FORTY),
    _three_card_win("fortune_7", "Fortune 7", BANKER, 7, paytables.FORTY),
    _three_card_win("koi_7", "Koi 7", BANKER, 7, paytables.FORTY),
    _three_card_win("panda_8", "Panda 8", PLAYER, 8, paytables.TWENTY_FIVE),
    _three_card_win("golden_8", "Golden 8", PLAYER, 8, paytables.TWENTY_FIVE),
    _three_card_win("frog_6", "Frog 6", PLAYER, 6, paytables.FORTY),
    Wager(
        "house_money",
        "House Money",
        PAIRS,
        PLAYER,
        (
            ("both_pairs", lambda p: p.pair is not None and p.other_pair is not None),
            ("one_pair", lambda p: p.pair is not None or p.other_pair is not None),
        ),
        paytables.HOUSE_MONEY,
    ),
    Wager(
        "one_up",
        "One Up",
        HANDS,
        PLAYER,
        (
            ("one_nil", lambda h: (h.points, h.other_points) == (1, 0)),
            ("by_one", lambda h: h.points - h.other_points == 1),
        ),
        paytables.ONE_UP,
    ),
    Wager(
        "heavenly_9",
        "Heavenly 9",
        HANDS,
        PLAYER,
        (
            ("both", lambda h: h.is_three_card(9) and h.swapped().is_three_card(9)),
            ("one", lambda h: h.is_three_card(9) or h.swapped().is_three_card(9)),
        ),
        paytables.HEAVENLY_9,
    ),
    Wager(
        "blazing_7s",
        "Blazing 7s",
        HANDS,
        PLAYER,
        (
            ("three_cards_each", lambda h: h == (7, 3, 7, 3)),
            ("two_cards_each", lambda h: h == (7, 2, 7, 2)),
        ),
        paytables.BLAZING_7S,
    ),
    Wager(
        "cover_all", "Cover All", HANDS, PLAYER, (("win", _five_treasures),), paytables.COVER_ALL
    ),
    Wager(
        "any_pair",
        "Any Pair",
        PAIRS,
        CHOSEN,
        (("pair_of_nines", lambda p: p.pair == "9"), ("pair", lambda p: p.pair is not None)),
        paytables.ANY_PAIR,
    ),
    Wager("lucky_nines", "Lucky Nines", NINES, PLAYER, _NINES_LINES, paytables.LUCKY_NINES),
    Wager(
        "lucky_6",
        "Lucky 6",
        HANDS,
        BANKER,
        (
            ("two_cards", lambda h: h.wins and (h.points, h.cards) == (6, 2)),
            ("three_cards", lambda h: h.wins and (h.points, h.cards) == (6, 3)),
        ),
        paytables.LUCKY_6,
    ),
    Wager(
        "super_6",
        "Super 6",
        HANDS,
        BANKER,
        (("win", lambda h: h.wins and h.points == 6),),
        paytables.SUPER_6,
    ),
    Wager(
        "jackpot_baccarat",
        "Jackpot Baccarat",
        POKER,
        PLAYER,
        tuple(_poker_line(name) for name in paytables.POKER_LINES),
        paytables.JACKPOT_BACCARAT,
    ),
)

WAGERS: Final[Mapping[str, Wager]] = MappingProxyType({wager.name: wager for wager in _ALL})


def find_wager(name: str) -> Wager:
    """Find a wager by its name."""
    try:
        return WAGERS[name]
    except KeyError:
        raise WagerError(f"{name!r} is not a wager: the wagers are {', '.join(WAGERS)}") from None


def pay_of(paytable: Paytable, line: str) -> Fraction:
    """Give what a line pays to one, before vigorish; a push is 0 and a loss is -1."""
    return LOST if line == LOSS else paytable.pays[line]
