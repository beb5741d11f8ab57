"""Bad site files: what is wrong in the first line, the messages it gets in the last ones."""

from pathlib import Path

import pytest

from progressive.config.load import load_site
from progressive.config.reader import ERROR

FILES = sorted((Path(__file__).parent / "bad_sites").glob("*.toml"))
FILES_MIN = 30
EXPECT = "# expect: "

with_every_file = pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])


def expected_messages(text: str) -> list[str]:
    return [line.removeprefix(EXPECT) for line in text.split("\n") if line.startswith(EXPECT)]


@with_every_file
def test_a_bad_site_file_gets_exactly_these_messages(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [str(problem) for problem in load_site(text).problems] == expected_messages(text)


@with_every_file
def test_a_site_is_given_only_if_its_file_has_no_errors(path: Path) -> None:
    loaded = load_site(path.read_text(encoding="utf-8"))
    errors = [problem for problem in loaded.problems if problem.severity == ERROR]
    assert (loaded.site is None) == bool(errors)


@with_every_file
def test_a_bad_site_file_says_first_what_is_wrong_and_last_what_it_is_told(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    expected = expected_messages("\n".join(lines))
    assert lines[0].startswith("# ")
    assert expected
    assert [line.removeprefix(EXPECT) for line in lines[-len(expected) :]] == expected


def test_there_are_bad_site_files_for_all_that_can_go_wrong() -> None:
    assert len(FILES) >= FILES_MIN
