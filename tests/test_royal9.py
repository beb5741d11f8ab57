"""Royal 9: lines, seats and paytables."""

from itertools import combinations_with_replacement

import numpy as np
import oracle
import pytest

from progressive.rules.baccarat import Round, points
from progressive.rules.cards import RANKS, SUITS, Card, hand
from progressive.rules.royal9 import (
    KING_9,
    MULTI_LEVEL,
    PAYTABLES,
    Combination,
    Fixed,
    LevelShare,
    Seating,
    SeatingError,
    combination,
    find_paytable,
    seating_of,
)

# The oracle's numbering: rank * 4 + suit, ace first, spades hearts diamonds clubs.
CARDS = [Card(rank + suit) for rank in RANKS for suit in "SHDC"]
HANDS = [(CARDS[a], CARDS[b]) for a, b in combinations_with_replacement(range(52), 2)]
SEATS = range(1, 10)
FIXED = {"suited_both": 1_500, "royal_both": 250, "any_suited": 50, "any_royal": 25}


def dealt(player: str, banker: str) -> Round:
    first, second = hand(player), hand(banker)
    return Round(first, second, points(first), points(second), None)


@pytest.mark.parametrize("edition", [KING_9, MULTI_LEVEL])
def test_every_pair_of_two_card_hands_gives_every_seat_its_line(edition: str) -> None:
    """All 1,378 x 1,378 pairs, for all nine seats, against an independent evaluation."""
    name = "king9" if edition == KING_9 else "multi"
    lines = oracle.KING9_LINES if edition == KING_9 else oracle.MULTI_LINES
    paytable = PAYTABLES["MD-C" if edition == KING_9 else "MD-A"]
    seating = seating_of(paytable, 9)
    expected = np.stack(
        [oracle.royal9_lines_all(name, seat, oracle.DEFAULT_COMBOS) for seat in range(1, 10)]
    )
    all_lose = dict.fromkeys(SEATS, "loss")
    every_seat_loses = (expected == lines.index("loss")).all(axis=0)
    for p, player in enumerate(HANDS):
        losers = every_seat_loses[p].tolist()
        for b, banker in enumerate(HANDS):
            got = seating.lines(SEATS, Round(player, banker, 0, 0, None))
            if losers[b]:  # spares listing the expected lines of most pairs
                assert got == all_lose, (player, banker)
            else:
                assert list(got.values()) == [lines[index] for index in expected[:, p, b]], (
                    player,
                    banker,
                )


@pytest.mark.parametrize("seats", range(1, 10))
def test_smaller_tables_print_fewer_combinations(seats: int) -> None:
    seating = seating_of(PAYTABLES["MD-C"], seats)
    for other, mine in enumerate(oracle.DEFAULT_COMBOS, start=1):
        face, nine = "SHDC"[mine[0]], "SHDC"[mine[1]]
        both = dealt(f"K{face} 9{nine}", f"9{nine} K{face}")
        for seat in range(1, seats + 1):
            expected = (
                "star" if seat == other else "other_king9" if other <= seats else "royal_both"
            )
            assert seating.line(seat, both) == expected


@pytest.mark.parametrize(
    ("player", "banker", "line"),
    [
        ("K♠ 9♥", "K♠ 9♥", "star"),
        ("9♥ K♠", "K♠ 9♥", "star"),
        ("2♠ 3♥", "K♠ 9♥", "spade"),
        ("K♠ 9♥", "K♣ 9♥", "heart"),
        ("K♣ 9♥", "K♠ 9♥", "spade"),
        ("K♠ 9♦", "K♠ 9♦", "other_king9"),
        ("K♥ 9♦", "K♥ 9♦", "royal_both"),  # printed at no seat of this table
        ("Q♠ 9♥", "Q♠ 9♥", "royal_both"),
        ("K♠ 9♦", "K♣ 9♥", "royal_both"),  # two other seats', but not identical
        ("K♠ 9♠", "J♥ 9♥", "suited_both"),
        ("K♠ 9♠", "K♠ 9♠", "suited_both"),
        ("K♠ 9♠", "Q♠ 9♥", "royal_both"),
        ("K♠ 9♠", "2♥ 3♥", "any_suited"),
        ("2♥ 3♥", "J♠ 9♥", "any_royal"),
        ("T♠ 9♥", "A♠ 9♥", "loss"),
        ("9♠ 9♥", "K♠ Q♥", "loss"),
    ],
)
def test_seat_one_of_a_seven_seat_king_9_table(player: str, banker: str, line: str) -> None:
    assert seating_of(PAYTABLES["MA-K9"], 7).line(1, dealt(player, banker)) == line


