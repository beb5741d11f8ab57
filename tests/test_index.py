"""The index: what it says of the past is what the model says, however it came to be."""

import datetime as dt
import sqlite3
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from floor import opened, small_link, usd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant
from play import Play
from redis import Redis
from sealed import DAYS, journal, plan, seal_once
from test_machine import Play as RandomPlay

from meters.calls import Message
from meters.entries import read_entry
from meters.link import Meters
from meters.server import EmbeddedServer
from meters.state import GROWING, PARTS, Award
from progressive.audit.history import AwardRecord, Between, History
from progressive.audit.index import Index, IndexStale
from progressive.audit.index_file import index_file, open_index
from progressive.gaming_day import DAY, GamingDays

ZONES = ("America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Havana", "UTC")
HANDS = ("2S3S", "4C6D")


def filled(lines: list[bytes], days: GamingDays = DAYS) -> Index:
    index = Index(":memory:", days)
    index.take(lines)
    return index


def as_pending(award: Award) -> dict[str, Any]:
    names = ("award", "table", "round", "seat", "line", "kind", "level", "amount", "added")
    more = ("from_reserve", "from_house", "hand", "of")
    return {name: getattr(award, name) for name in names + more} | {"won": award.entry}


def as_recorded(award: AwardRecord) -> dict[str, Any]:
    names = ("award", "table", "round", "seat", "line", "kind", "level", "amount", "added")
    more = ("from_reserve", "from_house", "hand", "of", "won")
    return {name: getattr(award, name) for name in names + more}


class IndexedPlay(RandomPlay):
    """Random play of every verb, each entry taken into an index as it comes."""

    @invariant()
    def the_index_says_what_the_model_says(self) -> None:
        if not hasattr(self, "state"):
            return
        if self.state.numbers["head"] == 1:
            self.index, self.lines = Index(":memory:", DAYS), list[bytes]()
        new = journal(self.client, len(self.lines) + 1)
        self.lines += new
        self.index.take(new)
        history = History(self.index.connection)
        pending = history.awards(limit=1000, state="pending").items
        assert [as_recorded(one) for one in pending] == [
            as_pending(one) for one in self.state.awards
        ]
        assert len(history.awards(limit=1000).items) == self.state.numbers["awards"]
        [day] = history.days()
        found = history.day(day)
        assert found is not None
        accounts = [*GROWING, *(f"{level}.{part}" for level in self.state.levels for part in PARTS)]
        assert {account: found.closing.get(account, 0) for account in accounts} == {
            account: self.state.numbers[account] for account in accounts
        }

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "lines"):
            again = filled(self.lines)
            assert list(again.connection.iterdump()) == list(self.index.connection.iterdump())
            again.close()
            self.index.close()


@pytest.mark.parametrize("seconds", [0, 3600])
def test_random_play_of_every_verb_is_indexed_as_the_model_says(
    client: Redis, seconds: int
) -> None:
    kind: Any = type("Playing", (IndexedPlay,), {"client": client, "simultaneous_seconds": seconds})
    kind.TestCase.settings = settings(
        max_examples=40,
        stateful_step_count=60,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        report_multiple_bugs=False,
    )
    kind.TestCase("runTest").runTest()


def bet(meters: Meters, table: str, round_: int, seats: list[int]) -> None:
    said = Message(
        table=table, device=f"hub-{table}", epoch=1, sequence=round_, round=round_, seats=seats
    )
    meters.run(meters.calls.message(said))


@pytest.fixture
def told(client: Redis) -> History:
    """Tell one story: an award paid by two persons, one corrected away, one voided, a cancel."""
    meters = opened(client, small_link())
    calls, run = meters.calls, meters.run
    bet(meters, "T1", 1, [1, 3])
    run(calls.lock("T1", 1, "dan", [1, 3]))
    run(calls.deal("T1", 1, "dan", HANDS, {1: "star", 3: "any_royal"}))
    run(calls.end("T1", 1, "dan", "7H", decided=(1, "")))
    run(calls.propose(1, "ann", "pay", "jackpot", {"award": 1}))
    run(calls.approve(1, "bob"))
    bet(meters, "T2", 1, [2])
    run(calls.lock("T2", 1, "eve", [2]))
    run(calls.deal("T2", 1, "eve", HANDS, {2: "heart"}))
    run(calls.correct("T2", 1, "sue", 1, hands=("2S4S", "4C6D"), lines={2: "loss"}))
    run(calls.void("T2", 1, "sue", "system malfunction"))
    run(calls.cancel("T3", 1, "dan", "no players"))
    return History(filled(journal(client)).connection)


