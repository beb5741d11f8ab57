"""The statistical suite: right figures, no false alarms, and broken generators found out."""

import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice, permutations, product
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from progressive.cli import main
from progressive.draws import charts, lab, statistics, suite
from progressive.draws.drbg import Source
from progressive.draws.lab import lab_source
from progressive.draws.probability import (
    chi_square_both,
    chi_square_tail,
    kolmogorov_tail,
    normal_both,
)
from progressive.draws.report import report_json, report_page, report_plots
from progressive.draws.scaling import Draw, draw_below
from progressive.draws.shuffles import CardPlaces, card_tests
from progressive.rules.cards import ALL_CARDS

SEED = bytes(range(32))
VALUES = 30_000
FAILS = 1e-4  # a p-value that fails in a report of up to a hundred tests


def run(*arguments: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, ["rng", *arguments])
    assert done.exit_code == code, done.output
    return done


def drawn(limit: int, total: int = VALUES, name: str = "sound") -> list[int]:
    source = lab_source(SEED, name)
    return [draw_below(source, limit).value for _ in range(total)]


def chi_square_exact(statistic: float, freedom: int) -> float:
    """Add up the tail's finite sum, from its closed forms for one and two degrees."""
    half = statistic / 2
    start = 1 if freedom % 2 else 2
    tail = math.erfc(math.sqrt(half)) if start == 1 else math.exp(-half)
    terms = (
        math.exp(k / 2 * math.log(half) - half - math.lgamma(k / 2 + 1))
        for k in range(start, freedom, 2)
    )
    return tail + math.fsum(terms)


