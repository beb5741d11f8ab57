"""Royal 9: the seats' combinations, the lines of both editions, and what they pay.

Only the first two cards of each hand matter. A seat is paid its highest line, by the paytable's
order and not by amount; all pays are for one: the stake is not returned on top.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from progressive.rules.baccarat import Round
from progressive.rules.cards import FACES, SUITS, SYMBOLS, Card, CardError, Hand
from progressive.rules.paytables import LOSS
from progressive.rules.rulebooks import DOLLAR, SEATS_MAX

STAKE_MICROS: Final = 5 * DOLLAR

STAR = "star"
SPADE = "spade"
HEART = "heart"
MUST_HIT = "must_hit"
CARD_LEVELS: Final = (STAR, SPADE, HEART)

KING_9 = "king-9"
MULTI_LEVEL = "multi-level"


class SeatingError(ValueError):
    """Seats or combinations that a table cannot have."""


class Combination(NamedTuple):
    """A seat's own king of one suit and nine of another; multi-level: with its queen and jack."""

    face_suit: str
    nine_suit: str

    def __str__(self) -> str:
        return f"K{SYMBOLS[self.face_suit]} 9{SYMBOLS[self.nine_suit]}"


class RoyalHand(NamedTuple):
    """A nine with a jack, queen or king."""

    face: str
    suits: Combination

    @property
    def is_suited(self) -> bool:
        """Whether both cards are of one suit."""
        return self.suits.face_suit == self.suits.nine_suit

    @property
    def is_king(self) -> bool:
        """Whether the face card is a king."""
        return self.face == "K"


def _royal_hands() -> Iterable[tuple[tuple[Card, Card], RoyalHand]]:
    for face in FACES:
        for suits in ((a, b) for a in SUITS for b in SUITS):
            cards = Card(face + suits[0]), Card("9" + suits[1])
            royal = RoyalHand(face, Combination(*suits))
            yield cards, royal
            yield (cards[1], cards[0]), royal


ROYAL_HANDS: Final[Mapping[Hand, RoyalHand]] = MappingProxyType(dict(_royal_hands()))


def combination(cards: str | Sequence[str]) -> Combination:
    """Read a seat's combination, such as `K♠ 9♥`, `KS9H` or `["KS", "9H"]`."""
    words = cards.replace("10", "T").split() if isinstance(cards, str) else list(cards)
    if len(words) == 1 and len(words[0]) == 4:
        words = [words[0][:2], words[0][2:]]
    try:
        royal = ROYAL_HANDS.get(tuple(Card(word) for word in words))
    except CardError as error:
        raise SeatingError(str(error)) from None
    if royal is None or not royal.is_king:
        raise SeatingError(f"{cards!r} is not a king with a nine, such as K♠ 9♥")
    if royal.is_suited:
        raise SeatingError(f"{royal.suits} is suited: a seat's King-9 has two different suits")
    return royal.suits


# Chair 1 to 9 of the multi-level edition; also the default King-9s of a King-9 table.
DEFAULT_COMBINATIONS: Final = tuple(
    Combination(*suits) for suits in ("SH", "SD", "CH", "CD", "HS", "HC", "DS", "DC", "DH")
)


class LevelShare(NamedTuple):
    """A line that pays a part of a progressive meter."""

    level: str
    percent: int


class Fixed(NamedTuple):
    """A line that pays a fixed amount, for one."""

    amount_micros: int


Pay = LevelShare | Fixed


@dataclass(frozen=True, slots=True, eq=False)
class Royal9Paytable:
    """One of the rulebooks' Royal 9 paytables, with what its book asks of the table."""

    name: str
    edition: str
    pays: Mapping[str, Pay]
    seeds_min: Mapping[str, int]  # level -> micro-dollars, for seed and reset alike
    rule: str
    seeds_rule: str
    decks: tuple[int, ...]
    seats: tuple[int, ...]
    rates_ppm: Mapping[str, int] | None = None  # None: the operator's
    fixed_combinations: bool = False

    @property
    def seats_default(self) -> int:
        """How many seats to assume where none are named."""
        return 9 if self.edition == MULTI_LEVEL else 7


