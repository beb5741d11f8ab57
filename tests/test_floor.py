"""The simulated floor by itself: what a hub keeps, what a bad line does, what the books say."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from links.books import TOLD, Books, Step
from links.cards import Shoe
from links.compare import differences
from links.dealer import Dealer, Habits, Move
from links.faults import Faults, FaultyLine
from links.http import Answer, Device, LostError, Request
from links.hub import Hub, HubError
from progressive.rules.baccarat import round_of
from progressive.rules.cards import hand

TABLE = {"name": "T1", "kind": "live", "seats": 7, "decks": 8, "combinations": ["KS9H"] * 7}


def fine(**body: Any) -> Answer:  # noqa: ANN401 - JSON
    standing = {"round": 1, "phase": "open", "lamps": ["off"] * 7}
    return Answer(200, json.dumps(standing | body).encode())


def refused(status: int, code: str, **facts: Any) -> Answer:  # noqa: ANN401 - JSON
    return Answer(status, json.dumps({"code": code, "facts": facts}).encode())


def test_a_hub_keeps_its_message_until_it_is_answered() -> None:
    hub = Hub("T1", epoch=5)
    hub.say(1, [2, 3])
    kept = dict(hub.kept or {})
    assert not hub.take(refused(503, "link_down"))
    assert hub.kept == kept
    with pytest.raises(HubError):
        hub.say(1, [4])
    assert hub.take(fine(result="applied"))
    assert hub.kept is None


def test_a_hub_goes_on_where_the_controller_expects_it() -> None:
    hub = Hub("T1", epoch=5, sequence=8)
    hub.say(1, [2])
    assert not hub.take(fine(result="gap", expected=4))
    assert hub.kept == {"table": "T1", "epoch": 5, "sequence": 4, "round": 1, "seats": [2],
                        "kind": "state"}  # fmt: skip
    assert not hub.take(refused(409, "epoch_lower", epoch=9, sequence=3))
    assert (hub.epoch, hub.sequence) == (10, 1)


def test_a_reused_sequence_is_a_defect_of_the_hub_and_is_not_hidden() -> None:
    hub = Hub("T1", epoch=5)
    hub.say(1, [2])
    with pytest.raises(HubError, match="sequence_reused"):
        hub.take(refused(409, "sequence_reused"))


def test_a_device_does_not_take_an_answer_that_is_signed_for_another_request() -> None:
    device = Device("hub-1", b"k" * 32)
    request = device.request("POST", "/v1/messages", {"table": "T1"})
    with pytest.raises(LostError):
        device.check(request, Answer(200, b"{}", "0" * 64))
    with pytest.raises(LostError):
        device.check(request, Answer(200, b"{}"))


class Recorder:
    """A line that only remembers."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, request: Request) -> Answer:
        self.sent.append(request.path)
        return fine()

    def close(self) -> None:
        pass


def course(seed: str) -> tuple[list[str], list[str]]:
    recorder = Recorder()
    faults = Faults(loss=0.3, repeat=0.3, reorder=0.3)
    line = FaultyLine(recorder, faults, random.Random(seed))  # noqa: S311 - to be replayed
    lost = []
    for number in range(200):
        try:
            line.send(Request("POST", f"/{number}", b"", {}))
        except LostError as error:
            lost.append(str(error))
    return recorder.sent, lost


def test_one_seed_makes_one_course_of_faults() -> None:
    sent, lost = course("7")
    assert (sent, lost) == course("7")
    assert (sent, lost) != course("8")
    requests_lost = [line for line in lost if "request was lost" in line]
    answers_lost = [line for line in lost if "answer was lost" in line]
    assert len(requests_lost) > 10
    assert len(answers_lost) > 10
    assert len(sent) > 200 - len(requests_lost)  # repeats and old ones besides


def moves(seed: str) -> list[Move]:
    rng = random.Random(seed)  # noqa: S311 - to be replayed
    dealer = Dealer(TABLE, 1, 0, 10**10, rng, Habits(correct=0.2, void=0.2))
    made = []
    for _ in range(20):
        play = dealer.play()
        move: Move | None = next(play)
        while move is not None:
            made.append(move)
            told = {"lamps": ["off"] * 7}
            if move.verb == "seats":
                told["lamps"] = [
                    "accepted" if n in move.body["seats"] else "off" for n in range(1, 8)
                ]
            try:
                move = play.send(told)
            except StopIteration:
                move = None
    return made


