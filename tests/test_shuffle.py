"""The automated shoe: committed, drawn after the lock, the same when it is dealt again."""

import hashlib
from collections import Counter
from typing import Any

import pytest
import rebuild
from test_draws import SECRET, fields_of, vectors

from progressive.draws import shoe as automated
from progressive.draws.lab import lab_source, shuffles
from progressive.draws.scaling import DrawError
from progressive.draws.secret import DrawSecret
from progressive.draws.shoe import AutomatedShoe, DealtRound, Lock, ShoeName, open_shoe, replay
from progressive.rules.baccarat import round_of
from progressive.rules.cards import ALL_CARDS
from progressive.rules.rulebooks import RULEBOOKS

NAME = ShoeName("royal", "T-07", 5, 8)


def lock(number: int, text: str = "lock") -> Lock:
    return Lock(number, hashlib.sha256(f"{text} {number}".encode()).hexdigest())


def full(name: ShoeName = NAME, book: str = "MD") -> AutomatedShoe:
    return open_shoe(name, RULEBOOKS[book])


def deal_all(
    shoe: AutomatedShoe, secret: DrawSecret = SECRET
) -> tuple[list[DealtRound], AutomatedShoe]:
    rounds: list[DealtRound] = []
    while not shoe.position.is_over:
        dealt, shoe = shoe.deal(secret, lock(len(rounds) + 1))
        rounds.append(dealt)
    return rounds, shoe


def name_of(one: dict[str, Any]) -> ShoeName:
    return ShoeName(one["link"], one["table"], int(one["shoe"]), int(one["decks"]))


@pytest.mark.parametrize("one", vectors("shoe-commit"))
def test_documented_shoe_commitments_can_be_rebuilt(one: dict[str, Any]) -> None:
    assert automated.commit(name_of(one), SECRET) == one["commit"]
    fields = fields_of(one, "link", "table", "shoe", "decks")
    hidden = (rebuild.SALT.hex(), rebuild.SECRET.hex())
    assert rebuild.digest("shoe-commit/1", *fields, *hidden) == one["commit"]


@pytest.mark.parametrize("one", vectors("shoe-rounds"))
def test_documented_rounds_can_be_dealt_by_the_product(one: dict[str, Any]) -> None:
    locks = [Lock(int(round_["round"]), round_["lock"]) for round_ in one["rounds"]]
    for dealt, round_ in zip(replay(full(name_of(one)), SECRET, locks), one["rounds"], strict=True):
        assert " ".join(dealt.played.player) == round_["player"]
        assert " ".join(dealt.played.banker) == round_["banker"]
        assert [draw.value for draw in dealt.draws] == round_["values"]
        assert [list(draw.rejected) for draw in dealt.draws] == round_["rejected"]


@pytest.mark.parametrize("one", vectors("shoe-rounds"))
def test_documented_rounds_can_be_rebuilt_without_the_product(one: dict[str, Any]) -> None:
    left = rebuild.full_shoe(int(one["decks"]))
    for round_ in one["rounds"]:
        fields = (*fields_of(one, "link", "table", "shoe"), round_["round"], round_["lock"])
        request = rebuild.stream(rebuild.joined("shoe-round/1", *fields))
        source = rebuild.cards(request, left)
        first = [next(source) for _ in range(4)]
        player, banker = [first[0][0], first[2][0]], [first[1][0], first[3][0]]
        for taking in rebuild.third_cards(player, banker):
            first.append(next(source))
            taking.append(first[-1][0])
        assert (" ".join(player), " ".join(banker)) == (round_["player"], round_["banker"])
        assert [drawn[1] for drawn in first] == round_["values"]
        assert [drawn[2] for drawn in first] == round_["rejected"]


@pytest.mark.parametrize("decks", [6, 8])
def test_a_shoe_is_dealt_past_its_cover_card_by_the_rules(decks: int) -> None:
    rounds, left = deal_all(full(ShoeName("royal", "T-07", 1, decks)))
    dealt = Counter(card for one in rounds for card in (*one.played.player, *one.played.banker))
    assert dealt.total() == left.position.dealt
    assert decks * 52 - 14 <= dealt.total() <= decks * 52
    assert sum(left.remaining) == decks * 52 - dealt.total()
    for card, rest in zip(ALL_CARDS, left.remaining, strict=True):
        assert dealt[card] + rest == decks
    for one in rounds:
        assert round_of(one.played.player, one.played.banker) == one.played
        assert len(one.draws) == len(one.played.player) + len(one.played.banker)
    with pytest.raises(DrawError, match="over"):
        left.deal(SECRET, lock(999))


def test_a_revealed_shoe_is_dealt_again_the_same() -> None:
    rounds, _ = deal_all(full())
    locks = [lock(one.round_number) for one in rounds]
    assert replay(full(), SECRET, locks) == tuple(rounds)


def test_another_lock_another_secret_or_another_round_deals_other_cards() -> None:
    first, _ = full().deal(SECRET, lock(1))
    others = [
        full().deal(SECRET, lock(1, "another"))[0],
        full().deal(SECRET, Lock(2, lock(1).entry_hash))[0],
        full().deal(DrawSecret(bytes(32), bytes(16)), lock(1))[0],
        full(ShoeName("royal", "T-07", 6, 8)).deal(SECRET, lock(1))[0],
        full(ShoeName("royal", "T-08", 5, 8)).deal(SECRET, lock(1))[0],
    ]
    assert all(one.draws != first.draws for one in others)


def test_dealing_leaves_the_shoe_it_was_dealt_from_as_it_was() -> None:
    shoe = full()
    assert shoe.deal(SECRET, lock(1)) == shoe.deal(SECRET, lock(1))
    assert shoe == full()


def test_no_card_is_drawn_that_the_round_does_not_need() -> None:
    rounds, _ = deal_all(full())
    assert {len(one.draws) for one in rounds} == {4, 5, 6}


def test_the_cover_card_rule_is_the_rulebooks() -> None:
    assert full().position.first_card_of_hand_is_last is False
    assert full(book="ilani").position.first_card_of_hand_is_last is True
    assert full().position.cover_at == 416 - 14
    assert full().position.dealt == 0


def test_a_shoe_commitment_is_kept_by_its_own_secret_only() -> None:
    made = automated.commit(NAME, SECRET)
    assert automated.keeps(made, NAME, SECRET)
    assert not automated.keeps(made, ShoeName("royal", "T-07", 5, 6), SECRET)
    assert not automated.keeps(made, NAME, DrawSecret(bytes(32), bytes(16)))


def test_a_shoe_has_six_or_eight_decks_and_a_number() -> None:
    with pytest.raises(DrawError):
        ShoeName("royal", "T-07", 1, 7)
    with pytest.raises(DrawError):
        ShoeName("royal", "T-07", 0, 8)


@pytest.mark.parametrize("text", ["", "00", "G" * 64, "A" * 64, "0" * 65])
def test_cards_are_drawn_after_a_real_lock_only(text: str) -> None:
    with pytest.raises(DrawError, match="lock"):
        full().deal(SECRET, Lock(1, text))


def test_the_laboratorys_shoes_are_whole() -> None:
    shoe = next(shuffles(lab_source(bytes(32), "whole"), 6))
    assert Counter(shoe.cards) == dict.fromkeys(ALL_CARDS, 6)