_FIXED = (("suited_both", 1_500), ("royal_both", 250), ("any_suited", 50), ("any_royal", 25))
_KING_9_PAYS: Final[Mapping[str, Pay]] = MappingProxyType(
    {
        "star": LevelShare(STAR, 100),
        "spade": LevelShare(SPADE, 100),
        "heart": LevelShare(HEART, 100),
        "other_king9": Fixed(5_000 * DOLLAR),
        **{line: Fixed(dollars * DOLLAR) for line, dollars in _FIXED},
    }
)
_MULTI_PAYS: Final[Mapping[str, Pay]] = MappingProxyType(
    {
        "exact_match": LevelShare(STAR, 100),
        "any_two": LevelShare(STAR, 10),
        "spade": LevelShare(SPADE, 100),
        "heart": LevelShare(HEART, 100),
        **{line: Fixed(dollars * DOLLAR) for line, dollars in _FIXED},
    }
)
LINES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {KING_9: (*_KING_9_PAYS, LOSS), MULTI_LEVEL: (*_MULTI_PAYS, LOSS)}
)


def _seeds(star: int, others: int) -> Mapping[str, int]:
    dollars = {STAR: star, SPADE: others, HEART: others}
    return MappingProxyType({level: amount * DOLLAR for level, amount in dollars.items()})


_ANY_DECKS = (6, 7, 8)
_ANY_SEATS = tuple(range(1, SEATS_MAX + 1))


def _oldest(number: int, star_seed: int, star_rate: int) -> Royal9Paytable:
    """Make a paytable of the oldest Massachusetts edition, which prints everything."""
    return Royal9Paytable(
        name=f"MA-{number}",
        edition=MULTI_LEVEL,
        pays=_MULTI_PAYS,
        seeds_min=_seeds(star_seed, 350),
        rule=f"MA-old 12(i), paytable {number}",
        seeds_rule=f"MA-old 12(i), paytable {number}",
        decks=(8,),
        seats=(9,),
        rates_ppm=MappingProxyType({STAR: star_rate, SPADE: 50_000, HEART: 50_000}),
        fixed_combinations=True,
    )


def _maryland(letter: str, pays: Mapping[str, Pay], seeds: Mapping[str, int]) -> Royal9Paytable:
    number = "ABC".index(letter) + 1
    return Royal9Paytable(
        name=f"MD-{letter}",
        edition=KING_9 if pays is _KING_9_PAYS else MULTI_LEVEL,
        pays=pays,
        seeds_min=seeds,
        rule=f"MD 12.K({number})",
        seeds_rule="MD 12.L",
        decks=_ANY_DECKS,
        seats=_ANY_SEATS,
    )


_MASSACHUSETTS = Royal9Paytable(
    name="MA-K9",
    edition=KING_9,
    pays=_KING_9_PAYS,
    seeds_min=_seeds(50_000, 450),
    rule="MA 12(i)",
    seeds_rule="MA prints no seeds: those of MD 12.L, paytable C",
    decks=(6, 8),
    seats=(6, 7),
)

PAYTABLES: Final[Mapping[str, Royal9Paytable]] = MappingProxyType(
    {
        table.name: table
        for table in (
            _MASSACHUSETTS,
            _oldest(1, 50_000, 90_000),
            _oldest(2, 25_000, 96_000),
            _maryland("A", _MULTI_PAYS, _seeds(50_000, 350)),
            _maryland("B", _MULTI_PAYS, _seeds(25_000, 350)),
            _maryland("C", _KING_9_PAYS, _seeds(50_000, 450)),
        )
    }
)


def _king_9_line(
    mine: Combination, printed: frozenset[Combination], player: RoyalHand, banker: RoyalHand
) -> str | None:
    player_mine = player.is_king and player.suits == mine
    banker_mine = banker.is_king and banker.suits == mine
    if player_mine or banker_mine:
        return "star" if player_mine and banker_mine else "spade" if banker_mine else "heart"
    if player.is_king and player == banker and player.suits in printed:
        return "other_king9"
    return None


def _multi_level_line(
    mine: Combination, _printed: frozenset[Combination], player: RoyalHand, banker: RoyalHand
) -> str | None:
    if player.suits == banker.suits == mine:
        return "exact_match" if player.face == banker.face else "any_two"
    if banker.is_king and banker.suits == mine:
        return "spade"
    if player.is_king and player.suits == mine:
        return "heart"
    return None


