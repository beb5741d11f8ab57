"""The command line: its help, the odds it prints, the site files it checks, its exit codes."""

import json
import subprocess
import sys
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

import progressive
from progressive.cli import main
from progressive.montecarlo import Checked, deal, deviations
from progressive.rules.baccarat import Round

PROGRAM = str(Path(sys.executable).with_name("progressive"))
EXAMPLE = Path(progressive.__file__).with_name("example.toml")
COMMANDS = (
    "audit", "awards", "check", "demo", "device", "evaluate", "meters", "odds", "rng", "rounds",
    "signature", "simulate", "up", "user", "witness",
)  # fmt: skip
KING_9_WAYS = {
    "star": "3136",
    "spade": "5468288",
    "heart": "5468288",
    "other_king9": "18816",
    "suited_both": "566016",
    "royal_both": "8088384",
    "any_suited": "126790656",
    "any_royal": "369806080",
    "loss": "6863373456",
}


def run(*arguments: str | Path, code: int = 0) -> Result:
    """Run the program in this process and insist on its exit code."""
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done


def odds(*arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("odds", "--json", *arguments).stdout)["odds"]
    return found


def test_every_command_is_listed_with_what_it_does() -> None:
    assert tuple(sorted(main.commands)) == COMMANDS
    listed = run("--help").stdout.partition("Commands:")[2].strip().splitlines()
    assert tuple(line.split()[0] for line in listed) == COMMANDS
    assert all(len(line.split()) > 4 for line in listed)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself_and_its_options(name: str) -> None:
    shown = run(name, "--help").stdout
    command = main.commands[name]
    assert command.help
    assert command.help.split("\n")[0] in shown
    for option in (one for one in command.params if isinstance(one, click.Option)):
        assert max(option.opts, key=len) in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_no_markup(name: str) -> None:
    assert "\\b" not in run(name, "--help").stdout