def test_a_round_is_found_with_its_cards_seats_and_entries(told: History) -> None:
    found = told.round_of("T1", 1)
    assert found is not None
    assert (found.outcome, found.kind, found.seats) == ("ended", "played", [1, 3])
    assert (found.first, found.more, found.lines) == ("2S3S4C6D", "7H", {1: "star", 3: "any_royal"})
    assert (found.locked, found.dealt, found.over) == (3, 4, 5)
    assert found.locked_at <= found.dealt_at <= found.over_at
    assert (found.cycle, found.value) == (1, usd("3.00"))


def test_a_corrected_and_voided_round_keeps_both_sets_of_cards(told: History) -> None:
    found = told.round_of("T2", 1)
    assert found is not None
    assert (found.outcome, found.corrections) == ("void", 1)
    assert (found.first, found.cards, found.lines) == ("2S3S4C6D", "2S4S4C6D", {})
    cancelled = told.round_of("T3", 1)
    assert cancelled is not None
    assert (cancelled.outcome, cancelled.kind, cancelled.locked) == ("cancelled", None, 0)
    assert told.round_of("T3", 2) is None


def test_an_award_tells_how_it_was_settled_and_by_whom(told: History) -> None:
    star, royal, heart = told.awards().items
    assert (star.state, star.how, star.by, star.second) == ("paid", "hand_pay", "ann", "bob")
    assert (star.kind, star.level, star.settled) == ("full", "star", 7)
    assert (royal.state, royal.how, royal.by, royal.kind) == ("paid", "tray", "dan", "fixed")
    assert (heart.state, heart.how, heart.by) == ("reversed", "correct", "sue")
    assert [one.award for one in told.awards_of("T1", 1)] == [1, 2]
    assert told.award(4) is None


def test_awards_come_in_pages_and_by_state(told: History) -> None:
    page = told.awards(limit=2)
    assert ([one.award for one in page.items], page.next) == ([1, 2], 2)
    page = told.awards(after=2, limit=2)
    assert ([one.award for one in page.items], page.next) == ([3], None)
    assert [one.award for one in told.awards(state="reversed").items] == [3]
    with pytest.raises(ValueError, match="is not one of"):
        told.awards(state="lost")
    with pytest.raises(ValueError, match="1 to 1000"):
        told.awards(limit=0)


def win_star(meters: Meters, table: str, seat: int = 1, others: tuple[int, ...] = ()) -> None:
    """Deal a Star at a table's first round."""
    bet(meters, table, 1, [seat, *others])
    meters.run(meters.calls.lock(table, 1, "dan", [seat, *others]))
    lines = {seat: "star"} | dict.fromkeys(others, "loss")
    meters.run(meters.calls.deal(table, 1, "dan", HANDS, lines))


def pay_star(meters: Meters, table: str, award: int) -> None:
    """End a table's first round and have its award paid by two persons."""
    due = meters.run(meters.calls.due(table))
    meters.run(meters.calls.end(table, 1, "dan", decided=(1, due.earlier)))
    number = meters.numbers()["proposals"] + 1
    meters.run(meters.calls.propose(number, "ann", "pay", "won", {"award": award}))
    meters.run(meters.calls.approve(number, "bob"))


def take_back(meters: Meters, table: str) -> list[AwardRecord]:
    """Void a table's first round; gives all awards, compared with those the server holds."""
    meters.run(meters.calls.void(table, 1, "sue", "misdeal"))
    history = History(filled(journal(meters.client)).connection)
    pending = [as_recorded(one) for one in history.awards(state="pending").items]
    assert pending == [as_pending(one) for one in meters.snapshot().awards]
    return history.awards().items


@pytest.mark.parametrize("simultaneous_seconds", [0, 3600])
def test_what_a_reversed_award_leaves_goes_to_the_one_after_it(
    client: Redis, simultaneous_seconds: int
) -> None:
    meters = opened(client, small_link(simultaneous_seconds=simultaneous_seconds))
    win_star(meters, "T1", others=(2, 3, 4))
    win_star(meters, "T2")
    first, second = take_back(meters, "T1")
    assert (first.state, second.state) == ("reversed", "pending")
    assert (first.amount, second.amount) == (usd("101.80"), usd("102.25"))
    assert second.added == 0


