"""`progressive evaluate` as other programs use it: lines in, lines out, in a process of its own."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = str(Path(sys.executable).with_name("progressive"))
EXAMPLE = '{"player":["KS","9H"],"banker":["KS","9H"],"seats":[1,3]}'
WAIT = 60  # seconds after which a process that hangs fails its test


def run(*lines: str, options: tuple[str, ...] = ()) -> tuple[list[dict[str, Any]], int]:
    """Evaluate the lines, and give the answers and the exit code."""
    done = subprocess.run(  # noqa: S603 - the program under test
        [PROGRAM, "evaluate", *options],
        input="".join(line + "\n" for line in lines).encode(),
        stdout=subprocess.PIPE,
        check=False,
        timeout=WAIT,
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


def written(player: str, banker: str, **more: object) -> str:
    return json.dumps({"player": player.split(), "banker": banker.split(), **more})


def answer(player: str, banker: str, *options: str, **more: object) -> dict[str, Any]:
    """Evaluate one line that must be fine."""
    answers, code = run(written(player, banker, **more), options=options)
    assert code == 0, answers
    (found,) = answers
    return found


def test_the_documented_example_gives_the_documented_answer() -> None:
    answers, code = run(EXAMPLE)
    assert code == 0
    assert answers == [
        {
            "player_points": 9,
            "banker_points": 9,
            "outcome": "tie",
            "lines": {"1": "star", "3": "other_king9"},
            "pays": {"1": {"level": "star", "share": "100 %"}, "3": {"amount": "5000.00"}},
        }
    ]


def test_cards_may_be_written_with_symbols_and_in_small_letters() -> None:
    plain = answer("KS 9H", "TD 8C", seats=[1])
    assert plain["lines"] == {"1": "heart"}
    assert answer("K♠ 9♥", "10♦ 8♣", seats=[1]) == plain
    assert answer("ks 9h", "10d 8c", seats=[1]) == plain


def test_a_line_is_decided_by_the_first_two_cards_of_three() -> None:
    found = answer("9H 3S 4D", "KC 2D 7S", seats=[1])
    assert (found["player_points"], found["banker_points"], found["outcome"]) == (6, 9, "banker")
    assert (found["lines"], found["pays"]) == ({"1": "loss"}, {"1": {"amount": "0.00"}})
    assert "next_card" not in found


@pytest.mark.parametrize(
    ("player", "banker", "due"),
    [("KS 2H", "KC 4D", "player"), ("KS 6H", "KC 4D", "banker"), ("KS 2H 5D", "KC 4D", "banker")],
)
def test_an_unfinished_round_says_who_draws(player: str, banker: str, due: str) -> None:
    found = answer(player, banker)
    assert (found["outcome"], found["next_card"]) == (None, due)


def test_seats_may_have_combinations_of_their_own() -> None:
    own = {"1": "KC 9S", "3": ["K♥", "9♦"]}
    found = answer("KC 9S", "KH 9D", seats=[1, 2, 3], combinations=own)
    assert found["lines"] == {"1": "heart", "2": "royal_both", "3": "spade"}


def test_the_multi_level_edition_has_nine_seats_and_its_own_lines() -> None:
    found = answer("QS 9H", "JS 9H", "--paytable", "MD-A", seats=[1, 9])
    assert found["lines"] == {"1": "any_two", "9": "royal_both"}
    assert found["pays"]["1"] == {"level": "star", "share": "10 %"}


def test_wagers_come_back_in_the_order_given_and_say_when_they_are_settled() -> None:
    wagers = [
        {"seat": 1, "wager": "banker", "amount": "25.01"},
        {"seat": 2, "wager": "player", "amount": 10},
        {"seat": 3, "wager": "banker", "amount": "10.00"},
        {"seat": 3, "wager": "house_money", "amount": "5", "move_to": "banker"},
        {"seat": 1, "wager": "dragon_bonus", "on": "banker", "paytable": "A", "amount": "$5.00"},
    ]
    found = answer("KS KH", "9D 9C", wagers=wagers)["wagers"]
    shown = [(bet["seat"], bet["wager"], bet["order"], bet["result"]) for bet in found]
    assert shown == [
        (1, "banker", 4, "win"),
        (2, "player", 2, "loss"),
        (3, "banker", 3, "win"),
        (3, "house_money", 1, "win"),
        (1, "dragon_bonus", 5, "win"),
    ]
    assert found[0] == {
        "order": 4,
        "seat": 1,
        "wager": "banker",
        "amount": "25.01",
        "stake": "25.01",
        "line": "win",
        "result": "win",
        "won": "25.01",
        "vigorish": "1.2505",
        "returned": "48.7695",
    }
    assert (found[3]["moved"], found[3]["returned"], found[2]["stake"]) == (
        "75.00",
        "5.00",
        "85.00",
    )
    assert (found[4]["on"], found[4]["paytable"], found[4]["line"]) == (
        "banker",
        "A",
        "natural_win",
    )


def test_options_decide_how_wagers_are_settled() -> None:
    wagers = [{"seat": 1, "wager": "banker", "amount": "25.01"}]
    hands = ("KS 5H KD", "KC 6D")
    (quarter,) = answer(*hands, "--vigorish", "quarter", wagers=wagers)["wagers"]
    (half,) = answer(*hands, "--designation", "no_commission", wagers=wagers)["wagers"]
    assert (quarter["vigorish"], quarter["returned"]) == ("1.50", "48.52")
    assert (half["line"], half["won"], half["returned"]) == ("six", "12.505", "37.515")


def test_a_house_may_pay_more_on_a_tie_and_let_less_of_house_money_move() -> None:
    moving = {"seat": 1, "wager": "house_money", "amount": "10", "move_to": "banker"}
    wagers = [moving, *({"seat": 1, "wager": name, "amount": "10"} for name in ("banker", "tie"))]
    options = ("--tie-pays", "9", "--house-money-portion", "50 %")
    pair, banker, tie = answer("3S 3H", "3D 3C", *options, wagers=wagers)["wagers"]
    assert (pair["won"], pair["moved"], pair["returned"]) == ("150.00", "75.00", "85.00")
    assert (banker["stake"], banker["returned"]) == ("85.00", "85.00")
    assert (tie["won"], tie["returned"]) == ("90.00", "100.00")


@pytest.mark.parametrize(
    ("options", "bet", "problem"),
    [
        (("--designation", "standard"), {"wager": "dragon_7"}, "only at a table designated ez"),
        (("--jurisdiction", "MA"), {"wager": "super_6"}, "not a wager of MA 7(a)"),
        (("--jurisdiction", "ilani"), {"wager": "tie", "amount": "101"}, "$1.00 to $100.00"),
        (("--jurisdiction", "ilani"), {"wager": "banker", "paytable": "ez"}, "no_commission"),
        ((), {"wager": "royal_9"}, 'royal_9 is bet by the seats in "seats"'),
        ((), {"wager": "tie", "amount": "-5"}, "'-5' is not an amount"),
        ((), {"wager": "tie", "seat": 8}, "seats 1 to 7"),
        ((), {"wager": "tie", "colour": "red"}, "unknown field `colour`"),
    ],
)
def test_a_wager_that_cannot_be_placed_is_answered_with_the_reason(
    options: tuple[str, ...], bet: dict[str, object], problem: str
) -> None:
    line = written("KS 9H", "TD 8C", wagers=[{"seat": 1, "amount": "5"} | bet])
    answers, code = run(line, options=options)
    assert (len(answers), code) == (1, 1)
    assert problem in answers[0]["error"]


BAD = {
    "not JSON": "malformed",
    '{"player":["KS","9H"]}': "missing required field `banker`",
    '{"player":["KS","9H"],"banker":["KS","9H"],"seat":[1]}': "unknown field `seat`",
    written("KS 1H", "KS 9H"): "'1H' is not a card",
    written("KS", "KS 9H"): "player has 1 cards",
    written("KS 9H 2D", "KS 5H"): "a natural ends the round",
    written("KS 7H 2D", "KS 5H"): "player has a third card, but stands on 7",
    written("KS 2H", "KS 5H 2C"): "player must draw first on 2",
    written("KS 2H 8D", "KS 3H 2C"): "stands on 3 when player's third card counts 8",
    written("KS 9H", "KS 9H", seats=[8]): "seat 8: this table has seats 1 to 7",
    written("2S 6H", "KS 9D", seats=[0]): "seat 0: this table has seats 1 to 7",
    written("2S 6H", "2S 6H", seats=[-1]): "seat -1: this table has seats 1 to 7",
    written("KS 9H", "KS 9H", seats=[1, 1]): "a seat is named twice",
    written("KS 9H", "KS 9H", combinations={"1": "KS 9S"}): "is suited",
    written("KS 9H", "KS 9H", combinations={"1": "KS 9D"}): "seats 1 and 2 both have",
    written("KS 9H", "KS 9H", combinations={"one": "KS 9D"}): "by seat number",
    written("KS 9H", "KS 9H", combinations={"1": "KC 9S", "01": "KH 9D"}): "'01' is none",
    written("KS 9H", "KS 9H", combinations={"１": "KC 9S"}): "'１' is none",
    '{"player":["\\ud800"],"banker":["KS","9H"]}': "",
    "[" * 100_000: "",
}


def test_a_bad_line_is_answered_with_its_number_and_the_stream_goes_on() -> None:
    lines = [line for bad in BAD for line in (bad, EXAMPLE)]
    answers, code = run(*lines)
    assert (len(answers), code) == (len(lines), 1)
    for number, (found, problem) in enumerate(zip(answers[::2], BAD.values(), strict=True)):
        assert set(found) == {"error", "line"}, found
        assert found["line"] == 2 * number + 1
        assert problem in found["error"]
    assert all(found["lines"]["1"] == "star" for found in answers[1::2])


def test_blank_lines_are_skipped_and_counted() -> None:
    answers, code = run("", EXAMPLE, "  ", "x", "")
    assert code == 1
    assert [found.get("line") for found in answers] == [None, 4]


def run_bytes(given: bytes) -> tuple[list[dict[str, Any]], int]:
    done = subprocess.run(  # noqa: S603 - the program under test
        [PROGRAM, "evaluate"], input=given, stdout=subprocess.PIPE, check=False, timeout=WAIT
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


def test_a_file_from_another_system_may_begin_with_a_mark_and_end_lines_its_own_way() -> None:
    answers, code = run_bytes(b"\xef\xbb\xbf" + f"{EXAMPLE}\r\n\r\n{EXAMPLE}\r\n".encode())
    assert (len(answers), code) == (2, 0)


def test_bytes_that_are_no_text_are_answered_line_by_line() -> None:
    answers, code = run_bytes(b"\xff\xfe\x00\n" + EXAMPLE.encode() + b'\n{"player":["\xff"]}\n')
    assert [found.get("line") for found in answers] == [1, None, 3]
    assert code == 1


def test_an_endless_line_is_refused_once_and_what_follows_is_evaluated() -> None:
    answers, code = run_bytes(b"[" * (3 << 20) + b"\n" + EXAMPLE.encode())
    assert (len(answers), code) == (2, 1)
    assert answers[0] == {"error": "the line is longer than 1,048,576 bytes", "line": 1}
    assert answers[1]["lines"] == {"1": "star", "3": "other_king9"}


def test_an_answer_repeats_no_more_of_a_bad_line_than_a_person_reads() -> None:
    answers, _ = run(written("K" * 100_000 + " 9H", "KS 9H"))
    assert 0 < len(answers[0]["error"]) < 3_000


def test_a_reader_that_leaves_early_is_no_cause_for_complaint() -> None:
    with subprocess.Popen(  # noqa: S603 - the program under test
        [PROGRAM, "evaluate"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(EXAMPLE.encode() + b"\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write((EXAMPLE + "\n").encode() * 10_000)
            process.stdin.close()
        assert process.stderr.read() == b""
        process.wait(WAIT)


@pytest.mark.parametrize("call", ["evaluate <&-", "evaluate >&- </dev/null", "rng raw -n 1 >&-"])
def test_a_closed_standard_stream_is_a_wrong_call_and_told_in_a_sentence(call: str) -> None:
    done = subprocess.run(  # noqa: S602 - only a shell closes a stream for the program it starts
        f'"{PROGRAM}" {call}', shell=True, check=False, capture_output=True, timeout=WAIT
    )
    assert done.returncode == 2
    assert b"standard input or output is closed" in done.stderr
    assert b"Traceback" not in done.stderr


def test_no_input_is_no_problem() -> None:
    assert run() == ([], 0)


@pytest.mark.parametrize(
    "options",
    [
        ("--decks", "5"),
        ("--paytable", "MD-D"),
        ("--tie-pays", "7"),
        ("--jurisdiction", "ilani", "--tie-pays", "9"),
        ("--jurisdiction", "MA", "--designation", "fortune_7"),
        ("--house-money-portion", "half"),
        ("--no-such",),
        ("no-such-file",),
    ],
)
def test_a_wrong_call_exits_with_2_and_answers_nothing(options: tuple[str, ...]) -> None:
    assert run(EXAMPLE, options=options) == ([], 2)


def test_rounds_may_be_read_from_a_file(tmp_path: Path) -> None:
    source = tmp_path / "rounds.jsonl"
    source.write_text(EXAMPLE, encoding="utf-8")  # its last line need not be ended
    answers, code = run(options=(str(source),))
    assert (len(answers), code) == (1, 0)


def test_each_answer_comes_while_the_input_stays_open() -> None:
    with subprocess.Popen(  # noqa: S603 - the program under test
        [PROGRAM, "evaluate"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line, key in ((EXAMPLE, "outcome"), ("bad", "error"), (EXAMPLE, "outcome")):
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
            assert key in json.loads(process.stdout.readline())
            assert process.poll() is None
        process.stdin.close()
        assert process.wait(WAIT) == 1
