"""Rounds played as fast as a server takes them, for whoever needs a long journal."""

import random
from collections.abc import Iterator
from itertools import count, islice
from typing import Any

from floor import SMALL_LEVELS, opened, small_link
from redis import Redis

from meters.calls import Call, Calls, Message
from meters.errors import Refused

CARD_LEVELS = SMALL_LEVELS[:3]  # without Must Hit, a round's end needs no decision
TABLES = ("T1", "T2", "T3", "T4")
LINES = ("loss", "loss", "loss", "any_royal")  # what the tray pays: nothing stays pending


class Play:
    """A link without Must Hit at which rounds are played, five entries each."""

    def __init__(self, client: Redis, seed: int = 1, link: str = "royal") -> None:
        self.meters = opened(client, small_link(link, TABLES, levels=CARD_LEVELS))
        self._rounds = _rounds(self.meters.calls, seed)

    def play(self, rounds: int) -> None:
        """Play so many rounds more, table after table, in pipelines."""
        while rounds > 0:
            some = list(islice(self._rounds, min(rounds, 100)))
            rounds -= len(some)
            answers = self.meters.run_many([call for calls in some for call in calls])
            assert not [answer for answer in answers if isinstance(answer, Refused)]


def _rounds(calls: Calls, seed: int) -> Iterator[tuple[Call[Any], ...]]:
    chance = random.Random(seed)  # noqa: S311 - play for tests
    for number in count(1):
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
