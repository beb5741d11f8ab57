"""`progressive audit`: the sealer as a process, the verifier run, an award proved and reported."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from floor import opened, small_link, usd
from play import Play
from redis import Redis
from sealed import KEY, head, journal, opened_log, plan, seal_once, size_of, witness
from servers import wait_for

from meters.calls import Draw, Message
from meters.entries import MustHitWin, read_entry
from meters.functions import ensure_loaded
from meters.link import Meters
from meters.money import CENT, MICROS
from meters.server import EmbeddedServer
from progressive.audit import log_key
from progressive.audit.folder import LogFolder
from progressive.audit.index_file import index_file
from progressive.audit.proof import Proof
from progressive.audit.writer import LogWriter
from progressive.cli import main
from progressive.config.load import load_site
from progressive.controller import Controller
from progressive.definition import link_definition
from progressive.draws.process import process_drbg
from progressive.draws.vault import make
from progressive.rules.cards import hand

EXAMPLE = Path(__file__).parent.parent / "progressive" / "example.toml"
PROGRAM = str(Path(sys.executable).with_name("progressive"))
HANDS = ("2S3S", "4C6D")
STAND_IN = """
import json, sys
print(json.dumps({"called": sys.argv[1:]}))
sys.exit(int(open(__file__ + ".code").read()))
"""


def run(*arguments: str | Path, code: int = 0) -> Result:
    done = CliRunner().invoke(main, ["audit", *map(str, arguments)])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def reported(logs: Path, award: int, *, code: int = 0) -> dict[str, Any]:
    """Prove an award, insist that the proof holds, and give the report."""
    out = logs / "award.tlog-proof"
    done = run("proof", str(award), "--folder", logs / "royal", "--out", out, "--json", code=code)
    found: dict[str, Any] = json.loads(done.stdout)
    proof = Proof.parse(out.read_bytes())
    assert proof.extra is not None
    proof.verify(proof.extra, log_key.published(logs / "royal"))
    assert proof.extra.decode() == found["entry"]
    assert read_entry(proof.extra).n == found["award"]["won"] == proof.index + 1
    return found


def bet(meters: Meters, table: str, round_: int, seats: list[int]) -> None:
    said = Message(
        table=table, device=f"hub-{table}", epoch=1, sequence=round_, round=round_, seats=seats
    )
    meters.run(meters.calls.message(said))


def play_round(meters: Meters, table: str, round_: int, lines: dict[int, str]) -> None:
    bet(meters, table, round_, sorted(lines))
    calls = meters.calls
    meters.run(calls.lock(table, round_, "dan", sorted(lines)))
    meters.run(calls.deal(table, round_, "dan", HANDS, lines))
    due = meters.run(calls.due(table))
    meters.run(calls.end(table, round_, "dan", decided=(due.present, due.earlier)))
    meters.run(calls.shoe(table, round_, "dan"))


def test_a_stars_report_adds_up_from_its_last_reset(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    meters = opened(client, small_link(levels=small_link().levels[1:3], tables=["T1", "T2"]))
    play_round(meters, "T1", 1, {1: "heart", 2: "loss"})
    seal_once(plan(tmp_path, balance_entries=5), server)
    for round_ in range(2, 6):
        play_round(meters, "T1", round_, {1: "loss", 2: "any_royal", 3: "loss"})
    body = {"level": "heart", "amount_micros": usd("1.234567")}
    meters.run(meters.calls.propose(1, "ann", "adjust", "display was low", body))
    meters.run(meters.calls.approve(1, "bob"))
    play_round(meters, "T2", 1, {4: "heart"})
    meters.run(meters.calls.pay(6, "sue"))
    seal_once(plan(tmp_path), server)
    found = reported(tmp_path, 6)
    meter = found["meter"]
    assert (meter["level"], meter["since"], meter["wagers"], meter["locks"]) == ("heart", 4, 13, 5)
    assert meter["opening"] == usd("20.00")
    assert meter["contributed"] == 13 * usd("0.25")
    [moved] = meter["movements"]
    assert (moved["kind"], moved["micros"]) == ("approve", usd("1.234567"))
    total = usd("20.00") + 13 * usd("0.25") + usd("1.234567")
    assert meter["total"] == meter["replayed"] == total == meter["taken"] + meter["left"]
    assert (meter["taken"], meter["left"], meter["equal"]) == (usd("24.48"), 4567, True)
    assert found["award"]["amount"] == usd("24.48")
    assert found["award"]["from_house"] == usd("20.00")
    assert found["reopened"] == usd("20.00") + 4567
    assert (found["award"]["how"], found["award"]["by"]) == ("hand_pay", "sue")
    assert found["problems"] == []


def test_a_report_reads_as_a_page(client: Redis, server: EmbeddedServer, tmp_path: Path) -> None:
    meters = opened(client, small_link())
    play_round(meters, "T1", 1, {1: "star", 2: "loss"})
    seal_once(plan(tmp_path), server)
    out = tmp_path / "award.tlog-proof"
    done = run("proof", "1", "--folder", tmp_path / "royal", "--out", out)
    for text in (
        "# Award 1: $100.90",
        "- Table T1 (asset A-T1), round 1, seat 1",
        "- Player 2S 3S, Banker 4C 6D",
        "| opening value | 1 | $100.00 |",
        "| contributions of 2 wagers in 1 locks | | $0.90 |",
        "$100.90 = $100.90 + $0.00.",
        "- Reset of $100.00: $0.30 by the reserve, $99.70 by the house",
        "- Pending: not paid yet",
        '"k":"deal"',
    ):
        assert text in done.stdout
    assert f"wrote {out}" in done.stderr


def test_shares_second_wins_of_one_deal_and_corrections_add_up(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    meters = opened(client, small_link(simultaneous_seconds=60))
    calls = meters.calls
    play_round(meters, "T1", 1, {1: "star", 2: "star", 3: "any_two"})
    play_round(meters, "T1", 2, {1: "any_two", 2: "loss"})
    bet(meters, "T2", 1, [1, 2, 3, 4])
    meters.run(calls.lock("T2", 1, "dan", [1, 2, 3, 4]))
    lines = {1: "star", 2: "loss", 3: "spade", 4: "suited_both"}
    meters.run(calls.deal("T2", 1, "dan", HANDS, lines))
    again = {1: "loss", 2: "star", 3: "loss", 4: "spade"}
    meters.run(calls.correct("T2", 1, "sue", 1, hands=("2S4S", "4C6D"), lines=again))
    body = {"table": "T1", "round": 1, "seat": 2, "line": "heart"}
    meters.run(calls.propose(1, "ann", "hand_award", "seen on camera", body))
    meters.run(calls.approve(1, "bob", ["T1"]))
    seal_once(plan(tmp_path), server)
    kinds = {}
    for award in range(1, meters.numbers()["awards"] + 1):
        found = reported(tmp_path, award)
        assert found["problems"] == []
        kinds[award] = found["award"]["kind"]
        if found["meter"]:
            assert found["meter"]["equal"]
            assert found["meter"]["taken"] % CENT == 0
    assert sorted(set(kinds.values())) == ["fixed", "full", "share"]
    assert reported(tmp_path, 3)["meter"]["percent"] == 10
    assert reported(tmp_path, 2)["award"]["added"] == usd("1.35")


def test_an_award_that_was_added_to_names_where_it_came_from(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    meters = opened(client, small_link())
    for table in ("T1", "T2"):
        bet(meters, table, 1, [1])
        meters.run(meters.calls.lock(table, 1, "dan", [1]))
        meters.run(meters.calls.deal(table, 1, "dan", HANDS, {1: "star"}))
    meters.run(meters.calls.void("T1", 1, "sue", "misdeal"))
    seal_once(plan(tmp_path), server)
    found = reported(tmp_path, 2)
    [handed] = found["handed"]
    assert (handed["award"], handed["micros"]) == (1, usd("0.45"))
    assert found["award"]["amount"] == found["meter"]["taken"] + usd("0.45")
    assert found["problems"] == []
    assert reported(tmp_path, 1)["award"]["state"] == "reversed"


@pytest.fixture
def controller(client: Redis, tmp_path: Path) -> Controller:
    site = load_site(EXAMPLE.read_text(encoding="utf-8")).site
    assert site is not None
    ensure_loaded(client)
    definition = link_definition(site, site.links[0])
    levels = [
        level
        if level.maximum_micros is None
        else msgspec.structs.replace(
            level,
            maximum_micros=usd("260.00"),
            distribution={"name": "uniform", "version": 1, "segments": [[usd("260.00"), 1]]},
        )
        for level in definition.levels
    ]
    meters = Meters(client, "royal")
    vault = make(tmp_path / "draws.key", cycle_open=False)
    made = Controller(meters, vault, process_drbg(), site.rulebook)
    made.open_link(msgspec.structs.replace(definition, levels=levels), "admin")
    return made


def test_a_must_hit_report_works_out_the_draw_again(
    controller: Controller, client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    seats = list(range(1, 10))
    won: list[MustHitWin] = []
    round_ = 0
    while len(won) < 3:
        round_ += 1
        bet(controller.meters, "MB-102", round_, seats)
        controller.lock("MB-102", round_, seats, "dan")
        bet(controller.meters, "MB-101", round_, [2, 5])
        controller.lock("MB-101", round_, [2, 5], "dan")  # stays: it locked after the other
        for table, cards in (("MB-102", "2♠ 3♠"), ("MB-101", "4♠ 5♠")):
            controller.deal(table, round_, hand(cards), hand("4♣ 6♦"), "dan")
            ended = controller.end(table, round_, "dan")
            if ended.must_hit:
                won.append(ended.must_hit)
            if round_ % 8 == 0:
                controller.new_shoe(table, round_ // 8, "dan")
    seal_once(plan(tmp_path, balance_entries=100), server)
    for must_hit in won:
        found = reported(tmp_path, must_hit.award.award)
        draw, meter = found["draw"], found["meter"]
        assert found["problems"] == []
        assert (draw["cycle"], draw["winner"]) == (must_hit.cycle, must_hit.award.seat)
        assert draw["trigger"] <= draw["value"] == meter["total"]
        assert meter["taken"] == must_hit.award.amount == draw["value"] - draw["value"] % CENT
        assert found["reopened"] == must_hit.opening
        assert all(number["value"] >= 0 for number in draw["trigger_draws"])
        assert (draw["opening_cards"] == "") == (must_hit.cycle == 1)
    shown = run(
        "proof", str(won[1].award.award), "--folder", tmp_path / "royal",
        "--out", tmp_path / "award.tlog-proof",
    ).stdout  # fmt: skip
    assert "## The draw of cycle 2" in shown
    assert f"Winner: seat {won[1].award.seat}" in shown
    assert client.hget("{royal}:link", "cycle") == "4"


def test_a_draw_that_does_not_fit_its_commitment_is_a_problem(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    meters = opened(client, small_link())
    bet(meters, "T1", 1, [1, 2])
    meters.run(meters.calls.lock("T1", 1, "dan", [1, 2]))
    meters.run(meters.calls.deal("T1", 1, "dan", HANDS, {1: "loss", 2: "loss"}))
    end = Draw(seat=1, secret="00" * 32, salt="00" * 16, commit="commit-3", ciphertext="sealed-3")
    meters.run(meters.calls.end("T1", 1, "dan", decided=(1, ""), draw=end))
    seal_once(plan(tmp_path), server)
    found = reported(tmp_path, 1, code=1)
    assert "the draw cannot be worked out" in found["problems"][0]
    assert found["meter"]["equal"]


def test_a_proof_needs_no_index_and_no_sealer(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    meters = opened(client, small_link())
    play_round(meters, "T1", 1, {1: "star"})
    seal_once(plan(tmp_path), server)
    whole = reported(tmp_path, 1)
    index_file(tmp_path / "royal").unlink()
    assert reported(tmp_path, 1) == whole


def test_an_award_that_is_not_there_is_a_wrong_call(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    Play(client).play(1)
    seal_once(plan(tmp_path), server)
    done = run("proof", "7", "--folder", tmp_path / "royal", code=2)
    assert "has no award 7" in done.output
    log_key.public_file(tmp_path / "royal").unlink()
    assert "--key" in run("proof", "7", "--folder", tmp_path / "royal", code=2).output


def test_the_index_is_rebuilt_as_it_was(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    Play(client).play(40)
    seal_once(plan(tmp_path / "log"), server)
    path = index_file(tmp_path / "log" / "royal")
    before = path.read_bytes()
    done = run("rebuild-index", "--data", tmp_path)
    assert "201 entries" in done.output
    assert path.read_bytes()[100:] == before[100:]
    assert path.stat().st_mode & 0o077 == 0
    path.unlink()
    assert "--site" in run("rebuild-index", "--data", tmp_path, code=2).output
    run("rebuild-index", "--data", tmp_path, "--site", EXAMPLE)
    with LogWriter(tmp_path / "log" / "royal", log_key.signer_of(KEY, "royal").verifier):
        assert "another process" in run("rebuild-index", "--data", tmp_path, code=1).output


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A program in the verifier's place that tells how it was called."""
    path = tmp_path / "stand_in.py"
    path.write_text(STAND_IN, encoding="utf-8")
    path.with_name("stand_in.py.code").write_text("0", encoding="utf-8")
    return path


