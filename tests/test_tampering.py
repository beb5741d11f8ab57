"""Whatever is done to a log is found where it was done; what only a witness can see is too."""

import copy
import gzip
import io
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from journals import (
    COSIGNER,
    MULTI_SIGNER,
    ROYAL_SIGNER,
    Journals,
    RandomPlay,
    open_play,
    royal_link,
    write_log,
)
from redis import Redis

from meters.functions import ensure_loaded
from progressive.audit import verifier as v
from progressive.audit.add_checkpoint import AddCheckpoint
from progressive.audit.folder import LogFolder
from progressive.audit.witness import Refusal, Witness
from progressive.audit.witness_record import WitnessRecord
from progressive.draws.vault import make

MULTI = v.read_keys([str(MULTI_SIGNER.verifier), str(COSIGNER.verifier)])
ROYAL = v.read_keys([str(ROYAL_SIGNER.verifier)])
SEGMENT = 6
SMALL = 16  # entries of the journal whose every byte is changed
Line = dict[str, Any]
Path_ = tuple[str | int, ...]
Missed = tuple[str, str]  # the kind of an entry, and the place in it


@pytest.fixture(autouse=True)
def _signatures_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check each signature once: thousands of folders share theirs."""
    monkeypatch.setattr(v, "signed_by", lru_cache(1 << 14)(v.signed_by))


def quiet(_done: int, _of: int) -> None:
    pass


def found(folder: Path, keys: list[v.Key]) -> list[v.Problem]:
    return v.verify_folder(folder, keys, quiet)[0].problems


# Files that were changed after signing


@pytest.fixture(scope="module")
def small(journals: Journals, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small log of two closed segments and an open one, cosigned."""
    folder = tmp_path_factory.mktemp("small") / "log"
    return write_log(
        folder, journals.multi[:SMALL], MULTI_SIGNER, segment=SEGMENT, cosigner=COSIGNER
    )


class Segments:
    """The entries of a small log as its files have them, to be written back otherwise."""

    def __init__(self, folder: Path, length: int = SEGMENT) -> None:
        self.folder, self.length = folder, length
        self.paths = sorted((folder / "segments").iterdir())
        self.before = {path: path.read_bytes() for path in self.paths}

    def lines(self) -> list[bytes]:
        return [line for path in self.paths for line in self._plain(path).split(b"\n")[:-1]]

    def _plain(self, path: Path) -> bytes:
        content = self.before[path]
        return gzip.decompress(content) if path.suffix == ".gz" else content

    def write(self, lines: list[bytes]) -> None:
        """Spread lines over the files as if they had been written so; the last takes the rest."""
        for place, path in enumerate(self.paths):
            last = path == self.paths[-1]
            start = place * self.length
            taken = lines[start : None if last else start + self.length]
            content = b"".join(line + b"\n" for line in taken)
            if path.suffix == ".gz":
                packed = io.BytesIO()
                with gzip.GzipFile("", "wb", 6, packed, mtime=0) as file:
                    file.write(content)
                content = packed.getvalue()
            path.write_bytes(content)

    def restore(self) -> None:
        for path, content in self.before.items():
            path.write_bytes(content)


def leaves(value: object, path: Path_ = ()) -> Iterator[Path_]:
    """Give the place of every value in a JSON value, and of every object and list."""
    if path:
        yield path
    children: Iterable[tuple[str | int, object]] = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    for name, child in children:
        yield from leaves(child, (*path, name))


