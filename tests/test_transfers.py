"""Money between links arrives once, wherever its way was cut off."""

import logging
from pathlib import Path

import pytest
from floor import opened, small_link, usd
from redis import Redis

from meters.connect import connect
from meters.link import Meters
from meters.replay import audit
from meters.server import EmbeddedServer
from meters.transfers import deliver
from progressive.data_folder import DataFolder, site_in
from progressive.opening import Opening
from progressive.trial import site_text

AMOUNT = usd("3.50")


@pytest.fixture
def links(client: Redis) -> tuple[Meters, Meters]:
    """Give two links, the first of which has sent money to the second."""
    royal, silver = (opened(client, small_link(name)) for name in ("royal", "silver"))
    send(royal, 1)
    return royal, silver


def send(royal: Meters, number: int, to: str = "spade", to_link: str = "silver") -> None:
    body = {"level": "star", "to": to, "to_link": to_link, "amount_micros": AMOUNT}
    royal.run(royal.calls.propose(number, "ann", "transfer", "table moves", body))
    royal.run(royal.calls.approve(number, "bob"))


def received(silver: Meters) -> int:
    return silver.numbers()["spade.meter"] - usd("20.00")


def test_what_was_sent_arrives_once_and_is_cleared(links: tuple[Meters, Meters]) -> None:
    royal, silver = links
    send(royal, 2)
    for _ in range(3):
        assert deliver(royal.client, "royal") == []
        assert received(silver) == 2 * AMOUNT
    assert royal.snapshot().transfers == {}
    assert royal.numbers()["transit"] + silver.numbers()["transit"] == 0
    assert [audit(link).problems for link in links] == [[], []]


def test_a_delivery_that_was_cut_off_between_its_halves_goes_on(
    links: tuple[Meters, Meters],
) -> None:
    royal, silver = links
    silver.run(silver.calls.receive("transfers", "royal", 1, "spade", AMOUNT))
    assert deliver(royal.client, "royal") == []
    assert received(silver) == AMOUNT
    assert royal.snapshot().transfers == {}


def test_what_cannot_arrive_stays_in_transit_and_holds_up_only_its_own_link(
    links: tuple[Meters, Meters],
) -> None:
    royal, silver = links
    send(royal, 2, to_link="moon")
    send(royal, 3, to="sun")
    send(royal, 4)
    waiting = deliver(royal.client, "royal")
    assert [(each.to_link, each.number) for each in waiting] == [("moon", 1), ("silver", 2)]
    assert [each.reason.partition(":")[0] for each in waiting] == ["unknown_link", "unknown_level"]
    assert received(silver) == AMOUNT
    assert set(royal.snapshot().transfers) == {"moon.1", "silver.2", "silver.3"}


@pytest.mark.usefixtures("client")
def test_the_controller_brings_transfers_and_says_once_what_is_held_up(
    server: EmbeddedServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    connection = connect(server.address)
    site = site_in(site_text(2, tables_a_link=1), "trial.toml")
    opening = Opening(DataFolder(tmp_path / "data").prepare(), site, connection, "trial")
    assert opening.open_(lambda _user, _password: None) == []
    sender, receiver = (Meters(connection.client, f"trial-{number}") for number in (1, 2))
    before = receiver.numbers()["spade.meter"]
    send(sender, 1, to_link="trial-2")
    send(sender, 2, to_link="moon")
    for _ in range(3):
        opening.deliver()
    assert receiver.numbers()["spade.meter"] == before + AMOUNT
    alarms = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
    assert len(alarms) == 1
    assert "transfer 1 of trial-1 to moon has not arrived and stays in transit" in alarms[0]
    connection.close()
