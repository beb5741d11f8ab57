"""The exact odds against published figures and an independent brute force."""

from fractions import Fraction
from math import comb

import oracle
import pytest

from progressive.montecarlo import deal, deviations
from progressive.odds_report import checked_wager, wager_reports
from progressive.rules.must_hit import Distribution, Segment, floor_sum, uniform, wagers_per_cycle
from progressive.rules.odds import orderings, royal9_odds, wager_odds
from progressive.rules.returns import LevelTerms, MustHitTerms, royal9_returns
from progressive.rules.royal9 import (
    CARD_LEVELS,
    DEFAULT_COMBINATIONS,
    KING_9,
    LINES,
    PAYTABLES,
    STAKE_MICROS,
    Combination,
    LevelShare,
    seating_of,
)
from progressive.rules.wagers import CHOSEN, WAGERS

HANDS = {CHOSEN: ("player", "banker")}


def percent(edge: Fraction) -> str:
    return f"{float(edge) * 100:.4f}"


def edge(wager: str, paytable: str | None = None, on: str | None = None, decks: int = 8) -> str:
    found = WAGERS[wager]
    return percent(wager_odds(found, found.paytable(paytable), decks, on).house_edge)


@pytest.mark.parametrize("decks", [6, 7, 8])
def test_every_wager_and_paytable_counts_as_the_brute_force_does(decks: int) -> None:
    counted = oracle.six_card_counts(decks) | oracle.four_card_counts(decks)
    asked = set()
    for wager in WAGERS.values():
        for table in wager.paytables.values():
            for on in HANDS.get(wager.side, (None,)):
                odds = wager_odds(wager, table, decks, on)
                key = (wager.name, on or "", table.name)
                asked.add(key)
                expected = {line: ways for line, ways in counted[key].items() if ways}
                assert {row.line: row.ways for row in odds.lines} == expected, key
                pays = oracle.PAYS[wager.name, table.name]
                assert {row.line: row.pays for row in odds.lines} == {
                    line: pays[line] for line in expected
                }, key
                assert odds.house_edge == oracle.house_edge(counted[key], pays), key
    assert asked == set(counted), "the brute force and the product know the same wagers"


def test_the_three_outcomes_of_eight_decks_are_as_published() -> None:
    banker, player = WAGERS["banker"], WAGERS["player"]
    odds = {row.line: row.ways for row in wager_odds(banker, banker.paytables["ez"], 8).lines}
    assert orderings(8) == 4_998_398_275_503_360
    assert odds["win"] + odds["three_card_7"] == 2_292_252_566_437_888
    assert odds["loss"] == 2_230_518_282_592_256
    assert odds["tie"] == 475_627_426_473_216
    found = wager_odds(player, player.paytable(None), 8)
    assert {row.line: row.ways for row in found.lines}["win"] == odds["loss"]


@pytest.mark.parametrize(
    ("wager", "paytable", "on", "published"),
    [
        ("dragon_7", None, None, "7.6113"),
        ("panda_8", None, None, "10.1876"),
        ("dragon_bonus", "A", "player", "2.6517"),
        ("dragon_bonus", "A", "banker", "9.3731"),
        ("lucky_6", None, None, "16.6836"),
        ("one_up", None, None, "8.8071"),
        ("jackpot_baccarat", "B", None, "15.8026"),
        ("lucky_nines", "C", None, "8.2730"),
        ("lucky_nines", "A", None, "19.0583"),
        ("banker", "standard", None, "1.0579"),
        ("banker", "ez", None, "1.0183"),
        ("player", None, None, "1.2351"),
        ("tie", None, None, "14.3596"),
    ],
)
def test_the_house_edge_of_eight_decks_is_as_published(
    wager: str, paytable: str | None, on: str | None, published: str
) -> None:
    assert edge(wager, paytable, on) == published


@pytest.mark.parametrize(
    ("wager", "published"), [("banker", "1.0558"), ("player", "1.2374"), ("tie", "14.4382")]
)
def test_the_house_edge_of_six_decks_is_as_published(wager: str, published: str) -> None:
    paytable = "standard" if wager == "banker" else None
    assert edge(wager, paytable, decks=6) == published


