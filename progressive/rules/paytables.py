"""What every line of every wager pays, to one, as the rulebooks print it."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Final

LOSS = "loss"
PUSH: Final = Fraction(0)


@dataclass(frozen=True, slots=True, eq=False)
class Paytable:
    """Pays to one, by line; a push is 0. Lines that are missing lose."""

    name: str
    pays: Mapping[str, Fraction]
    vigorish: Fraction = Fraction(0)  # of the amount won


Paytables = Mapping[str, Paytable]


def _columns(lines: str, **columns: str) -> Paytables:
    """Read paytables side by side: one column a paytable, one word a line, `-` for no such line."""
    names = lines.split()
    tables = {}
    for title, column in columns.items():
        words = column.split()
        if len(words) != len(names):
            raise ValueError(f"paytable {title}: {len(words)} pays for {len(names)} lines")
        pays = {
            line: PUSH if word == "push" else Fraction(word)
            for line, word in zip(names, words, strict=True)
            if word != "-"
        }
        tables[title] = Paytable(title, MappingProxyType(pays))
    return MappingProxyType(tables)


def _with_vigorish(tables: Paytables, *names: str) -> Paytables:
    five_percent = Fraction(1, 20)
    return MappingProxyType(
        {
            name: Paytable(name, table.pays, five_percent) if name in names else table
            for name, table in tables.items()
        }
    )


BANKER: Final = _with_vigorish(
    _columns(
        "tie  three_card_7 six win",
        standard="push - - 1",
        ez="push push - 1",
        fortune_7="push push - 1",
        no_commission="push - 1/2 1",
        five_treasures="push - - 1",
    ),
    "standard",
    "five_treasures",
)
PLAYER: Final = _columns("tie win", standard="push 1")
TIE: Final = _columns("win", standard="8")


@cache
def tie_paying(odds: int) -> Paytable:
    """Make the Tie paytable of a house that pays more than it must."""
    return Paytable("standard", MappingProxyType({"win": Fraction(odds)}))


_BONUS: Final = "natural_tie natural_win win_by_9 win_by_8 win_by_7 win_by_6 win_by_5 win_by_4"
DRAGON_BONUS: Final = _columns(
    _BONUS,
    A="push 1 30 10 6 4 2 1",
    B="push 1 20  8 7 4 3 1",
    C="push 1 30 10 4 4 2 2",
)
EMPEROR_BONUS: Final = _columns(_BONUS, A="push 1 30 10 6 4 2 1")

FORTY: Final = _columns("win", standard="40")["standard"]
TWENTY_FIVE: Final = _columns("win", standard="25")["standard"]

HOUSE_MONEY: Final = _columns("both_pairs one_pair", standard="15 3")
ONE_UP: Final = _columns("one_nil by_one", standard="30 9")
HEAVENLY_9: Final = _columns("both one", standard="75 10")
BLAZING_7S: Final = _columns("three_cards_each two_cards_each", A="400 -", B="200 50")
COVER_ALL: Final = _columns("win", standard="6")
ANY_PAIR: Final = _columns("pair_of_nines pair", MD="12 11", ilani="- 10")
LUCKY_NINES: Final = _columns(
    "four_nines three_suited three two_suited two nine_of_diamonds one_nine",
    A=" 500 250 20  8 5 2 1",
    B=" 500 250 30 12 5 2 1",
    C="1000 500 35 16 5 2 1",
    D="2000 500 15 10 4 2 1",
)
LUCKY_6: Final = _columns("two_cards three_cards", standard="12 20")
SUPER_6: Final = _columns("win", standard="15")

JACKPOT_BACCARAT: Final = _columns(
    "royal quads straight_flush trips flush straight two_pair aces tens_to_kings",
    A="500 100 50 15 10 5 4 2 push",
    B="250  75 50 15 10 5 4 2 push",
    C="300  50 40 15 10 5 4 2 push",
    D="500 100 50 15 10 6 5 2 push",
    E="500 100 50 15 10 6 4 2 push",
)
POKER_LINES: Final = tuple(JACKPOT_BACCARAT["A"].pays)