def test_what_a_reversed_award_leaves_to_a_paid_one_is_an_award_of_its_own(client: Redis) -> None:
    meters = opened(client, small_link())
    for table, seat in (("T1", 1), ("T2", 2), ("T3", 3)):
        win_star(meters, table, seat)
    take_back(meters, "T2")
    pay_star(meters, "T3", 3)
    addition = take_back(meters, "T1")[-1]
    assert (addition.kind, addition.of, addition.table) == ("addition", 3, "T3")
    assert (addition.round, addition.seat, addition.amount) == (1, 3, usd("0.45"))


def test_a_reset_above_the_award_leaves_nothing_to_hand_on(client: Redis) -> None:
    meters = opened(client, small_link())
    star = msgspec.to_builtins(small_link().levels[0]) | {"reset_micros": usd("103.00")}
    meters.run(meters.calls.propose(1, "ann", "level", "higher", {"definition": star}))
    meters.run(meters.calls.approve(1, "bob"))
    win_star(meters, "T1")
    win_star(meters, "T2")
    first, second = take_back(meters, "T1")
    assert (first.amount, second.amount) == (usd("100.45"), usd("103.45"))


def test_rounds_come_in_pages(client: Redis) -> None:
    Play(client).play(40)
    history = History(filled(journal(client)).connection)
    seen, after = [], 0
    while True:
        page = history.rounds("T1", after, 3)
        seen += [one.round for one in page.items]
        if page.next is None:
            break
        after = page.next
    assert seen == list(range(1, 11))


