"""Must Hit's draws: the documented vectors, the trigger's range, the winner, and what is hidden."""

import json
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import rebuild
from hypothesis import given
from hypothesis import strategies as st

from progressive.draws import must_hit as mh
from progressive.draws.drbg import HmacDrbg
from progressive.draws.fields import cards_text, fields_bytes
from progressive.draws.lab import lab_source
from progressive.draws.must_hit import Cycle, Dealt, Parameters, Trigger, WonRound
from progressive.draws.scaling import DrawError, draw_below
from progressive.draws.secret import DrawSecret
from progressive.rules.cards import Card, hand
from progressive.rules.must_hit import Distribution, Segment, uniform, wagers_per_cycle

DOCUMENT = Path(__file__).parent.parent / "deploy" / "docs" / "draws.md"
VECTORS: list[dict[str, Any]] = json.loads(
    DOCUMENT.read_text(encoding="utf-8").partition("```json\n")[2].partition("```")[0]
)
PARAMETERS = {one["hash"]: one for one in VECTORS if one["kind"] == "parameters"}
SECRET = DrawSecret(rebuild.SECRET, rebuild.SALT)
CYCLE = Cycle("royal", "must_hit", 2)
DEALT = Dealt(hand("KS 9H"), hand("TD 2C 9C"))
UNIFORM = Parameters(250_000_000, 1_000_000_000, 20_000, 0, uniform(1_000_000_000))
SEGMENTS = (Segment(500_000_000, 1), Segment(900_000_000, 5), Segment(1_000_000_000, 4))


def vectors(kind: str) -> list[dict[str, Any]]:
    return [one for one in VECTORS if one["kind"] == kind]


def segmented(*segments: Segment, reset: int = 250_000_000) -> Parameters:
    maximum = segments[-1].upto_micros
    return Parameters(reset, maximum, 20_000, 0, Distribution("segments", 1, segments))


def parameters_of(one: dict[str, Any]) -> Parameters:
    segments = tuple(Segment(int(upto), int(weight)) for upto, weight in one["segments"])
    return Parameters(
        int(one["reset"]),
        int(one["maximum"]),
        int(one["increment"]),
        int(one["reserve"]),
        Distribution(one["distribution"], int(one["version"]), segments),
    )


def dealt_of(text: str) -> Dealt | None:
    player, _, banker = text.partition("/")
    return Dealt(hand(player), hand(banker)) if text else None


def cycle_of(one: dict[str, Any]) -> Cycle:
    return Cycle(one["link"], one["level"], int(one["cycle"]))


def fields_of(one: dict[str, Any], *names: str) -> list[str]:
    return [one[name] for name in names]


def test_the_document_has_vectors_of_every_kind_and_with_rejections() -> None:
    kinds = {"scaling", "parameters", "mh-commit", "mh-trigger", "mh-winner"}
    assert {one["kind"] for one in VECTORS} == kinds | {"shoe-commit", "shoe-rounds"}
    assert any(any(one["rejected"]) for one in vectors("mh-trigger"))
    assert any(one["rejected"] for one in vectors("mh-winner"))
    assert {PARAMETERS[one["parameters"]]["distribution"] for one in vectors("mh-trigger")} == {
        "uniform",
        "segments",
    }


@pytest.mark.parametrize("one", vectors("scaling"))
def test_documented_scaling_can_be_rebuilt(one: dict[str, Any]) -> None:
    text = one["personalization"].encode()
    source, request = HmacDrbg(rebuild.SECRET, rebuild.SALT, text), rebuild.stream(text)
    for limit, value, rejected in zip(one["limits"], one["values"], one["rejected"], strict=True):
        draw = draw_below(source, limit)
        assert (draw.value, list(draw.rejected)) == (value, rejected)
        assert rebuild.below(request, limit) == (value, rejected)


@pytest.mark.parametrize("one", vectors("parameters"))
def test_documented_parameters_can_be_rebuilt(one: dict[str, Any]) -> None:
    assert parameters_of(one).hash == one["hash"]
    names = ("reset", "maximum", "increment", "reserve", "distribution", "version")
    ends = [text for segment in one["segments"] for text in segment]
    assert rebuild.digest("mh-parameters/1", *fields_of(one, *names), *ends) == one["hash"]


