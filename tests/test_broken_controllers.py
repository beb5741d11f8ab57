"""Controllers that were broken on purpose: what each writes wrongly is found, and named."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from floor import usd
from journals import LOSS, ROYAL_SIGNER, STAR, Play, open_play, royal_link, write_log
from msgspec.structs import replace
from redis import Redis

from meters.answers import Due
from meters.calls import Draw
from meters.functions import source
from progressive.audit import verifier as v
from progressive.controller import Controller
from progressive.draws import must_hit
from progressive.draws.secret import DrawSecret
from progressive.draws.vault import make
from progressive.rules.cards import Hand, hand

KEYS = v.read_keys([str(ROYAL_SIGNER.verifier)])
BETTORS = [1, 3, 4]
Begin = Callable[..., Play]


@pytest.fixture
def begin(client: Redis, tmp_path: Path) -> Begin:
    """Open a link whose controller, or whose functions in the server, are not as they should be."""

    def begun(kind: type[Controller] = Controller, changes: Sequence[tuple[str, str]] = ()) -> Play:
        text = source()
        for right, wrong in changes:
            assert text.count(right) == 1, right
            text = text.replace(right, wrong)
        client.function_load(text, replace=True)
        vault = make(tmp_path / "draws.key", cycle_open=False)
        return open_play(client, vault, royal_link(), kind)

    return begun


def entries(play: Play) -> list[dict[str, Any]]:
    return [json.loads(line) for line in play.lines()]


def last(play: Play, kind: str) -> int:
    """Give the number of the last entry of a kind."""
    return max(int(entry["n"]) for entry in entries(play) if entry["k"] == kind)


def first_problem(play: Play, tmp_path: Path) -> v.Problem:
    folder = write_log(tmp_path / "log", play.lines(), ROYAL_SIGNER)
    [report] = v.verify_folder(folder, KEYS, lambda _done, _of: None)
    return report.problems[0]


def play_until_must_hit(play: Play, seats: Sequence[int] = BETTORS) -> int:
    """Play until Must Hit is awarded; gives that entry's number."""
    for _ in range(60):
        play.play("T1", seats)
        if "must_hit" in entries(play)[-1]:
            return last(play, "end")
        if play.at("T1") % 5 == 0:
            play.new_shoe("T1")
    raise AssertionError("Must Hit was never awarded")


def test_a_controller_that_is_not_broken_is_found_right(begin: Begin, tmp_path: Path) -> None:
    play = begin()
    play_until_must_hit(play)
    folder = write_log(tmp_path / "log", play.lines(), ROYAL_SIGNER)
    assert v.verify_folder(folder, KEYS, lambda _done, _of: None)[0].problems == []


@pytest.mark.parametrize(
    ("right", "wrong", "account"),
    [
        ("amount = wagers * level.share\n", "amount = wagers * level.share - 1\n", "star"),
        ("wagers * level.reserve_share)\n", "wagers * level.reserve_share + 1)\n", "star"),
    ],
)  # fmt: skip
def test_a_wrong_contribution_is_found(
    begin: Begin, tmp_path: Path, right: str, wrong: str, account: str
) -> None:
    changes = [(right, wrong)]
    if "reserve" in right:  # keep the sum at zero, as one who wants to hide it would
        changes.append(("taken = taken + amount +", "taken = taken + amount + 1 +"))
    play = begin(changes=changes)
    play.play("T1", BETTORS)
    found = first_problem(play, tmp_path)
    assert found.entry == last(play, "lock")
    assert found.what.startswith("posts ")
    assert account in found.what


def test_a_wrong_award_is_found(begin: Begin, tmp_path: Path) -> None:
    play = begin(
        changes=[("return amount - amount % CENT\n", "return amount - amount % CENT - CENT\n")]
    )
    play.play("T1", BETTORS, STAR)
    found = first_problem(play, tmp_path)
    assert found.entry == last(play, "deal")
    assert found.what.startswith("has awards ")


class WrongLines(Controller):
    """Gives the cards of seat 1 to seat 3 as well."""

    def _lines(self, table: str, player: Hand, banker: Hand) -> dict[int, str]:
        return super()._lines(table, player, banker) | {3: "star"}


def test_an_award_that_the_cards_do_not_make_is_found(begin: Begin, tmp_path: Path) -> None:
    play = begin(WrongLines)
    play.play("T1", BETTORS)
    found = first_problem(play, tmp_path)
    assert found.entry == last(play, "deal")
    assert found.what == "gives seat 3 the line 'star'; the cards and wagers make it 'loss'"


