"""Rounds played as fast as a server takes them, for whoever needs a long journal."""

import random
from collections.abc import Iterator
from itertools import count, islice

from floor import SMALL_LEVELS, opened, small_link
from redis import Redis

from meters.calls import Call, Message
from meters.errors import Refused
from meters.link import Meters

CARD_LEVELS = SMALL_LEVELS[:3]  # without Must Hit, a round's end needs no decision
TABLES = ("T1", "T2", "T3", "T4")
LINES = ("loss", "loss", "loss", "any_royal")  # what the tray pays: nothing stays pending
CALLS = tuple[Call[object], ...]


def opened_for_play(client: Redis, link: str = "royal") -> Meters:
    return opened(client, small_link(link, TABLES, levels=CARD_LEVELS))


def rounds(meters: Meters, seed: int, first: int = 1) -> Iterator[CALLS]:
    """Give the calls of one round at every table, then of the next, and so on."""
    chance = random.Random(seed)
    calls = meters.calls
    for number in count(first):
        seats = sorted(chance.sample(range(1, 5), chance.randint(1, 4)))
        lines = {seat: chance.choice(LINES) for seat in seats}
        for table in TABLES:
            said = Message(
                table=table, device=f"hub-{table}", epoch=1, sequence=number, round=number,
                seats=seats,
            )  # fmt: skip
            yield (
                calls.shoe(table, number, "dealer"),
                calls.message(said),
                calls.lock(table, number, "dealer", seats),
                calls.deal(table, number, "dealer", ("2S3S", "4C6D"), lines),
                calls.end(table, number, "dealer"),
            )


def play(meters: Meters, groups: Iterator[CALLS], wanted: int) -> None:
    """Play so many rounds, each five entries, in pipelines."""
    while wanted > 0:
        some = list(islice(groups, min(wanted, 100)))
        wanted -= len(some)
        answers = meters.run_many([call for group in some for call in group])
        assert not [answer for answer in answers if isinstance(answer, Refused)]
