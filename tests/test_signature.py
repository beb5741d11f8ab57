"""The software's signature: every installed file, the same on every machine, compared on demand."""

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import links
import meters
import progressive
from progressive.cli import main
from progressive.signature import Signature, differences, overall_hash, take_signature

ROOT = Path(progressive.__file__).parent
EXAMPLE = ROOT / "example.toml"


def run(*arguments: str | Path, code: int = 0) -> Result:
    done = CliRunner().invoke(main, ["signature", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done


def printed(*arguments: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("--json", *arguments).stdout)
    return found


def test_every_file_of_the_product_is_hashed() -> None:
    found = printed()["files"]
    expected = {
        f"{package.__name__}/{path.relative_to(Path(package.__file__ or '').parent).as_posix()}"
        for package in (links, meters, progressive)
        for path in Path(package.__file__ or "").parent.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    assert set(found) == expected
    assert "meters/library/core.lua" in found
    content = (ROOT / "cli.py").read_bytes()
    assert found["progressive/cli.py"] == hashlib.sha256(content).hexdigest()


def test_the_overall_hash_is_that_of_the_list_as_sha256sum_writes_it() -> None:
    text = run().stdout
    lines = [line for line in text.splitlines() if line[64:66] == "  "]
    listed = "".join(f"{line}\n" for line in lines)
    assert sorted(lines, key=lambda line: line[66:]) == lines
    assert hashlib.sha256(listed.encode()).hexdigest() == printed()["overall"]
    assert printed()["overall"] in text


def test_versions_and_configuration_are_named() -> None:
    found = printed("--site", EXAMPLE)
    assert found["python"].startswith("CPython 3.")
    assert {"redis", "cryptography", "werkzeug"} <= set(found["dependencies"])
    assert "pytest" not in found["dependencies"]
    assert found["configuration"] == hashlib.sha256(EXAMPLE.read_bytes()).hexdigest()
    assert printed()["configuration"] is None


def test_what_is_the_same_is_said_to_be(tmp_path: Path) -> None:
    kept = tmp_path / "signature.json"
    kept.write_text(run("--json", "--site", EXAMPLE).stdout, encoding="utf-8")
    assert "the same" in run("--site", EXAMPLE, "--check", kept).stdout
    found = json.loads(run("--site", EXAMPLE, "--json", "--check", kept).stdout)
    assert found == {"same": True, "differences": []}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"files": {"progressive/cli.py": "00"}}, "file progressive/cli.py: was 00, is"),
        ({"files": {"progressive/gone.py": "00"}}, "progressive/gone.py: was 00, is not there"),
        ({"dependencies": {"redis": "1.0"}}, "dependency redis: was 1.0, is"),
        ({"version": "0.0.1"}, "version: was 0.0.1, is"),
        ({"configuration": "00"}, "configuration: was 00, is"),
    ],
)
def test_what_differs_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    found = printed("--site", EXAMPLE)
    for name, value in change.items():
        found[name] = {**found[name], **value} if isinstance(value, dict) else value
    found["overall"] = overall_hash(found["files"])
    kept = tmp_path / "signature.json"
    kept.write_text(json.dumps(found), encoding="utf-8")
    shown = run("--site", EXAMPLE, "--check", kept, code=1).stdout
    assert message in shown
    assert "1 differences" in shown


def test_a_signature_whose_own_sum_is_wrong_was_changed() -> None:
    now = take_signature()
    fields = {name: getattr(now, name) for name in Signature.__struct_fields__}
    earlier = Signature(**fields | {"overall": "00"})
    assert list(differences(earlier, now)) == [
        "the earlier signature's overall hash is not that of its files: it was changed"
    ]


def test_something_else_than_a_signature_is_a_wrong_call(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}", encoding="utf-8")
    assert "was not printed by" in run("--check", other, code=2).output


def test_every_file_that_the_product_needs_is_installed_with_it() -> None:
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text("utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]
    needed = [
        (package, path)
        for package in patterns
        for suffix in ("*.lua", "*.toml")
        for path in (ROOT.parent / package).rglob(suffix)
    ]
    assert len(needed) > 5
    for package, path in needed:
        place = path.relative_to(ROOT.parent / package)
        assert any(place.match(pattern) for pattern in patterns[package]), path
