"""Every wager settled on concrete hands, the paytables as printed, and what is refused."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from progressive.rules.baccarat import play, round_of
from progressive.rules.cards import ALL_CARDS, Card, hand
from progressive.rules.rulebooks import RULEBOOKS
from progressive.rules.settlement import (
    QUARTER,
    Placed,
    Terms,
    check_wagers,
    return_all,
    settle,
)
from progressive.rules.wagers import CHOSEN, WAGERS, WagerError

# Hands, then wagers of $10 as wager[.hand] paytables line won returned; `-` where there is one
# paytable only. A line in brackets is a push.
SETTLED = """
KS 9H / 8S TD: player - win 10 20; banker standard loss 0 0; tie - loss 0 0; one_up - by_one 90 100
KS 9H / 8S TD: dragon_bonus.player A,B,C natural_win 10,10,10 20,20,20; heavenly_9 - loss 0 0
KS 9H / 8S TD: dragon_bonus.banker A,B,C loss 0,0,0 0,0,0; emperor_bonus.player - natural_win 10 20
KS 9H / KD QC: dragon_bonus.player A,B,C natural_win 10,10,10 20,20,20
2S 5H / KS 8D: banker standard,five_treasures win 10,10 19.50,19.50; player - loss 0 0
2S 5H / KS 8D: banker ez,fortune_7,no_commission win 10,10,10 20,20,20; one_up - loss 0 0
KS 9H / KD 9C: banker standard,ez,fortune_7 (tie) 0,0,0 10,10,10; player - (tie) 0 10
KS 9H / KD 9C: banker no_commission,five_treasures (tie) 0,0 10,10; tie - win 80 90
KS 9H / KD 9C: dragon_bonus.player A,B,C (natural_tie) 0,0,0 10,10,10
KS 9H / KD 9C: dragon_bonus.banker A (natural_tie) 0 10; emperor_bonus.banker - (natural_tie) 0 10
2S 4H / AD 2D 4S: banker standard,five_treasures,no_commission win 10,10,10 19.50,19.50,20
2S 4H / AD 2D 4S: banker ez,fortune_7 (three_card_7) 0,0 10,10; player - loss 0 0
2S 4H / AD 2D 4S: dragon_7 - win 400 410; fortune_7_insurance - win 400 410
2S 4H / AD 2D 4S: fortune_7 - win 400 410; koi_7 - win 400 410; cover_all - win 60 70
2S 4H / KD 7D: banker ez,fortune_7 win 10,10 20,20; dragon_7 - loss 0 0; koi_7 - loss 0 0
2S 5H / AD 2D 4S: banker ez (tie) 0 10; dragon_7 - loss 0 0; cover_all - loss 0 0
2S 5H / AD 2D 4S: blazing_7s A,B loss 0,0 0,0; fortune_7 - loss 0 0; fortune_7_insurance - loss 0 0
2S 2H 4D / KD KS 7C: panda_8 - win 250 260; golden_8 - win 250 260; cover_all - win 60 70
2S 2H 4D / KD KS 7C: dragon_7 - loss 0 0; banker ez loss 0 0; one_up - by_one 90 100
KS 8H / KD 7D: panda_8 - loss 0 0; golden_8 - loss 0 0; cover_all - loss 0 0
KS 5H KD / KC 6D: banker no_commission six 5 15; banker standard,ez win 10,10 19.50,20
KS 5H KD / KC 6D: lucky_6 - two_cards 120 130; super_6 - win 150 160; frog_6 - loss 0 0
KS 5H KD / AD 2D 3H: banker no_commission six 5 15; lucky_6 - three_cards 200 210
KS 5H KD / AD 2D 3H: super_6 - win 150 160; koi_7 - loss 0 0
2S 4H / KC 6D: banker no_commission (tie) 0 10; super_6 - loss 0 0; lucky_6 - loss 0 0
2S 4H / KC 6D: dragon_bonus.player A loss 0 0; dragon_bonus.banker A loss 0 0; frog_6 - loss 0 0
KS 2H 4D / 2C 3D TS: frog_6 - win 400 410; one_up - by_one 90 100
KS QH AD / KC QD JS: one_up - one_nil 300 310
KS QH JD / KC QD AS: one_up - loss 0 0
KS 4H 5D / KC 4D 5S: heavenly_9 - both 750 760; cover_all - win 60 70; tie - win 80 90
KS 4H 5D / KC 4D 5S: dragon_bonus.player A loss 0 0; dragon_bonus.banker A loss 0 0
KS 4H 5D / KC 7D: heavenly_9 - one 100 110; cover_all - win 60 70
KS 4H 4D / KC 5D 4S: heavenly_9 - one 100 110; cover_all - win 60 70; panda_8 - loss 0 0
KS 3H 4D / KC 3D 4S: blazing_7s A,B three_cards_each 4000,2000 4010,2010; cover_all - win 60 70
3S 4H / KD 7D: blazing_7s A loss 0 0; blazing_7s B two_cards_each 500 510; cover_all - win 60 70
KS 4H 5D / KC QD JS: dragon_bonus.player A,B,C win_by_9 300,200,300 310,210,310
KS 4H 4D / KC QD JS: dragon_bonus.player A,B,C win_by_8 100,80,100 110,90,110
KS 4H 3D / KC QD JS: dragon_bonus.player A,B,C win_by_7 60,70,40 70,80,50
KS 4H 2D / KC QD JS: dragon_bonus.player A,B,C win_by_6 40,40,40 50,50,50
KS 4H AD / KC QD JS: dragon_bonus.player A,B,C win_by_5 20,30,20 30,40,30
KS 4H JD / KC QD JS: dragon_bonus.player A,B,C win_by_4 10,10,20 20,20,30
KS 3H JD / KC QD JS: dragon_bonus.player A,B,C loss 0,0,0 0,0,0; emperor_bonus.player - loss 0 0
KC QD JS / KS 3H 6D: dragon_bonus.banker A,B,C win_by_9 300,200,300 310,210,310
KC QD JS / KS 3H 6D: emperor_bonus.banker - win_by_9 300 310; emperor_bonus.player - loss 0 0
KS KH / 9D 9C: house_money - both_pairs 150 160; any_pair.player MD,ilani pair 110,100 120,110
KS KH / 9D 9C: any_pair.banker MD,ilani pair_of_nines,pair 120,100 130,110
KS KH 5D / TD QC 2S: house_money - one_pair 30 40; any_pair.banker MD,ilani loss 0,0 0,0
TS KH 5D / TD QC 2S: house_money - loss 0 0; any_pair.player MD,ilani loss 0,0 0,0
TS KH / 9D 9C: house_money - one_pair 30 40
9S 9H / 9D 9C: lucky_nines A,B,C,D four_nines 5000,5000,10000,20000 5010,5010,10010,20010
9S 9S / 9S KD: lucky_nines A,B,C,D three_suited 2500,2500,5000,5000 2510,2510,5010,5010
9S 9S / 9H KD: lucky_nines A,B,C,D three 200,300,350,150 210,310,360,160
9S KD / 9S QD: lucky_nines A,B,C,D two_suited 80,120,160,100 90,130,170,110
9D KD / 9H QD: lucky_nines A,B,C,D two 50,50,50,40 60,60,60,50
9D KD / 8S QD: lucky_nines A,B,C,D nine_of_diamonds 20,20,20,20 30,30,30,30
8S QD / 9S KD: lucky_nines A,B,C,D one_nine 10,10,10,10 20,20,20,20
8S KD / 8H QD: lucky_nines A,B,C,D loss 0,0,0,0 0,0,0,0
AS JS / QS KS: jackpot_baccarat A,B,C,D,E royal 5000,2500,3000,5000,5000 5010,2510,3010,5010,5010
7S 7S / 7S 7S: jackpot_baccarat A,B,C,D,E quads 1000,750,500,1000,1000 1010,760,510,1010,1010
AS 2S / 3S 4S: jackpot_baccarat A,B,C,D,E straight_flush 500,500,400,500,500 510,510,410,510,510
7S 7S / 7S KS: jackpot_baccarat A,B,C,D,E trips 150,150,150,150,150 160,160,160,160,160
KS KS / 5S 9S: jackpot_baccarat A,B,C,D,E flush 100,100,100,100,100 110,110,110,110,110
JS QH / KD AC: jackpot_baccarat A,B,C,D,E straight 50,50,50,60,60 60,60,60,70,70
5S KH / 5D KC: jackpot_baccarat A,B,C,D,E two_pair 40,40,40,50,40 50,50,50,60,50
AS 3H / AD 8C: jackpot_baccarat A,B,C,D,E aces 20,20,20,20,20 30,30,30,30,30
TS 3H / TD 8C: jackpot_baccarat A,B,C,D,E (tens_to_kings) 0,0,0,0,0 10,10,10,10,10
QS KH / AD 2C: jackpot_baccarat A,B,C,D,E loss 0,0,0,0,0 0,0,0,0,0
"""

# What each line pays to one, as printed: a column a paytable, 0 a push and - no such line.
PRINTED = """
banker standard,ez,fortune_7,no_commission,five_treasures: tie 0,0,0,0,0 three_card_7 -,0,0,-,- \
 six -,-,-,1/2,- win 1,1,1,1,1
