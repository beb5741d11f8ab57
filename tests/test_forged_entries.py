"""Entries that the log's own key signed and nobody should believe; what a terminal would obey."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from journals import COSIGNER, MULTI_SIGNER, ROYAL_SIGNER, SITE_SIGNER, Journals, write_log

from progressive.audit import verifier as v
from progressive.audit.folder import LogFolder
from progressive.audit.note import Signer
from progressive.audit.writer import LogWriter

Entry = dict[str, Any]
Change = Callable[[Entry], Entry]
KEY = str(ROYAL_SIGNER.verifier)
FAR = 2**53


def quiet(_done: int, _of: int) -> None:
    pass


def first(lines: list[bytes], kind: str, having: Callable[[Entry], bool] = bool) -> int:
    """Find the first entry of a kind, from 0."""
    entries = map(json.loads, lines)
    return next(at for at, e in enumerate(entries) if e["k"] == kind and having(e))


def with_line(lines: list[bytes], at: int, line: bytes) -> list[bytes]:
    return [*lines[:at], line, *lines[at + 1 :]]


def run(
    folder: Path, *more: str, signer: Signer = ROYAL_SIGNER
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(v.__file__), str(folder), "--key", str(signer.verifier)]
    return subprocess.run(  # noqa: S603 - the product's own file
        [*command, *more], capture_output=True, text=True, check=False
    )


def nested(depth: int) -> Any:  # noqa: ANN401 - JSON
    return json.loads("[" * depth + "]" * depth)


FORGED: dict[str, tuple[str, Change, str]] = {
    "a line of a seat without a wager": (
        "deal", lambda e: {**e, "lines": {**e.get("lines", {}), "9": None}}, "lines of nobody",
    ),
    "a kind of entry that there is not": (
        "lock", lambda e: {**e, "k": "unlock"}, "a kind that nobody knows: 'unlock'",
    ),
    "a kind that is no text": ("lock", lambda e: {**e, "k": ["lock"]}, "does not hold together"),
    "a field more": ("lock", lambda e: {**e, "note": 1}, "fields that do not belong"),
    "an hour before": ("lock", lambda e: {**e, "t": e["t"] - 3_600_000}, "goes back in time"),
    "a time beyond what is exact": ("balance", lambda e: {**e, "t": FAR}, "a whole number"),
    "an amount beyond what is exact": ("pay", lambda e: {**e, "amount": FAR}, f"amount {FAR}"),
    "third cards that are no list": ("end", lambda e: {**e, "more": None}, "where a list belongs"),
    "third cards as an object": ("end", lambda e: {**e, "more": {"2S": 0}}, "a list belongs"),
    "a void for a reason that is no text": (
        "void", lambda e: {**e, "reason": 5}, "where a text belongs: reason",
    ),
    "a shoe brought by nobody": ("shoe", lambda e: {**e, "by": None}, "text belongs: by"),
    "a balance by nobody": ("balance", lambda e: {**e, "by": []}, "text belongs: by"),
    "a balance with an object of awards": (
        "balance", lambda e: {**e, "state": {**e["state"], "awards": {}}}, "a list belongs",
    ),
    "a proposal far too deep": (
        "propose", lambda e: {**e, "body": {**e["body"], "x": nested(900)}}, "100 deep",
    ),
    "a text in a balance that is far too deep": (
        "balance",
        lambda e: {**e, "state": {**e["state"], "proposals": [{"body": "[" * 100_000}]}},
        "does not hold together",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_entry_that_the_log_signed_is_named(
    journals: Journals, tmp_path: Path, name: str
) -> None:
    kind, change, why = FORGED[name]
    at = first(journals.royal, kind)
    line = json.dumps(change(json.loads(journals.royal[at])), separators=(",", ":")).encode()
    lines = with_line(journals.royal, at, line)
    done = run(write_log(tmp_path / "log", lines, ROYAL_SIGNER), "--json")
    assert (done.returncode, done.stderr) == (1, "")
    problem = json.loads(done.stdout)["first_problem"]
    assert problem["entry"] == at + 1
    assert why in problem["what"]


@pytest.mark.parametrize("nothing", ["", {}])
def test_no_seats_are_an_empty_list_and_nothing_else(
    journals: Journals, tmp_path: Path, nothing: object
) -> None:
    at = first(journals.royal, "lock", lambda e: e["seats"] == [])
    entry = {**json.loads(journals.royal[at]), "seats": nothing}
    lines = with_line(journals.royal, at, json.dumps(entry).encode())
    folder = write_log(tmp_path / "log", lines, ROYAL_SIGNER)
    [report] = v.verify_folder(folder, v.read_keys([KEY]), quiet)
    assert report.problems[0].entry == at + 1


def test_a_kind_of_entry_that_no_site_writes_is_named(journals: Journals, tmp_path: Path) -> None:
    entry = {**json.loads(journals.site[-1]), "k": "user_forgotten"}
    lines = with_line(journals.site, len(journals.site) - 1, json.dumps(entry).encode())
    folder = write_log(tmp_path / "log", lines, SITE_SIGNER)
    [report] = v.verify_folder(folder, v.read_keys([str(SITE_SIGNER.verifier)]), quiet)
    assert report.problems[0].entry == len(lines)
    assert "nobody knows: 'user_forgotten'" in report.problems[0].what


def test_two_roots_of_one_size_are_found(journals: Journals, tmp_path: Path) -> None:
    ours = write_log(tmp_path / "ours", journals.royal[:20], ROYAL_SIGNER, segment=10)
    entry = {**json.loads(journals.royal[19]), "t": FAR - 1}
    others = with_line(journals.royal[:20], 19, json.dumps(entry).encode())
    other = write_log(tmp_path / "other", others, ROYAL_SIGNER, segment=10)
    signed = (other / "checkpoint").read_bytes()
    (ours / "checkpoint").write_bytes(signed)
    [report] = v.verify_folder(ours, v.read_keys([KEY]), quiet)
    assert "do not come to the root that checkpoint signs" in report.problems[0].what


# What is printed


@pytest.mark.parametrize(
    "name", ["\x1b[2J\x1b[HAll of it is right.", "a\nAll of it is right.", "\u202eroyal", "\ud800"]
)
def test_a_name_in_a_log_cannot_write_over_the_report(
    journals: Journals, tmp_path: Path, name: str
) -> None:
    entry = json.loads(journals.multi[0])
    entry["definition"]["link"] = name
    lines = with_line(journals.multi[:1], 0, json.dumps(entry).encode())
    done = run(write_log(tmp_path / "log", lines, MULTI_SIGNER), signer=MULTI_SIGNER)
    assert all(line.isprintable() for line in done.stdout.splitlines())
    assert done.stdout.splitlines().count("All of it is right.") == 1
    assert f"  link {name.encode('unicode_escape').decode()}" in done.stdout.splitlines()


def test_the_report_says_how_much_a_witness_has_seen(journals: Journals, tmp_path: Path) -> None:
    folder = write_log(
        tmp_path / "log", journals.multi[:12], MULTI_SIGNER, segment=10, cosigner=COSIGNER
    )
    witness = ("--witness", str(COSIGNER.verifier))
    done = run(folder, *witness, signer=MULTI_SIGNER)
    assert "  witness witness.example/cage has seen all 12 entries\n" in done.stdout
    with LogWriter(folder, MULTI_SIGNER.verifier) as log:
        log.append(journals.multi[12:20])
        log.seal(MULTI_SIGNER)
        log.close_segments(MULTI_SIGNER)
    done = run(folder, *witness, signer=MULTI_SIGNER)
    assert (
        "  witness witness.example/cage has seen entries 1 to 10: the last 10 of 20 entries are "
        "not cosigned by it, and could have been written anew\n"
    ) in done.stdout
    assert done.returncode == 0


# Beside a sealer at work


def grow(folder: Path, lines: list[bytes]) -> None:
    """Go on with a log by a few segments, as the sealer does."""
    with LogWriter(folder, ROYAL_SIGNER.verifier) as log:
        for _ in range(4):
            log.append(lines[log.size : log.size + 6])
            log.seal(ROYAL_SIGNER)
            log.close_segments(ROYAL_SIGNER)


@pytest.mark.parametrize("before", ["_manifest", "_open_hashes", "_segment", "_open_segment"])
def test_a_log_that_grows_while_it_is_verified_is_right(
    journals: Journals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    folder = write_log(tmp_path / "log", journals.royal[:25], ROYAL_SIGNER, segment=10)
    step = getattr(v.SealedFolder, before)
    grown: list[int] = []

    def meanwhile(self: v.SealedFolder, *args: object, **named: object) -> object:
        if not grown and (before not in {"_segment", "_open_segment"} or self.tree.size == 20):
            grow(folder, journals.royal)
            grown.append(1)
        return step(self, *args, **named)

    monkeypatch.setattr(v.SealedFolder, before, meanwhile)
    [report] = v.verify_folder(folder, v.read_keys([KEY]), quiet)
    assert grown
    assert report.problems == []
    assert report.seal["size"] == 25
    with LogFolder(folder, ROYAL_SIGNER.verifier) as log:
        assert log.size == 49
