"""The meters that New Jersey asks for, and the command that shows them."""

import json
import subprocess
import sys
from pathlib import Path

from floor import level, opened, small_link, usd
from redis import Redis

from meters.calls import Message
from meters.link import Meters
from meters.replay import audit
from meters.report import level_meters
from meters.server import EmbeddedServer

PROGRESSIVE = str(Path(sys.executable).with_name("progressive"))
LEVELS = (
    level("star", "100.00", 90_000, reserve_ppm=30_000, limit="100.50"),
    level("spade", "20.00", 50_000),
)


def played(client: Redis) -> Meters:
    """Play two rounds of two wagers; Spade is won in the first."""
    meters = opened(client, small_link(levels=LEVELS))
    run, calls = meters.run, meters.calls
    for round_, line in ((1, "spade"), (2, "loss")):
        said = Message(
            table="T1", device="hub", epoch=1, sequence=round_, round=round_, seats=[1, 2]
        )
        run(calls.message(said))
        run(calls.lock("T1", round_, "ann", [1, 2]))
        run(calls.deal("T1", round_, "ann", ("KS9H", "2C3D"), {1: line, 2: "loss"}))
        run(calls.end("T1", round_, "ann"))
    return meters


def test_every_level_has_the_meters_that_new_jersey_asks_for(client: Redis) -> None:
    meters = played(client)
    star, spade = level_meters(meters.numbers(), ["star", "spade"])
    # Four wagers of $5.00: star takes 45 cents each and 15 into reserve, spade 25.
    assert (star.progressive_in, star.display, star.overflow) == (
        usd("1.80"), usd("100.50"), usd("1.30"),
    )  # fmt: skip
    assert (star.reserve, star.hits, star.wins) == (usd("0.60"), 0, 0)
    assert (spade.progressive_in, spade.display) == (usd("1.00"), usd("20.50"))
    assert (spade.hits, spade.wins, spade.pending) == (1, usd("20.50"), usd("20.50"))


def test_the_command_shows_them_and_reconciles(server: EmbeddedServer, client: Redis) -> None:
    played(client)
    call = [PROGRESSIVE, "meters", "royal", "--address", server.address, "--reconcile"]
    shown = subprocess.run(call, capture_output=True, text=True, check=True).stdout  # noqa: S603
    assert "$100.50" in shown
    told = subprocess.run([*call, "--json"], capture_output=True, text=True, check=True)  # noqa: S603
    assert json.loads(told.stdout)["levels"][0]["display"] == usd("100.50")


def test_a_meter_that_was_changed_by_hand_is_a_problem(
    server: EmbeddedServer, client: Redis
) -> None:
    meters = played(client)
    client.hincrby("{royal}:link", "spade.meter", 1)
    call = [PROGRESSIVE, "meters", "royal", "--address", server.address, "--reconcile"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 1
    assert "numbers.spade.meter: 20500000, 20500001" in done.stderr
    assert not audit(meters).is_exact


def test_a_link_that_is_not_there_is_a_wrong_call(server: EmbeddedServer, client: Redis) -> None:
    played(client)
    call = [PROGRESSIVE, "meters", "moon", "--address", server.address]
    done = subprocess.run(call, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 2
    assert "no link 'moon'" in done.stderr