@pytest.mark.parametrize("one", vectors("mh-commit"))
def test_documented_commitments_can_be_rebuilt(one: dict[str, Any]) -> None:
    assert mh.commit(cycle_of(one), SECRET) == one["commit"]
    fields = fields_of(one, "link", "level", "cycle")
    hidden = (rebuild.SALT.hex(), rebuild.SECRET.hex())
    assert rebuild.digest("mh-commit/1", *fields, *hidden) == one["commit"]


@pytest.mark.parametrize("one", vectors("mh-trigger"))
def test_documented_triggers_can_be_rebuilt(one: dict[str, Any]) -> None:
    terms = PARAMETERS[one["parameters"]]
    drawn = mh.draw_trigger(
        cycle_of(one), SECRET, parameters_of(terms), int(one["opening"]), dealt_of(one["cards"])
    )
    assert str(drawn.micros) == one["trigger"]
    assert [draw.value for draw in drawn.draws] == one["values"]
    assert [list(draw.rejected) for draw in drawn.draws] == one["rejected"]
    names = ("link", "level", "cycle", "parameters", "opening", "cards")
    request = rebuild.stream(rebuild.joined("mh-trigger/1", *fields_of(one, *names)))
    segments = [(int(upto), int(weight)) for upto, weight in terms["segments"]]
    assert rebuild.trigger(
        request, int(one["opening"]), int(terms["reset"]), segments, terms["distribution"]
    ) == (one["values"], one["rejected"], int(one["trigger"]))


