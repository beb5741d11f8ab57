"""Many client processes at once on one link: nothing is lost, repeated or invented."""

from pathlib import Path

import pytest
from floor import opened, small_link
from players import Pit, errors_of, start
from servers import BINARIES, BOTH
from told import assert_all_is_as_told, read_journal

from meters import entries as e
from meters.server import EmbeddedServer

PITS = 8
PLAYED = {
    *(e.Open, e.Seats, e.Late, e.Lock, e.Deal, e.Correct, e.End, e.Void, e.Cancel, e.Shoe),
    *(e.Pay, e.Propose, e.Approve),
}


def play(kind: str, steps: int, folder: Path) -> None:
    names = [f"T{number}" for number in range(1, 2 * PITS + 1)]
    with (
        EmbeddedServer(folder / "data", binary=BINARIES[kind]) as server,
        server.client() as client,
    ):
        meters = opened(client, small_link(tables=names))
        pits = [Pit(folder, f"pit{at}", str(steps), tuple(names[at::PITS])) for at in range(PITS)]
        players = [start(server.address, pit, steps // PITS) for pit in pits]
        ended = [player.wait() for player in players]
        assert ended == [0] * PITS, errors_of(folder)
        assert meters.numbers()["head"] > steps
        stores = assert_all_is_as_told(meters, folder)
        assert {type(entry) for entry in read_journal(meters)} == PLAYED
    assert len(stores.seen) == PITS
    assert all(seen.repeats and seen.decided_again for seen in stores.seen), stores.seen


def test_eight_clients_at_once_leave_one_exact_journal(tmp_path: Path) -> None:
    play("valkey", 8_000, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kind", BOTH)
def test_a_hundred_thousand_steps_of_eight_clients_leave_one_exact_journal(
    kind: str, tmp_path: Path
) -> None:
    play(kind, 100_000, tmp_path)
