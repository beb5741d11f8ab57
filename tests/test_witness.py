"""The witness: cosigns what extends the last checkpoint, whatever is sent and whenever it dies."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from crash import DONE, STOPPED, ended_with, in_a_child, stop_before
from werkzeug.test import TestResponse

from progressive.audit import checkpoint, merkle, note, writer
from progressive.audit.add_checkpoint import REQUEST_BYTES_MAX, AddCheckpoint
from progressive.audit.checkpoint import Checkpoint, CosignatureVerifier, Cosigner
from progressive.audit.merkle import Tree
from progressive.audit.note import Signer, Verifier
from progressive.audit.witness import Refusal, Witness, load_app
from progressive.audit.witness_client import (
    WitnessAway,
    WitnessClient,
    WitnessConflict,
    WitnessRefused,
)
from progressive.audit.witness_record import RecordError, WitnessRecord
from progressive.audit.writer import LogWriter

VECTORS = json.loads((Path(__file__).parent / "vectors" / "witness.json").read_text("utf-8"))
PUBLISHED = Verifier(VECTORS["origin"], bytes.fromhex(VECTORS["log_public_key"]))
SIGNER = Signer.generate("floor.example/royal")
NAME = "cage.example/witness"


class History:
    """A log that lives in memory: what it says at every size, and the proofs between."""

    def __init__(self, *entries: bytes, signer: Signer = SIGNER) -> None:
        self.signer = signer
        self.hashes = Tree().extend(entries)

    def node(self, level: int, index: int) -> bytes:
        return self.hashes[merkle.place(level, index)]

    def text(self, size: int) -> str:
        return Checkpoint(self.signer.name, size, merkle.root_at(size, self.node)).text

    def signed(self, size: int) -> bytes:
        return bytes(note.sign(self.text(size), self.signer))

    def prove(self, old: int, new: int) -> list[bytes]:
        return merkle.consistency_proof(old, new, self.node)

    def request(self, old: int, new: int) -> bytes:
        return bytes(AddCheckpoint(old, tuple(self.prove(old, new)), self.signed(new)))


TRUE = History(*(b"%d" % number for number in range(40)))
REWRITTEN = History(*(b"%d" % (number if number != 3 else 33) for number in range(40)))


class Served:
    """A witness as its HTTP callers see it, without the network."""

    def __init__(self, folder: Path, key: Verifier = SIGNER.verifier) -> None:
        self.folder = folder
        self.client = load_app(folder, NAME, [key]).test_client()
        self.key = WitnessRecord(folder).prepare(NAME).verifier

    def post(self, body: bytes) -> TestResponse:
        return self.client.post("/add-checkpoint", data=body)

    def cosigns(self, history: History, old: int, new: int) -> None:
        answer = self.post(history.request(old, new))
        assert answer.status_code == 200, answer.text
        signed = history.signed(new) + answer.data
        _, opened = checkpoint.verify(signed, history.signer.verifier, self.key)
        assert len(opened.signatures) == 2

    def refuses(self, body: bytes, status: int) -> TestResponse:
        before = (self.folder / "state.json").read_bytes()
        answer = self.post(body)
        assert answer.status_code == status, answer.text
        assert "—" not in answer.text
        assert (self.folder / "state.json").read_bytes() == before
        return answer


@pytest.fixture
def served(tmp_path: Path) -> Served:
    return Served(tmp_path / "witness")


def test_the_published_requests_are_answered_as_they_should_be(tmp_path: Path) -> None:
    served = Served(tmp_path / "witness", PUBLISHED)
    one, five, three = (request.encode() for request in VECTORS["requests"])
    for request in (one, five, three):
        assert bytes(AddCheckpoint.parse(request)) == request
    assert served.post(one).status_code == 200
    assert served.post(five).status_code == 200
    answer = served.refuses(three, 409)
    assert (answer.text, answer.content_type) == ("5\n", "text/x.tlog.size")


def test_a_log_that_grows_is_cosigned_at_every_step(served: Served) -> None:
    for old, new in ((0, 0), (0, 1), (1, 1), (1, 2), (2, 7), (7, 8), (8, 39), (39, 40)):
        served.cosigns(TRUE, old, new)


def test_a_cosignature_carries_the_time_it_was_made(served: Served) -> None:
    before = int(time.time())
    (line,) = note.parse_signatures(served.post(TRUE.request(0, 5)).text)
    assert before <= checkpoint.cosigned_at(line) <= time.time()
    assert (line.name, line.key_id) == (NAME, served.key.key_id)


def test_a_wrong_old_size_is_answered_with_the_size_on_record(served: Served) -> None:
    assert served.refuses(TRUE.request(3, 7), 409).text == "0\n"
    served.cosigns(TRUE, 0, 5)
    for old in (0, 4, 6):
        answer = served.refuses(TRUE.request(old, 7), 409)
        assert (answer.text, answer.content_type) == ("5\n", "text/x.tlog.size")


def test_a_second_root_of_one_size_is_never_cosigned_and_kept_as_evidence(served: Served) -> None:
    served.cosigns(TRUE, 0, 7)
    body = REWRITTEN.request(7, 7)
    answer = served.refuses(body, 409)
    assert (answer.text, answer.content_type) == ("7\n", "text/x.tlog.size")
    (kept,) = (served.folder / "evidence").iterdir()
    assert kept.name.startswith("two-roots-")
    assert kept.read_bytes() == body
    served.cosigns(TRUE, 7, 9)


def test_a_rewritten_history_is_not_cosigned_at_any_size(served: Served) -> None:
    served.cosigns(TRUE, 0, 7)
    for new in range(8, 40):
        served.refuses(REWRITTEN.request(7, new), 422)
    served.cosigns(TRUE, 7, 40)


def test_a_proof_that_proves_nothing_is_refused(served: Served) -> None:
    served.cosigns(TRUE, 0, 7)
    proof = TRUE.prove(7, 20)
    for wrong in ([], proof[1:], [*proof, proof[0]], proof[::-1]):
        served.refuses(bytes(AddCheckpoint(7, tuple(wrong), TRUE.signed(20))), 422)


def test_a_first_checkpoint_has_no_proof_and_an_empty_one_has_the_empty_root(
    served: Served,
) -> None:
    served.refuses(bytes(AddCheckpoint(0, (bytes(32),), TRUE.signed(7))), 422)
    empty = note.sign(Checkpoint(SIGNER.name, 0, bytes(32)).text, SIGNER)
    answer = served.refuses(bytes(AddCheckpoint(0, (), bytes(empty))), 409)
    assert (answer.text, answer.content_type) == ("0\n", "text/x.tlog.size")


def test_only_known_logs_with_their_own_key_are_cosigned(served: Served) -> None:
    stranger = Signer.generate("floor.example/other")
    served.refuses(History(b"a", signer=stranger).request(0, 1), 404)
    served.refuses(History(b"a", signer=Signer.generate(SIGNER.name)).request(0, 1), 403)
    spoilt = TRUE.request(0, 7).replace(b"\n7\n", b"\n8\n")
    served.refuses(spoilt, 403)
    both = bytes(note.sign(TRUE.text(7), stranger, SIGNER))
    assert served.post(b"old 0\n\n" + both).status_code == 200


@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: body[:0],
        lambda body: body[:-1],
        lambda body: body.replace(b"old ", b"new "),
        lambda body: body.replace(b"old 2", b"old 02"),
        lambda body: body.replace(b"old 2", b"old -2"),
        lambda body: body.replace(b"old 2", b"old 2 "),
        lambda body: body.replace(b"old 2", b"old 9"),
        lambda body: body.replace(b"old 2\n", b"old 2\n\n"),
        lambda body: body.replace(b"old 2\n", b"old 2\n????\n"),
        lambda body: body.replace(b"old 2\n", b"old 2\nAAAA\n"),
        lambda body: body.replace(b"old 2\n", b"old 2\n" + (b64encode(bytes(32)) + b"\n") * 64),
        lambda body: body.replace(b"\n\n", b"\n"),
        lambda body: body.replace("—".encode(), b"-"),
        lambda body: body + b"more\n",
    ],
)
def test_a_malformed_request_is_refused(served: Served, spoil: Callable[[bytes], bytes]) -> None:
    served.cosigns(TRUE, 0, 2)
    served.refuses(spoil(TRUE.request(2, 7)), 400)
    served.cosigns(TRUE, 2, 7)


def test_a_request_has_a_size_limit_and_one_way_in(served: Served) -> None:
    served.refuses(b"x" * (REQUEST_BYTES_MAX + 1), 413)
    assert served.client.get("/add-checkpoint").status_code == 405
    assert served.client.post("/").status_code == 404


def test_the_record_outlives_the_witness(served: Served) -> None:
    served.cosigns(TRUE, 0, 7)
    again = Served(served.folder)
    assert again.key == served.key
    again.refuses(REWRITTEN.request(7, 7), 409)
    again.cosigns(TRUE, 7, 8)


@pytest.mark.parametrize(("lost", "said"), [("state.json", "no record"), ("witness.key", "no key")])
def test_a_witness_without_its_key_or_its_record_does_not_start(
    served: Served, lost: str, said: str
) -> None:
    served.cosigns(TRUE, 0, 7)
    (served.folder / lost).unlink()
    with pytest.raises(RecordError, match=said):
        Served(served.folder)
    assert not (served.folder / lost).exists()


def test_a_record_that_was_changed_by_hand_stops_the_witness(served: Served) -> None:
    served.cosigns(TRUE, 0, 7)
    (served.folder / "state.json").write_bytes(b"{")
    assert served.post(TRUE.request(7, 8)).status_code == 500


def test_many_asking_at_once_never_get_two_roots_of_one_size(tmp_path: Path) -> None:
    record = WitnessRecord(tmp_path)
    cosigner = record.prepare(NAME)
    barrier = threading.Barrier(8)
    signed: list[str] = []

    def ask(history: History) -> None:
        witness = Witness(WitnessRecord(tmp_path), cosigner, [SIGNER.verifier])
        for size in range(1, 20):
            barrier.wait()
            try:
                witness.add_checkpoint(history.request(size - 1, size))
            except Refusal:
                continue
            signed.append(history.text(size))

    threads = [
        threading.Thread(target=ask, args=(history,))
        for history in (TRUE, REWRITTEN, TRUE, REWRITTEN) * 2
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(signed) >= 19
    for size in range(1, 20):
        assert len({text for text in signed if text.split("\n")[1] == str(size)}) == 1


def test_a_stop_before_any_step_never_leads_to_two_roots(served: Served, tmp_path: Path) -> None:
    served.cosigns(TRUE, 0, 4)
    for step in range(60):
        folder = tmp_path / "copy"
        shutil.copytree(served.folder, folder)
        answered = tmp_path / "answered"

        def task(step: int = step, folder: Path = folder, answered: Path = answered) -> None:
            record = WitnessRecord(folder)
            witness = Witness(record, record.prepare(NAME), [SIGNER.verifier])
            stop_before(step)
            answered.write_text(witness.add_checkpoint(TRUE.request(4, 7)))

        ended = ended_with(in_a_child(task))
        assert ended in {DONE, STOPPED}
        again = Served(folder)
        known = WitnessRecord(folder).last(SIGNER.name).size
        assert known in {4, 7}
        if answered.exists():
            assert known == 7
        if known == 7:
            again.refuses(REWRITTEN.request(7, 7), 409)
        again.cosigns(TRUE, known, 8)
        shutil.rmtree(folder)
        answered.unlink(missing_ok=True)
        if ended == DONE:
            assert step > 3, "it was never stopped"
            return
    pytest.fail("it never ended")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def until(condition: Callable[[], bool], limit_s: float = 20) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


PROGRAM = str(Path(sys.executable).with_name("progressive"))


@contextmanager
def running(folder: Path, port: int) -> Iterator[tuple[subprocess.Popen[str], WitnessClient]]:
    """Run the installed program as an operator does, and end it with what it started."""
    call = [PROGRAM, "witness", "--folder", str(folder), "--name", NAME]
    call += ["--log-key", str(SIGNER.verifier), "--listen", f"127.0.0.1:{port}"]
    process = subprocess.Popen(  # noqa: S603 - the program under test
        call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        key = CosignatureVerifier.parse(process.stdout.readline().strip())
        until(lambda: answers(port))
        yield process, WitnessClient(f"http://127.0.0.1:{port}", key)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_the_service_cosigns_a_log_folder_over_kills_and_restarts(tmp_path: Path) -> None:
    writer.create(tmp_path / "log", SIGNER)
    log = LogWriter(tmp_path / "log", SIGNER.verifier)
    port = free_port()
    keys = set()
    for turn in range(3):
        with running(tmp_path / "witness", port) as (process, client):
            keys.add(client.key)
            for size in (turn * 100 + 30, turn * 100 + 100):
                log.append([b"%d" % number for number in range(log.size, size)])
                line = client.cosign(log.seal(SIGNER), log.consistency_proof)
                log.add_signatures(log.size, [line])
                log.proof(5).verify(b"5", SIGNER.verifier, [client.key], quorum=1)
            assert client.cosign(log.signed, log.consistency_proof).key_id == client.key.key_id
            if turn == 0:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            else:
                process.terminate()
                assert process.wait(20) == 0
            with pytest.raises(WitnessAway):
                client.cosign(log.signed, log.consistency_proof)
    assert len(keys) == 1
    log.close()


def test_a_log_that_was_rolled_back_or_rewritten_is_told_apart_from_an_absent_witness(
    tmp_path: Path,
) -> None:
    port = free_port()
    with running(tmp_path / "witness", port) as (_, client):
        client.cosign(TRUE.signed(20), TRUE.prove)
        for fresh in (client, WitnessClient(client.url, client.key)):
            with pytest.raises(WitnessConflict, match="at 20, but it now ends at 15"):
                fresh.cosign(TRUE.signed(15), TRUE.prove)
            with pytest.raises(WitnessConflict, match="another root for size 20"):
                fresh.cosign(REWRITTEN.signed(20), REWRITTEN.prove)
            with pytest.raises(WitnessRefused, match="422"):
                fresh.cosign(REWRITTEN.signed(30), REWRITTEN.prove)
        other = Signer.generate("floor.example/other")
        with pytest.raises(WitnessRefused, match="404"):
            client.cosign(*asked(History(b"a", signer=other), 1))
        wrong_key = WitnessClient(client.url, Cosigner.generate(NAME).verifier)
        with pytest.raises(WitnessRefused, match="not its cosignature"):
            wrong_key.cosign(TRUE.signed(20), TRUE.prove)
        WitnessClient(f"{client.url}/", client.key).cosign(TRUE.signed(21), TRUE.prove)


def asked(history: History, size: int) -> tuple[bytes, Callable[[int, int], list[bytes]]]:
    return history.signed(size), history.prove


def test_a_witness_that_does_not_answer_or_babbles_is_away() -> None:
    key = Cosigner.generate(NAME).verifier
    with socket.create_server(("127.0.0.1", 0)) as mute:
        client = WitnessClient(f"http://127.0.0.1:{mute.getsockname()[1]}", key, timeout_s=0.2)
        with pytest.raises(WitnessAway, match="imeout"):
            client.cosign(TRUE.signed(5), TRUE.prove)
    with pytest.raises(WitnessAway):
        client.cosign(TRUE.signed(5), TRUE.prove)
    with babbling(b"220 hello\r\n\r\n") as port, pytest.raises(WitnessAway):
        WitnessClient(f"http://127.0.0.1:{port}", key).cosign(TRUE.signed(5), TRUE.prove)
    conflict = b"HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\nno"
    with babbling(conflict) as port, pytest.raises(WitnessRefused, match="without a size"):
        WitnessClient(f"http://127.0.0.1:{port}", key).cosign(TRUE.signed(5), TRUE.prove)
    trouble = b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"
    with babbling(trouble) as port, pytest.raises(WitnessAway, match="500"):
        WitnessClient(f"http://127.0.0.1:{port}", key).cosign(TRUE.signed(5), TRUE.prove)
    with pytest.raises(ValueError, match="not the address"):
        WitnessClient("ftp://127.0.0.1", key)


@contextmanager
def babbling(answer: bytes) -> Iterator[int]:
    """Answer one connection with these bytes, whatever it asks."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=talk)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - the program under test
        [PROGRAM, "witness", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_the_command_shows_its_key_and_keeps_it_to_itself(tmp_path: Path) -> None:
    folder = str(tmp_path / "witness")
    first = call("--folder", folder, "--name", NAME, "--show-key")
    assert first.returncode == 0
    assert CosignatureVerifier.parse(first.stdout.strip()).name == NAME
    assert call("--folder", folder, "--name", "other", "--show-key").stdout == first.stdout
    secret = (tmp_path / "witness" / "witness.key").read_text().split("+", 4)[4].strip()
    (tmp_path / "witness" / "state.json").unlink()
    refused = call("--folder", folder, "--show-key")
    assert refused.returncode == 1
    assert "no record of what it signed" in refused.stderr
    assert secret not in first.stdout + first.stderr + refused.stdout + refused.stderr


def test_the_command_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    folder = ("--folder", str(tmp_path / "witness"))
    key = ("--log-key", str(SIGNER.verifier))
    assert call(*folder).returncode == 2
    assert call(*folder, "--log-key", "nonsense").returncode == 2
    assert call(*folder, *key, "--listen", "here").returncode == 2
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = call(*folder, *key, "--listen", f"127.0.0.1:{port}")
    assert refused.returncode == 1
    assert f"127.0.0.1:{port} cannot be listened on" in refused.stderr
