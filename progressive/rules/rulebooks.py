"""The rulebooks as data: what each allows, and where it says so."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

SEATS_MAX: Final = 9
DOLLAR: Final = 1_000_000  # micro-dollars

LIVE = "live"
DEALER_ASSIST = "dealer-assist"
AUTOMATED = "automated"
KINDS: Final = (LIVE, DEALER_ASSIST, AUTOMATED)

STANDARD = "standard"
EZ = "ez"
FORTUNE_7 = "fortune_7"
NO_COMMISSION = "no_commission"
FIVE_TREASURES = "five_treasures"

DESIGNATIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        STANDARD: "standard, Banker pays 1:1 less 5 % vigorish",
        EZ: "EZ Baccarat, no vigorish, Banker pushes on a winning three-card 7",
        FORTUNE_7: "Fortune 7 Baccarat, no vigorish, Banker pushes on a winning three-card 7",
        NO_COMMISSION: "No Commission, no vigorish, Banker winning on 6 pays 1:2",
        FIVE_TREASURES: "Five Treasures, Banker pays 1:1 less 5 % vigorish",
    }
)

# Wagers that only a table of this designation may take; any other wager fits any table.
ONLY_AT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "dragon_7": EZ,
        "panda_8": EZ,
        "fortune_7_insurance": FORTUNE_7,
        "one_up": FORTUNE_7,
        "fortune_7": FIVE_TREASURES,
        "golden_8": FIVE_TREASURES,
        "heavenly_9": FIVE_TREASURES,
        "blazing_7s": FIVE_TREASURES,
        "cover_all": FIVE_TREASURES,
    }
)

_MAIN = frozenset({"banker", "player", "tie"})
_FIVE = frozenset({"fortune_7", "golden_8", "heavenly_9", "blazing_7s", "cover_all"})


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Rulebook:
    """One jurisdiction's edition of the game."""

    name: str
    title: str
    decks: tuple[int, ...]
    kinds: tuple[str, ...]  # of table
    cut_min: int  # cards between the cut and either end of the stack
    cover_from_back_min: int
    cover_first_is_last: bool
    burn_at_automated_table: bool
    free_hands: bool
    must_hit: bool
    tie_may_pay_more: bool  # than 8 to 1
    designations: tuple[str, ...]  # the first is that of a table which names none
    wagers: frozenset[str]
    any_pair_paytable: str | None
    royal_9_paytables: tuple[str, ...]
    must_hit_pairs: tuple[tuple[int, int], ...] = ()  # (reset, maximum) at least, micro-dollars
    limits: Mapping[str, tuple[int, int]] = field(
        default_factory=_nothing
    )  # wager -> micro-dollars
    sections: Mapping[str, str] = field(default_factory=_nothing)  # topic -> where it stands

    @property
    def designation(self) -> str:
        """What a table is that names no designation."""
        return self.designations[0]

    @property
    def decks_text(self) -> str:
        """The numbers of decks, as a person writes them."""
        return " or ".join(str(number) for number in self.decks)

    def section(self, topic: str) -> str:
        """Name the place in the rulebook that decides `topic`."""
        place = self.sections.get(topic)
        return f"{self.name} {place}" if place else f"{self.name} rulebook"


def _massachusetts(name: str, edition: str, *, free_hands: bool, old: bool = False) -> Rulebook:
    return Rulebook(
        name=name,
        title=f"Massachusetts, rules of Midi Baccarat, {edition} edition",
        decks=(6, 7, 8),
        kinds=KINDS,
        cut_min=52,
        cover_from_back_min=14 if old else 1,
        cover_first_is_last=False,
        burn_at_automated_table=True,
        free_hands=free_hands,
        must_hit=not old,
        tie_may_pay_more=True,
        designations=(STANDARD, EZ),
        wagers=_MAIN | {"dragon_bonus", "dragon_7", "panda_8", "house_money", "royal_9"},
        any_pair_paytable=None,
        royal_9_paytables=("MA-1", "MA-2") if old else ("MA-K9",),
        sections=MappingProxyType(
            {
                "decks": "3(a)",
                "seats": "2(a)",
                "wagers": "7(a)",
                "designation": "7(a)(5), 7(a)(6)",
                "tie": "12(b)",
                "vigorish": "12(c), 12(d)",
                "royal 9": "12(i)",
                "must hit": "12" if old else "12(j)",
                "house money": "8(c)(3)",
                "irregularities": "13",
            }
        ),
    )


def _dollars(*amounts: int) -> tuple[int, int]:
    low, high = amounts
    return low * DOLLAR, high * DOLLAR


_MARYLAND = Rulebook(
    name="MD",
    title="Maryland, standard rules for Midi Baccarat",
    decks=(6, 7, 8),
    kinds=KINDS,
    cut_min=10,
    cover_from_back_min=14,
    cover_first_is_last=False,
    burn_at_automated_table=True,
    free_hands=False,
    must_hit=True,
    tie_may_pay_more=True,
    designations=(STANDARD, EZ, FORTUNE_7, NO_COMMISSION, FIVE_TREASURES),
    wagers=_MAIN
    | _FIVE
    | {"dragon_bonus", "dragon_7", "panda_8", "fortune_7_insurance", "one_up", "royal_9"}
    | {"jackpot_baccarat", "any_pair", "lucky_nines", "lucky_6", "super_6"},
    any_pair_paytable="MD",
    royal_9_paytables=("MD-A", "MD-B", "MD-C"),
    must_hit_pairs=(_dollars(250, 1_000), _dollars(100, 500), _dollars(100, 200)),
    sections=MappingProxyType(
        {
            "decks": "3.A",
            "seats": "2.A",
            "wagers": "7.A",
            "designation": "7.A",
            "tie": "12.B",
            "vigorish": "12.C, 12.D",
            "royal 9": "12.K",
            "must hit": "12.O",
            "irregularities": "13",
        }
    ),
)

_ILANI = Rulebook(
    name="ilani",
    title="ilani, electronic Midi Baccarat",
    decks=(8,),
    kinds=(DEALER_ASSIST, AUTOMATED),
    cut_min=1,
    cover_from_back_min=14,
    cover_first_is_last=True,
    burn_at_automated_table=False,
    free_hands=False,
    must_hit=False,
    tie_may_pay_more=False,
    designations=(NO_COMMISSION,),
    wagers=_MAIN | {"emperor_bonus", "koi_7", "frog_6", "super_6", "any_pair"},
    any_pair_paytable="ilani",
    royal_9_paytables=(),
    limits=MappingProxyType(
        {
            "banker": _dollars(10, 500),
            "player": _dollars(10, 500),
            "tie": _dollars(1, 100),
            "any_pair": _dollars(1, 100),
            "super_6": _dollars(1, 50),
            "emperor_bonus": _dollars(1, 25),
            "koi_7": _dollars(1, 25),
            "frog_6": _dollars(1, 25),
        }
    ),
    sections=MappingProxyType(
        {
            "decks": "2.d",
            "seats": "2",
            "wagers": "1.d",
            "designation": "1.c",
            "tie": "1.c",
            "limits": "6",
            "royal 9": "1.d",
            "irregularities": "7",
        }
    ),
)

RULEBOOKS: Final[Mapping[str, Rulebook]] = MappingProxyType(
    {
        book.name: book
        for book in (
            _massachusetts("MA", "current", free_hands=True),
            _massachusetts("MA-prev", "previous", free_hands=False),
            _massachusetts("MA-old", "oldest", free_hands=False, old=True),
            _MARYLAND,
            _ILANI,
        )
    }
)