def test_royal_9_of_the_king_9_edition_counts_as_published() -> None:
    for name in ("MA-K9", "MD-C"):
        for seat in range(1, 8):
            odds = royal9_odds(seating_of(PAYTABLES[name], 7), seat, 8)
            assert odds.total == 7_379_583_120
            assert odds.ways == {
                "star": 3_136,
                "spade": 5_468_288,
                "heart": 5_468_288,
                "other_king9": 18_816,
                "suited_both": 566_016,
                "royal_both": 8_088_384,
                "any_suited": 126_790_656,
                "any_royal": 369_806_080,
                "loss": 6_863_373_456,
            }


def test_stars_are_as_rare_as_published() -> None:
    king = royal9_odds(seating_of(PAYTABLES["MA-K9"], 7), 1, 8)
    multi = royal9_odds(seating_of(PAYTABLES["MA-1"], 9), 1, 8)
    assert round(1 / king.probability("star"), -4) == 2_350_000
    assert round(1 / multi.probability("exact_match"), -4) == 780_000
    increments = [1 / king.probability("star"), 1 / multi.probability("exact_match")]
    assert [f"{float(wagers) * 0.45 / 1e6:.2f}" for wagers in increments] == ["1.06", "0.35"]


@pytest.mark.parametrize("name", list(PAYTABLES))
@pytest.mark.parametrize(("decks", "seats"), [(6, 1), (6, 7), (7, 6), (8, 9)])
def test_royal_9_counts_as_the_brute_force_does(name: str, decks: int, seats: int) -> None:
    paytable = PAYTABLES[name]
    seating = seating_of(paytable, seats)
    edition = "king9" if paytable.edition == KING_9 else "multi"
    for seat in {1, seats}:
        counted = oracle.royal9_counts(edition, seat, oracle.DEFAULT_COMBOS[:seats], decks)
        odds = royal9_odds(seating, seat, decks)
        assert odds.ways == {line: counted.get(line, 0) for line in LINES[paytable.edition]}
        assert odds.total == comb(52 * decks, 2) * comb(52 * decks - 2, 2)


def test_royal_9_counts_with_a_tables_own_combinations() -> None:
    own = {1: Combination("C", "S"), 3: Combination("H", "D")}
    seating = seating_of(PAYTABLES["MD-C"], 4, own)
    suits = {"S": 0, "H": 1, "D": 2, "C": 3}
    combos = [(suits[face], suits[nine]) for face, nine in seating.combinations]
    for seat in range(1, 5):
        counted = oracle.royal9_counts("king9", seat, combos, 8)
        assert royal9_odds(seating, seat, 8).ways == {
            line: counted.get(line, 0) for line in LINES[KING_9]
        }


def terms(name: str, rate: int | None) -> dict[str, LevelTerms]:
    return {
        level: LevelTerms(least, least, rate) for level, least in PAYTABLES[name].seeds_min.items()
    }


def test_the_return_at_the_seeds_is_every_line_times_its_pay() -> None:
    paytable = PAYTABLES["MA-1"]
    odds = royal9_odds(seating_of(paytable, 9), 1, 8)
    by_hand = sum(
        odds.ways[line]
        * (
            paytable.seeds_min[pay.level] * pay.percent // 100
            if isinstance(pay, LevelShare)
            else pay.amount_micros
        )
        for line, pay in paytable.pays.items()
    )
    returns = royal9_returns(paytable, odds, terms("MA-1", None))
    assert returns.at_seeds == Fraction(by_hand, odds.total * STAKE_MICROS)
    assert returns.long_run is None, "without rates there is no long run"


