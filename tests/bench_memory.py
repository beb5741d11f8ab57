"""Valkey's memory after many rounds beside its memory after few: it must not grow with age."""

import argparse
import tempfile
from pathlib import Path

from bench_locks import LEVELS, SEATS
from floor import opened, small_link
from redis import Redis
from rich.progress import track

from meters.calls import Message
from meters.errors import Refused
from meters.link import Meters
from meters.server import EmbeddedServer

TABLES = 100
BALANCE_EVERY = 50_000
HANDS = ("2S3S", "4C6D")
LOSSES = dict.fromkeys(SEATS, "loss")
ROUNDS_A_SHOE = 2  # the small link's shoes have two decks


def _fine(answers: list[object]) -> None:
    bad = [answer for answer in answers if isinstance(answer, Refused)]
    if bad:
        raise AssertionError(str(bad[0]))


def play_round(meters: Meters, names: list[str], round_: int) -> None:
    """Play one round at every table."""
    calls = meters.calls
    _fine(
        [
            *meters.report(
                [
                    Message(
                        table=name,
                        device="hub",
                        epoch=1,
                        sequence=round_,
                        round=round_,
                        seats=SEATS,
                    )
                    for name in names
                ]
            )
        ]
    )
    _fine([*meters.run_many([calls.lock(name, round_, "ann", SEATS) for name in names])])
    _fine([*meters.run_many([calls.deal(name, round_, "ann", HANDS, LOSSES) for name in names])])
    ends = [
        calls.end(name, round_, "ann", decided=(1, ""))
        for name in names  # each ends as the earliest of those still open
    ]
    _fine([*meters.run_many(ends)])
    if round_ % ROUNDS_A_SHOE == 0:
        shoe = round_ // ROUNDS_A_SHOE
        _fine([*meters.run_many([calls.shoe(name, shoe, "ann") for name in names])])


def memory_after(client: Redis, rounds: int) -> int:
    """Play so many rounds, sealing as the sealer does, and give the memory in use at the end."""
    client.flushall()
    names = [f"T{number}" for number in range(TABLES)]
    meters = opened(client, small_link(tables=names, levels=LEVELS, seats=7))
    balance = 0
    for round_ in track(range(1, rounds // TABLES + 1), f"{rounds:,} rounds", transient=True):
        play_round(meters, names, round_)
        if meters.numbers()["head"] - balance >= BALANCE_EVERY:
            balance = meters.run(meters.calls.balance(meters.tables(), "bench")).entry
            meters.run(meters.calls.sealed(balance))
    # Both are measured right behind a sealed balance, where the journal is shortest.
    balance = meters.run(meters.calls.balance(meters.tables(), "bench")).entry
    meters.run(meters.calls.sealed(balance))
    return int(client.info("memory")["used_memory"])


def main(rounds: tuple[int, int] = (2_000, 20_000)) -> None:
    """Print both figures and their ratio."""
    with EmbeddedServer(Path(tempfile.mkdtemp())) as server:
        client = server.client()
        few, many = (memory_after(client, count) for count in rounds)
        print(
            f"memory after {rounds[1]:,} rounds: {many / 1e6:.2f} MB; "
            f"after {rounds[0]:,}: {few / 1e6:.2f} MB; ratio {many / few:.2f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="100 thousand and 10 million rounds")
    main((100_000, 10_000_000) if parser.parse_args().full else (2_000, 20_000))