@pytest.mark.parametrize("freedom", [1, 2, 3, 8, 23, 51, 99, 415, 2_703, 21_165])
@pytest.mark.parametrize("deviation", [-6, -2, -0.5, 0, 0.5, 2, 4, 6])
def test_chi_square_tails_are_those_of_the_closed_sum(freedom: int, deviation: float) -> None:
    statistic = max(0.01, freedom + deviation * math.sqrt(2 * freedom))
    exact = chi_square_exact(statistic, freedom)
    assert math.isclose(chi_square_tail(statistic, freedom), exact, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize(
    ("statistic", "freedom", "tail"),
    [(6.635, 1, 0.01), (9.210, 2, 0.01), (15.086, 5, 0.01), (135.807, 100, 0.01), (3.841, 1, 0.05)],
)
def test_chi_square_tails_are_those_of_the_printed_tables(
    statistic: float, freedom: int, tail: float
) -> None:
    assert math.isclose(chi_square_tail(statistic, freedom), tail, rel_tol=1e-3)


def test_tails_end_where_they_should() -> None:
    assert chi_square_tail(0, 5) == 1
    assert chi_square_tail(math.inf, 5) == 0
    assert chi_square_both(0, 5) == 0  # too good to be true
    assert math.isclose(normal_both(2.575829), 0.01, rel_tol=1e-5)
    assert kolmogorov_tail(0, 1_000) == 1
    # the 1 % point of Kolmogorov's curve, 1.6276
    assert math.isclose(kolmogorov_tail(1.6276 / math.sqrt(1e8), 10**8), 0.01, rel_tol=1e-3)


def test_an_exact_fit_is_suspicious_in_many_classes_and_not_in_two() -> None:
    assert statistics.chi_square([500] * 10, [0.1] * 10).p_value < FAILS
    assert statistics.chi_square([500] * 2, [0.5] * 2).p_value == 1


def test_poker_chances_are_those_of_every_hand() -> None:
    hands = list(product(range(3), repeat=5))
    flat = [value for hand in hands * 20 for value in hand]
    assert statistics.poker(flat, 3).statistic == pytest.approx(0, abs=1e-9)


def test_the_gap_test_expects_what_waiting_times_are() -> None:
    gaps = [k for k in range(8) for _ in range(2 ** (14 - k))]
    values = [0] + [value for k in gaps for value in [1] * k + [0]]
    found = statistics.gap(values, 2)
    expected = [2 ** (14 - k) for k in range(8)]
    total = sum(expected)
    assert found.values == total
    assert found.statistic < 300  # the tail is missing, the waiting times before it are exact
    assert found.freedom is not None
    assert found.freedom > 8


def test_the_permutation_test_sees_all_orders_alike() -> None:
    values = [value for order in permutations(range(4)) for value in order] * 10
    assert statistics.permutation(values, 4).statistic == 0
    assert statistics.permutation(values, 4).freedom == 23


def test_runs_and_correlation_of_a_known_row() -> None:
    row = [0, 1] * 500
    assert statistics.runs(row, 2).statistic == pytest.approx(
        (1_000 - 501) / math.sqrt(249.75), 0.01
    )
    assert statistics.serial_correlation(row).statistic == pytest.approx(-0.999, abs=1e-9)


@pytest.mark.parametrize("limit", [2, 9, 10, 52])
def test_sound_draws_pass_all_seven_tests(limit: int) -> None:
    found = statistics.all_seven(drawn(limit), limit)
    assert [one.test for one in found] == [
        "chi-square",
        "runs",
        "serial correlation",
        "gap",
        "poker",
        "permutation",
        "equidistribution",
    ]
    assert not any(statistics.holm([one.p_value for one in found], 0.01))


def test_p_values_of_sound_draws_are_themselves_even() -> None:
    """Over many seeds every test must reject as often as it says, no more and no less."""
    by_test: dict[str, list[float]] = {}
    for number in range(120):
        for one in statistics.all_seven(drawn(9, 3_000, f"calibration {number}"), 9):
            by_test.setdefault(one.test, []).append(one.p_value)
    for test, found in by_test.items():
        assert statistics.evenly(found).p_value > 0.001, test


def biased_low_bits(limit: int) -> Iterator[int]:
    state = 12_345  # a linear congruential generator modulo 2^31, of which the low bits are taken
    while True:
        state = (1_103_515_245 * state + 12_345) % 2**31
        yield state % limit


def modulo(limit: int) -> Iterator[int]:
    source = lab_source(SEED, "modulo")
    while True:
        yield source.generate(1)[0] % limit


class StuckBit:
    """A generator whose lowest bit is stuck in every fourth request."""

    def __init__(self) -> None:
        self.source = lab_source(SEED, "stuck")
        self.requests = 0

    def generate(self, size: int) -> bytes:
        self.requests += 1
        out = self.source.generate(size)
        return out if self.requests % 4 else out[:-1] + bytes([out[-1] | 1])


def sticky(limit: int) -> Iterator[int]:
    """Repeat the last value one time in twenty."""
    source = lab_source(SEED, "sticky")
    value = 0
    while True:
        if draw_below(source, 20).value:
            value = draw_below(source, limit).value
        yield value


def alternating(limit: int) -> Iterator[int]:
    """Draw from the lower and the upper half in turn, each value as often as any other."""
    source = lab_source(SEED, "alternating")
    while True:
        yield draw_below(source, limit // 2).value
        yield limit // 2 + draw_below(source, limit // 2).value


def failing(values: list[int], limit: int) -> set[str]:
    return {one.test for one in statistics.all_seven(values, limit) if one.p_value < FAILS}


def test_modulo_bias_is_found_by_chi_square() -> None:
    values = list(islice(modulo(52), VALUES))
    assert "chi-square" in failing(values, 52)


def test_a_stuck_bit_is_found_by_chi_square() -> None:
    source = StuckBit()
    values = [draw_below(source, 52).value for _ in range(VALUES)]
    assert "chi-square" in failing(values, 52)


def test_sorted_values_are_found_by_everything_that_looks_at_order() -> None:
    values = sorted(drawn(10))
    assert statistics.frequency(values, 10).p_value > 0.01  # each is seen as often as before
    assert failing(values, 10) >= {
        "runs",
        "serial correlation",
        "gap",
        "poker",
        "permutation",
        "equidistribution",
    }


def test_the_low_bits_of_a_linear_congruential_generator_are_found() -> None:
    values = list(islice(biased_low_bits(16), VALUES))
    found = failing(values, 16)
    assert found >= {"chi-square", "gap", "poker", "permutation", "equidistribution"}
    assert statistics.frequency(values, 16).statistic < 1  # caught because it fits too well


def test_values_that_repeat_are_found_by_correlation_poker_and_pairs() -> None:
    found = failing(list(islice(sticky(10), VALUES)), 10)
    assert found >= {"runs", "serial correlation", "poker", "equidistribution"}
    assert "chi-square" not in found


def test_values_that_alternate_are_found_by_runs_gaps_and_permutations() -> None:
    found = failing(list(islice(alternating(10), VALUES)), 10)
    assert found >= {"runs", "serial correlation", "gap", "permutation", "equidistribution"}
    assert "chi-square" not in found


def test_a_large_range_that_is_not_filled_is_found_by_the_line() -> None:
    source = lab_source(SEED, "line")
    values = [draw_below(source, 75_000).value for _ in range(VALUES)]
    assert statistics.equidistribution(values, 75_000).p_value > 0.01
    bent = [value * 98 // 100 for value in values]
    assert statistics.equidistribution(bent, 75_000).p_value < FAILS


@pytest.mark.parametrize("constant", [0, 4, 9])
def test_a_constant_fails_everything(constant: int) -> None:
    found = statistics.all_seven([constant] * VALUES, 10)
    assert all(one.p_value < FAILS for one in found)


def test_too_few_values_are_not_judged() -> None:
    with pytest.raises(ValueError, match="too few"):
        statistics.all_seven([0] * 999, 2)
    with pytest.raises(ValueError, match="too few"):
        statistics.equidistribution(drawn(52, 2_000), 52)


def test_holm_is_bonferroni_for_the_first_and_milder_for_the_next() -> None:
    assert statistics.holm([0.001, 0.5, 0.5, 0.5], 0.01) == [True, False, False, False]
    assert statistics.holm([0.003, 0.5, 0.5, 0.5], 0.01) == [False] * 4
    assert statistics.holm([0.5, 0.003, 0.002, 0.5], 0.01) == [False, True, True, False]
    assert statistics.holm([0.003, 0.003, 0.003, 0.003], 0.01) == [False] * 4


def shoes(decks: int, total: int) -> CardPlaces:
    places = CardPlaces(decks)
    for one in islice(lab.shuffles(lab_source(SEED, f"{decks} decks"), decks), total):
        places.add(one.cards)
    return places


def test_every_card_is_alike_in_every_position() -> None:
    found = card_tests(shoes(6, 300))
    assert found[0].freedom == 311 * 51
    assert all(one.p_value > 0.001 for one in found)


def spoiled(places: CardPlaces, spoil: Callable[[list[list[int]]], None]) -> list[float]:
    spoil(places.counts)
    return [one.p_value for one in card_tests(places)]


def test_a_position_that_favours_cards_is_found() -> None:
    def favour(counts: list[list[int]]) -> None:
        for card in range(26):  # the tenth card is one of the lower half too often
            counts[9][card] += 3
            counts[9][card + 26] -= 3

    whole, position, _ = spoiled(shoes(6, 300), favour)
    assert position < FAILS
    assert whole > FAILS  # one position of 312 is lost in the sum


def test_shoes_that_are_not_shuffled_to_the_end_are_found() -> None:
    source = lab_source(SEED, "lazy")
    places = CardPlaces(6)
    for _ in range(300):
        cards = list(ALL_CARDS) * 6
        for place in range(200):  # the rest stays where it was
            other = place + draw_below(source, len(cards) - place).value
            cards[place], cards[other] = cards[other], cards[place]
        places.add(cards)
    assert [one.p_value < FAILS for one in card_tests(places)] == [True, True, True]


def test_places_of_triggers_by_segments_are_even_whatever_the_opening() -> None:
    terms = lab.lab_parameters(segments=suite.SEGMENTS)
    drawn_ones = lab.triggers(lab_source(SEED, "places"), terms, suite.OPENING_SPAN_MICROS)
    place = lab.Places(terms).of
    places = [place(one) for one in islice(drawn_ones, 5_000)]
    assert 0 < min(places) < max(places) < 1
    assert statistics.evenly(places).p_value > 0.001


def test_the_place_of_a_trigger_is_the_chance_of_a_lower_one() -> None:
    terms = lab.lab_parameters(segments=suite.SEGMENTS)
    one = next(lab.triggers(lab_source(SEED, "place"), terms))
    low, total = 25_000, 10
    cent = one.trigger.micros // 10_000
    exact = Fraction(0)
    for segment in suite.SEGMENTS:
        high = segment.upto_micros // 10_000
        covered = min(max(cent - low, 0), high - low)
        exact += Fraction(segment.weight * covered, total * (high - low))
        low = high
    assert lab.Places(terms).of(one) == pytest.approx(float(exact), abs=1e-4)


@pytest.fixture(scope="module")
def small() -> suite.Suite:
    return suite.run_suite(SEED, suite.CYCLES_MIN, suite.SHOES_MIN, lambda *_: None)


def test_the_suite_passes_on_the_production_functions(small: suite.Suite) -> None:
    assert small.passed
    streams = {one.stream for one in small.verdicts}
    assert {f"winner of {seats}" for seats in range(1, 10)} <= streams
    assert {"trigger, uniform", "trigger, segments"} <= streams
    assert {"shoe of 6 decks", "shoe of 8 decks"} <= streams
    assert sum(small.triggers) == suite.CYCLES_MIN
    assert len(small.winners[9]) == 9


def test_the_suite_fails_when_production_takes_remainders(
    monkeypatch: pytest.MonkeyPatch, small: suite.Suite
) -> None:
    def remainder(source: Source, limit: int) -> Draw:
        bits = (limit - 1).bit_length()
        number = int.from_bytes(source.generate(1 + bits // 8), "big") % 2**bits
        return Draw(number % limit)

    for module in ("must_hit", "shoe", "suite", "lab"):
        monkeypatch.setattr(f"progressive.draws.{module}.draw_below", remainder)
    broken = suite.run_suite(SEED, suite.CYCLES_MIN, suite.SHOES_MIN, lambda *_: None)
    assert not broken.passed
    failed = {one.stream for one in broken.verdicts if one.failed}
    assert {"trigger, uniform", "winner of 9", "scaled below 52", "shoe of 8 decks"} <= failed
    assert "failed" in report_page(broken, {})
    assert charts.BAD in report_plots(broken)["p_values"]
    assert charts.BAD not in report_plots(small)["p_values"]


def test_the_report_shows_every_test_and_well_formed_plots(small: suite.Suite) -> None:
    plots = report_plots(small)
    page = report_page(small, plots)
    assert f"All {len(small.verdicts)} tests passed." in page
    assert page.count("<td>passed</td>") == len(small.verdicts)
    assert page.count("<svg") == len(plots) == 7
    for plot in plots.values():
        texts = [node.text for node in ET.fromstring(plot).iter() if node.text]  # noqa: S314 - ours
        assert len(texts) > 5
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    content = report_json(small)
    assert (content["passed"], content["correction"]) == (True, "Holm")
    assert len(content["tests"]) == len(small.verdicts)


def test_the_report_command_writes_a_folder_and_repeats_a_seed(
    tmp_path: Path, small: suite.Suite
) -> None:
    folder = tmp_path / "lab" / "report"
    sizes = ("--cycles", str(suite.CYCLES_MIN), "--shoes", str(suite.SHOES_MIN))
    shown = run("report", "--seed", SEED.hex(), *sizes, "--out", str(folder), "--json").stdout
    assert json.loads(shown) == json.loads(json.dumps(report_json(small)))
    assert json.loads((folder / "report.json").read_text(encoding="utf-8")) == json.loads(shown)
    names = {path.name for path in folder.iterdir()}
    assert {"report.html", "report.json", "triggers.svg", "shoe_8_decks.svg"} <= names


def test_the_report_command_exits_with_1_when_a_test_fails(
    monkeypatch: pytest.MonkeyPatch, small: suite.Suite
) -> None:
    spoilt = suite.Verdict("trigger", small.verdicts[0].outcome, failed=True)
    bad = suite.Suite(
        SEED,
        small.cycles,
        small.shoes,
        (spoilt,),
        small.triggers,
        small.segments,
        small.winners,
        (),
    )
    monkeypatch.setattr(suite, "run_suite", lambda *_: bad)
    shown = run("report", code=1).stdout
    assert "FAILED" in shown
    assert "1 of 1 tests failed" in shown


def test_raw_values_come_straight_from_the_generator() -> None:
    source = lab_source(SEED, "raw")
    block = source.generate(40)
    shown = run("raw", "-n", "10", "--seed", SEED.hex()).stdout
    assert shown.split() == [block[k : k + 4].hex() for k in range(0, 40, 4)]
    binary = run("raw", "-n", "10", "--format", "binary", "--seed", SEED.hex()).stdout_bytes
    assert binary == block


def test_raw_values_fill_more_than_one_request() -> None:
    out = run("raw", "-n", "50000", "--bytes", "3", "--format", "binary").stdout_bytes
    assert len(out) == 150_000
    assert len(set(out)) == 256


def test_raw_values_of_some_bits_are_cut_as_scaling_does() -> None:
    block = lab_source(SEED, "raw").generate(6)
    values = [int.from_bytes(block[k : k + 2], "big") % 512 for k in (0, 2, 4)]
    call = ("raw", "-n", "3", "--bits", "9", "--seed", SEED.hex())
    assert [int(text, 16) for text in run(*call).stdout.split()] == values
    packed = run(*call, "--format", "binary").stdout_bytes
    assert packed == b"".join(value.to_bytes(2, "big") for value in values)


def test_raw_values_are_fresh_without_a_seed() -> None:
    assert run("raw", "-n", "4").stdout != run("raw", "-n", "4").stdout


@pytest.mark.parametrize("what", ["trigger", "winner", "shuffle"])
def test_outcomes_can_be_repeated_and_are_the_same_in_text(what: str) -> None:
    call = ("outcomes", "--what", what, "-n", "3", "--seed", SEED.hex())
    lines = [json.loads(line) for line in run(*call).stdout.splitlines()]
    assert run(*call).stdout == run(*call).stdout
    name = {"trigger": "trigger", "winner": "seat", "shuffle": "cards"}[what]
    text = run(*call, "--format", "text").stdout.splitlines()
    assert text == [str(line[name]) for line in lines]
    assert all(len(line["secret"]) == 64 for line in lines)


def test_outcomes_by_segments_open_above_the_reset() -> None:
    call = ("--segment", "500:1", "--segment", "1000:3", "--opening-span", "100")
    out = run("outcomes", "--what", "trigger", "-n", "20", *call).stdout
    lines = [json.loads(line) for line in out.splitlines()]
    assert all(len(line["draws"]) == 2 for line in lines)
    assert all(250 <= float(line["opening"]) < 350 for line in lines)
    assert all(float(line["opening"]) < float(line["trigger"]) <= 1_000 for line in lines)


@pytest.mark.parametrize(
    "call",
    [
        ("raw",),
        ("raw", "-n", "1", "--bytes", "2", "--bits", "9"),
        ("raw", "-n", "1", "--seed", "12"),
        ("raw", "-n", "1", "--seed", "zz" * 32),
        ("outcomes", "-n", "1"),
        ("outcomes", "--what", "trigger", "-n", "1", "--reset", "1000"),
        ("outcomes", "--what", "trigger", "-n", "1", "--reset", "1.005"),
        ("outcomes", "--what", "trigger", "-n", "1", "--segment", "500"),
        ("outcomes", "--what", "shuffle", "-n", "1", "--decks", "7"),
        ("report", "--cycles", "10"),
    ],
)
def test_a_wrong_call_of_the_laboratory_exits_with_2(call: tuple[str, ...]) -> None:
    assert "Error: " in run(*call, code=2).stderr