def test_an_award_below_the_trigger_is_found(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below: list[bool] = []

    def always(value: int, trigger: must_hit.Trigger) -> bool:
        below.append(value < trigger.micros)
        return True

    monkeypatch.setattr(must_hit, "won", always)
    play = begin()
    awarded = play_until_must_hit(play, [2])
    while not below[-1]:  # by chance the round did reach its trigger: the next cycle has another
        awarded = play_until_must_hit(play, [2])
    found = first_problem(play, tmp_path)
    assert found.entry == awarded
    assert "its trigger was" in found.what


def test_a_round_that_reached_the_trigger_and_went_without_is_found(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[int] = []

    def the_second_time(value: int, trigger: must_hit.Trigger) -> bool:
        reached.extend([value] if value >= trigger.micros else [])
        return len(reached) > 1

    monkeypatch.setattr(must_hit, "won", the_second_time)
    play = begin()
    play_until_must_hit(play, [2])
    locks = [entry for entry in entries(play) if entry["k"] == "lock"]
    ends = [entry for entry in entries(play) if entry["k"] == "end"]
    due = next(at for at, lock in enumerate(locks) if lock["value"] >= reached[0])
    found = first_problem(play, tmp_path)
    assert found.entry == ends[due]["n"]
    assert "without an award" in found.what


def test_rounds_at_the_maximum_that_go_without_are_found_before_any_reveal(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(must_hit, "won", lambda _value, _trigger: False)
    play = begin()
    while play.meters.numbers()["must_hit.meter"] < usd("6.00"):
        play.play("T1", [1, 2, 3, 4, 5, 6])
    found = first_problem(play, tmp_path)
    assert found.entry == last(play, "end")
    assert "no trigger up to $6.00 allows that" in found.what


class DrawsAgain(Controller):
    """Draws once more with a new secret, as one who did not like the first winner would."""

    def _decide(self, table: str, due: Due) -> Draw | None:
        draw = super()._decide(table, due)
        if draw is None:
            return None
        secret, salt = DrawSecret.fresh(self.source).reveal()
        return replace(draw, secret=secret, salt=salt)


def test_a_second_draw_from_another_secret_is_found(begin: Begin, tmp_path: Path) -> None:
    play = begin(DrawsAgain)
    awarded = play_until_must_hit(play)
    found = first_problem(play, tmp_path)
    assert found.entry == awarded
    assert "not the one committed to: royal must_hit 1" in found.what


class PrefersAnother(Controller):
    """Draws as it should, and then takes the bettor after."""

    def _decide(self, table: str, due: Due) -> Draw | None:
        draw = super()._decide(table, due)
        if draw is None:
            return None
        after = due.seats[(due.seats.index(draw.seat) + 1) % len(due.seats)]
        return replace(draw, seat=after)


def test_a_second_draw_of_the_winner_is_found(begin: Begin, tmp_path: Path) -> None:
    play = begin(PrefersAnother)
    awarded = play_until_must_hit(play)
    found = first_problem(play, tmp_path)
    assert found.entry == awarded
    assert "the draw gives seat" in found.what


class AwardsAFriend(Controller):
    """Awards Must Hit to seat 7, whoever bets."""

    def _decide(self, table: str, due: Due) -> Draw | None:
        draw = super()._decide(table, due)
        return replace(draw, seat=7) if draw else None


UNGUARDED = ("if state.cycle ~= cycle or not Seats.has(state.locked, seat) then", "if false then")


def test_a_winner_that_did_not_bet_is_found(begin: Begin, tmp_path: Path) -> None:
    play = begin(AwardsAFriend, [UNGUARDED])
    awarded = play_until_must_hit(play)
    found = first_problem(play, tmp_path)
    assert found.entry == awarded
    assert found.what.startswith("awards Must Hit to seat 7; the draw gives seat ")


def test_a_second_award_in_one_cycle_is_found(begin: Begin, tmp_path: Path) -> None:
    play = begin(
        changes=[("Ledger.set(book, 'cycle', cycle + 1)", "Ledger.set(book, 'cycle', cycle)")]
    )
    play_until_must_hit(play)
    play.lock("T1", [1])
    found = first_problem(play, tmp_path)
    assert found.entry == last(play, "lock")
    assert "it is cycle 2" in found.what


def test_cards_that_the_committed_shoe_does_not_hold_are_found_once_it_is_revealed(
    begin: Begin, tmp_path: Path
) -> None:
    play = begin()
    play.new_shoe("A1")
    play.play_automated("A1", [1])
    play.lock("A1", [1])
    play.deal("A1", (hand("A♠ A♥"), hand("A♦ A♣")))
    chosen = last(play, "deal")
    play.end("A1")
    folder = write_log(tmp_path / "open", play.lines(), ROYAL_SIGNER)
    [report] = v.verify_folder(folder, KEYS, lambda _done, _of: None)
    assert report.problems == []
    assert report.content["not_yet_checkable"]["shoes"] == 1
    play.new_shoe("A1")
    found = first_problem(play, tmp_path)
    assert found.entry == chosen
    assert "deals AS AH AD AC to round 2 of A1; the shoe that entry" in found.what


def test_a_wager_that_is_counted_after_its_lock_is_found(begin: Begin, tmp_path: Path) -> None:
    play = begin(changes=[("if saw ~= state.seats then", "if false then")])
    play.controller.lock("T1", 1, [2], "dealer")
    play.deal("T1", LOSS)
    found = first_problem(play, tmp_path)
    assert found.entry == last(play, "lock")
    assert found.what == "locks seats [2]; the sensors report []"
