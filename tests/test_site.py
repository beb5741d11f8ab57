"""The site file: the example, what it freezes to, and files nobody would write."""

import string
import tomllib
from importlib import resources
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from progressive.config.load import load_site
from progressive.config.positions import line_of, positions
from progressive.config.values import Site

EXAMPLE = resources.files("progressive").joinpath("example.toml").read_text(encoding="utf-8")
LINES = EXAMPLE.splitlines()


def example() -> Site:
    loaded = load_site(EXAMPLE)
    assert loaded.problems == ()
    assert loaded.site is not None
    return loaded.site


def test_the_example_site_passes_with_four_tables_of_all_kinds() -> None:
    site = example()
    assert [table.kind for table in site.tables] == ["live", "live", "dealer-assist", "automated"]
    assert [table.name for table in site.tables_of("royal")] == [
        "MB-101", "MB-102", "DA-201", "AU-301",
    ]  # fmt: skip
    star = site.links[0].levels[0]
    assert (star.seed_micros, star.increment_ppm, star.reserve_ppm) == (
        50_000_000_000,
        90_000,
        20_000,
    )
    assert star.contribution_max_micros == 9 * 550_000  # nine seats, 11 % of $5 each
    assert [str(mine) for mine in site.tables[2].combinations] == [
        "K♣ 9♠", "K♠ 9♦", "K♣ 9♥", "K♣ 9♦", "K♥ 9♠", "K♥ 9♣", "K♥ 9♦",
    ]  # fmt: skip


def test_a_site_is_frozen() -> None:
    with pytest.raises(AttributeError):
        example().name = "another"  # type: ignore[misc]


def test_every_key_of_the_example_is_needed_or_known() -> None:
    """Misspell each key in turn: every time the file is refused, at that line."""
    for number, line in enumerate(LINES, start=1):
        key, sign, rest = line.partition(" = ")
        if not sign or key.startswith("#"):
            continue
        lines = LINES.copy()
        lines[number - 1] = f"{key}_x = {rest}"
        loaded = load_site("\n".join(lines))
        assert loaded.site is None, line
        assert number in [problem.line for problem in loaded.problems], line


@pytest.mark.parametrize("value", ["-1", "1.5", "true", "[]", "{}", '""', "1979-05-27", "0xffff"])
def test_no_wrong_value_passes_or_crashes(value: str) -> None:
    passed = []
    for number, line in enumerate(LINES, start=1):
        key, sign, _ = line.partition(" = ")
        if sign and not key.startswith("#"):
            lines = LINES.copy()
            lines[number - 1] = f"{key} = {value}"
            if load_site("\n".join(lines)).site is not None:
                passed.append(key)
    accepted = {
        "{}": {"banker", "player", "tie", "dragon_7", "panda_8", "super_6", "any_pair",
               "fortune_7", "cover_all", "combinations"},
        "1979-05-27": {"from"},
        "0xffff": {"seed", "reset", "limit", "times_wager", "report", "withhold_above", "maximum",
                   "hand_pay_above", "two_persons_above"},
    }  # fmt: skip
    assert set(passed) <= accepted.get(value, set())


_KEYS = st.sampled_from(
    ["site", "links", "royal", "levels", "star", "must_hit", "segments", "tables", "wagers",
     "tie", "combinations", "1", "seats", "decks", "seed", "tax_thresholds", "x"]
)  # fmt: skip
_VALUES = st.recursive(
    st.sampled_from(["1", "-3", "2.5", "true", '"$5"', '"9 %"', '"MD"', "2026-01-01", "06:00:00"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]")
        | st.dictionaries(_KEYS, inner, max_size=3).map(
            lambda pairs: (
                "{ " + ", ".join(f"{key} = {value}" for key, value in pairs.items()) + " }"
            )
        )
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.lists(_KEYS, min_size=1, max_size=3), _VALUES), max_size=8))
def test_any_toml_is_answered_with_problems_and_never_a_crash(
    entries: list[tuple[list[str], str]],
) -> None:
    text = "".join(f"{'.'.join(path)} = {value}\n" for path, value in entries)
    loaded = load_site(text)
    assert loaded.site is None
    assert loaded.problems
    assert all(str(problem).endswith(".") and problem.line >= 1 for problem in loaded.problems)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=string.printable + "♠", max_size=80))
def test_any_text_at_all_is_answered_with_problems(text: str) -> None:
    assert load_site(text).problems


@pytest.mark.parametrize(
    "text",
    [
        "seats = " + "9" * 5_000,
        "seats = 0x" + "f" * 5_000,
        'site = "' + "$" + "9" * 5_000 + '"',
        "site" + ".a" * 3_000 + " = 1",
        "site = " + "[" * 5_000 + "]" * 5_000,
        "x" * 1_000_001,
    ],
)
def test_monstrous_files_are_refused_in_words(text: str) -> None:
    loaded = load_site(text)
    assert loaded.site is None
    assert loaded.problems
    assert all(len(str(problem)) < 2_000 for problem in loaded.problems)


def test_a_number_of_thousands_of_digits_is_told_with_its_line_and_no_advice_to_programmers() -> (
    None
):
    problem = load_site("site = 'a'\nx = " + "9" * 5_000 + "\ny = 1\n").problems[0]
    assert (problem.line, problem.what) == (2, "has a number of thousands of digits")


def paths(value: Any, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:  # noqa: ANN401 - any TOML
    found = {path} if path else set()
    if isinstance(value, dict):
        return found.union(*(paths(inner, (*path, key)) for key, inner in value.items()))
    if isinstance(value, list):
        return found.union(*(paths(inner, (*path, n)) for n, inner in enumerate(value)))
    return found


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(_KEYS, _VALUES), max_size=6), st.sampled_from(["[a.b]", "[[c]]", ""]))
def test_every_path_of_a_file_has_a_line(entries: list[tuple[str, str]], header: str) -> None:
    pairs = "".join(f"{key} = {value} # note\n" for key, value in dict(entries).items())
    text = f'z = """\n= [x]\n"""\n{pairs}{header}\n{pairs if header else ""}'
    assert set(positions(text)) == paths(tomllib.loads(text))


def test_lines_are_those_an_editor_shows() -> None:
    lines = positions(EXAMPLE)
    for path, key in (
        (("links", "royal", "levels", "star", "seed"), "seed ="),
        (("tables", "DA-201", "combinations", "7"), "combinations ="),
        (("tax_thresholds", 1, "report"), 'report = "$2,000.00"'),
    ):
        assert LINES[lines[path] - 1].startswith(key)
    assert line_of(lines, ("tables", "DA-201", "nothing")) == lines["tables", "DA-201"]


@pytest.mark.parametrize("key", ["seed", "increment", "reset", "limit", "time_zone", "kind"])
def test_a_message_stays_short_whatever_the_value(key: str) -> None:
    lines = [f'{key} = "{"9" * 9_000}"' if line.startswith(f"{key} ") else line for line in LINES]
    problems = load_site("\n".join(lines)).problems
    assert problems
    assert max(len(str(problem)) for problem in problems) < 600