@pytest.mark.parametrize("one", vectors("mh-winner"))
def test_documented_winners_can_be_rebuilt(one: dict[str, Any]) -> None:
    seats = [int(seat) for seat in one["bettors"].split()]
    cards = dealt_of(one["cards"])
    assert cards is not None
    won = WonRound(one["table"], int(one["round"]), cards, seats[::-1])
    winner = mh.draw_winner(cycle_of(one), SECRET, won)
    assert (winner.seat, winner.draw.value) == (one["seat"], one["value"])
    assert list(winner.draw.rejected) == one["rejected"]
    names = ("link", "level", "cycle", "table", "round", "cards", "bettors")
    request = rebuild.stream(rebuild.joined("mh-winner/1", *fields_of(one, *names)))
    assert rebuild.below(request, len(seats)) == (one["value"], one["rejected"])
    assert seats[one["value"]] == one["seat"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_fields_become_the_documented_bytes_whatever_they_say(fields: list[str]) -> None:
    assert fields_bytes(fields) == rebuild.joined(*fields)
    assert json.loads(fields_bytes(fields)) == fields


def test_the_order_in_which_a_hand_was_dealt_does_not_matter_but_whose_it_is_does() -> None:
    player, banker = hand("K♠ 9♥ 10♦"), hand("A♣ 2♣")
    assert cards_text(player, banker) == "9H KS TD/2C AC"
    assert cards_text(player[::-1], banker[::-1]) == cards_text(player, banker)
    assert cards_text(banker, player) != cards_text(player, banker)


@given(st.data())
def test_triggers_agree_with_the_rebuilt_ones_in_any_range(data: st.DataObject) -> None:
    cents = st.integers(1, 90_000_000_000)
    ends = sorted(data.draw(st.sets(cents, min_size=2, max_size=6)))
    weights = st.integers(1, 1_000_000)
    segments = [(end * 10_000, data.draw(weights)) for end in ends[1:]]
    reset, maximum = ends[0] * 10_000, ends[-1] * 10_000
    opening = data.draw(st.integers(reset, maximum - 10_000))
    terms = segmented(*(Segment(*one) for one in segments), reset=reset)
    secret = DrawSecret(rebuild.SECRET, rebuild.SALT)
    drawn = mh.draw_trigger(CYCLE, secret, terms, opening, DEALT)
    assert opening < drawn.micros <= maximum
    assert drawn.micros % 10_000 == 0
    fields = ("royal", "must_hit", "2", terms.hash, str(opening), DEALT.text)
    request = rebuild.stream(rebuild.joined("mh-trigger/1", *fields))
    values, rejected, micros = rebuild.trigger(request, opening, reset, segments, "segments")
    assert (drawn.micros, [draw.value for draw in drawn.draws]) == (micros, values)
    assert [list(draw.rejected) for draw in drawn.draws] == rejected


def chances(terms: Parameters, opening: int) -> dict[int, Fraction]:
    """Give the exact chance of every cent."""
    stretches = list(mh.stretches_above(terms, opening))
    total = sum(one.weight for one in stretches)
    return {
        cent: Fraction(one.weight, total * (one.high - one.low))
        for one in stretches
        for cent in range(one.low + 1, one.high + 1)
    }


def test_a_cut_segment_keeps_the_share_of_its_weight_that_lies_above() -> None:
    terms = segmented(Segment(60_000, 3), Segment(80_000, 1), Segment(120_000, 7), reset=10_000)
    full = chances(terms, 10_000)
    assert sum(full.values()) == 1
    for opening in range(10_000, 110_001, 2_500):
        left = {cent: chance for cent, chance in full.items() if cent * 10_000 > opening}
        whole = sum(left.values())
        assert chances(terms, opening) == {cent: one / whole for cent, one in left.items()}


@pytest.mark.parametrize("distribution", [uniform(2_000_000), None])
def test_the_trigger_agrees_with_the_odds_of_a_cycle(distribution: Distribution | None) -> None:
    segments = (Segment(1_200_000, 2), Segment(1_500_000, 1), Segment(2_000_000, 4))
    distribution = distribution or Distribution("segments", 1, segments)
    terms = Parameters(1_000_000, 2_000_000, 20_000, 0, distribution)
    contribution = 17_000
    wagers = sum(
        chance * -(-(cent * 10_000 - 1_000_000) // contribution)
        for cent, chance in chances(terms, 1_000_000).items()
    )
    assert wagers == wagers_per_cycle(1_000_000, contribution, distribution)


def test_the_chances_are_those_that_are_drawn() -> None:
    terms = segmented(Segment(40_000, 3), Segment(70_000, 1), Segment(80_000, 6), reset=10_000)
    opening, source = 25_000, lab_source(bytes(32), "chances")
    expected = chances(terms, opening)
    seen = dict.fromkeys(expected, 0)
    total = 4_000
    for _ in range(total):
        drawn = mh.draw_trigger(CYCLE, DrawSecret.fresh(source), terms, opening, DEALT)
        seen[drawn.micros // 10_000] += 1
    spread = sum((seen[cent] - total * p) ** 2 / (total * p) for cent, p in expected.items())
    assert 0.2 < spread < 18.5  # five degrees of freedom, 1 in 400 outside on either side


@pytest.mark.parametrize("opening", [249_999_999, 999_990_001, 1_000_000_000])
def test_a_cycle_opens_between_its_reset_and_a_cent_below_its_maximum(opening: int) -> None:
    with pytest.raises(DrawError, match="opens between"):
        mh.draw_trigger(CYCLE, SECRET, UNIFORM, opening, DEALT)


def test_a_fraction_of_a_cent_at_the_opening_is_not_drawn_below() -> None:
    stretches = mh.stretches_above(UNIFORM, 250_009_999)
    assert next(stretches).low == 25_000
    assert next(mh.stretches_above(UNIFORM, 250_010_000)).low == 25_001


@pytest.mark.parametrize(
    "segments",
    [
        (),
        (Segment(900_000_000, 1),),
        (Segment(600_000_000, 1), Segment(500_000_000, 1), Segment(1_000_000_000, 1)),
        (Segment(250_000_000, 1), Segment(1_000_000_000, 1)),
        (Segment(500_000_001, 1), Segment(1_000_000_000, 1)),
        (Segment(500_000_000, 0), Segment(1_000_000_000, 1)),
    ],
)
def test_segments_that_make_no_sense_are_refused(segments: tuple[Segment, ...]) -> None:
    with pytest.raises(DrawError, match="segments ascend"):
        Parameters(250_000_000, 1_000_000_000, 1, 0, Distribution("segments", 1, segments))


@pytest.mark.parametrize(("name", "version"), [("uniform", 2), ("segments", 0), ("normal", 1)])
def test_a_distribution_that_nobody_defined_is_refused(name: str, version: int) -> None:
    end = (Segment(1_000_000_000, 1),)
    with pytest.raises(DrawError, match="no such distribution"):
        Parameters(250_000_000, 1_000_000_000, 1, 0, Distribution(name, version, end))


def test_every_parameter_and_every_field_changes_the_trigger() -> None:
    seen = set()
    for terms in (
        UNIFORM,
        Parameters(240_000_000, 1_000_000_000, 20_000, 0, uniform(1_000_000_000)),
        Parameters(250_000_000, 1_000_000_000, 20_001, 0, uniform(1_000_000_000)),
        Parameters(250_000_000, 1_000_000_000, 20_000, 1, uniform(1_000_000_000)),
        segmented(*SEGMENTS),
        segmented(SEGMENTS[0], Segment(900_000_000, 6), SEGMENTS[2]),
    ):
        seen.add(terms.hash)
    assert len(seen) == 6
    other_cards = Dealt(DEALT.banker, DEALT.player)
    drawn = [
        mh.draw_trigger(CYCLE, SECRET, UNIFORM, 250_000_000, DEALT),
        mh.draw_trigger(CYCLE, SECRET, UNIFORM, 250_000_001, DEALT),
        mh.draw_trigger(CYCLE, SECRET, UNIFORM, 250_000_000, other_cards),
        mh.draw_trigger(Cycle("royal", "must_hit", 3), SECRET, UNIFORM, 250_000_000, DEALT),
        mh.draw_trigger(Cycle("royal", "other", 2), SECRET, UNIFORM, 250_000_000, DEALT),
        mh.draw_trigger(Cycle("harbor", "must_hit", 2), SECRET, UNIFORM, 250_000_000, DEALT),
    ]
    assert len({one.micros for one in drawn}) == len(drawn)


def test_only_the_first_cycle_has_no_round_before_it() -> None:
    with pytest.raises(DrawError):
        mh.draw_trigger(CYCLE, SECRET, UNIFORM, 250_000_000, None)
    with pytest.raises(DrawError):
        mh.draw_trigger(Cycle("royal", "must_hit", 1), SECRET, UNIFORM, 250_000_000, DEALT)
    with pytest.raises(DrawError):
        Cycle("royal", "must_hit", 0)


def test_a_round_wins_at_the_trigger_and_not_a_micro_below() -> None:
    trigger = Trigger(500_000_000, ())
    assert [mh.won(value, trigger) for value in (499_999_999, 500_000_000, 500_000_001)] == [
        False,
        True,
        True,
    ]


def test_a_commitment_is_kept_by_its_own_secret_only() -> None:
    made = mh.commit(CYCLE, SECRET)
    assert mh.keeps(made, CYCLE, SECRET)
    assert not mh.keeps(made, Cycle("royal", "must_hit", 3), SECRET)
    assert not mh.keeps(made, CYCLE, DrawSecret(rebuild.SECRET, bytes(16)))
    assert not mh.keeps(made, CYCLE, DrawSecret(bytes(32), rebuild.SALT))


@pytest.mark.parametrize("bettors", [(), (2, 2), (0, 1)])
def test_a_winner_needs_bettors_at_different_seats(bettors: tuple[int, ...]) -> None:
    with pytest.raises(DrawError):
        mh.draw_winner(CYCLE, SECRET, WonRound("T-07", 1, DEALT, bettors))


def test_a_winner_has_bet_and_every_bettor_can_win() -> None:
    seats, source = (2, 3, 5, 9), lab_source(bytes(32), "every bettor")
    won = WonRound("T-07", 1, DEALT, seats)
    seen = {mh.draw_winner(CYCLE, DrawSecret.fresh(source), won).seat for _ in range(200)}
    assert seen == set(seats)


def test_a_hand_without_cards_decides_nothing() -> None:
    with pytest.raises(DrawError):
        cards_text((), (Card("9H"),))


def test_neither_secret_nor_trigger_shows_itself() -> None:
    trigger = mh.draw_trigger(CYCLE, SECRET, UNIFORM, 250_000_000, DEALT)
    for shown in (repr(SECRET), str(SECRET), f"{SECRET}", repr([SECRET])):
        assert "hidden" in shown
        assert rebuild.SECRET.hex()[:8] not in shown
        assert "\\x01" not in shown
    for shown in (repr(trigger), str(trigger), f"{trigger}"):
        assert shown == "Trigger(hidden)"
    with pytest.raises(TypeError):
        pickle.dumps(SECRET)
    with pytest.raises(TypeError):
        hash(SECRET)


def test_a_secret_has_its_lengths_and_comes_back_from_one_piece() -> None:
    for secret, salt in ((31, 16), (32, 15), (33, 16)):
        with pytest.raises(DrawError):
            DrawSecret(bytes(secret), bytes(salt))
    assert DrawSecret.unpack(SECRET.pack()) == SECRET
    assert SECRET.reveal() == (rebuild.SECRET.hex(), rebuild.SALT.hex())
    assert DrawSecret(rebuild.SECRET, bytes(16)) != SECRET
    assert SECRET.pack() != SECRET