_PERSONAL_LINE: Final = {KING_9: _king_9_line, MULTI_LEVEL: _multi_level_line}
_NO_ROYAL: Final = RoyalHand("", Combination("", "-"))  # equals no seat's, and is not suited


@dataclass(frozen=True, slots=True)
class Seating:
    """A table's seats, each with its own combination, under one edition."""

    edition: str
    combinations: tuple[Combination, ...]  # of seat 1, 2, ...

    def __post_init__(self) -> None:
        if not 1 <= len(self.combinations) <= SEATS_MAX:
            raise SeatingError(
                f"{len(self.combinations)} seats: a table has 1 to {SEATS_MAX} positions"
            )
        owner: dict[Combination, int] = {}
        for seat, mine in enumerate(self.combinations, start=1):
            if mine in owner:
                raise SeatingError(
                    f"seats {owner[mine]} and {seat} both have {mine}: "
                    "no two seats of a table may have the same combination"
                )
            owner[mine] = seat

    def line(self, seat: int, played: Round) -> str:
        """Decide the seat's line from the first four cards."""
        return self.lines((seat,), played)[seat]

    def lines(self, seats: Iterable[int], played: Round) -> dict[int, str]:
        """Decide the line of each of the seats from the first four cards."""
        player = ROYAL_HANDS.get(played.player[:2])
        banker = ROYAL_HANDS.get(played.banker[:2])
        if player is not None or banker is not None:
            return {seat: _line(self, seat, player, banker) for seat in seats}
        lines = dict.fromkeys(seats, LOSS)
        for seat in lines:
            if not 1 <= seat <= len(self.combinations):
                raise self._no_such_seat(seat)
        return lines

    def line_of(self, seat: int, player: RoyalHand | None, banker: RoyalHand | None) -> str:
        """Decide the seat's line from what is a Royal 9 in each hand, if anything."""
        return _line(self, seat, player, banker)

    def _no_such_seat(self, seat: int) -> SeatingError:
        return SeatingError(f"seat {seat}: this table has seats 1 to {len(self.combinations)}")


@lru_cache(maxsize=1 << 16)  # 49 hands each way for each seat: room for three full tables
def _line(seating: Seating, seat: int, player: RoyalHand | None, banker: RoyalHand | None) -> str:
    if not 1 <= seat <= len(seating.combinations):
        raise seating._no_such_seat(seat)  # noqa: SLF001 - same module, one message
    mine = seating.combinations[seat - 1]
    printed = frozenset(seating.combinations)
    decide = _PERSONAL_LINE[seating.edition]
    personal = decide(mine, printed, player or _NO_ROYAL, banker or _NO_ROYAL)
    return personal or _general_line(player, banker)


def _general_line(player: RoyalHand | None, banker: RoyalHand | None) -> str:
    royals = [held for held in (player, banker) if held is not None]
    suited = sum(held.is_suited for held in royals)
    if suited == 2:
        return "suited_both"
    if len(royals) == 2:
        return "royal_both"
    if suited:
        return "any_suited"
    return "any_royal" if royals else LOSS


def seating_of(
    paytable: Royal9Paytable, seats: int, own: Mapping[int, Combination] | None = None
) -> Seating:
    """Seat a table with the default combinations, replaced by its own where it has them."""
    if not 1 <= seats <= SEATS_MAX:
        raise SeatingError(f"{seats} seats: a table has 1 to {SEATS_MAX} positions")
    for seat in own or {}:
        if not 1 <= seat <= seats:
            raise SeatingError(f"seat {seat}: this table has seats 1 to {seats}")
    chosen = {**dict(enumerate(DEFAULT_COMBINATIONS[:seats], start=1)), **(own or {})}
    return Seating(paytable.edition, tuple(chosen[seat] for seat in range(1, seats + 1)))


def find_paytable(name: str) -> Royal9Paytable:
    """Find a Royal 9 paytable by its name."""
    try:
        return PAYTABLES[name]
    except KeyError:
        raise SeatingError(
            f"{name!r} is not a Royal 9 paytable: choose one of {', '.join(PAYTABLES)}"
        ) from None