def test_the_installed_program_tells_its_version() -> None:
    done = subprocess.run(  # noqa: S603 - the program under test
        [PROGRAM, "--version"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("progressive, version ")


@pytest.mark.parametrize("call", [(), ("nonsense",), ("--nonsense",), ("odds", "nonsense")])
def test_a_wrong_call_exits_with_2(call: tuple[str, ...]) -> None:
    run(*call, code=2)


def test_royal_9_odds_are_exact_texts() -> None:
    (found,) = odds("royal_9", "--paytable", "MD-C", "--table-seats", "7")
    assert (found["paytable"], found["edition"], found["decks"]) == ("MD-C", "king-9", 8)
    assert (found["table_seats"], found["seat"], found["stake"]) == (7, 1, "5.00")
    assert found["combinations"][0] == "K♠ 9♥"
    assert found["total"] == "7379583120"
    assert {line["line"]: line["ways"] for line in found["lines"]} == KING_9_WAYS
    star = found["lines"][0]
    assert (star["probability"], star["one_in"]) == ("28/65889135", "65889135/28")
    assert (star["level"], star["share_percent"], star["pays"]) == ("star", 100, None)
    assert (found["house_edge_at_seeds"], found["house_edge_at_seeds_percent"]) == (
        "11058143/30748263",
        "35.963472",
    )
    assert found["long_run_return"] is None


def test_royal_9_chances_make_one_and_returns_leave_the_house_edge() -> None:
    (found,) = odds("royal_9", "--paytable", "MD-C", "--table-seats", "7")
    lines = found["lines"]
    assert sum(Fraction(line["probability"]) for line in lines) == 1
    returned = sum(Fraction(line["return_at_seeds"]) for line in lines)
    assert returned == Fraction(found["return_at_seeds"])
    assert 1 - returned == Fraction(found["house_edge_at_seeds"])
    star = Fraction(lines[0]["probability"]) * 50_000 / 5
    assert Fraction(lines[0]["return_at_seeds"]) == star


def test_rates_and_must_hit_give_a_long_run_return() -> None:
    rates = [f"--rate={level}=5%" for level in ("star", "spade", "heart")]
    (found,) = odds("royal_9", *rates, "--must-hit", "250:1000:2%")
    assert 0 < Fraction(found["must_hit_return"]) < Fraction(found["long_run_return"]) < 1
    assert Fraction(found["long_run_house_edge"]) == 1 - Fraction(found["long_run_return"])
    assert found["levels"]["star"]["increment_ppm"] == 50_000


def test_dragon_bonus_is_worked_out_for_every_paytable_on_both_hands() -> None:
    found = odds("dragon_bonus")
    assert sorted((one["paytable"], one["on"]) for one in found) == [
        (paytable, on) for paytable in "ABC" for on in ("banker", "player")
    ]
    for one in found:
        assert one["total"] == "4998398275503360"
        assert sum(int(line["ways"]) for line in one["lines"]) == int(one["total"])
        assert sum(Fraction(line["probability"]) for line in one["lines"]) == 1
        returned = sum(Fraction(line["return"]) for line in one["lines"])
        assert Fraction(one["house_edge"]) == 1 - returned == 1 - Fraction(one["return"])
    (chosen,) = odds("dragon_bonus", "--paytable", "A", "--on", "banker")
    assert round(float(chosen["house_edge_percent"]), 4) == 9.3731


def test_all_odds_together_name_every_wager() -> None:
    named = {one["wager"] for one in odds()}
    assert len(named) == 23
    assert {"banker", "royal_9", "jackpot_baccarat"} < named


@pytest.mark.parametrize(
    "call",
    [
        ("royal_9", "--paytable", "Z"),
        ("dragon_bonus", "--paytable", "Z"),
        ("player", "--on", "player"),
        ("--paytable", "A"),
        ("royal_9", "--seat", "8"),
        ("royal_9", "--combination", "1=KS 9S"),
        ("royal_9", "--must-hit", "1000:250:2%"),
    ],
)
def test_odds_of_what_does_not_exist_are_a_wrong_call(call: tuple[str, ...]) -> None:
    assert "Error: " in run("odds", *call, code=2).stderr


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("tie --seat 2", "--seat: of Royal 9 only"),
        ("tie --must-hit 250:1000:2%", "--must-hit: of Royal 9 only"),
        (f"tie --site {EXAMPLE}", "--site: of Royal 9 only"),
        ("royal_9 --on player", "--on: Royal 9 is not placed on a hand"),
        ("--paytable A", "--paytable: it needs a WAGER"),
        (f"royal_9 --site {EXAMPLE} --paytable MA-1", "--paytable: --site says it already"),
        (f"royal_9 --site {EXAMPLE} --decks 6", "--decks: --site says it already"),
        ("tie --random-seed 0", "--random-seed: it needs --simulate"),
        ("royal_9 --must-hit 250:1000", "write reset, maximum and rate"),
        ("royal_9 --must-hit 250:250.005:2%", "reset and maximum are whole cents"),
        ("royal_9 --must-hit 250:250:2%", "the maximum lies above the reset"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(call: str, why: str) -> None:
    assert why in run("odds", *call.split(), code=2).stderr


def test_a_site_without_a_wager_shows_what_its_links_play() -> None:
    assert odds("--site", str(EXAMPLE)) == odds("royal_9", "--site", str(EXAMPLE))


@pytest.mark.parametrize("wager", ["tie", "royal_9"])
def test_a_single_round_is_a_simulation_too(wager: str) -> None:
    assert "1 round dealt" in run("odds", wager, "--simulate", "1", "--random-seed", "1").stdout


def test_a_simulation_agrees_with_the_odds_and_can_be_repeated() -> None:
    call = ("odds", "--simulate", "4000", "--random-seed")
    first = run(*call, "1", "player").stdout
    assert "standard errors" in first
    assert "all 3 lines as expected" in first
    assert "random seed 1" in first
    assert run(*call, "1", "player").stdout == first
    assert run(*call, "2", "player").stdout != first


def test_a_simulation_without_a_seed_says_which_one_it_took() -> None:
    first = json.loads(run("odds", "--json", "--simulate", "50", "tie").stdout)["simulation"]
    seed = str(first["random_seed"])
    again = run("odds", "--json", "--simulate", "50", "tie", "--random-seed", seed).stdout
    assert json.loads(again)["simulation"] == first
    assert sum(line["seen"] for line in first["wagers"][0]["lines"]) == 50


def outcome(played: Round) -> str:
    return played.outcome or ""


def doubtful_lines(chances: dict[str, Fraction]) -> set[str]:
    checked = Checked(outcome, chances)
    (seen,) = deal(4_000, 8, 1, [checked], lambda _done: None)
    return {row.line for row in deviations(checked, seen, 4_000) if row.is_doubtful}


def test_a_wrong_chance_is_found_doubtful() -> None:
    right = {
        "banker": Fraction(4586, 10_000),
        "player": Fraction(4462, 10_000),
        "tie": Fraction(952, 10_000),
    }
    wrong = right | {"player": Fraction(3962, 10_000), "tie": Fraction(1452, 10_000)}
    assert doubtful_lines(right) == set()
    assert doubtful_lines(wrong) == {"player", "tie"}


def test_a_line_that_cannot_be_is_doubtful_once_it_is_seen() -> None:
    checked = Checked(outcome, {"tie": Fraction(1)})
    rows = deviations(checked, Counter(tie=999, player=1), 1_000)
    assert {row.line for row in rows if row.is_doubtful} == {"tie", "player"}


def test_a_rare_line_seen_much_too_often_is_doubtful() -> None:
    checked = Checked(outcome, {"tie": Fraction(1, 1_000), "player": Fraction(999, 1_000)})
    for seen, doubtful in ((3, False), (20, True)):
        rows = deviations(checked, Counter(tie=seen, player=1_000 - seen), 1_000)
        assert rows[0].is_doubtful is doubtful


def test_the_example_site_is_fine() -> None:
    assert "Harbor Point Card Room: fine" in run("check", EXAMPLE).stdout
    assert json.loads(run("check", "--json", EXAMPLE).stdout) == {"ok": True, "problems": []}


def test_a_bad_site_exits_with_1_and_names_line_and_rule(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    text = EXAMPLE.read_text(encoding="utf-8")
    site.write_text(text.replace("decks = 8", "decks = 5"), encoding="utf-8")
    line = text.split("\n").index("decks = 8") + 1
    shown = run("check", site, code=1).stdout
    assert f"{site}: line {line}: error: links.royal.decks" in shown
    assert "the site cannot be used" in shown
    found = json.loads(run("check", "--json", site, code=1).stdout)
    assert found["ok"] is False
    assert (found["problems"][0]["line"], found["problems"][0]["severity"]) == (line, "error")
    assert "MD 3.A" in found["problems"][0]["rule"]


def test_a_site_file_that_cannot_be_read_is_a_wrong_call(tmp_path: Path) -> None:
    run("check", tmp_path / "missing.toml", code=2)
    unreadable = tmp_path / "latin.toml"
    unreadable.write_bytes(b'site = "\xe9"')
    assert "is not UTF-8 text" in run("check", unreadable, code=2).stderr


@pytest.mark.parametrize("call", [["odds"], ["check", str(EXAMPLE)]])
def test_a_full_disk_is_said_in_a_sentence(call: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(  # noqa: S603 - the program under test
            [PROGRAM, *call], stdout=full, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert (done.returncode, done.stderr) == (2, b"Error: No space left on device\n")


def test_all_odds_of_six_and_eight_decks_take_less_than_five_seconds_from_a_cold_start() -> None:
    start = time.perf_counter()
    call = [PROGRAM, "odds", "--decks", "6", "--decks", "8", "--json"]
    shown = subprocess.run(call, capture_output=True, check=True, timeout=60).stdout  # noqa: S603 - the program under test
    assert time.perf_counter() - start < 5
    assert {one["decks"] for one in json.loads(shown)["odds"]} == {6, 8}


def test_odds_of_a_site_are_those_of_its_links() -> None:
    found = odds("royal_9", "--site", str(EXAMPLE))
    assert {(one["paytable"], one["table_seats"]) for one in found} == {
        ("MD-C", seats) for seats in (6, 7, 9)
    }
