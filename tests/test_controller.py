"""The controller on a real server: rules decide lines, draws decide Must Hit, meters pay."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from redis import Redis

from meters.calls import Message
from meters.entries import Approve, read_entry
from meters.errors import Refused
from meters.functions import ensure_loaded
from meters.link import Meters
from meters.money import MICROS
from meters.replay import audit
from progressive.config.load import load_site
from progressive.controller import Controller
from progressive.definition import link_definition
from progressive.draws import must_hit
from progressive.draws.process import process_drbg
from progressive.draws.secret import DrawSecret
from progressive.draws.vault import make
from progressive.rules.cards import hand

EXAMPLE = Path(__file__).parent.parent / "progressive" / "example.toml"


@pytest.fixture
def controller(client: Redis, tmp_path: Path) -> Iterator[Controller]:
    site = load_site(EXAMPLE.read_text(encoding="utf-8")).site
    assert site is not None
    ensure_loaded(client)
    meters = Meters(client, "royal")
    vault = make(tmp_path / "draws.key", cycle_open=False)
    made = Controller(meters, vault, process_drbg(), site.rulebook)
    made.open_link(link_definition(site, site.links[0]), "admin")
    yield made
    found = audit(meters)
    assert found.is_exact, found.problems


def bet(controller: Controller, table: str, round_: int, seats: list[int]) -> None:
    said = Message(
        table=table, device=f"hub-{table}", epoch=1, sequence=round_, round=round_, seats=seats
    )
    [answer] = controller.report([said])
    assert not isinstance(answer, Exception)


def test_a_star_is_won_by_the_seat_whose_king_9_it_is(controller: Controller) -> None:
    bet(controller, "MB-101", 1, [1, 3])
    controller.lock("MB-101", 1, [1, 3], "dealer")
    won = controller.deal("MB-101", 1, hand("K♠ 9♥"), hand("9♥ K♠"), "dealer").awards
    assert [(award.seat, award.line) for award in won] == [(1, "star"), (3, "other_king9")]
    assert won[0].amount == 50_000 * MICROS + 2 * 450_000


def test_a_newly_printed_combination_decides_the_next_line(controller: Controller) -> None:
    calls, run = controller.meters.calls, controller.meters.run
    bet(controller, "MB-101", 1, [1])
    controller.lock("MB-101", 1, [1], "dealer")
    won = controller.deal("MB-101", 1, hand("K♠ 9♥"), hand("2♠ 5♦"), "dealer").awards
    assert [award.line for award in won] == ["heart"]
    controller.end("MB-101", 1, "dealer")
    printed = controller.known().tables["MB-101"].definition
    changed = msgspec.structs.replace(printed, combinations=["KD9H", *printed.combinations[1:]])
    run(calls.close_table("MB-101", "anna", "new layout"))
    body = {"definition": msgspec.to_builtins(changed)}
    run(calls.propose(1, "anna", "table", "new layout", body))
    run(calls.approve(1, "boris", ["MB-101"]))
    run(calls.open_table("MB-101", "anna", "new layout"))
    bet(controller, "MB-101", 2, [1])
    controller.lock("MB-101", 2, [1], "dealer")
    won = controller.deal("MB-101", 2, hand("K♠ 9♥"), hand("2♠ 5♦"), "dealer").awards
    assert [award.line for award in won] == ["any_royal"]


def test_must_hit_is_won_once_a_cycle_before_its_maximum(controller: Controller) -> None:
    cycles = []
    cards = (hand("2♠ 3♠"), hand("4♣ 6♦"))
    shoe = 0
    for round_ in range(1, 1400):
        seats = [1, 2, 3, 4, 5, 6, 7, 8, 9]
        bet(controller, "MB-102", round_, seats)
        controller.lock("MB-102", round_, seats, "dealer")
        if round_ % 8 == 1:
            shoe += 1
        controller.deal("MB-102", round_, *cards, "dealer")
        ended = controller.end("MB-102", round_, "dealer")
        if round_ % 8 == 0:
            controller.new_shoe("MB-102", shoe, "dealer")
        if ended.must_hit:
            cycles.append(ended.must_hit)
            assert 250 * MICROS < ended.must_hit.award.amount <= 1000 * MICROS
    assert [won.cycle for won in cycles] == list(range(1, len(cycles) + 1))
    assert cycles


def test_an_automated_table_draws_the_same_cards_again_until_they_are_dealt(
    controller: Controller,
) -> None:
    controller.new_shoe("AU-301", 1, "system")
    for round_ in range(1, 30):
        controller.lock("AU-301", round_, [], "system")
        played = controller.draw_round("AU-301")
        assert controller.draw_round("AU-301") == played
        controller.deal("AU-301", round_, played.player[:2], played.banker[:2], "system")
        more = "".join(played.player[2:] + played.banker[2:])
        controller.end("AU-301", round_, "system", more)
    controller.new_shoe("AU-301", 2, "system")


def test_a_table_whose_combinations_were_changed_plays_by_the_new_ones(
    controller: Controller,
) -> None:
    meters, calls = controller.meters, controller.meters.calls
    before = controller.known().tables["MB-101"].definition
    new = msgspec.structs.replace(before, combinations=["KD9C", *before.combinations[1:]])
    meters.run(calls.close_table("MB-101", "sue", "new layout"))
    body = {"definition": msgspec.to_builtins(new)}
    meters.run(calls.propose(1, "sue", "table", "new layout", body))
    meters.run(calls.approve(1, "bob", ["MB-101"]))
    meters.run(calls.open_table("MB-101", "sue", "new layout"))
    bet(controller, "MB-101", 1, [1])
    controller.lock("MB-101", 1, [1], "dealer")
    won = controller.deal("MB-101", 1, hand("K♦ 9♣"), hand("9♣ K♦"), "dealer").awards
    assert [award.line for award in won] == ["star"]


def test_a_must_hit_that_goes_reveals_the_cycles_that_it_leaves(controller: Controller) -> None:
    meters, calls = controller.meters, controller.meters.calls
    commits = meters.snapshot().commits
    meters.run(calls.propose(1, "sue", "decommission", "no room", {"level": "must_hit"}))
    bet(controller, "MB-101", 1, [1])
    controller.lock("MB-101", 1, [1], "dealer")
    with pytest.raises(Refused, match="rounds_open"):
        controller.approve(1, "bob", meters.tables())
    meters.run(calls.void("MB-101", 1, "sue", "misdeal"))
    stale: dict[str, dict[str, str]] = {"9": {}, "10": {}}  # cycles that are not the present ones
    with pytest.raises(Refused, match="decide_again"):
        meters.run(calls.approve(1, "bob", meters.tables(), stale))
    controller.approve(1, "bob", meters.tables())
    last = read_entry(list(meters.journal(1))[-1][1])
    assert isinstance(last, Approve)
    assert last.revealed
    for number, commitment in commits.items():
        told = last.revealed[number]
        secret = DrawSecret(bytes.fromhex(told["secret"]), bytes.fromhex(told["salt"]))
        assert must_hit.keeps(commitment, must_hit.Cycle("royal", "must_hit", int(number)), secret)
    assert len(last.revealed) == 2
