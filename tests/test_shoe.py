"""The shoe, cards drawn in error, and what each rulebook allows."""

from itertools import product

import pytest

from progressive.rules.baccarat import RoundError, play
from progressive.rules.cards import Card, hand
from progressive.rules.irregularities import (
    DisclosedCard,
    Fate,
    RoundKind,
    card_in_error,
    unauthorised_third_card,
)
from progressive.rules.rulebooks import DESIGNATIONS, RULEBOOKS
from progressive.rules.settlement import Placed, Terms, check_wagers, takes_vigorish, wagers_allowed
from progressive.rules.shoe import Shoe, ShoeError, check_cut, new_shoe

BURNED = {"A": 2, "T": 11, "J": 11, "Q": 11, "K": 11} | {str(n): n + 1 for n in range(2, 10)}
MA_ANYWHERE = "banker player tie dragon_bonus house_money royal_9"
MD_ANYWHERE = (
    "banker player tie dragon_bonus royal_9 jackpot_baccarat any_pair lucky_nines lucky_6 super_6"
)
ALLOWED = {
    ("MA", "standard"): MA_ANYWHERE,
    ("MA", "ez"): f"{MA_ANYWHERE} dragon_7 panda_8",
    ("MA-prev", "standard"): MA_ANYWHERE,
    ("MA-prev", "ez"): f"{MA_ANYWHERE} dragon_7 panda_8",
    ("MA-old", "standard"): MA_ANYWHERE,
    ("MA-old", "ez"): f"{MA_ANYWHERE} dragon_7 panda_8",
    ("MD", "standard"): MD_ANYWHERE,
    ("MD", "no_commission"): MD_ANYWHERE,
    ("MD", "ez"): f"{MD_ANYWHERE} dragon_7 panda_8",
    ("MD", "fortune_7"): f"{MD_ANYWHERE} fortune_7_insurance one_up",
    ("MD", "five_treasures"): f"{MD_ANYWHERE} fortune_7 golden_8 heavenly_9 blazing_7s cover_all",
    ("ilani", "no_commission"): "banker player tie emperor_bonus koi_7 frog_6 super_6 any_pair",
}
HOME = {
    "dragon_7": "ez",
    "panda_8": "ez",
    "fortune_7_insurance": "fortune_7",
    "one_up": "fortune_7",
    "fortune_7": "five_treasures",
    "golden_8": "five_treasures",
    "heavenly_9": "five_treasures",
    "blazing_7s": "five_treasures",
    "cover_all": "five_treasures",
}


@pytest.mark.parametrize(("rank", "cards"), BURNED.items())
def test_the_first_card_burns_itself_and_as_many_as_it_counts(rank: str, cards: int) -> None:
    shoe = new_shoe(RULEBOOKS["MD"], 8).burn(Card(rank + "S"))
    assert (shoe.dealt, shoe.remaining) == (cards, 416 - cards)


def test_cards_are_burned_once_and_before_the_first_round() -> None:
    shoe = new_shoe(RULEBOOKS["MD"], 8).burn(Card("AS"))
    with pytest.raises(ShoeError, match="before the first round only"):
        shoe.burn(Card("AS"))