def test_in_the_long_run_all_increments_and_resets_are_paid_out() -> None:
    """Plays the expectation forward, wager by wager, until the meter stands still."""
    paytable = PAYTABLES["MD-A"]
    odds = royal9_odds(seating_of(paytable, 9), 1, 8)
    returns = royal9_returns(paytable, odds, terms("MD-A", 90_000))
    full, tenth = float(odds.probability("exact_match")), float(odds.probability("any_two"))
    meter = 50_000.0
    kept = (1 - full - tenth * 0.1) ** 1_000
    for _ in range(100_000):  # a thousand wagers a step
        added = (0.45 + full * 50_000) / (full + 0.1 * tenth)
        meter = meter * kept + added * (1 - kept)
    at_hit = returns.levels["star"].meter_at_hit_micros
    assert at_hit is not None
    assert float(at_hit) / 1e6 == pytest.approx(meter, rel=1e-6)
    paid = full * meter + tenth * 0.1 * meter
    assert paid == pytest.approx(0.45 + full * 50_000, rel=1e-6)


def test_the_wager_breaks_even_where_the_meter_makes_the_return_one() -> None:
    paytable = PAYTABLES["MD-C"]
    odds = royal9_odds(seating_of(paytable, 7), 1, 8)
    levels = terms("MD-C", 50_000)
    for name in CARD_LEVELS:
        even = royal9_returns(paytable, odds, levels).levels[name].break_even_micros
        assert even is not None
        at_even = levels | {name: LevelTerms(int(even), levels[name].reset_micros, 50_000)}
        at_even_return = royal9_returns(paytable, odds, at_even).at_seeds
        assert 1 - Fraction(1, 10**6) < at_even_return <= 1


@pytest.mark.parametrize("contribution", [1, 7, 3_333, 10_000, 25_000, 50_000, 123_457])
def test_a_must_hit_cycle_lasts_as_counting_every_trigger_says(contribution: int) -> None:
    reset, maximum = 250_000_000, 260_000_000
    cents = range(1, (maximum - reset) // 10_000 + 1)
    counted = [-(-cent * 10_000 // contribution) for cent in cents]
    assert wagers_per_cycle(reset, contribution, uniform(maximum)) == Fraction(
        sum(counted), len(counted)
    )
    split = Distribution("segments", 1, (Segment(252_000_000, 3), Segment(maximum, 1)))
    low, high = counted[:200], counted[200:]
    assert wagers_per_cycle(reset, contribution, split) == (
        Fraction(3, 4) * Fraction(sum(low), len(low))
        + Fraction(1, 4) * Fraction(sum(high), len(high))
    )


def test_floor_sums_are_exact() -> None:
    for n, m, a, b in ((0, 3, 2, 1), (10, 3, 7, 5), (1_000, 17, 10_000, 16), (50, 1, 3, 0)):
        assert floor_sum(n, m, a, b) == sum((a * i + b) // m for i in range(n))


def test_must_hit_returns_its_increment_and_its_resets() -> None:
    paytable = PAYTABLES["MD-C"]
    odds = royal9_odds(seating_of(paytable, 7), 1, 8)
    hit = MustHitTerms(250_000_000, 20_000, uniform(1_000_000_000))
    with_it = royal9_returns(paytable, odds, terms("MD-C", 50_000), hit)
    without = royal9_returns(paytable, odds, terms("MD-C", 50_000))
    assert with_it.long_run is not None
    assert without.long_run is not None
    worth = Fraction(100_000 + 250_000_000 / Fraction("3750.5")) / STAKE_MICROS
    assert with_it.must_hit == with_it.long_run - without.long_run == worth


def test_default_combinations_are_those_of_the_nine_chairs() -> None:
    assert [str(mine) for mine in DEFAULT_COMBINATIONS] == [
        "K♠ 9♥", "K♠ 9♦", "K♣ 9♥", "K♣ 9♦", "K♥ 9♠", "K♥ 9♣", "K♦ 9♠", "K♦ 9♣", "K♦ 9♥",
    ]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("decks", [6, 8])
def test_half_a_million_dealt_rounds_agree_with_every_exact_chance(decks: int) -> None:
    reports = wager_reports(WAGERS.values(), [decks], None, None)
    checked = [checked_wager(report) for report in reports]
    rounds = 500_000
    counts = deal(rounds, decks, 20_261_118, checked, lambda _done: None)
    for report, one, seen in zip(reports, checked, counts, strict=True):
        for row in deviations(one, seen, rounds):
            assert not row.is_doubtful, (report.wager, report.paytable, row)