def test_the_verifier_is_run_on_every_log_and_its_verdict_kept(
    client: Redis, server: EmbeddedServer, tmp_path: Path, stand_in: Path
) -> None:
    Play(client).play(4)
    with witness(tmp_path / "witness") as (_, key):
        pass
    seal_once(plan(tmp_path / "log"), server)
    call = ("verify", "--data", tmp_path, "--verifier", stand_in, "--witness", str(key), "--json")
    found = json.loads(run(*call).stdout)
    assert found["ok"]
    assert [log["log"] for log in found["logs"]] == ["floor.example/royal", "floor.example/site"]
    folder = tmp_path / "log" / "royal"
    assert found["logs"][0]["verifier"]["called"] == [
        str(folder), "--key", str(log_key.published(folder)), "--witness", str(key), "--json",
    ]  # fmt: skip
    for code, exit_code in ((1, 1), (2, 2), (9, 2)):
        stand_in.with_name("stand_in.py.code").write_text(str(code), encoding="utf-8")
        assert not json.loads(run(*call, code=exit_code).stdout)["ok"]


def test_wrong_calls_of_verify(tmp_path: Path, stand_in: Path) -> None:
    assert "neither a log nor" in run("verify", "--data", tmp_path, code=2).output
    for name in ("one", "two"):
        (tmp_path / "log" / name).mkdir(parents=True)
        (tmp_path / "log" / name / "checkpoint").touch()
    key = str(KEY.verifier)
    call = ("verify", "--data", tmp_path, "--verifier", stand_in)
    assert "one log" in run(*call, "--key", key, code=2).output
    assert "is missing" in run(*call, code=2).output
    gone = tmp_path / "gone.py"
    assert (
        "is not there"
        in run(
            "verify", "--data", tmp_path / "log" / "one", "--key", key, "--verifier", gone, code=2
        ).output
    )


