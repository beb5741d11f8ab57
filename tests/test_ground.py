"""What the ground promises: pure rules, documented commands, two commands for everybody."""

import ast
from pathlib import Path

import pytest
from click.testing import CliRunner

from progressive.cli import main
from progressive.config.load import load_site
from progressive.odds_tables import WIDTH
from progressive.rules.royal9 import PAYTABLES
from progressive.rules.wagers import WAGERS

ROOT = Path(__file__).parent.parent
PURE = {
    "collections", "dataclasses", "enum", "fractions", "functools", "itertools", "math", "types",
    "typing",
}  # fmt: skip
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "module", sorted((ROOT / "progressive" / "rules").glob("*.py")), ids=lambda path: path.stem
)
def test_rules_import_nothing_that_could_touch_the_world(module: Path) -> None:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            assert name.startswith("progressive.rules") or name.split(".")[0] in PURE, name
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"open", "print", "input", "exec", "eval", "__import__"}


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_command_is_in_the_readme(name: str) -> None:
    assert f"progressive {name}" in README
    assert main.commands[name].help


def shown(*arguments: str) -> list[str]:
    """Give what a command prints, without the blanks at the ends of its lines."""
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    return [line.rstrip() for line in done.stdout.rstrip().split("\n")]


def test_the_odds_table_in_the_readme_is_as_it_prints() -> None:
    call = "odds dragon_bonus --on player --paytable A"
    assert "\n".join([f"$ progressive {call}", *shown(*call.split()), "```"]) in README


def test_the_message_in_the_readme_is_the_one_that_the_example_gets() -> None:
    text = (ROOT / "progressive" / "example.toml").read_text(encoding="utf-8")
    (problem,) = load_site(text.replace('seed = "$50,000.00"', 'seed = "$40,000.00"')).problems
    assert f"site.toml: {problem}" in " ".join(README.split())


@pytest.mark.parametrize("wager", [*WAGERS, "royal_9"])
def test_every_table_of_odds_fits_into_eighty_columns(wager: str) -> None:
    tables = PAYTABLES if wager == "royal_9" else WAGERS[wager].paytables
    rates = ("--rate", "star=9.5%", "--rate", "spade=5%", "--rate", "heart=5%")
    more = (*rates, "--must-hit", "250:1000:2%") if wager == "royal_9" else ()
    for table in tables:
        for decks in ("6", "8"):
            call = ("odds", wager, "--paytable", table, "--decks", decks, *more)
            assert max(map(len, shown(*call))) <= WIDTH, table


@pytest.mark.parametrize("call", ["odds --decks 6 --decks 7 --decks 8", "odds royal_9"])
def test_what_a_newcomer_sees_first_fits_into_eighty_columns(call: str) -> None:
    assert max(map(len, shown(*call.split()))) <= WIDTH


def test_the_build_machine_runs_what_the_readme_says() -> None:
    assert "exec make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make test" in README
    assert "make run" in README


def test_the_constraints_name_packages_and_versions_only() -> None:
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or line.count("==") == 1, line
        assert "/" not in line
