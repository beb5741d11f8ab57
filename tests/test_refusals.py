"""Bad calls: each gets its own error, and nothing is changed."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from floor import opened, small_link, usd
from redis import Redis

from meters.calls import Call, Calls, Message
from meters.errors import Refused
from meters.link import Meters

LOSSES = {1: "loss", 2: "loss"}
HANDS = ("KS9H", "2C3D")


@pytest.fixture
def meters(client: Redis) -> Meters:
    """Give a link whose T1 has locked round 2, with round 1 over and T2 open."""
    meters = opened(client)
    run, calls = meters.run, meters.calls
    for round_ in (1, 2):
        run(calls.message(said(sequence=round_, round=round_, seats=[1, 2])))
        run(calls.lock("T1", round_, "ann", [1, 2]))
        if round_ == 1:
            run(calls.deal("T1", 1, "ann", HANDS, {1: "spade", 2: "any_royal"}))
            run(calls.end("T1", 1, "ann", decided=(1, "")))
    run(calls.propose(1, "ann", "adjust", "test", {"level": "star", "amount_micros": usd("1.00")}))
    run(calls.message(said(table="T2", epoch=3, seats=[3])))
    return meters


def said(**parts: Any) -> Message:  # noqa: ANN401 - fields of a message
    table = parts.get("table", "T1")
    fields = {"table": table, "device": f"hub-{table}", "epoch": 1, "sequence": 1, "round": 1}
    return Message(**(fields | parts))


BAD: dict[str, tuple[str, Callable[[Calls], Call[Any]]]] = {
    "a table that is not there": ("unknown_table", lambda c: c.lock("T9", 1, "ann", [])),
    "a seat that the table does not have": (
        "seat_out_of_range",
        lambda c: c.message(said(table="T3", seats=[5])),
    ),
    "a round that is long over": ("stale_round", lambda c: c.lock("T1", 0, "ann", [1, 2])),
    "a round that has not begun": ("round_ahead", lambda c: c.lock("T1", 3, "ann", [])),
    "a step that the phase does not allow": (
        "wrong_phase",
        lambda c: c.end("T1", 2, "ann", decided=(1, "")),
    ),
    "the same step with other content": ("conflict", lambda c: c.lock("T1", 2, "ann", [1])),
    "a lock with other seats than the sensors'": (
        "seats_mismatch",
        lambda c: c.lock("T2", 1, "ann", [1]),
    ),
    "a free hand with wagers": (
        "no_wagers_in_a_free_round",
        lambda c: c.lock("T2", 1, "ann", [3], "free"),
    ),
    "a card twice too often in the shoe": (
        "card_not_in_shoe",
        lambda c: c.deal("T1", 2, "ann", ("KSKS", "KS2D"), LOSSES),
    ),
    "a text that is no card": (
        "bad_card",
        lambda c: c.deal("T1", 2, "ann", ("1S9H", "2C3D"), LOSSES),
    ),
    "three cards": ("bad_card", lambda c: c.deal("T1", 2, "ann", ("KS9H", "2C"), LOSSES)),
    "a line that the paytable does not have": (
        "unknown_line",
        lambda c: c.deal("T1", 2, "ann", HANDS, {1: "moon", 2: "loss"}),
    ),
    "lines for other seats than the bettors'": (
        "lines_mismatch",
        lambda c: c.deal("T1", 2, "ann", HANDS, {1: "loss"}),
    ),
    "the same sequence with other content": (
        "sequence_reused",
        lambda c: c.message(said(sequence=2, round=2, seats=[1])),
    ),
    "a lower epoch": ("epoch_lower", lambda c: c.message(said(table="T2", epoch=2, seats=[1]))),
    "an award that was never won": ("unknown_award", lambda c: c.pay(99, "bob")),
    "a person approving their own proposal": ("same_person", lambda c: c.approve(1, "ann")),
    "a proposal that was never made": ("unknown_proposal", lambda c: c.approve(7, "bob")),
    "a proposal out of turn": (
        "proposal_number",
        lambda c: c.propose(3, "ann", "adjust", "test", {}),
    ),
    "a proposal of nothing known": ("bad_call", lambda c: c.propose(2, "ann", "party", "why", {})),
    "a proposal without a reason": ("bad_call", lambda c: c.propose(2, "ann", "adjust", "", {})),
    "a shoe out of turn": ("shoe_number", lambda c: c.shoe("T2", 2, "ann")),
    "new cards in the middle of a round": ("wrong_phase", lambda c: c.shoe("T1", 1, "ann")),
    "closing a table in the middle of a round": (
        "wrong_phase",
        lambda c: c.close_table("T1", "ann", "tired"),
    ),
    "a transfer that skips one": (
        "transfer_order",
        lambda c: c.receive("ann", "other", 2, "star", 1),
    ),
    "money for a level that is not there": (
        "unknown_level",
        lambda c: c.receive("ann", "other", 1, "moon", 1),
    ),
    "an opening with another definition": (
        "link_exists",
        lambda c: c.open_link(small_link(tables=("T1",)), "boss", []),
    ),
    "a seal that holds more than the journal": ("seal_ahead", lambda c: c.sealed(1_000_000)),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_call_gets_its_own_error_and_changes_nothing(meters: Meters, what: str) -> None:
    code, build = BAD[what]
    before = meters.snapshot()
    with pytest.raises(Refused) as refusal:
        meters.run(build(meters.calls))
    assert refusal.value.code == code
    assert refusal.value.message
    assert meters.snapshot() == before


def test_a_lock_that_differs_names_both_lists(meters: Meters) -> None:
    with pytest.raises(Refused, match=r"\[1\].*\[3\]") as refusal:
        meters.run(meters.calls.lock("T2", 1, "ann", [1]))
    assert refusal.value.detail == {"saw": "1", "sensors": "3"}


def test_an_unreasonable_contribution_is_refused(client: Redis) -> None:
    levels = [level for level in small_link().levels if not level.maximum_micros]
    tight = [type(level)(**{**_fields(level), "contribution_max_micros": 1}) for level in levels]
    meters = opened(client, small_link(levels=tight))
    meters.run(meters.calls.message(said(seats=[1])))
    before = meters.snapshot()
    with pytest.raises(Refused) as refusal:
        meters.run(meters.calls.lock("T1", 1, "ann", [1]))
    assert refusal.value.code == "unreasonable_contribution"
    assert meters.snapshot() == before


def _fields(level: Any) -> dict[str, Any]:  # noqa: ANN401 - a struct
    return {name: getattr(level, name) for name in level.__struct_fields__}


def test_an_amount_over_the_bound_is_refused_when_it_is_approved(meters: Meters) -> None:
    body = {"level": "star", "amount_micros": 2**53 - 1, "part": "overflow"}
    for number in (2, 3):
        meters.run(meters.calls.propose(number, "ann", "adjust", "typing error", body))
    meters.run(meters.calls.approve(2, "bob"))
    before = meters.snapshot()
    with pytest.raises(Refused) as refusal:
        meters.run(meters.calls.approve(3, "bob"))
    assert refusal.value.code == "amount_out_of_bounds"
    assert meters.snapshot() == before


def test_one_bad_message_of_a_batch_does_not_hold_up_the_others(meters: Meters) -> None:
    answers = meters.report(
        [
            said(table="T3", seats=[1]),
            said(table="T2", epoch=2, seats=[1]),
            said(table="T1", sequence=3, round=2, seats=[1, 2, 3]),
        ]
    )
    first, second, third = answers
    assert not isinstance(first, Refused)
    assert first.result == "applied"
    assert isinstance(second, Refused)
    assert second.code == "epoch_lower"
    assert not isinstance(third, Refused)
    assert (third.result, third.late, third.lamps) == ("late", [3], "KKL-")


def test_a_batch_is_bounded(meters: Meters) -> None:
    with pytest.raises(Refused, match="at most 256"):
        meters.report([said(table="T3")] * 257)


def test_a_limit_at_the_seed_is_refused_even_where_the_meter_was_taken_below_it(
    client: Redis,
) -> None:
    meters = opened(client)
    run, calls = meters.run, meters.calls
    star = meters.snapshot().levels["star"]
    down = {"level": "star", "amount_micros": -usd("1.00"), "part": "meter"}
    run(calls.propose(1, "ann", "adjust", "test", down))
    run(calls.approve(1, "bob"))
    at_seed = {"level": "star", "limit_micros": star.seed_micros}
    run(calls.propose(2, "ann", "limit", "test", at_seed))
    with pytest.raises(Refused) as refused:
        run(calls.approve(2, "bob"))
    assert refused.value.code == "amount_out_of_bounds"
    assert meters.snapshot().levels["star"] == star


def test_a_level_does_not_change_to_begin_again_at_its_limit(client: Redis) -> None:
    meters = opened(client)
    run, calls = meters.run, meters.calls
    limit = {"level": "star", "limit_micros": meters.snapshot().levels["star"].seed_micros * 2}
    run(calls.propose(1, "ann", "limit", "test", limit))
    run(calls.approve(1, "bob"))
    star = meters.snapshot().levels["star"]
    raised = msgspec.to_builtins(star) | {"reset_micros": star.limit_micros}
    run(calls.propose(2, "ann", "level", "test", {"definition": raised}))
    with pytest.raises(Refused) as refused:
        run(calls.approve(2, "bob"))
    assert refused.value.code == "amount_out_of_bounds"
    assert meters.snapshot().next == {}