@pytest.mark.parametrize(
    ("player", "banker", "line"),
    [
        ("K♠ 9♥", "K♠ 9♥", "exact_match"),
        ("Q♠ 9♥", "9♥ Q♠", "exact_match"),
        ("J♠ 9♥", "J♠ 9♥", "exact_match"),
        ("K♠ 9♥", "Q♠ 9♥", "any_two"),
        ("J♠ 9♥", "K♠ 9♥", "any_two"),
        ("2♠ 3♥", "K♠ 9♥", "spade"),
        ("2♠ 3♥", "Q♠ 9♥", "any_royal"),  # only the king counts alone
        ("K♠ 9♥", "Q♣ 9♥", "heart"),
        ("K♣ 9♥", "K♣ 9♥", "royal_both"),  # another chair's: no line of its own here
        ("K♠ 9♠", "J♥ 9♥", "suited_both"),
        ("K♠ 9♠", "2♥ 3♥", "any_suited"),
        ("9♠ 9♥", "K♠ Q♥", "loss"),
    ],
)
def test_chair_one_of_a_multi_level_table(player: str, banker: str, line: str) -> None:
    assert seating_of(PAYTABLES["MA-1"], 9).line(1, dealt(player, banker)) == line


@pytest.mark.parametrize("name", ["MA-K9", "MD-C"])
def test_the_king_9_paytables_line_by_line(name: str) -> None:
    assert list(PAYTABLES[name].pays.items()) == [
        ("star", LevelShare("star", 100)),
        ("spade", LevelShare("spade", 100)),
        ("heart", LevelShare("heart", 100)),
        ("other_king9", Fixed(5_000_000_000)),
        *((line, Fixed(dollars * 1_000_000)) for line, dollars in FIXED.items()),
    ]


@pytest.mark.parametrize("name", ["MA-1", "MA-2", "MD-A", "MD-B"])
def test_the_multi_level_paytables_line_by_line(name: str) -> None:
    assert list(PAYTABLES[name].pays.items()) == [
        ("exact_match", LevelShare("star", 100)),
        ("any_two", LevelShare("star", 10)),
        ("spade", LevelShare("spade", 100)),
        ("heart", LevelShare("heart", 100)),
        *((line, Fixed(dollars * 1_000_000)) for line, dollars in FIXED.items()),
    ]


@pytest.mark.parametrize(
    ("name", "star", "others", "decks", "seats"),
    [
        ("MA-K9", 50_000, 450, (6, 8), (6, 7)),
        ("MA-1", 50_000, 350, (8,), (9,)),
        ("MA-2", 25_000, 350, (8,), (9,)),
        ("MD-A", 50_000, 350, (6, 7, 8), tuple(range(1, 10))),
        ("MD-B", 25_000, 350, (6, 7, 8), tuple(range(1, 10))),
        ("MD-C", 50_000, 450, (6, 7, 8), tuple(range(1, 10))),
    ],
)
def test_what_each_paytable_asks_of_its_table(
    name: str, star: int, others: int, decks: tuple[int, ...], seats: tuple[int, ...]
) -> None:
    paytable = PAYTABLES[name]
    assert {level: micros // 1_000_000 for level, micros in paytable.seeds_min.items()} == {
        "star": star,
        "spade": others,
        "heart": others,
    }
    assert (paytable.decks, paytable.seats) == (decks, seats)


def test_the_oldest_edition_prints_its_rates() -> None:
    assert PAYTABLES["MA-1"].rates_ppm == {"star": 90_000, "spade": 50_000, "heart": 50_000}
    assert PAYTABLES["MA-2"].rates_ppm == {"star": 96_000, "spade": 50_000, "heart": 50_000}
    assert PAYTABLES["MD-A"].rates_ppm is None


def test_a_combination_is_read_in_any_spelling() -> None:
    spellings: list[str | list[str]] = ["K♠ 9♥", "KS 9H", "KS9H", "9H KS", ["KS", "9H"], "ks 9h"]
    assert {combination(text) for text in spellings} == {Combination("S", "H")}


@pytest.mark.parametrize("text", ["K♠ 9♠", "Q♠ 9♥", "K♠ 8♥", "K♠", "", "KS 9H 9D", "XX 9H"])
def test_a_combination_that_no_seat_can_have_is_refused(text: str) -> None:
    with pytest.raises(SeatingError):
        combination(text)


def test_no_two_seats_have_the_same_combination() -> None:
    same = Combination("S", "H")
    with pytest.raises(SeatingError, match="seats 1 and 3 both have K♠ 9♥"):
        Seating(KING_9, (same, Combination("S", "D"), same))


def test_seats_outside_the_table_are_refused() -> None:
    seating = seating_of(PAYTABLES["MD-C"], 7)
    for cards in (dealt("K♠ 9♥", "K♠ 9♥"), dealt("2♠ 3♥", "4♠ 2♥")):
        for seat in (0, 8, -1):
            with pytest.raises(SeatingError, match="this table has seats 1 to 7"):
                seating.line(seat, cards)
    with pytest.raises(SeatingError):
        seating_of(PAYTABLES["MD-C"], 10)
    with pytest.raises(SeatingError):
        seating_of(PAYTABLES["MD-C"], 7, {8: Combination("C", "S")})
    with pytest.raises(SeatingError, match="choose one of MA-K9"):
        find_paytable("MA-9")


def test_all_twelve_king_9s_can_be_seated() -> None:
    twelve = [Combination(a, b) for a in SUITS for b in SUITS if a != b]
    assert len(twelve) == 12
    assert Seating(KING_9, tuple(twelve[:9])).line(9, dealt("2♠ 3♥", "4♠ 2♥")) == "loss"
