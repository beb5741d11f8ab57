"""What is asked again gets its first answer, whatever happened in between."""

import pytest
from floor import opened, usd
from redis import Redis

from meters.calls import Draw, Message
from meters.errors import Refused
from meters.link import Meters
from meters.replay import audit

MONEY = {"level": "star", "amount_micros": usd("1.00")}
DRAW = Draw(seat=1, secret="s", salt="t", commit="c", ciphertext="x")  # noqa: S106 - no secret


@pytest.fixture
def meters(client: Redis) -> Meters:
    """Give a link whose T1 is locked with one wager."""
    meters = opened(client)
    message = Message(table="T1", device="hub", epoch=1, sequence=1, round=1, seats=[1])
    meters.run(meters.calls.message(message))
    meters.run(meters.calls.lock("T1", 1, "ann", [1]))
    return meters


def test_a_void_whose_reason_has_lines_is_answered_again(meters: Meters) -> None:
    call = meters.calls.void("T1", 1, "ann", "two cards\nfell down")
    assert meters.run(call) == meters.run(call)
    with pytest.raises(Refused, match="stale_round"):
        meters.run(meters.calls.void("T1", 1, "ann", "two cards"))


def test_whoever_approves_or_rejects_is_answered_again_whatever_their_name(meters: Meters) -> None:
    for number, settle in (
        (1, meters.calls.approve(1, "Ann Lee")),
        (2, meters.calls.reject(2, "Ann Lee", "no")),
    ):
        meters.run(meters.calls.propose(number, "bob", "adjust", "test", MONEY))
        assert meters.run(settle) == meters.run(settle)


def test_a_proposal_that_was_settled_meanwhile_is_still_answered_to_its_proposer(
    meters: Meters,
) -> None:
    call = meters.calls.propose(1, "ann", "adjust", "test", MONEY)
    first = meters.run(call)
    meters.run(meters.calls.approve(1, "bob"))
    assert meters.run(call) == first
    with pytest.raises(Refused, match="proposal_number"):
        meters.run(meters.calls.propose(1, "ann", "adjust", "another", MONEY))


def test_an_award_that_was_reversed_is_not_paid_and_says_so(meters: Meters) -> None:
    meters.run(meters.calls.deal("T1", 1, "ann", ("KS9H", "2C3D"), {1: "spade"}))
    meters.run(meters.calls.void("T1", 1, "ann", "misdeal"))
    assert meters.run(meters.calls.pay(1, "bob")).result == "reversed"


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("adjust", {"level": "must_hit", "amount_micros": -usd("2.00")}),
        ("transfer", {"level": "must_hit", "to": "star", "amount_micros": usd("2.00")}),
    ],
)
def test_nobody_takes_away_what_a_locked_round_may_still_win_of_must_hit(
    meters: Meters, what: str, body: dict[str, object]
) -> None:
    meters.run(meters.calls.propose(1, "ann", what, "winter", body))
    with pytest.raises(Refused, match="rounds_open"):
        meters.run(meters.calls.approve(1, "bob"))
    meters.run(meters.calls.deal("T1", 1, "ann", ("KS9H", "2C3D"), {1: "loss"}))
    won = meters.run(meters.calls.end("T1", 1, "ann", decided=(1, ""), draw=DRAW)).must_hit
    assert won is not None
    assert won.award.amount == usd("2.50")
    meters.run(meters.calls.approve(1, "bob"))


def test_a_limit_is_never_put_below_the_reset_that_must_fit_under_it(meters: Meters) -> None:
    meters.run(meters.calls.propose(1, "ann", "adjust", "malfunction", SPADE_DOWN))
    meters.run(meters.calls.approve(1, "bob"))
    limit = {"level": "spade", "limit_micros": usd("15.00")}
    meters.run(meters.calls.propose(2, "ann", "limit", "summer", limit))
    with pytest.raises(Refused, match="amount_out_of_bounds"):
        meters.run(meters.calls.approve(2, "bob"))
    assert audit(meters).problems == []


SPADE_DOWN = {"level": "spade", "amount_micros": -usd("10.00")}


def test_a_step_that_moves_more_than_doubles_can_add_is_refused(meters: Meters) -> None:
    meters.run(meters.calls.void("T1", 1, "ann", "night"))
    for table in ("T1", "T2", "T3"):
        meters.run(meters.calls.close_table(table, "ann", "night"))
    much = {"level": "heart", "amount_micros": 2**53 - 1, "part": "overflow"}
    meters.run(meters.calls.propose(1, "ann", "adjust", "huge", much))
    meters.run(meters.calls.approve(1, "bob"))
    meters.run(meters.calls.propose(2, "ann", "decommission", "gone", {"level": "heart"}))
    with pytest.raises(Refused, match="amount_out_of_bounds"):
        meters.run(meters.calls.approve(2, "bob", ["T1", "T2", "T3"]))
    assert audit(meters).problems == []