@pytest.mark.parametrize(
    ("book", "least"), [("MA", 52), ("MA-prev", 52), ("MA-old", 52), ("MD", 10)]
)
@pytest.mark.parametrize("decks", [6, 8])
def test_a_cut_keeps_its_distance_from_either_end(book: str, least: int, decks: int) -> None:
    size = decks * 52
    for allowed in (least, size // 2, size - least):
        check_cut(RULEBOOKS[book], decks, allowed)
    for refused in (0, least - 1, size - least + 1, size):
        with pytest.raises(ShoeError, match=f"asks for at least {least}"):
            check_cut(RULEBOOKS[book], decks, refused)


@pytest.mark.parametrize("book", ["MD", "MA-old"])
def test_the_cover_card_lies_fourteen_cards_from_the_back_at_least(book: str) -> None:
    assert new_shoe(RULEBOOKS[book], 8).cover_at == 416 - 14
    assert new_shoe(RULEBOOKS[book], 8, 20).cover_at == 416 - 20
    for refused in (13, 416):
        with pytest.raises(ShoeError, match=f"cover card {refused} cards from the back"):
            new_shoe(RULEBOOKS[book], 8, refused)


@pytest.mark.parametrize(
    ("book", "decks"),
    [*product(("MA", "MA-prev", "MA-old", "MD"), (0, 5, 9)), ("ilani", 6), ("ilani", 7)],
)
def test_a_number_of_decks_that_the_rulebook_does_not_have_is_refused(
    book: str, decks: int
) -> None:
    with pytest.raises(ShoeError, match=f"{decks} decks: {book} allows"):
        new_shoe(RULEBOOKS[book], decks)


def test_a_shoe_holds_fifty_two_cards_a_deck() -> None:
    sizes = {decks: new_shoe(RULEBOOKS["MD"], decks).size for decks in (6, 7, 8)}
    assert sizes == {6: 312, 7: 364, 8: 416}


def shoe_before_cover(book: str, cards: int) -> Shoe:
    """Deal a shoe down to so many cards in front of its cover card."""
    shoe = new_shoe(RULEBOOKS[book], 8, 30).after_round(416 - 30 - cards)
    assert shoe.hands_left is None
    return shoe


def hands_that_follow(shoe: Shoe) -> int:
    """Count the hands after this one, of four cards each, until the shoe is over."""
    hands = 0
    shoe = shoe.after_round(4)
    while not shoe.is_over:
        assert shoe.is_last_hand
        shoe = shoe.after_round(4)
        hands += 1
    return hands


@pytest.mark.parametrize(
    ("book", "before", "more"),
    [
        ("MA", 0, 1),
        ("MA-prev", 0, 1),
        ("MA-old", 0, 1),
        ("MD", 0, 1),
        ("ilani", 0, 0),
        ("MA", 1, 1),
        ("MD", 3, 1),
        ("ilani", 1, 1),
        ("ilani", 3, 1),
    ],
)
def test_the_cover_card_tells_how_many_hands_follow(book: str, before: int, more: int) -> None:
    assert hands_that_follow(shoe_before_cover(book, before)) == more


def test_a_cover_card_right_behind_a_hand_comes_out_with_the_next() -> None:
    for book, more in (("MD", 1), ("ilani", 0)):
        shoe = shoe_before_cover(book, 4).after_round(4)
        assert (shoe.hands_left, shoe.is_last_hand, shoe.is_over) == (None, False, False)
        assert hands_that_follow(shoe) == more


def test_a_cover_card_that_came_out_with_the_burned_cards_is_not_forgotten() -> None:
    cover_third = new_shoe(RULEBOOKS["MD"], 6, cover_from_back=6 * 52 - 3)
    after = cover_third.burn(Card("TS")).after_round(4)
    assert after.is_last_hand


def test_no_round_is_dealt_from_a_shoe_that_is_over() -> None:
    shoe = shoe_before_cover("ilani", 0).after_round(4)
    assert shoe.is_over
    with pytest.raises(ShoeError, match="replace the cards first"):
        shoe.after_round(4)


def test_a_round_that_runs_out_of_cards_is_void() -> None:
    shoe = new_shoe(RULEBOOKS["MD"], 6).after_round(307)
    assert shoe.after_round(5).remaining == 0
    with pytest.raises(ShoeError, match="needs 6 cards and 5 are left: it is void"):
        shoe.after_round(6)
    with pytest.raises(RoundError, match="void and every wager goes back"):
        play(hand("KS 2H 2D 3C"))


def test_a_royal_9_round_never_needs_a_fifth_card() -> None:
    assert play(hand("KS 2H 9D 2C")).outcome == "player"


@pytest.mark.parametrize(
    ("disclosed", "fate"),
    [(False, "first card of the next hand"), (True, "first card of a simulated round")],
)
def test_a_card_drawn_in_error_opens_the_next_hand_or_a_simulated_one(
    disclosed: bool, fate: str
) -> None:
    assert card_in_error(disclosed=disclosed) == Fate(fate)


BANKER_DRAWS = ("KS 6H", "KC 5D")
BANKER_STANDS = ("KS 7H", "KC 6D")
NATURAL = ("KS 3H", "KC 8D")


@pytest.mark.parametrize(
    ("hands", "disclosed", "house", "fate"),
    [
        (BANKER_DRAWS, False, "discard", "Banker's third card"),
        (BANKER_DRAWS, False, "simulate", "Banker's third card"),
        (BANKER_DRAWS, True, "discard", "Banker's third card"),
        (BANKER_DRAWS, True, "simulate", "Banker's third card"),
        (BANKER_STANDS, False, "discard", "first card of the next hand"),
        (BANKER_STANDS, False, "simulate", "first card of the next hand"),
        (BANKER_STANDS, True, "discard", "discarded with one more unseen card"),
        (BANKER_STANDS, True, "simulate", "first card of a simulated round"),
        (NATURAL, False, "discard", "first card of the next hand"),
        (NATURAL, True, "discard", "discarded with one more unseen card"),
        (NATURAL, True, "simulate", "first card of a simulated round"),
    ],
)
def test_an_unauthorised_third_card_to_player_goes_where_the_rulebooks_say(
    hands: tuple[str, str], disclosed: bool, house: str, fate: str
) -> None:
    player, banker = map(hand, hands)
    found = unauthorised_third_card(player, banker, disclosed=disclosed, house=DisclosedCard(house))
    assert found == Fate(fate)


@pytest.mark.parametrize("player", ["KS 5H", "KS 5H 2D"])
def test_a_third_card_that_player_is_due_is_no_error(player: str) -> None:
    with pytest.raises(ValueError, match="entitled to a third card"):
        unauthorised_third_card(
            hand(player), hand("KC 6D"), disclosed=True, house=DisclosedCard.DISCARD
        )


def test_free_and_simulated_rounds_take_no_wagers() -> None:
    takes = {kind.value: kind.takes_wagers for kind in RoundKind}
    assert takes == {"played": True, "free": False, "simulated": False}


def test_only_the_current_massachusetts_rules_have_free_hands() -> None:
    assert [book.name for book in RULEBOOKS.values() if book.free_hands] == ["MA"]


def test_must_hit_is_played_in_maryland_and_the_later_massachusetts_rules() -> None:
    assert [b.name for b in RULEBOOKS.values() if b.must_hit] == ["MA", "MA-prev", "MD"]


def test_ilani_has_limits_of_its_own() -> None:
    dollars = {
        wager: (low // 10**6, high // 10**6)
        for wager, (low, high) in RULEBOOKS["ilani"].limits.items()
    }
    assert dollars == {
        "banker": (10, 500),
        "player": (10, 500),
        "tie": (1, 100),
        "any_pair": (1, 100),
        "super_6": (1, 50),
        "emperor_bonus": (1, 25),
        "koi_7": (1, 25),
        "frog_6": (1, 25),
    }


def test_rulebook_and_designation_decide_which_wagers_a_table_takes() -> None:
    for (book, designation), wagers in ALLOWED.items():
        assert wagers_allowed(RULEBOOKS[book], designation) == tuple(sorted(wagers.split()))
    assert set(ALLOWED) == {(b.name, name) for b in RULEBOOKS.values() for name in b.designations}


@pytest.mark.parametrize(("wager", "designation"), list(product(HOME, DESIGNATIONS)))
def test_a_wager_is_refused_at_a_table_of_another_designation(wager: str, designation: str) -> None:
    paytable = "A" if wager == "blazing_7s" else None
    placed = Placed(1, wager, 1_000_000, paytable=paytable)
    problems = check_wagers([placed], Terms(designation))
    refused = [f"only at a table designated {HOME[wager]}" in text for text in problems]
    assert refused == ([] if designation == HOME[wager] else [True])


def test_vigorish_is_taken_at_standard_and_five_treasures_tables_only() -> None:
    assert {name for name in DESIGNATIONS if takes_vigorish(name)} == {"standard", "five_treasures"}