def other(value: object) -> object:
    """Give another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, list):
        return [*value, 1]
    if isinstance(value, dict):
        return {**value, "unknown": 1}
    return 0


def changed_at(entry: Line, path: Path_, change: Callable[[object], object]) -> Line:
    """Give the entry with one value changed."""
    entry = copy.deepcopy(entry)
    holder: Any = entry
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = change(holder[path[-1]])
    return entry


def value_at(entry: Line, path: Path_) -> object:
    value: Any = entry
    for name in path:
        value = value[name]
    return value


def without(entry: Line, path: Path_) -> Line:
    """Give the entry with one value taken out."""
    entry = copy.deepcopy(entry)
    holder: Any = entry
    for name in path[:-1]:
        holder = holder[name]
    del holder[path[-1]]
    return entry


def written(entry: Line) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode()


def test_the_small_log_is_right(small: Path) -> None:
    assert found(small, MULTI) == []


def test_any_field_of_any_entry_changed_after_signing_is_found_where_it_is(small: Path) -> None:
    segments = Segments(small)
    lines, count = segments.lines(), 0
    try:
        for number, line in enumerate(lines, start=1):
            for path in leaves(json.loads(line)):
                changed = written(changed_at(json.loads(line), path, other))
                segments.write([*lines[: number - 1], changed, *lines[number:]])
                first = found(small, MULTI)[0]
                assert first.entry == number, (path, first)
                count += 1
    finally:
        segments.restore()
    assert count > 300


@pytest.mark.parametrize("how", ["drop", "repeat", "swap"])
def test_any_entry_dropped_repeated_or_swapped_after_signing_is_found_where_it_is(
    small: Path, how: str
) -> None:
    segments = Segments(small)
    lines = segments.lines()
    try:
        for at in range(len(lines) - (how == "swap")):
            entries = list(lines)
            if how == "drop":
                del entries[at]
            elif how == "repeat":
                entries.insert(at + 1, entries[at])
            else:
                entries[at : at + 2] = reversed(entries[at : at + 2])
            segments.write(entries)
            first = found(small, MULTI)[0]
            assert first.entry == at + 1 + (how == "repeat"), first
    finally:
        segments.restore()


def bytes_of(folder: Path) -> Iterator[tuple[Path, int]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "lock":
            for at in range(path.stat().st_size):
                yield path, at


def assert_byte_is_missed(folder: Path, path: Path, at: int, bit: int) -> None:
    """Change one bit of a file and insist that it is found, in the entry that it is in."""
    content = path.read_bytes()
    changed = bytearray(content)
    changed[at] ^= 1 << bit
    path.write_bytes(changed)
    problems = found(folder, MULTI)
    path.write_bytes(content)
    if problems:
        if path.suffix == ".log":
            entry = SMALL // SEGMENT * SEGMENT + content[:at].count(b"\n") + 1
            assert problems[0].entry in {entry, entry + (content[at] == 10)}, problems[0]
        return
    # Two ways of packing may come to the same bytes: then no entry was changed.
    assert path.suffix == ".gz", (path.name, at, bit)
    assert gzip.decompress(changed) == gzip.decompress(content)


def test_any_byte_of_any_file_changed_is_found(small: Path) -> None:
    for path, at in bytes_of(small):
        assert_byte_is_missed(small, path, at, at % 8)


@pytest.mark.long
def test_any_bit_of_any_file_changed_is_found(small: Path) -> None:
    for path, at in bytes_of(small):
        for bit in range(8):
            assert_byte_is_missed(small, path, at, bit)


def test_any_file_taken_away_or_cut_is_found(small: Path) -> None:
    for path in sorted(small.rglob("*")):
        if not path.is_file() or path.name == "lock":
            continue
        content = path.read_bytes()
        if path.name != "hashes":  # a copy may do without: it follows from the rest
            path.unlink()
            assert found(small, MULTI), path.name
        for cut in (1, len(content) // 2, len(content)):
            path.write_bytes(content[:-cut])
            assert found(small, MULTI), (path.name, cut)
        path.write_bytes(content)
    assert found(small, MULTI) == []


def test_checkpoints_exchanged_for_one_another_are_found(small: Path) -> None:
    paths = [small / "checkpoint", *sorted((small / "checkpoints").iterdir())]
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, contents, strict=True):
        for instead in contents:
            path.write_bytes(instead)
            [report] = v.verify_folder(small, MULTI, quiet)
            missed = bool(report.problems) or report.seal["unsealed"] > 0
            assert missed == (instead != content), path.name
        path.write_bytes(content)
    stray = small / "checkpoints" / "000000000007"
    stray.write_bytes(contents[0])
    assert "does not belong" in found(small, MULTI)[0].what
    stray.unlink()


def test_a_log_cut_back_to_an_older_checkpoint_is_found_by_whoever_kept_the_newer(
    small: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "log"
    shutil.copytree(small, folder)
    seen = (folder / "checkpoint").read_bytes()
    shutil.copy(folder / "checkpoints" / f"{2 * SEGMENT:012}", folder / "checkpoint")
    (folder / "segments" / f"{2 * SEGMENT:012}.log").write_bytes(b"")
    (folder / "hashes").unlink()
    assert found(folder, MULTI) == []  # as it was when it had no more
    [report] = v.verify_folder(folder, MULTI, quiet, [seen])
    assert report.problems[0].entry == 2 * SEGMENT + 1
    assert "had signed 16 entries" in report.problems[0].what


def test_without_the_hash_file_the_run_of_entries_is_named(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "log"
    shutil.copytree(small, folder)
    (folder / "hashes").unlink()
    segments = Segments(folder)
    lines = segments.lines()
    lines[8] = lines[8].replace(b'"dealer"', b'"healer"')
    assert lines != segments.lines()
    segments.write(lines)
    first = found(folder, MULTI)[0]
    assert (first.entry, first.last) == (SEGMENT + 1, 2 * SEGMENT)


# A large log, at random


def tampered(lines: list[bytes], at: int, rng: Random) -> tuple[list[bytes], int]:
    """Do something to the entry at a place; gives the lines and the first that is wrong."""
    how, entries = rng.choice(("drop", "repeat", "swap", "change")), list(lines)
    if how == "drop":
        del entries[at]
    elif how == "repeat":
        entries.insert(at, entries[at])
        at += 1
    elif how == "swap":
        at, other_at = sorted((at, (at + rng.randrange(1, len(lines))) % len(lines)))
        entries[at], entries[other_at] = entries[other_at], entries[at]
    else:
        entry = json.loads(entries[at])
        entries[at] = written(changed_at(entry, rng.choice(list(leaves(entry))), other))
    return entries, at + 1


def test_whatever_is_done_at_random_to_a_large_log_is_found_where_it_is(
    client: Redis, tmp_path: Path
) -> None:
    seed = Random().randrange(10**6)  # noqa: S311 - play
    print(f"seed {seed}")  # noqa: T201 - so that a failure can be had again
    rng, length = Random(seed), 400  # noqa: S311 - play
    ensure_loaded(client)
    play = open_play(client, make(tmp_path / "draws.key", cycle_open=False), royal_link())
    RandomPlay(play, rng).go(1200)
    folder = write_log(tmp_path / "log", play.lines(), ROYAL_SIGNER, segment=length)
    assert found(folder, ROYAL) == []
    segments = Segments(folder, length)
    lines = segments.lines()
    assert len(lines) > 1000
    for _ in range(40):
        changed, entry = tampered(lines, rng.randrange(len(lines)), rng)
        segments.write(changed)
        assert found(folder, ROYAL)[0].entry == entry
    segments.restore()
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "lock"]
    for _ in range(60):
        path = rng.choice(files)
        content = path.read_bytes()
        changed_file = bytearray(content)
        changed_file[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed_file)
        problems = found(folder, ROYAL)
        path.write_bytes(content)
        assert problems or gzip.decompress(changed_file) == gzip.decompress(content), path


# History written anew and signed with the log's own key

# What one may write otherwise without contradicting anything else that is written. The log's key
# signs it, so only somebody who remembers what was signed before can tell: the witness.
CONSISTENT = {
    ("*", "by"): "who did it",
    ("*", "reason"): "why",
    ("*", "t"): "when, as long as time does not go back",
    ("open", "definition.link"): "a link's name, where nothing was drawn in it",
    ("seats", "seats"): "wagers that were withdrawn or changed again before the lock",
    ("late", "seats"): "which wagers came too late: none of them counts",
    ("lock", "kind"): "whether a round without wagers was free or simulated",
    ("end", "more"): "third cards from a shoe that nobody committed to",
    ("card", "device"): "which reader said it",
    ("card", "epoch"): "and when, in its own count",
    ("card", "sequence"): "and when, in its own count",
    ("seats", "device"): "which hub said it",
    ("seats", "epoch"): "and when, in its own count",
    ("seats", "sequence"): "and when, in its own count",
    ("late", "device"): "the same",
    ("late", "epoch"): "the same",
    ("late", "sequence"): "the same",
    ("late", "round"): "which round a wager came too late for",
    ("open", "definition.tables.asset"): "a table's asset number",
    ("open", "definition.tables.kind"): "what a table is called, while it has no sealed shoe",
    ("open", "definition.terms.simultaneous_seconds"): "how long, where nothing falls between",
    ("open", "definition.levels.contribution_max_micros"): "a bound that no lock came near",
    ("open", "definition.terms.hand_pay_above_micros"): "a bound that nothing lay between",
    ("open", "definition.terms.two_person_above_micros"): "a bound that nothing lay between",
    ("propose", "body"): "what else was asked for beside what counts",
    ("propose", "body.definition.asset"): "a table's asset number",
    ("propose", "body.definition.kind"): "what a table is called",
    ("propose", "body.definition.seed_micros"): "a seed that was used long ago",
    ("propose", "body.definition.limit_micros"): "which the limit in force replaces",
    ("propose", "body.definition.contribution_max_micros"): "a bound that no lock came near",
    ("propose", "body.terms.hand_pay_above_micros"): "a bound that nothing lay between",
    ("propose", "body.terms.two_person_above_micros"): "a bound that nothing lay between",
    ("propose", "body.terms.simultaneous_seconds"): "how long, where nothing falls between",
    ("propose", "body.amount_micros"): "of a proposal that nobody approved",
    ("propose", "body.award"): "of a proposal that nobody approved",
    ("propose", "body.level"): "of a proposal that nobody approved",
    ("propose", "body.round"): "the round of a hand award",
    ("propose", "body.part"): "left out, it is the meter",
    ("propose", "body.to"): "a level of another link, whose own log tells",
    ("approve", "revealed"): "secrets of cycles without an award, which are counted as abandoned",
    ("shoe", "commit"): "to a shoe that is not over",
    ("end", "must_hit.commit"): "to a cycle that nobody came to",
}


def content_problem(lines: list[v.Line]) -> v.Problem | None:
    """Follow entries whose signatures are in order."""
    follower, _ = v.follow("log", [("size", len(lines)), ("entries", lines)], {}, quiet)
    if follower.overlooked is not None:
        known = {follower.overlooked.cycle: follower.overlooked.trigger}
        follower, _ = v.follow("log", [("size", len(lines)), ("entries", lines)], known, quiet)
    return follower.problem


def plain(path: Path_) -> str:
    return ".".join(name for name in path if isinstance(name, str))


def is_consistent(kind: str, place: str) -> bool:
    place = re.sub(r"^revealed\.\d+$", "revealed", place)
    return (kind, place) in CONSISTENT or ("*", place) in CONSISTENT


def missed_changes(texts: list[bytes], share: float, rng: Random) -> tuple[Counter[Missed], int]:
    """Write each field otherwise, and without it; gives what contradicts nothing, and the tries."""
    lines = v.read_lines(texts)
    assert content_problem(lines) is None
    missed: Counter[Missed] = Counter()
    tried = 0
    for at, text in enumerate(texts):
        entry = json.loads(text)
        for path in leaves(entry):
            news = [changed_at(entry, path, other), without(entry, path)]
            for new in news if value_at(entry, path) else news[:1]:  # nothing may be left out
                if rng.random() >= share:
                    continue
                lines[at], kept = v.read_line(written(new)), lines[at]
                problem = content_problem(lines)
                lines[at] = kept
                tried += 1
                if problem is None:
                    missed[entry["k"], plain(path)] += 1
    return missed, tried


def assert_consistent(missed: Counter[Missed], tried: int) -> None:
    unknown = [one for one in missed if not is_consistent(*one)]
    assert not unknown, "\n".join(map(str, unknown))
    assert tried > 300
    assert sum(missed.values()) < tried / 4, missed


@pytest.mark.parametrize("link", ["royal", "multi"])
def test_fields_written_otherwise_and_signed_anew_contradict_the_rest(
    journals: Journals, link: str
) -> None:
    seed = Random().randrange(10**6)  # noqa: S311 - a choice of fields
    print(f"seed {seed}")  # noqa: T201 - so that a failure can be had again
    texts, share = (journals.royal, 0.04) if link == "royal" else (journals.multi, 0.3)
    assert_consistent(*missed_changes(texts, share, Random(seed)))  # noqa: S311 - a choice


@pytest.mark.long
@pytest.mark.parametrize("link", ["royal", "multi"])
def test_any_field_written_otherwise_and_signed_anew_contradicts_the_rest(
    journals: Journals, link: str
) -> None:
    texts = journals.royal if link == "royal" else journals.multi
    assert_consistent(*missed_changes(texts, 1.0, Random(0)))  # noqa: S311 - all of them


# What only a witness can tell


@pytest.fixture
def anew(journals: Journals, tmp_path: Path) -> tuple[Path, Path]:
    """Give a log as it was, and as its own key signs it anew with another dealer in it."""
    lines = journals.multi[:SMALL]
    others = [line.replace(b'"by":"dealer"', b'"by":"healer"') for line in lines]
    assert others != lines
    more = [*others, *journals.multi[SMALL : SMALL + 2]]
    return (
        write_log(tmp_path / "before", lines, MULTI_SIGNER, segment=SEGMENT),
        write_log(tmp_path / "after", more, MULTI_SIGNER, segment=SEGMENT),
    )


def test_history_written_anew_is_cosigned_by_no_witness(
    anew: tuple[Path, Path], tmp_path: Path
) -> None:
    before, after = anew
    record = WitnessRecord(tmp_path / "witness")
    cosigner = record.prepare("witness.example/cage")
    witness = Witness(record, cosigner, [MULTI_SIGNER.verifier])
    first = AddCheckpoint(0, (), (before / "checkpoint").read_bytes())
    assert witness.add_checkpoint(bytes(first)).startswith("\N{EM DASH} witness.example/cage ")
    assert found(after, MULTI[:1]) == []  # it contradicts nothing that is in it
    with LogFolder(after, MULTI_SIGNER.verifier) as log:
        proof = tuple(log.consistency_proof(SMALL))
    asked = AddCheckpoint(SMALL, proof, (after / "checkpoint").read_bytes())
    with pytest.raises(Refusal):
        witness.add_checkpoint(bytes(asked))
    keys = [MULTI[0], *v.read_keys([str(cosigner.verifier)])]
    assert "no checkpoint is cosigned by witness" in found(after, keys)[0].what


def test_a_cosignature_carried_over_to_history_written_anew_is_found(
    anew: tuple[Path, Path],
) -> None:
    before, after = anew
    text = (before / "checkpoint").read_text("utf-8").rpartition("\n\n")[0] + "\n"
    cosignature = str(COSIGNER.sign_at(text, 1_700_000_000))
    path = after / "checkpoint"
    path.write_text(path.read_text("utf-8") + cosignature, "utf-8")
    first = found(after, MULTI)[0]
    assert first.file == "checkpoint"
    assert first.what == (
        "has a signature of witness.example/cage that witness.example/cage did not make"
    )


def test_history_written_anew_does_not_hold_a_checkpoint_that_somebody_kept(
    anew: tuple[Path, Path],
) -> None:
    before, after = anew
    seen = (before / "checkpoint").read_bytes()
    [report] = v.verify_folder(after, MULTI[:1], quiet, [seen])
    assert (report.problems[0].entry, report.problems[0].last) == (1, SMALL)
    assert "history was written anew" in report.problems[0].what
    [report] = v.verify_folder(before, MULTI[:1], quiet, [seen])
    assert report.problems == []
