"""The log on disk: sealed entries stay, everything else can be cut, whenever the power goes."""

import gzip
import json
import os
import random
import shutil
import signal
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
from crash import DONE, STOPPED, counted, ended_with, in_a_child, stop_before
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from progressive.audit import checkpoint, merkle, note, writer
from progressive.audit.checkpoint import Checkpoint, Cosigner
from progressive.audit.folder import LogFolder
from progressive.audit.merkle import Tree
from progressive.audit.note import Signer
from progressive.audit.segments import LogDamaged
from progressive.audit.writer import LogBusy, LogWriter, WriteFailed

SIGNER = Signer("floor.example/royal", bytes(32))
KEY = SIGNER.verifier
LENGTH = 10


def entry(number: int) -> bytes:
    return json.dumps({"n": number, "text": "ä♠" * (number % 7)}).encode()


def entries(start: int, end: int) -> list[bytes]:
    return [entry(number) for number in range(start, end)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    writer.create(path, SIGNER, LENGTH)
    return path


def grow(folder: Path, *sizes: int) -> None:
    """Append up to each size in turn, sealing and closing what is full."""
    with LogWriter(folder, KEY) as log:
        for size in sizes:
            log.append(entries(log.size, size))
            log.seal(SIGNER)
            log.close_segments(SIGNER)


def assert_whole(folder: Path) -> int:
    """Insist on entries 0, 1, 2 ... under the signed root, with no file that does not belong."""
    with LogFolder(folder, KEY) as log:
        assert list(log.entries()) == entries(0, log.size)
        tree = Tree()
        hashes = b"".join(tree.extend(entries(0, log.size)))
        assert tree.root() == log.root
        assert (folder / "hashes").read_bytes() == hashes
        closed = list(log.closed())
        firsts = [segment.first for segment in closed]
        assert firsts == list(range(0, LENGTH * len(closed), LENGTH))
        open_from = LENGTH * len(closed)
        plain = {int(path.name.split(".")[0]) for path in folder.glob("segments/*.log")}
        assert plain <= set(range(open_from, log.size + 1, LENGTH))
        return log.size


def snapshot(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("sizes", [(1,), (9,), (10,), (11,), (3, 10, 25), (55,), (5, 6, 7, 40)])
def test_what_is_appended_and_sealed_is_there_again(folder: Path, sizes: tuple[int, ...]) -> None:
    grow(folder, *sizes)
    assert assert_whole(folder) == sizes[-1]
    grow(folder, sizes[-1] + 1)
    assert assert_whole(folder) == sizes[-1] + 1


def test_a_new_log_is_sealed_empty(folder: Path) -> None:
    with LogFolder(folder, KEY) as log:
        assert (log.size, log.root, list(log.entries())) == (0, merkle.EMPTY_ROOT, [])
    with pytest.raises(FileExistsError):
        writer.create(folder, SIGNER)


def test_entries_that_are_not_sealed_are_not_in_the_log(folder: Path) -> None:
    grow(folder, 13)
    with LogWriter(folder, KEY) as log:
        log.append(entries(13, 47))
        assert (log.size, log.appended) == (13, 47)
        assert list(log.entries()) == entries(0, 13)
        with pytest.raises(IndexError):
            log.entry(13)
        with pytest.raises(merkle.ProofError):
            log.inclusion_proof(20, 40)
    with LogWriter(folder, KEY) as log:
        assert (log.size, log.appended) == (13, 13)
    assert assert_whole(folder) == 13


def test_sealing_nothing_new_signs_nothing_new(folder: Path) -> None:
    grow(folder, 13)
    before = snapshot(folder)
    with LogWriter(folder, KEY) as log:
        assert log.seal(SIGNER) == before["checkpoint"]
    assert snapshot(folder) == before


def test_a_closed_segment_is_compressed_listed_and_closed_by_a_checkpoint(folder: Path) -> None:
    grow(folder, 25)
    with LogFolder(folder, KEY) as log:
        first, second = log.closed()
        assert (second.first, second.last, second.count) == (10, 19, 10)
        plain = gzip.decompress((folder / second.file).read_bytes())
        assert plain == b"".join(line + b"\n" for line in entries(10, 20))
        assert second.sha256 == sha256(plain).hexdigest()
        closing, _ = checkpoint.verify(log.closing_checkpoint(second), KEY)
        tree = Tree()
        tree.extend(entries(0, 20))
        assert closing == Checkpoint(KEY.name, 20, tree.root())
        assert checkpoint.parse_hash(second.root) == tree.root()
        assert first.checkpoint == "checkpoints/000000000010"
    assert sorted(path.name for path in (folder / "segments").iterdir()) == [
        "000000000000.log.gz",
        "000000000010.log.gz",
        "000000000020.log",
    ]


def test_the_same_entries_compress_to_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for name in ("a", "b"):
        writer.create(tmp_path / name, SIGNER, LENGTH)
        grow(tmp_path / name, *((25,) if name == "a" else (7, 25)))
        made.append(snapshot(tmp_path / name))
    assert made[0] == made[1]


def test_a_batch_cut_to_the_room_ends_with_the_segment_and_keeps_its_cosignatures(
    folder: Path,
) -> None:
    witness = Cosigner.generate("witness.example")
    with LogWriter(folder, KEY) as log:
        log.append(entries(0, 4))
        assert log.room == 6
        log.append(entries(4, 10))
        sealed = Checkpoint.parse(note.parse(log.seal(SIGNER)).text)
        log.add_signatures(10, [witness.sign(sealed.text)])
        log.add_signatures(10, [witness.sign_at(sealed.text, 1)])
        log.close_segments(SIGNER)
        (closed,) = log.closed()
        for kept in (log.signed, log.closing_checkpoint(closed)):
            _, opened = checkpoint.verify(kept, KEY, witness.verifier)
            assert [one.name for one in opened.signatures] == [KEY.name, "witness.example"]
        log.append([entry(10)])
        log.seal(SIGNER)
        before = log.signed
        log.add_signatures(10, [witness.sign_at(sealed.text, 2)])
        assert log.signed == before
        _, opened = checkpoint.verify(log.closing_checkpoint(closed), KEY, witness.verifier)
        assert checkpoint.cosigned_at(opened.signatures[1]) == 2


def test_every_entry_and_every_size_is_proved_from_the_folder(folder: Path) -> None:
    grow(folder, 4, 33)
    with LogFolder(folder, KEY) as log:
        roots = [merkle.EMPTY_ROOT]
        tree = Tree()
        for number in range(33):
            assert log.entry(number) == entry(number)
            tree.extend([entry(number)])
            roots.append(tree.root())
        for size in range(34):
            for index in range(size):
                path = log.inclusion_proof(index, size)
                leaf = merkle.leaf_hash(entry(index))
                merkle.check_inclusion(index, size, leaf, path, roots[size])
            for old in range(size + 1):
                path = log.consistency_proof(old, size)
                merkle.check_consistency(old, size, roots[old], roots[size], path)


def test_a_reader_beside_the_writer_sees_what_is_sealed_and_follows(folder: Path) -> None:
    grow(folder, 8)
    with LogFolder(folder, KEY) as reader, LogWriter(folder, KEY) as log:
        log.append(entries(8, 29))
        assert list(reader.entries()) == entries(0, 8)
        begun = reader.entries()
        assert next(begun) == entry(0)
        log.seal(SIGNER)
        log.close_segments(SIGNER)
        assert [entry(0), *begun] == entries(0, 8)
        reader.refresh()
        assert list(reader.entries(5)) == entries(5, 29)
        assert list(reader.entries(5, 21)) == entries(5, 21)


def test_only_one_process_writes_a_log(folder: Path) -> None:
    with LogWriter(folder, KEY), pytest.raises(LogBusy):
        LogWriter(folder, KEY)
    LogWriter(folder, KEY).close()


def test_opening_touches_as_many_files_however_old_the_log_is(folder: Path) -> None:
    def open_it() -> None:
        LogWriter(folder, KEY).close()

    grow(folder, 15)
    young = counted(open_it)
    grow(folder, 1005)
    assert counted(open_it) == young
    assert 0 < young < 30


@pytest.mark.parametrize("wrong", [b"two\nlines", b"\n", b"x" * (writer.ENTRY_BYTES_MAX + 1)])
def test_an_entry_that_is_not_one_line_is_refused_and_changes_nothing(
    folder: Path, wrong: bytes
) -> None:
    with LogWriter(folder, KEY) as log:
        with pytest.raises(ValueError, match="one line"):
            log.append([entry(0), wrong])
        log.append([entry(0)])
        log.seal(SIGNER)
    assert assert_whole(folder) == 1


def test_only_the_log_s_own_key_seals(folder: Path) -> None:
    other = Signer.generate(KEY.name)
    with LogWriter(folder, KEY) as log:
        log.append([entry(0)])
        with pytest.raises(ValueError, match="is signed by"):
            log.seal(other)
        with pytest.raises(ValueError, match="is signed by"):
            log.close_segments(other)
    with pytest.raises(LogDamaged, match="no known key"):
        LogFolder(folder, other.verifier)
    with pytest.raises(LogDamaged, match="the log of"):
        LogFolder(folder, Signer.generate("floor.example/other").verifier)


def test_after_a_failed_write_the_log_must_be_opened_again(folder: Path) -> None:
    grow(folder, 9)
    with LogWriter(folder, KEY) as log:
        (folder / "segments" / "000000000010.log").mkdir()  # so that the next segment cannot be
        with pytest.raises(IsADirectoryError):
            log.append(entries(9, 12))
        with pytest.raises(WriteFailed):
            log.append(entries(9, 10))
        with pytest.raises(WriteFailed):
            log.seal(SIGNER)
    (folder / "segments" / "000000000010.log").rmdir()
    grow(folder, 15)
    assert assert_whole(folder) == 15


@pytest.mark.parametrize("size", [3, 10, 17])
def test_a_torn_append_is_cut_back_to_the_seal_at_every_byte(folder: Path, size: int) -> None:
    grow(folder, size)
    with LogWriter(folder, KEY) as log:
        log.append(entries(size, size + 6))
        log.seal(SIGNER)
        later = snapshot(folder)
    # As if the power had gone before the second checkpoint: any part of the rest may be there.
    shutil.rmtree(folder)
    writer.create(folder, SIGNER, LENGTH)
    grow(folder, size)
    sealed = snapshot(folder)
    torn = {name for name in later if later[name] != sealed.get(name)} - {"checkpoint"}
    assert {"hashes"} < torn
    for name in torn:
        for length in range(len(sealed.get(name, b"")), len(later[name])):
            for other in torn:
                (folder / other).write_bytes(later[other])
            (folder / name).write_bytes(later[name][:length])
            LogWriter(folder, KEY).close()
            assert assert_whole(folder) == size


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
@given(size=st.integers(0, 32), junk=st.binary(max_size=200), more=st.binary(max_size=90))
def test_junk_beyond_the_seal_is_cut_whatever_it_is(
    tmp_path: Path, size: int, junk: bytes, more: bytes
) -> None:
    folder = tmp_path / "junk"
    shutil.rmtree(folder, ignore_errors=True)
    writer.create(folder, SIGNER, LENGTH)
    grow(folder, *([size] if size else []))
    first = size - size % LENGTH
    for name, content in (
        (f"segments/{first:012}.log", junk),
        (f"segments/{first + LENGTH:012}.log", more),
        (f"segments/{first + 2 * LENGTH:012}.log", junk),
        ("hashes", more),
    ):
        with (folder / name).open("ab") as file:
            file.write(content)
    LogWriter(folder, KEY).close()
    assert assert_whole(folder) == size
    grow(folder, size + 12)
    assert assert_whole(folder) == size + 12


@pytest.mark.parametrize("size", [7, 10, 23])
def test_the_hashes_are_rebuilt_exactly_wherever_they_were_cut(folder: Path, size: int) -> None:
    grow(folder, size)
    whole = (folder / "hashes").read_bytes()
    for length in range(0, len(whole), 31):
        (folder / "hashes").write_bytes(whole[:length])
        LogWriter(folder, KEY).close()
        assert assert_whole(folder) == size


def test_a_wrong_hash_inside_is_noticed_by_the_proof_and_rebuilt(folder: Path) -> None:
    grow(folder, 23)
    whole = bytearray((folder / "hashes").read_bytes())
    whole[32 * merkle.place(1, 2)] ^= 1
    (folder / "hashes").write_bytes(whole)
    with LogWriter(folder, KEY) as log:
        with pytest.raises(LogDamaged, match="do not agree"):
            log.inclusion_proof(7)
        log.rebuild_hashes()
        log.inclusion_proof(7)
    assert assert_whole(folder) == 23


def test_the_manifest_s_unfinished_line_is_cut_and_written_again(folder: Path) -> None:
    grow(folder, 25)
    whole = (folder / "manifest.jsonl").read_bytes()
    for length in range(len(whole.rpartition(b"\n{")[0]) + 1, len(whole)):
        (folder / "manifest.jsonl").write_bytes(whole[:length])
        if length % 2:  # the plain file may have gone already, or not
            packed = gzip.decompress((folder / "segments/000000000010.log.gz").read_bytes())
            (folder / "segments/000000000010.log").write_bytes(packed)
        with LogWriter(folder, KEY) as log:
            assert log.close_segments(SIGNER) == 1
        assert (folder / "manifest.jsonl").read_bytes() == whole
        assert assert_whole(folder) == 25


def open_handles() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def change_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda f: (f / "checkpoint").unlink(), "no checkpoint"),
        (lambda f: change_a_byte(f / "checkpoint"), "checkpoint"),
        (lambda f: change_a_byte(f / "segments/000000000020.log"), "entry 2[0-9] is not the one"),
        (lambda f: os.truncate(f / "segments/000000000020.log", 30), "ends before entry 20"),
        (lambda f: (f / "segments/000000000020.log").unlink(), "missing"),
        (lambda f: (f / "manifest.jsonl").write_bytes(b"{}\n"), "not as it was written"),
        (lambda f: (f / "manifest.jsonl").unlink(), "manifest.jsonl is missing"),
        (lambda f: shutil.copy(f / "checkpoints/000000000010", f / "checkpoint"), "put in the pla"),
    ],
)
def test_harm_to_what_was_sealed_is_noticed_and_nothing_is_changed(
    folder: Path, harm: Callable[[Path], object], said: str
) -> None:
    grow(folder, 25)
    harm(folder)
    before = snapshot(folder)
    handles = open_handles()
    with pytest.raises(LogDamaged, match=said):
        LogWriter(folder, KEY)
    assert snapshot(folder) == before
    assert open_handles() == handles


