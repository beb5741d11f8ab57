"""The site's own journal: what belongs to no link is recorded once, in order."""

import json

import pytest
from redis import Redis

from meters.errors import Refused
from meters.functions import ensure_loaded, source
from meters.site import Change, SiteJournal


@pytest.fixture
def journal(client: Redis) -> SiteJournal:
    ensure_loaded(client)
    return SiteJournal(client)


def test_entries_are_numbered_without_gaps(journal: SiteJournal) -> None:
    assert journal.note("boss", "start", {"version": "0.1.0"}) == 1
    assert journal.note("boss", "user", {"user": "ann", "roles": ["dealer"]}) == 2
    first, second = (json.loads(line) for _, line in journal.entries())
    assert (first["n"], first["k"], first["by"]) == (1, "start", "boss")
    assert second["body"] == {"user": "ann", "roles": ["dealer"]}
    assert second["t"] >= first["t"]


def test_a_repeated_entry_is_written_once(journal: SiteJournal) -> None:
    assert [journal.record(1, "boss", "start", {}) for _ in range(3)] == [1, 1, 1]
    assert journal.head() == 1


def test_an_entry_out_of_turn_is_told_the_next_number(journal: SiteJournal) -> None:
    journal.note("boss", "start", {})
    with pytest.raises(Refused) as refusal:
        journal.record(5, "boss", "start", {"again": True})
    assert (refusal.value.code, refusal.value.detail) == ("entry_number", {"next": 2})


def test_after_a_restart_nothing_is_recorded_before_the_audit(
    journal: SiteJournal, client: Redis
) -> None:
    journal.note("boss", "start", {})
    client.function_load(source(), replace=True)
    with pytest.raises(Refused, match="not_audited"):
        journal.note("boss", "start", {})
    assert journal.audit() == []
    assert journal.note("boss", "start", {}) == 2


def test_a_journal_that_lost_entries_stays_closed(journal: SiteJournal, client: Redis) -> None:
    for _ in range(3):
        journal.note("boss", "start", {})
    client.function_load(source(), replace=True)
    assert journal.audit(sealed=4) != []
    client.xdel("{site}:journal", "3-0")
    assert journal.audit() == ["the site journal ends at entry [2], its head says 3"]
    with pytest.raises(Refused, match="not_audited"):
        journal.note("boss", "start", {})


def test_an_entry_and_the_records_it_changes_are_one_step(
    journal: SiteJournal, client: Redis
) -> None:
    journal.note("boss", "user", {}, [Change("users", "ann", "{}"), Change("roles", "x", "1")])
    assert client.hgetall(journal.key("users")) == {"ann": "{}"}
    with pytest.raises(Refused, match="entry_number"):
        journal.record(9, "boss", "user", {}, [Change("users", "bob", "{}")])
    journal.note("boss", "user", {}, [Change("users", "ann", None)])
    assert client.hgetall(journal.key("users")) == {}