dragon_bonus A,B,C: natural_tie 0,0,0 natural_win 1,1,1 win_by_9 30,20,30 win_by_8 10,8,10 \
 win_by_7 6,7,4 win_by_6 4,4,4 win_by_5 2,3,2 win_by_4 1,1,2
emperor_bonus A: natural_tie 0 natural_win 1 win_by_9 30 win_by_8 10 win_by_7 6 win_by_6 4 \
 win_by_5 2 win_by_4 1
lucky_nines A,B,C,D: four_nines 500,500,1000,2000 three_suited 250,250,500,500 three 20,30,35,15 \
 two_suited 8,12,16,10 two 5,5,5,4 nine_of_diamonds 2,2,2,2 one_nine 1,1,1,1
jackpot_baccarat A,B,C,D,E: royal 500,250,300,500,500 quads 100,75,50,100,100 \
 straight_flush 50,50,40,50,50 trips 15,15,15,15,15 flush 10,10,10,10,10 straight 5,5,5,6,6 \
 two_pair 4,4,4,5,4 aces 2,2,2,2,2 tens_to_kings 0,0,0,0,0
blazing_7s A,B: three_cards_each 400,200 two_cards_each -,50
any_pair MD,ilani: pair_of_nines 12,- pair 11,10
player standard: tie 0 win 1
house_money standard: both_pairs 15 one_pair 3
one_up standard: one_nil 30 by_one 9
heavenly_9 standard: both 75 one 10
lucky_6 standard: two_cards 12 three_cards 20
"""
FORTY = ("dragon_7", "fortune_7_insurance", "fortune_7", "koi_7", "frog_6")
ONE_LINE = dict.fromkeys(FORTY, 40) | {"panda_8": 25, "golden_8": 25}
ONE_LINE |= {"cover_all": 6, "super_6": 15, "tie": 8}

PLAYER_WINS = round_of(hand("KS 9H"), hand("8S TD"))
BANKER_WINS = round_of(hand("2S 5H"), hand("KS 8D"))
PAIRS_AND_BANKER = round_of(hand("KS KH"), hand("9D 9C"))  # banker's natural 8


def micros(dollars: str) -> int:
    return int(Decimal(dollars) * 1_000_000)


def bet(wager: str, dollars: str = "10", *, seat: int = 1, **more: str) -> Placed:
    return Placed(seat, wager, micros(dollars), **more)


def rows() -> list[tuple[str, str, str, str, str, str]]:
    """Give hands, wager, paytable, line, won and returned, one wager and paytable a row."""
    found = []
    for row in SETTLED.strip().splitlines():
        hands, _, wagers = row.partition(": ")
        for words in map(str.split, wagers.split("; ")):
            columns = [word.split(",") for word in words[1:]]
            columns[1] *= len(columns[0]) // len(columns[1])
            found += [(hands, words[0], *cells) for cells in zip(*columns, strict=True)]
    return found


@pytest.mark.parametrize("row", rows(), ids=lambda row: " ".join(row[:3]))
def test_a_wager_comes_to_its_line(row: tuple[str, str, str, str, str, str]) -> None:
    hands, name, paytable, line, won, returned = row
    player, banker = hands.split(" / ")
    wager, _, on = name.partition(".")
    placed = Placed(1, wager, micros("10"), on or None, None if paytable == "-" else paytable)
    (settled,) = settle(round_of(hand(player), hand(banker)), [placed], Terms())
    result = "loss" if line == "loss" else "push" if line.startswith("(") else "win"
    assert (settled.line, settled.result) == (line.strip("()"), result)
    assert (settled.won_micros, settled.returned_micros) == (micros(won), micros(returned))


def test_the_paytables_pay_as_printed() -> None:
    printed = {(wager, "standard"): [("win", Fraction(pays))] for wager, pays in ONE_LINE.items()}
    for row in PRINTED.strip().splitlines():
        title, _, cells = row.partition(": ")
        wager, names = title.split()
        lines, columns = cells.split()[::2], [cell.split(",") for cell in cells.split()[1::2]]
        for name, pays in zip(names.split(","), zip(*columns, strict=True), strict=True):
            pairs = zip(lines, pays, strict=True)
            printed[wager, name] = [(line, Fraction(pay)) for line, pay in pairs if pay != "-"]
    tables = {(w.name, name): table for w in WAGERS.values() for name, table in w.paytables.items()}
    assert {key: list(table.pays.items()) for key, table in tables.items()} == printed
    vigorish = {key: table.vigorish for key, table in tables.items() if table.vigorish}
    taking = [("banker", "standard"), ("banker", "five_treasures")]
    assert vigorish == dict.fromkeys(taking, Fraction(1, 20))


@pytest.mark.parametrize(
    ("dollars", "rounding", "vigorish"),
    [("25.01", "exact", "1.2505"), ("25.01", "quarter", "1.50"), ("25", "quarter", "1.25")],
)
def test_vigorish_is_five_percent_of_the_win(dollars: str, rounding: str, vigorish: str) -> None:
    (one,) = settle(BANKER_WINS, [bet("banker", dollars)], Terms("standard", vigorish=rounding))
    assert (one.won_micros, one.vigorish_micros) == (micros(dollars), micros(vigorish))
    assert one.returned_micros == 2 * micros(dollars) - micros(vigorish)


def test_a_house_may_pay_nine_on_a_tie() -> None:
    tie = round_of(hand("KS 9H"), hand("KD 9C"))
    assert settle(tie, [bet("tie")], Terms(tie_pays=9))[0].won_micros == micros("90")


@pytest.mark.parametrize(
    ("portion", "moved", "vigorish"),
    [(Fraction(1), "150", "8"), (Fraction(1, 2), "75", "4.25"), (Fraction(1, 7), "21.42", "1.571")],
)
def test_house_money_is_moved_in_whole_cents(portion: Fraction, moved: str, vigorish: str) -> None:
    placed = [bet("banker"), bet("house_money", move_to="banker")]
    early, main = settle(PAIRS_AND_BANKER, placed, Terms(house_money_portion=portion))
    assert (early.moved_micros, main.stake_micros) == (micros(moved), micros("10") + micros(moved))
    assert early.returned_micros == micros("160") - micros(moved)
    assert (main.won_micros, main.vigorish_micros) == (main.stake_micros, micros(vigorish))


def test_house_money_comes_first_then_losers_then_the_rest_from_the_highest_seat_down() -> None:
    asked = "2 player,3 banker,4 house_money,5 banker,1 house_money,6 player,7 tie"
    placed = [bet(name, seat=int(seat)) for seat, name in map(str.split, asked.split(","))]
    order = [(one.placed.seat, one.result) for one in settle(PLAYER_WINS, placed, Terms())]
    assert order[:2] == [(1, "loss"), (4, "loss")]
    assert sorted(order[2:5]) == [(3, "loss"), (5, "loss"), (7, "loss")]
    assert order[5:] == [(6, "win"), (2, "win")]


LIMITS = {"tie": (micros("1"), micros("100"))}
ILANI = Terms(rulebook=RULEBOOKS["ilani"])


@pytest.mark.parametrize(
    ("placed", "terms", "problem"),
    [
        ([bet("tie"), bet("tie")], Terms(), "twice"),
        ([bet("emperor_bonus", on=on) for on in ("player", "banker")], Terms(), "twice"),
        ([bet("koi_7")], Terms(rulebook=RULEBOOKS["MD"]), "not a wager of MD 7.A"),
        ([bet("tie", "0.99")], Terms(limits=LIMITS), r"limits are \$1\.00 to \$100\.00"),
        ([bet("tie", "100.01")], Terms(limits=LIMITS), "limits"),
        ([bet("tie", seat=8)], Terms(seats=7), "seats 1 to 7"),
        ([bet("tie", seat=0)], Terms(), "seats 1 to 9"),
        ([bet("tie", "1.005")], Terms(), "whole cents"),
        ([bet("tie", "0")], Terms(), "more than nothing"),
        ([bet("dragon_bonus", on="player")], Terms(), "needs a paytable"),
        ([bet("lucky_nines", paytable="E")], Terms(), "no paytable 'E'"),
        ([bet("banker", paytable="ez")], Terms("standard"), "pays by that paytable"),
        ([bet("banker", paytable="standard")], ILANI, "ilani 1.c has no_commission"),
        ([bet("any_pair", on="player", paytable="MD")], ILANI, "ilani 1.d pays by paytable ilani"),
        ([bet("red")], Terms(), "seat 1: 'red' is not a wager"),
        ([bet("dragon_bonus", paytable="A")], Terms(), 'say "on"'),
        ([bet("tie", on="player")], Terms(), 'leave "on" out'),
        ([bet("player"), bet("house_money", move_to="banker")], Terms(), "no banker wager"),
        ([bet("tie"), bet("house_money", move_to="tie")], Terms(), "move_to"),
        ([bet("player"), bet("tie", move_to="player")], Terms(), "only a House Money payout"),
    ],
)
def test_a_wager_is_refused(placed: list[Placed], terms: Terms, problem: str) -> None:
    with pytest.raises(WagerError, match=problem):
        settle(PLAYER_WINS, placed, terms)


def test_a_table_that_names_no_designation_plays_by_its_rulebook() -> None:
    banker_six = round_of(hand("KS 5H KD"), hand("KC 6D"))
    lines = {
        name: settle(banker_six, [bet("banker")], Terms(rulebook=book))[0].line
        for name, book in RULEBOOKS.items()
    }
    assert lines == dict.fromkeys(RULEBOOKS, "win") | {"ilani": "six"}
    (pair,) = settle(round_of(hand("9S 9H"), hand("KS 7D")), [bet("any_pair", on="player")], ILANI)
    assert (pair.line, pair.won_micros) == ("pair", micros("100"))


def test_a_seat_may_place_dragon_bonus_on_both_hands() -> None:
    placed = [bet("dragon_bonus", on=on, paytable="A") for on in ("player", "banker")]
    assert check_wagers(placed, Terms()) == []


def every_bet(amount_micros: int) -> list[Placed]:
    """Place every wager under every paytable on every hand, each at a seat of its own."""
    hands = {
        name: ("player", "banker") if w.side == CHOSEN else (None,) for name, w in WAGERS.items()
    }
    kinds = [(n, on, t) for n, w in WAGERS.items() for on in hands[n] for t in w.paytables]
    return [Placed(seat, n, amount_micros, on, t) for seat, (n, on, t) in enumerate(kinds, start=1)]


def test_only_wagers_on_the_first_four_cards_are_settled_before_the_third() -> None:
    unfinished = round_of(hand("KS 2H"), hand("KC 4D"))
    early = set()
    for one in every_bet(micros("10")):
        try:
            early.add(settle(unfinished, [one], Terms(seats=99))[0].placed.wager)
        except WagerError as error:
            assert "the round is not finished, player must draw" in str(error)  # noqa: PT017
    assert early == {"house_money", "any_pair", "lucky_nines", "jackpot_baccarat"}


def test_a_void_round_gives_every_wager_back() -> None:
    placed = every_bet(micros("10"))
    void = return_all(placed)
    assert [one.placed for one in void] == placed
    assert {(one.returned_micros, one.won_micros) for one in void} == {(micros("10"), 0)}


CARDS = st.lists(st.sampled_from(ALL_CARDS), min_size=6, max_size=6)
CENTS = st.integers(1, 10**8)


@given(cards=CARDS, cents=CENTS, rounding=st.sampled_from(["exact", QUARTER]))
def test_a_loss_returns_nothing_and_a_push_the_stake(
    cards: list[Card], cents: int, rounding: str
) -> None:
    stake = cents * 10_000
    for one in settle(play(cards), every_bet(stake), Terms(vigorish=rounding, seats=99)):
        pays = {"loss": 0, "push": stake, "win": stake + one.won_micros - one.vigorish_micros}
        assert one.returned_micros == pays[one.result]
        assert (one.won_micros > 0) == (one.result == "win")
        assert 0 <= one.vigorish_micros <= max(one.won_micros, 250_000)


@given(cards=CARDS, cents=CENTS, portion=st.fractions(0, 1, max_denominator=97))
def test_moving_house_money_makes_and_loses_none(
    cards: list[Card], cents: int, portion: Fraction
) -> None:
    main = Placed(1, "player", cents * 10_000)
    stays, moves = (
        Placed(1, "house_money", micros("7"), None, None, to) for to in (None, "player")
    )
    terms = Terms(house_money_portion=portion)
    (kept, plain), (early, late) = (settle(play(cards), [main, h], terms) for h in (stays, moves))
    assert early.returned_micros + late.stake_micros == kept.returned_micros + plain.stake_micros
    assert (early.moved_micros % 10_000, late.result) == (0, plain.result)