def test_live_checks_compare_server_and_log(
    client: Redis, server: EmbeddedServer, tmp_path: Path, stand_in: Path
) -> None:
    floor = Play(client)
    floor.play(10)
    seal_once(plan(tmp_path / "log"), server)
    floor.play(1)
    log = tmp_path / "log" / "royal"
    call = ("verify", "--data", log, "--verifier", stand_in, "--address", server.address)
    shown = run(*call).output
    assert "56 entries, 51 sealed, 51 compared, 5 waiting for the sealer" in shown
    assert "journal, log and totals agree" in shown
    client.hincrby("{royal}:link", "star.meter", 1)
    live = json.loads(run(*call, "--json", code=1).stdout)["logs"][0]["live"]
    assert any("star.meter" in problem for problem in live["problems"])
    client.hincrby("{royal}:link", "star.meter", -1)
    lines = journal(client)
    client.delete("{royal}:journal")
    for number, line in enumerate(lines, 1):
        text = line.decode().replace('"dealer"', '"broker"') if number == 30 else line.decode()
        client.xadd("{royal}:journal", {"e": text}, f"{number}-0")
    assert "entry 30 of the journal is not the one that was sealed" in run(*call, code=1).output
    client.flushall()
    Play(client).play(1)
    assert "behind its seal" in run(*call, code=1).output