def test_one_seed_makes_one_course_of_play() -> None:
    made = moves("3")
    assert made == moves("3")
    assert made != moves("4")
    assert {"seats", "lock", "deal", "end", "void", "correct", "new shoe"} <= {m.verb for m in made}


def test_a_lock_names_the_seats_whose_lamps_are_lit() -> None:
    before = None
    for move in moves("5"):
        if move.verb == "lock":
            assert before is not None
            assert move.body["seats"] == before.body["seats"]
        before = move


def test_third_cards_are_those_of_the_drawing_rules() -> None:
    shoe = Shoe(8, random.Random(1))  # noqa: S311 - to be replayed
    for _ in range(3000):
        if shoe.is_over:
            shoe.shuffle()
        four = shoe.draw([])
        thirds = shoe.thirds(four[0::2], four[1::2])
        so_far = round_of(hand(" ".join(four[0::2])), hand(" ".join(four[1::2])))
        for card in thirds:
            player, banker = so_far.player, so_far.banker
            if so_far.next == "player":
                so_far = round_of(player + hand(card), banker)
            else:
                so_far = round_of(player, banker + hand(card))
        assert so_far.next is None


STAR = {
    "name": "star", "seed_micros": 100_000_000, "reset_micros": 100_000_000,
    "increment_ppm": 90_000, "reserve_ppm": 20_000, "limit_micros": None,
}  # fmt: skip
LINK = {
    "terms": {
        "stake_micros": 5_000_000,
        "hand_pay_above_micros": 10**9,
        "lines": {"star": {"level": "star", "percent": 100}, "pair": {"amount_micros": 25_000_000}},
    },
    "levels": [STAR],
}
START = dict.fromkeys(TOLD, 0) | {"level": "star", "display": 100_000_000}
WON = {"award": 1, "seat": 1, "line": "star", "amount": 100_900_000}
STEPS = [
    Step(2, "lock", "T1", 1, {"seats": [1, 2]}, {}),
    Step(3, "deal", "T1", 1, {}, {"awards": [WON]}),
    Step(4, "end", "T1", 1, {}, {}),
    Step(5, "pay", "T1", 1, {"award": 1}, {}),
]
ENTRIES = [
    {"n": 2, "k": "lock", "post": {"players": -10_000_000, "house": 8_900_000,
                                   "star.meter": 900_000, "star.reserve": 200_000}},
    {"n": 3, "k": "deal", "post": {"star.meter": -900_000, "star.pending": 100_900_000,
                                   "star.reserve": -200_000, "house": -99_800_000}},
    {"n": 4, "k": "end"},
    {"n": 5, "k": "pay", "post": {"star.pending": -100_900_000, "players": 100_900_000}},
]  # fmt: skip
METERS = START | {"progressive_in": 900_000, "hits": 1, "wins": 100_900_000}


def compared(
    steps: list[Step] = STEPS,
    entries: list[dict[str, Any]] = ENTRIES,
    meters: dict[str, Any] = METERS,
) -> list[str]:
    return differences(Books(LINK, [START]), steps, entries, {"levels": [meters]})


def test_equal_books_have_no_differences() -> None:
    assert compared() == []


def _with_post(at: int, **post: int) -> list[dict[str, Any]]:
    changed = [dict(entry) for entry in ENTRIES]
    changed[at]["post"] = dict(changed[at].get("post", {})) | post  # type: ignore[call-overload]
    return changed


@pytest.mark.parametrize(
    ("odd", "named"),
    [
        (lambda: compared(meters=METERS | {"display": 100_000_001}), "star: display should be"),
        (lambda: compared(steps=STEPS[:-1]), "entry 5: pay was not acknowledged"),
        (lambda: compared(entries=ENTRIES[:-1]), "entry 5 was acknowledged and is not"),
        (lambda: compared(entries=_with_post(0, house=8_900_001)), "entry 2: "),
        (lambda: compared(entries=_with_post(3, players=100_900_001)), "players: should have"),
        (
            lambda: compared([STEPS[0], Step(3, "deal", "T1", 1, {}, {"awards": [
                WON | {"amount": 100_910_000}]}), *STEPS[2:]]),
            "award 1 at T1 should be 100900000",
        ),
    ],
)  # fmt: skip
def test_a_difference_of_a_micro_dollar_is_named(odd: Callable[[], list[str]], named: str) -> None:
    found = odd()
    assert any(named in line for line in found), found