def test_a_harmed_closed_segment_is_noticed_when_it_is_read(folder: Path) -> None:
    grow(folder, 25)
    change_a_byte(folder / "segments/000000000010.log.gz")
    with LogFolder(folder, KEY) as log:
        assert list(log.entries(20)) == entries(20, 25)
        with pytest.raises(LogDamaged):
            log.proof(15)


def work(folder: Path, seed: int, tell: int) -> None:
    """Append from wherever the log ends, in batches of any size, until somebody stops it."""
    chance = random.Random(seed)  # noqa: S311 - a test's own randomness
    with LogWriter(folder, KEY) as log:
        while True:
            log.append(entries(log.size, log.size + chance.randint(1, 25)))
            if chance.random() < 0.2:
                log.append(entries(log.appended, log.appended + 3))
            log.seal(SIGNER)
            os.write(tell, b"%d\n" % log.size)
            log.close_segments(SIGNER)


def test_a_kill_at_any_instant_leaves_no_gap_and_no_repeat(folder: Path) -> None:
    seed = random.randrange(10**9)  # noqa: S311 - a test's own randomness
    print("seed", seed)  # noqa: T201 - to repeat it
    chance = random.Random(seed)  # noqa: S311 - a test's own randomness
    size = 0
    for turn in range(60):
        told, tell = os.pipe()
        child = in_a_child(partial(work, folder, seed + turn, tell))
        os.close(tell)
        with os.fdopen(told, "rb") as pipe:
            for _ in range(chance.randint(1, 6)):
                size = int(pipe.readline())
            _spin(chance.randint(0, 3000))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            for line in pipe:
                size = int(line)
        LogWriter(folder, KEY).close()
        found = assert_whole(folder)
        assert found >= size
        size = found