def on_days(lines: list[bytes], *shifts_days: int) -> list[bytes]:
    """Move a third of a journal's entries to each of three days."""
    moved = []
    for at, line in enumerate(lines):
        entry = read_entry(line)
        shift = shifts_days[at * len(shifts_days) // len(lines)] * 86_400_000
        moved.append(line.replace(b'"t":%d' % entry.t, b'"t":%d' % (entry.t + shift), 1))
    return moved


def test_a_day_has_its_entries_its_flows_and_every_account_at_its_close(client: Redis) -> None:
    floor = Play(client)
    floor.play(60)
    floor.meters.run(floor.meters.calls.balance(floor.meters.tables(), "sealer"))
    lines = on_days(journal(client), 0, 1, 3)
    history = History(filled(lines).connection)
    days = history.days()
    assert [later - earlier for earlier, later in pairwise(days)] == [
        DAY,
        2 * DAY,
    ]
    first, second, third = (history.day(day) for day in days)
    assert first
    assert second
    assert third
    assert history.day(days[0] - DAY) is None
    assert (first.first, first.last + 1, third.last) == (1, second.first, len(lines))
    assert first.rounds + second.rounds + third.rounds == 60
    for day, last in ((first, first.last), (second, second.last), (third, len(lines))):
        expected: dict[str, int] = {}
        for entry in map(read_entry, lines[:last]):
            for account, micros in entry.post.items():
                expected[account] = expected.get(account, 0) + micros
        assert day.closing == expected
    wagers = sum(
        flow.micros for flow in second.flows if (flow.kind, flow.account) == ("lock", "players")
    )
    assert wagers == -second.wagers * usd("5.00")
    assert first.balance
    assert first.balance.entry == third.last
    assert first.balance.numbers["head"] == third.last - 1
    assert third.balance is None
    assert history.days(after=days[0], limit=1) == [days[1]]


def test_rounds_and_awards_are_listed_by_gaming_day(client: Redis) -> None:
    Play(client).play(60)
    history = History(filled(on_days(journal(client), 0, 1, 3)).connection)
    days = history.days()
    every = history.rounds("T1", limit=1000).items
    won = history.awards(limit=1000).items
    assert won
    bounds = [None, days[0] - DAY, *days, days[1] + DAY, days[2] + DAY]
    for first, last in product(bounds, bounds):
        low, high = first or dt.date.min, last or dt.date.max
        between = Between(first, last)
        rounds = [one for one in every if low <= DAYS.day_of(one.locked_at or one.over_at) <= high]
        assert history.rounds("T1", limit=1000, between=between).items == rounds
        awards = [one for one in won if low <= DAYS.day_of(one.won_at) <= high]
        assert history.awards(limit=1000, between=between).items == awards
        paid = [one for one in awards if one.state == "paid"]
        assert history.awards(limit=1000, state="paid", between=between).items == paid
    second = Between(days[1], days[1])
    whole = history.rounds("T1", between=second).items
    page = history.rounds("T1", whole[0].round, 2, second)
    assert page.items == whole[1:3]


def test_an_index_behind_its_log_catches_up_and_a_lost_one_is_made_again(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = Play(client)
    floor.play(30)
    seal_once(plan(tmp_path), server)
    path = index_file(tmp_path / "royal")
    kept = path.read_bytes()
    floor.play(30)
    seal_once(plan(tmp_path), server)
    whole = dump(path)
    for content in (kept, None):
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        seal_once(plan(tmp_path), server)
        assert dump(path) == whole


def dump(path: Path) -> list[str]:
    db = sqlite3.connect(path)
    try:
        return list(db.iterdump())
    finally:
        db.close()


def test_an_index_ahead_of_its_log_is_not_believed(client: Redis, tmp_path: Path) -> None:
    Play(client).play(4)
    index = open_index(tmp_path / "royal", DAYS, 21)
    index.take(journal(client))
    index.close()
    index = open_index(tmp_path / "royal", DAYS, 20)
    assert index.size == 0
    index.close()


def test_an_index_of_other_gaming_days_is_stale(tmp_path: Path) -> None:
    path = tmp_path / "royal.sqlite"
    index = Index(path, DAYS)
    index.close()
    with pytest.raises(IndexStale, match="America/New_York"):
        Index(path, GamingDays("UTC", DAYS.starts))
    path.write_bytes(b"")
    Index(path, DAYS).close()


def test_entries_out_of_order_leave_the_index_as_it_was(client: Redis) -> None:
    Play(client).play(4)
    lines = journal(client)
    index = filled(lines[:10])
    before = list(index.connection.iterdump())
    for wrong in (lines[11:], lines[9:], [lines[10], lines[12]], [lines[10], b"{}"]):
        with pytest.raises(ValueError, match=r"next|missing"):
            index.take(wrong)
        assert list(index.connection.iterdump()) == before
    index.take(lines[10:])
    assert list(index.connection.iterdump()) == list(filled(lines).connection.iterdump())


def test_an_index_that_stops_does_not_stop_the_sealing(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    Play(client).play(4)
    client.xadd("{royal}:journal", {"e": '{"n":22,"k":"from a later version"}'}, "22-0")
    client.hset("{royal}:link", "head", 22)
    seal_once(plan(tmp_path), server)
    assert (tmp_path / "royal" / "checkpoint").read_text("utf-8").splitlines()[1] == "22"


def test_the_past_is_read_while_it_is_written(client: Redis, tmp_path: Path) -> None:
    Play(client).play(8)
    lines = journal(client)
    index = Index(tmp_path / "royal.sqlite", DAYS)
    history = History.open(tmp_path / "royal.sqlite")
    for end in (21, len(lines)):
        index.take(lines[index.size : end])
        assert history.size == end
    index.close()
    history.close()


@given(st.sampled_from(ZONES), st.times().map(lambda at: at.replace(microsecond=0)), st.data())
@settings(max_examples=150, deadline=None)
def test_every_moment_belongs_to_exactly_one_gaming_day(
    zone: str, starts: dt.time, data: st.DataObject
) -> None:
    days = GamingDays(zone, starts)
    moment = data.draw(st.integers(1_577_836_800_000, 1_893_456_000_000))
    day = days.day_of(moment)
    assert days.begins(day) <= moment < days.begins(day + DAY)
    assert days.day_of(days.begins(day)) == day
    assert days.day_of(days.begins(day + DAY) - 1) == day


def utc(text: str) -> int:
    return round(dt.datetime.fromisoformat(f"{text}Z").timestamp()) * 1000


def test_the_gaming_day_turns_at_the_sites_own_hour() -> None:
    assert DAYS.day_of(utc("2026-01-05T10:59")) == dt.date(2026, 1, 4)
    assert DAYS.day_of(utc("2026-01-05T11:00")) == dt.date(2026, 1, 5)
    assert DAYS.day_of(utc("2026-07-05T10:00")) == dt.date(2026, 7, 5)  # an hour earlier in summer
