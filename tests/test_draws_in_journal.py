"""Every draw of a played journal, rebuilt from its entries as deploy/docs/draws.md tells it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import rebuild
from cycles import play_to_the_brink
from journals import LEVEL_PARTS, Play, must_hit_level, open_play, royal_link
from redis import Redis

from meters.functions import ensure_loaded
from progressive.draws.vault import make

Json = Any
SEATS = [2, 3, 5, 7]


class Cycle(NamedTuple):
    """A cycle that was won: what the page makes of it, and what the journal says."""

    number: int
    level: Json
    trigger: int
    seat: int
    value: int
    highest_unawarded: int
    awarded_seat: int


def hands(deal: Json) -> str:
    return "/".join(" ".join(sorted(deal[hand])) for hand in ("player", "banker"))


def drawn(secret: str, salt: str, *fields: str) -> rebuild.Bytes:
    return rebuild.stream(rebuild.joined(*fields), bytes.fromhex(secret), bytes.fromhex(salt))


def rebuilt(lines: list[bytes], *, follow_changes: bool = True) -> Iterator[Cycle]:
    """Go through a journal with the page in hand."""
    first, *entries = map(json.loads, lines)
    definition = first["definition"]
    [level] = [one for one in definition["levels"] if one.get("maximum_micros")]
    link, opening, cards, highest = definition["link"], level["seed_micros"], "", 0
    proposed: dict[int, Json] = {}
    waiting: Json = None
    locks: dict[str, Json] = {}
    deals: dict[str, Json] = {}
    for e in entries:
        if e["k"] == "propose" and e["what"] == "level":
            proposed[e["number"]] = e["body"]["definition"]
        elif e["k"] == "approve" and e["number"] in proposed:
            if proposed[e["number"]]["name"] == level["name"]:
                waiting = proposed[e["number"]]
        elif e["k"] == "lock":
            locks[e["table"]] = e
        elif e["k"] == "deal":
            deals[e["table"]] = e
        elif e["k"] == "end" and "must_hit" not in e:
            highest = max(highest, locks[e["table"]]["value"])
        elif e["k"] == "end":
            win, lock, deal = e["must_hit"], locks[e["table"]], deals[e["table"]]
            about = (link, level["name"], str(win["cycle"]))
            request = drawn(
                win["secret"], win["salt"], "mh-trigger/1", *about, parameters(level),
                str(opening), cards,
            )  # fmt: skip
            how = level["distribution"]
            segments = [(upto, weight) for upto, weight in how["segments"]]
            *_, trigger = rebuild.trigger(
                request, opening, level["reset_micros"], segments, how["name"]
            )
            request = drawn(
                win["secret"], win["salt"], "mh-winner/1", *about, e["table"], str(e["round"]),
                hands(deal), " ".join(map(str, lock["seats"])),
            )  # fmt: skip
            seat = lock["seats"][rebuild.below(request, len(lock["seats"]))[0]]
            yield Cycle(
                win["cycle"], level, trigger, seat, lock["value"], highest, win["award"]["seat"]
            )
            opening, cards, highest = win["opening"], hands(deal), 0
            if level["name"] in e.get("in_force", []) and follow_changes:
                level = waiting


def parameters(level: Json) -> str:
    how = level["distribution"]
    numbers = ("reset_micros", "maximum_micros", "increment_ppm", "reserve_ppm")
    ends = [str(number) for segment in how["segments"] for number in segment]
    fields = [str(level[name]) for name in numbers]
    return rebuild.digest("mh-parameters/1", *fields, how["name"], str(how["version"]), *ends)


def win_cycles(play: Play, count: int) -> None:
    for _ in range(count):
        play_to_the_brink(play, "T1", SEATS)
        play.new_shoe("T1")
        play.play("T1", SEATS)


def propose_level(play: Play, maximum: str, segments: list[tuple[str, int]]) -> None:
    made = must_hit_level(maximum, segments)
    parts = (*LEVEL_PARTS, "maximum_micros", "distribution")
    play.carry_out("level", {"definition": {part: getattr(made, part) for part in parts}})


def test_draws_are_rebuilt_from_the_journal_through_changes_of_parameters(
    client: Redis, tmp_path: Path
) -> None:
    ensure_loaded(client)
    play = open_play(client, make(tmp_path / "draws.key", cycle_open=False), royal_link())
    win_cycles(play, 2)
    propose_level(play, "9.00", [("9.00", 1)])
    propose_level(play, "12.00", [("4.00", 1), ("12.00", 9)])  # in the place of the one before
    win_cycles(play, 3)
    propose_level(play, "5.00", [])
    win_cycles(play, 3)

    found = list(rebuilt(play.lines()))
    maxima = [cycle.level["maximum_micros"] // 10**6 for cycle in found]
    assert maxima == [6, 6, 6, 12, 12, 12, 5, 5]
    for cycle in found:
        assert cycle.highest_unawarded < cycle.trigger <= cycle.value, cycle
        assert cycle.seat == cycle.awarded_seat, cycle
    stale = list(rebuilt(play.lines(), follow_changes=False))
    assert any(not cycle.highest_unawarded < cycle.trigger <= cycle.value for cycle in stale[3:]), (
        "with the parameters of `open` alone, the triggers would be others"
    )
