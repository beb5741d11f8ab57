"""Count every wager's lines by listing all deals, independently of the code under test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations_with_replacement
from math import perm

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Key = tuple[str, str, str]
Lines = list[tuple[str, Mask]]
Counts = dict[str, int]
Hand = tuple[int, int]
Combos = Sequence[tuple[int, int]]

# Maryland rules, chapter 10.E: a row for each Banker two-card total, a column for the value of the
# Player's third card (0 to 9); D draws, "." stays.
BANKER_RULE = (
    "DDDDDDDDDD",  # 0
    "DDDDDDDDDD",  # 1
    "DDDDDDDDDD",  # 2
    "DDDDDDDD.D",  # 3
    "..DDDDDD..",  # 4
    "....DDDD..",  # 5
    "......DD..",  # 6
    "..........",  # 7
    "..........",  # 8, a natural, listed only so that every total has a row
    "..........",  # 9, likewise
)

ACE, NINE, TEN, JACK, KING = 0, 8, 9, 10, 12
DIAMONDS = 2


@dataclass(frozen=True)
class Rounds:
    """One entry per six-card sequence: final totals, naturals, third cards and weight."""

    player: Ints
    banker: Ints
    player_natural: Mask
    banker_natural: Mask
    player_three: Mask
    banker_three: Mask
    weight: Ints


def _ordered_weight(cards: Ints, copies: Ints) -> Ints:
    """Count the ways to deal each column of cards, in order, without replacement."""
    weight = np.ones(cards.shape[1], dtype=np.int64)
    for i, card in enumerate(cards):
        weight *= copies[card] - (cards[:i] == card).sum(axis=0)
    return weight


def _tally(lines: Lines, weight: Ints) -> Counts:
    """Give each deal to the first line that holds, and the rest to the loss."""
    counts: Counts = {}
    unclaimed = np.ones(weight.shape, dtype=np.bool_)
    for name, holds in lines:
        counts[name] = int(weight[unclaimed & holds].sum())
        unclaimed &= ~holds
    counts["loss"] = int(weight[unclaimed].sum())
    return counts


def _play_all(decks: int) -> Rounds:
    """Play out all million sequences of six point values."""
    if perm(52 * decks, 6) >= 2**63:
        raise ValueError("too many decks for 64-bit weights")
    # Column n holds the digits of n, so every sequence of six values comes exactly once.
    cards = np.indices((10,) * 6, dtype=np.int64).reshape(6, -1)
    first_player = (cards[0] + cards[2]) % 10
    first_banker = (cards[1] + cards[3]) % 10
    player_natural = first_player >= 8
    banker_natural = first_banker >= 8
    open_hand = ~(player_natural | banker_natural)

    rule = np.array([[cell == "D" for cell in row] for row in BANKER_RULE], dtype=np.bool_)
    player_three = open_hand & (first_player < 6)
    banker_draws = np.where(player_three, rule[first_banker, cards[4]], first_banker < 6)
    banker_three = open_hand & banker_draws
    # When the Player stands, the fifth card falls to the Banker.
    banker_third = np.where(player_three, cards[5], cards[4])

    copies = np.array([16 * decks] + [4 * decks] * 9, dtype=np.int64)
    weight = _ordered_weight(cards, copies)
    player = (first_player + cards[4] * player_three) % 10
    banker = (first_banker + banker_third * banker_three) % 10
    naturals = (player_natural, banker_natural)
    return Rounds(player, banker, *naturals, player_three, banker_three, weight)


def _bonus_lines(own: Ints, other: Ints, own_natural: Mask, other_natural: Mask) -> Lines:
    """List the Dragon or Emperor Bonus lines of the hand that carries the wager."""
    margin = own - other
    return [
        ("natural_tie", own_natural & other_natural & (margin == 0)),
        ("natural_win", own_natural & (margin > 0)),
        *((f"win_by_{gap}", ~own_natural & (margin == gap)) for gap in range(9, 3, -1)),
    ]


def _six_card_lines(r: Rounds) -> dict[Key, Lines]:
    """List the lines, best first, of each wager that needs the finished hands."""
    tie = r.player == r.banker
    player_wins = r.player > r.banker
    banker_wins = r.banker > r.player
    three_card_7 = banker_wins & r.banker_three & (r.banker == 7)
    three_card_8 = player_wins & r.player_three & (r.player == 8)
    three_card_6 = player_wins & r.player_three & (r.player == 6)
    six = banker_wins & (r.banker == 6)
    player_9 = r.player_three & (r.player == 9)
    banker_9 = r.banker_three & (r.banker == 9)
    both_7 = (r.player == 7) & (r.banker == 7)
    three_each = ("three_cards_each", both_7 & r.player_three & r.banker_three)
    two_each = ("two_cards_each", both_7 & ~r.player_three & ~r.banker_three)
    # Chapter 7.A(14) calls two-card sevens Blazing 7s too, so Cover All wins on them.
    treasure = three_card_7 | three_card_8 | player_9 | banker_9 | three_each[1] | two_each[1]
    one_nil = (r.player == 1) & (r.banker == 0)

    standard: dict[str, Lines] = {
        "player": [("tie", tie), ("win", player_wins)],
        "banker": [("tie", tie), ("win", banker_wins)],
        "tie": [("win", tie)],
        "one_up": [("one_nil", one_nil), ("by_one", r.player - r.banker == 1)],
        "heavenly_9": [("both", player_9 & banker_9), ("one", player_9 | banker_9)],
        "cover_all": [("win", treasure)],
        "lucky_6": [("two_cards", six & ~r.banker_three), ("three_cards", six & r.banker_three)],
        "super_6": [("win", six)],
        "frog_6": [("win", three_card_6)],
    }
    for name in ("dragon_7", "fortune_7_insurance", "fortune_7", "koi_7"):
        standard[name] = [("win", three_card_7)]
    for name in ("panda_8", "golden_8"):
        standard[name] = [("win", three_card_8)]
    found: dict[Key, Lines] = {(name, "", "standard"): lines for name, lines in standard.items()}
    found["banker", "", "five_treasures"] = standard["banker"]
    pushes: Lines = [("tie", tie), ("three_card_7", three_card_7), ("win", banker_wins)]
    found["banker", "", "ez"] = found["banker", "", "fortune_7"] = pushes
    found["banker", "", "no_commission"] = [("tie", tie), ("six", six), ("win", banker_wins)]
    found["blazing_7s", "", "A"] = [three_each]
    found["blazing_7s", "", "B"] = [three_each, two_each]
    sides = {
        "player": _bonus_lines(r.player, r.banker, r.player_natural, r.banker_natural),
        "banker": _bonus_lines(r.banker, r.player, r.banker_natural, r.player_natural),
    }
    for on, lines in sides.items():
        for wager, paytable in (("emperor_bonus", "A"), *(("dragon_bonus", x) for x in "ABC")):
            found[wager, on, paytable] = lines
    return found


def six_card_counts(decks: int) -> dict[Key, Counts]:
    """Count each line of each third-card wager out of all six-card orderings."""
    rounds = _play_all(decks)
    found = _six_card_lines(rounds)
    return {key: _tally(lines, rounds.weight) for key, lines in found.items()}


def _four_card_multisets(decks: int) -> tuple[Ints, Ints]:
    """List every unordered four-card deal of the 52 card types, with its number of ways."""
    flat = chain.from_iterable(combinations_with_replacement(range(52), 4))
    cards = np.fromiter(flat, dtype=np.int64).reshape(-1, 4).T
    weight = np.ones(cards.shape[1], dtype=np.int64)
    for i in range(4):
        already = (cards[:i] == cards[i]).sum(axis=0)
        # Turns C(decks, already) into C(decks, already + 1), so the division leaves no rest.
        weight = weight * (decks - already) // (already + 1)
    return cards, weight


def _poker_lines(ranks: Ints, suits: Ints) -> Lines:
    """List the Jackpot Baccarat lines of four cards, best first."""
    number = np.array([(ranks == rank).sum(axis=0) for rank in range(13)])
    most = number.max(axis=0)
    pairs = (number == 2).sum(axis=0)
    flush = np.all(suits == suits[0], axis=0)
    straight = np.zeros(flush.shape, dtype=np.bool_)
    # The ace stands at both ends, but no run may pass through it.
    for low in range(11):
        run = [(low + step) % 13 for step in range(4)]
        straight |= np.all(number[run] == 1, axis=0)
    royal_ranks = np.all(number[[JACK, JACK + 1, KING, ACE]] == 1, axis=0)
    return [
        ("royal", royal_ranks & flush),
        ("quads", most == 4),
        ("straight_flush", straight & flush),
        ("trips", most == 3),
        ("flush", flush),
        ("straight", straight),
        ("two_pair", pairs == 2),
        ("aces", number[ACE] == 2),
        ("tens_to_kings", np.any(number[TEN:] == 2, axis=0)),
    ]


def _nines_lines(ranks: Ints, suits: Ints) -> Lines:
    """List the Lucky Nines lines of four cards, best first."""
    by_suit = np.array([((ranks == NINE) & (suits == suit)).sum(axis=0) for suit in range(4)])
    nines = by_suit.sum(axis=0)
    suited = by_suit.max(axis=0) == nines
    return [
        ("four_nines", nines == 4),
        ("three_suited", (nines == 3) & suited),
        ("three", nines == 3),
        ("two_suited", (nines == 2) & suited),
        ("two", nines == 2),
        ("nine_of_diamonds", by_suit[DIAMONDS] == 1),
        ("one_nine", nines == 1),
    ]


def four_card_counts(decks: int) -> dict[Key, Counts]:
    """Count each line of each wager that the first four cards decide."""
    cards, weight = _four_card_multisets(decks)
    poker = _tally(_poker_lines(cards // 4, cards % 4), weight)
    nines = _tally(_nines_lines(cards // 4, cards % 4), weight)
    found: dict[Key, Counts] = {}
    for paytable in "ABCDE":
        found["jackpot_baccarat", "", paytable] = dict(poker)
    for paytable in "ABCD":
        found["lucky_nines", "", paytable] = dict(nines)

    # Pairs depend on which hand a card goes to, so these deals keep their order.
    ranks = np.indices((13,) * 4, dtype=np.int64).reshape(4, -1)
    ways = _ordered_weight(ranks, np.full(13, 4 * decks, dtype=np.int64))
    pair = {"player": ranks[0] == ranks[2], "banker": ranks[1] == ranks[3]}
    first_card = {"player": ranks[0], "banker": ranks[1]}
    two, one = pair["player"] & pair["banker"], pair["player"] | pair["banker"]
    found["house_money", "", "standard"] = _tally([("both_pairs", two), ("one_pair", one)], ways)
    for on, paired in pair.items():
        nine_pair = paired & (first_card[on] == NINE)
        found["any_pair", on, "MD"] = _tally([("pair_of_nines", nine_pair), ("pair", paired)], ways)
        found["any_pair", on, "ilani"] = _tally([("pair", paired)], ways)
    return found


def _pays(names: str, *odds: int | Fraction) -> dict[str, Fraction]:
    """Pair the line names with their odds and add the lost stake."""
    pays = {name: Fraction(paid) for name, paid in zip(names.split(), odds, strict=True)}
    return pays | {"loss": Fraction(-1)}


_BONUS = "natural_tie natural_win win_by_9 win_by_8 win_by_7 win_by_6 win_by_5 win_by_4"
_POKER = "royal quads straight_flush trips flush straight two_pair aces tens_to_kings"
_NINES = "four_nines three_suited three two_suited two nine_of_diamonds one_nine"
_LESS_VIGORISH = Fraction(19, 20)
_SINGLE_LINE = {"tie": 8, "dragon_7": 40, "fortune_7_insurance": 40, "fortune_7": 40, "koi_7": 40}
_SINGLE_LINE |= {"panda_8": 25, "golden_8": 25, "frog_6": 40, "cover_all": 6, "super_6": 15}

PAYS: dict[tuple[str, str], dict[str, Fraction]] = {
    **{(wager, "standard"): _pays("win", odds) for wager, odds in _SINGLE_LINE.items()},
    ("player", "standard"): _pays("tie win", 0, 1),
    ("banker", "standard"): _pays("tie win", 0, _LESS_VIGORISH),
    ("banker", "five_treasures"): _pays("tie win", 0, _LESS_VIGORISH),
    ("banker", "ez"): _pays("tie three_card_7 win", 0, 0, 1),
    ("banker", "fortune_7"): _pays("tie three_card_7 win", 0, 0, 1),
    ("banker", "no_commission"): _pays("tie six win", 0, Fraction(1, 2), 1),
    ("dragon_bonus", "A"): _pays(_BONUS, 0, 1, 30, 10, 6, 4, 2, 1),
    ("dragon_bonus", "B"): _pays(_BONUS, 0, 1, 20, 8, 7, 4, 3, 1),
    ("dragon_bonus", "C"): _pays(_BONUS, 0, 1, 30, 10, 4, 4, 2, 2),
    ("emperor_bonus", "A"): _pays(_BONUS, 0, 1, 30, 10, 6, 4, 2, 1),
    ("one_up", "standard"): _pays("one_nil by_one", 30, 9),
    ("heavenly_9", "standard"): _pays("both one", 75, 10),
    ("blazing_7s", "A"): _pays("three_cards_each", 400),
    ("blazing_7s", "B"): _pays("three_cards_each two_cards_each", 200, 50),
    ("lucky_6", "standard"): _pays("two_cards three_cards", 12, 20),
    ("jackpot_baccarat", "A"): _pays(_POKER, 500, 100, 50, 15, 10, 5, 4, 2, 0),
    ("jackpot_baccarat", "B"): _pays(_POKER, 250, 75, 50, 15, 10, 5, 4, 2, 0),
    ("jackpot_baccarat", "C"): _pays(_POKER, 300, 50, 40, 15, 10, 5, 4, 2, 0),
    ("jackpot_baccarat", "D"): _pays(_POKER, 500, 100, 50, 15, 10, 6, 5, 2, 0),
    ("jackpot_baccarat", "E"): _pays(_POKER, 500, 100, 50, 15, 10, 6, 4, 2, 0),
    ("lucky_nines", "A"): _pays(_NINES, 500, 250, 20, 8, 5, 2, 1),
    ("lucky_nines", "B"): _pays(_NINES, 500, 250, 30, 12, 5, 2, 1),
    ("lucky_nines", "C"): _pays(_NINES, 1000, 500, 35, 16, 5, 2, 1),
    ("lucky_nines", "D"): _pays(_NINES, 2000, 500, 15, 10, 4, 2, 1),
    ("house_money", "standard"): _pays("both_pairs one_pair", 15, 3),
    ("any_pair", "MD"): _pays("pair_of_nines pair", 12, 11),
    ("any_pair", "ilani"): _pays("pair", 10),
}


def house_edge(counts: Mapping[str, int], pays: Mapping[str, Fraction]) -> Fraction:
    """Return what the house keeps, on average, of one unit staked."""
    returned = sum((pays[name] * count for name, count in counts.items()), Fraction(0))
    return -returned / sum(counts.values())


# Chairs 1 to 9, suit of the face card then of the nine: 0 spades, 1 hearts, 2 diamonds, 3 clubs.
DEFAULT_COMBOS = ((0, 1), (0, 2), (3, 1), (3, 2), (1, 0), (1, 3), (2, 0), (2, 3), (2, 1))
_BOTTOM_LINES = ("suited_both", "royal_both", "any_suited", "any_royal", "loss")
KING9_LINES = ("star", "spade", "heart", "other_king9", *_BOTTOM_LINES)
MULTI_LINES = ("exact_match", "any_two", "spade", "heart", *_BOTTOM_LINES)
_ROYAL9_LINES = {"king9": KING9_LINES, "multi": MULTI_LINES}


def royal9_line(edition: str, seat: int, combos: Combos, player: Hand, banker: Hand) -> str:
    """Name the Royal 9 line that one seat takes from one deal."""
    faces, suits = range(JACK, KING + 1), range(4)
    kinds = [(rank, face, nine) for rank in faces for face in suits for nine in suits]

    def kind(hand: Hand) -> tuple[int, int, int] | None:
        """Name a Royal 9 by its face card's rank and suit and its nine's suit."""
        fits = [k for k in kinds if {*hand} == {k[0] * 4 + k[1], NINE * 4 + k[2]}]
        return fits[0] if fits else None

    p, b = kind(player), kind(banker)
    mine = [(rank, *combos[seat - 1]) for rank in faces]
    king9 = (KING, *combos[seat - 1])
    others = [(KING, *combo) for place, combo in enumerate(combos, 1) if place != seat]
    if edition == "king9":
        tops = [p == b == king9, b == king9, p == king9, p == b and p in others]
    else:
        tops = [p in mine and p == b, p in mine and b in mine, b == king9, p == king9]
    royal = [k is not None for k in (p, b)]
    suited = [k is not None and k[1] == k[2] for k in (p, b)]
    holds = [*tops, all(suited), all(royal), any(suited), any(royal), True]
    return _ROYAL9_LINES[edition][holds.index(True)]


def _all_hands() -> tuple[Ints, Ints]:
    """List the low and the high card of every unordered two-card hand."""
    hands = np.array(list(combinations_with_replacement(range(52), 2)), dtype=np.int64)
    return hands[:, 0], hands[:, 1]


def royal9_lines_all(edition: str, seat: int, combos: Combos) -> npt.NDArray[np.uint8]:
    """Index the line of every Player hand (first axis) against every Banker hand."""
    # A nine has a lower code than any face card, so in a Royal 9 it is always the low card.
    nine, face = _all_hands()
    royal = (nine // 4 == NINE) & (face // 4 >= JACK)
    suited = royal & (nine % 4 == face % 4)
    suits = face % 4 * 4 + nine % 4
    printed = [royal & (suits == face_suit * 4 + nine_suit) for face_suit, nine_suit in combos]
    kings = [hands & (face // 4 == KING) for hands in printed]
    mine, my_king9 = printed[seat - 1], kings[seat - 1]

    both, either = np.logical_and.outer, np.logical_or.outer
    nobody = np.zeros_like(royal)
    holds = {
        "loss": both(~royal, ~royal),
        "any_royal": either(royal, royal),
        "any_suited": either(suited, suited),
        "royal_both": both(royal, royal),
        "suited_both": both(suited, suited),
    }
    personal = {"heart": either(my_king9, nobody), "spade": either(nobody, my_king9)}
    if edition == "king9":
        others = [both(hands, hands) for hands in kings[: seat - 1] + kings[seat:]]
        holds["other_king9"] = np.any([both(nobody, nobody), *others], axis=0)
        holds |= personal | {"star": both(my_king9, my_king9)}
    else:
        same_face = np.equal.outer(face // 4, face // 4)
        pairs = both(mine, mine)
        holds |= personal | {"any_two": pairs, "exact_match": pairs & same_face}
    lines = np.zeros((len(royal), len(royal)), dtype=np.uint8)
    # Written from the worst line to the best, so that the best one stays.
    for name, deals in holds.items():
        lines[deals] = _ROYAL9_LINES[edition].index(name)
    return lines


def royal9_counts(edition: str, seat: int, combos: Combos, decks: int) -> Counts:
    """Count each Royal 9 line of a seat out of all unordered two-hand deals."""
    low, high = _all_hands()
    # What the shoe still holds of each card type once a given Player hand is out of it.
    types = np.arange(52)
    left = decks - (low[:, None] == types).astype(np.int64) - (high[:, None] == types)
    first, second = left[:, low], left[:, high]
    banker_ways = np.where(low == high, first * (first - 1) // 2, first * second)
    player_ways = np.where(low == high, decks * (decks - 1) // 2, decks * decks)
    weight = player_ways[:, None] * banker_ways
    lines = royal9_lines_all(edition, seat, combos)
    names = enumerate(_ROYAL9_LINES[edition])
    return {name: int(weight[lines == index].sum()) for index, name in names}
