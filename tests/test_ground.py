"""What the ground promises: pure rules, documented commands, two commands for everybody."""

import ast
from pathlib import Path

import pytest

from progressive.cli import main

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


def test_the_build_machine_runs_what_the_readme_says() -> None:
    assert "exec make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make test" in README
    assert "make run" in README


def test_the_constraints_name_packages_and_versions_only() -> None:
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or line.count("==") == 1, line
        assert "/" not in line
