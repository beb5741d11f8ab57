"""The underlying game against the drawing tables as the rulebooks print them."""

from itertools import product

import pytest

from progressive.rules.baccarat import (
    Round,
    RoundError,
    is_natural,
    next_card,
    play,
    points,
    round_of,
)
from progressive.rules.cards import ALL_CARDS, Card, CardError, hand, symbols, too_many

# Banker's total by row, Player's third card by column; D draws, S stands.
PRINTED = """
     0 1 2 3 4 5 6 7 8 9
  0  D D D D D D D D D D
  1  D D D D D D D D D D
  2  D D D D D D D D D D
  3  D D D D D D D D S D
  4  S S D D D D D D S S
  5  S S S S D D D D S S
  6  S S S S S S D D S S
  7  S S S S S S S S S S
"""
VALUE_CARDS = [Card(("T" if n == 0 else "A" if n == 1 else str(n)) + "S") for n in range(10)]


def test_banker_draws_as_the_printed_table_says() -> None:
    rows = [line.split()[1:] for line in PRINTED.strip().splitlines()[1:]]
    for banker, third in product(range(8), range(10)):
        player = (VALUE_CARDS[0], VALUE_CARDS[0], VALUE_CARDS[third])
        due = next_card(player, (VALUE_CARDS[0], VALUE_CARDS[banker]))
        assert (due == "banker") == (rows[banker][third] == "D"), (banker, third)


def test_two_card_totals_decide_who_draws_first() -> None:
    for player, banker in product(range(10), range(10)):
        due = next_card(
            (VALUE_CARDS[0], VALUE_CARDS[player]), (VALUE_CARDS[0], VALUE_CARDS[banker])
        )
        if player >= 8 or banker >= 8:
            assert due is None
        elif player <= 5:
            assert due == "player"
        else:
            assert due == ("banker" if banker <= 5 else None)


def test_the_first_four_cards_alternate_from_player() -> None:
    assert next_card((), ()) == "player"
    assert next_card(hand("KS"), ()) == "banker"
    assert next_card(hand("KS"), hand("2S")) == "player"
    assert next_card(hand("KS 2H"), hand("2S")) == "banker"


@pytest.mark.parametrize(
    ("cards", "player", "banker", "outcome"),
    [
        ("KS 9H 9D KD", "K♠ 9♦", "9♥ K♦", "tie"),
        ("KS 2H 5D 4D 8S 9S", "K♠ 5♦ 8♠", "2♥ 4♦", "banker"),  # 6 stands against an 8
        ("KS 2H 5D 4D 6S 9S", "K♠ 5♦ 6♠", "2♥ 4♦ 9♠", "banker"),
        ("6S 2H TD 3D 8S", "6♠ T♦", "2♥ 3♦ 8♠", "player"),
        ("2S 3H 3D TD 8S KS", "2♠ 3♦ 8♠", "3♥ T♦", "tie"),  # 3 stands against an 8
    ],
)
def test_rounds_are_dealt_by_the_rules(cards: str, player: str, banker: str, outcome: str) -> None:
    played = play(hand(cards))
    assert (symbols(played.player), symbols(played.banker)) == (player, banker)
    assert played.outcome == outcome
    assert round_of(played.player, played.banker) == played


def test_a_round_with_too_few_cards_is_void() -> None:
    for cards in ("", "KS 9H 9D", "KS 2H 5D 4D"):
        with pytest.raises(RoundError, match="void and every wager goes back"):
            play(hand(cards))


@pytest.mark.parametrize(
    ("player", "banker", "why"),
    [
        ("KS 9H 2S", "KS 2H", "a natural ends the round"),
        ("KS 2H", "KS 8H 2S", "a natural ends the round"),
        ("KS 6H 2S", "KS 2H", "player has a third card, but stands on 6"),
        ("KS 2H", "KS 2H 3S", "player must draw first on 2"),
        ("KS 6H", "KS 7H 3S", "banker has a third card, but stands on 7"),
        ("KS 2H 8S", "KS 3H 3S", "stands on 3 when player's third card counts 8"),
        ("KS", "KS 3H", "player has 1 cards"),
        ("KS 2H", "KS 3H 4S 5S", "banker has 4 cards"),
    ],
)
def test_cards_that_the_rules_never_deal_are_refused(player: str, banker: str, why: str) -> None:
    with pytest.raises(RoundError, match=why):
        round_of(hand(player), hand(banker))


def test_a_round_so_far_says_who_draws() -> None:
    assert round_of(hand("KS 2H"), hand("KS 3H")) == Round(
        hand("KS 2H"), hand("KS 3H"), 2, 3, "player"
    )
    assert round_of(hand("KS 2H 7S"), hand("KS 3H")).next == "banker"
    assert round_of(hand("KS 2H"), hand("KS 3H")).outcome is None


def test_points_are_the_last_digit_of_the_sum() -> None:
    assert points(hand("AS 2S 4S")) == 7
    assert points(hand("AS 2S 9S")) == 2
    assert points(hand("TS JS QS KS")) == 0
    assert is_natural(hand("KS 8H"))
    assert not is_natural(hand("KS 4H 4D"))


def test_cards_are_read_in_every_spelling() -> None:
    assert len(set(ALL_CARDS)) == 52
    assert Card("TD") is Card("10D") is Card("T♦") is Card("td") is Card("10♦")
    assert Card("K♠").symbol == "K♠"
    for text in ("", "1S", "KX", "K", "KSS", "11H"):
        with pytest.raises(CardError, match="is not a card"):
            Card(text)


def test_a_card_that_occurs_too_often_is_noticed() -> None:
    assert too_many(hand("KS KS KS 2H"), 2) == {Card("KS"): 3}
    assert not too_many(hand("KS KS 2H"), 2)