def test_the_installed_verifier_accepts_what_the_sealer_made(
    controller: Controller, server: EmbeddedServer, tmp_path: Path
) -> None:
    for round_ in range(1, 30):
        bet(controller.meters, "MB-101", round_, [1, 3])
        controller.lock("MB-101", round_, [1, 3], "dan")
        controller.deal("MB-101", round_, hand("K♠ 9♥"), hand("9♥ K♠"), "dan")
        controller.end("MB-101", round_, "dan")
        controller.new_shoe("MB-101", round_, "dan")
    seal_once(plan(tmp_path, segment_entries=50), server)
    call = ("verify", "--data", tmp_path / "royal", "--address", server.address, "--json")
    [log] = json.loads(run(*call).stdout)["logs"]
    assert (log["verifier"]["ok"], log["live"]["problems"]) == (True, [])
    assert log["verifier"]["logs"][0]["counts"]["rounds ended"] == 29
    segment = tmp_path / "royal" / "segments" / "000000000000.log.gz"
    segment.write_bytes(segment.read_bytes()[:-1])
    [log] = json.loads(run(*call, code=1).stdout)["logs"]
    assert log["verifier"]["first_problem"]["file"] == "segments/000000000000.log.gz"


@contextmanager
def sealing_process(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(  # noqa: S603 - the program under test
        [PROGRAM, "audit", "seal", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_the_sealer_runs_as_a_process_until_it_is_told_to_stop(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = Play(client)
    call = ("--address", server.address, "--data", tmp_path, "--site", EXAMPLE)
    royal = tmp_path / "log" / "royal"
    with sealing_process(*call) as process:
        assert process.stdout is not None
        key = process.stdout.readline().strip()
        assert key.startswith("harbor-point-card-room/royal+")
        floor.play(8)
        wait_for(lambda: sealed_size(royal) == head(client))
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert str(log_key.published(royal)) == key
    assert (tmp_path / "log.key").stat().st_mode & 0o777 == 0o600
    with LogFolder(royal, log_key.published(royal)) as log:
        assert list(log.entries()) == journal(client)


def sealed_size(folder: Path) -> int:
    if not log_key.public_file(folder).exists():
        return 0
    with LogFolder(folder, log_key.published(folder)) as log:
        return log.size


def test_sealing_once_says_what_stands_in_the_way(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    floor = Play(client)
    floor.play(8)
    call = ("seal", "--address", server.address, "--data", tmp_path, "--site", EXAMPLE, "--once")
    run(*call)
    assert sealed_size(tmp_path / "log" / "royal") == 41
    client.flushall()
    Play(client).play(1)
    assert "behind its seal" in run(*call, code=1).output
    os.rename(tmp_path / "log.key", tmp_path / "lost.key")  # noqa: PTH104 - a file moved by hand
    assert "holds logs that it has signed" in run(*call, code=1).output


def test_a_witness_and_a_server_are_named_as_they_should_be(tmp_path: Path) -> None:
    call = ("seal", "--data", tmp_path, "--site", EXAMPLE)
    assert "write http://" in run(*call, "--address", "x", "--witness", "cage", code=2).output
    assert "Error" in run(*call, "--address", "nonsense", code=2).output


def test_the_reports_amounts_are_micro_dollars(
    client: Redis, server: EmbeddedServer, tmp_path: Path
) -> None:
    meters = opened(client, small_link())
    play_round(meters, "T1", 1, {1: "suited_both"})
    seal_once(plan(tmp_path), server)
    found = reported(tmp_path, 1)
    assert (found["award"]["amount"], found["meter"]) == (1500 * MICROS, None)
    assert size_of(tmp_path) == found["size"]
    with opened_log(tmp_path) as log:
        assert log.entry(found["award"]["won"] - 1).decode() == found["entry"]