def _spin(turns: int) -> None:
    for _ in range(turns):
        sha256(b"a while").digest()


@pytest.mark.parametrize(("before", "after"), [(4, 8), (4, 23), (19, 20), (20, 21)])
def test_a_stop_before_any_step_of_sealing_and_closing_is_recovered(
    folder: Path, tmp_path: Path, before: int, after: int
) -> None:
    grow(folder, before)

    def sealing(step: int) -> Callable[[], None]:
        def task() -> None:
            stop_before(step)
            grow(copy, after)

        return task

    for step in range(400):
        copy = tmp_path / "copy"
        shutil.copytree(folder, copy)
        ended = ended_with(in_a_child(sealing(step)))
        assert ended in {DONE, STOPPED}
        LogWriter(copy, KEY).close()
        assert assert_whole(copy) in {before, after}
        grow(copy, after + 15)
        assert assert_whole(copy) == after + 15
        shutil.rmtree(copy)
        if ended == DONE:
            assert step > 10, "it was never stopped"
            return
    pytest.fail("it never ended")


def test_a_stop_before_any_step_of_recovery_is_recovered(folder: Path, tmp_path: Path) -> None:
    grow(folder, 14)
    with LogWriter(folder, KEY) as log:
        log.append(entries(14, 57))  # five segments that nobody sealed
    copy = tmp_path / "copy"

    def opening(step: int) -> Callable[[], None]:
        def task() -> None:
            stop_before(step)
            LogWriter(copy, KEY).close()

        return task

    for step in range(100):
        shutil.copytree(folder, copy)
        ended = ended_with(in_a_child(opening(step)))
        assert ended in {DONE, STOPPED}
        LogWriter(copy, KEY).close()
        assert assert_whole(copy) == 14
        shutil.rmtree(copy)
        if ended == DONE:
            assert step > 10, "it was never stopped"
            return
    pytest.fail("it never ended")
