"""Proof files, and what an implementation that shares nothing with this one says of ours."""

import base64
import json
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from progressive.audit import merkle, note, writer
from progressive.audit.checkpoint import CheckpointError, Cosigner
from progressive.audit.folder import LogFolder
from progressive.audit.merkle import ProofError
from progressive.audit.note import BadSignature, NoteError, Signer, Unsigned
from progressive.audit.proof import Proof
from progressive.audit.writer import LogWriter

HERE = Path(__file__).parent
LOG = Signer("floor.example/royal", sha256(b"a log of the tests").digest())
WITNESS = Cosigner("cage.example/witness", sha256(b"a witness of the tests").digest())
ENTRIES = [f'{{"n":{number},"text":"♠ {number * number}"}}' for number in range(70)]
ONE, TWO = sha256(b"hash1").digest(), sha256(b"hash2").digest()
C2SP_EXAMPLE = """\
c2sp.org/tlog-proof@v1
extra YWdlLXYxLjIuMS1kYXJ3aW4tYXJtNjQudGFyLmd6
index 73894
gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=
B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=

example.com/fancylog
109482
sFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=

"""


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    """Seal, cosign and close a log of seventy entries at a moment that is always the same."""
    folder = tmp_path / "log"
    writer.create(folder, LOG, segment_entries=30)
    with LogWriter(folder, LOG.verifier) as growing:
        for size in (27, 70):
            growing.append([entry.encode() for entry in ENTRIES[growing.size : size]])
            growing.seal(LOG)
            (folder / f"at-{size}").write_bytes(growing.signed)
        cosignature = WITNESS.sign_at(growing.checkpoint.text, 1_700_000_000)
        growing.add_signatures(70, [cosignature])
        growing.close_segments(LOG)
    return LogFolder(folder, LOG.verifier)


def judged(log: LogFolder) -> dict[str, Any]:
    """Gather what another implementation is to judge."""
    path = log.consistency_proof(27, 70)
    return {
        "log_key": str(LOG.verifier),
        "witness_key": str(WITNESS.verifier),
        "older": (log.folder / "at-27").read_text("utf-8"),
        "newer": log.signed.decode(),
        "consistency": [base64.b64encode(one).decode() for one in path],
        "proofs": [bytes(log.proof(index)).decode() for index in (0, 29, 30, 64, 69)],
        "entries": ENTRIES,
    }


def test_every_entry_has_a_proof_that_stands_alone(log: LogFolder) -> None:
    for index, entry in enumerate(ENTRIES):
        proof = Proof.parse(bytes(log.proof(index, extra=b"why")))
        found = proof.verify(entry.encode(), LOG.verifier, [WITNESS.verifier], quorum=1)
        assert (found.size, found.root, proof.index, proof.extra) == (70, log.root, index, b"why")
        with pytest.raises(ProofError):
            proof.verify(ENTRIES[index - 1].encode(), LOG.verifier)


def test_a_proof_needs_the_log_and_enough_witnesses(log: LogFolder) -> None:
    proof = log.proof(5)
    entry = ENTRIES[5].encode()
    stranger = Cosigner.generate("other.example").verifier
    with pytest.raises(Unsigned, match="1 of the witnesses signed; 2 are required"):
        proof.verify(entry, LOG.verifier, [WITNESS.verifier, stranger], quorum=2)
    with pytest.raises(Unsigned, match="0 of the witnesses"):
        proof.verify(entry, LOG.verifier, [stranger], quorum=1)
    with pytest.raises(NoteError):
        proof.verify(entry, Signer.generate(LOG.name).verifier)


@settings(deadline=None)
@given(at=st.integers(0), bit=st.integers(0, 7))
def test_no_proof_with_a_changed_bit_is_accepted(at: int, bit: int) -> None:
    entry = b"the only one"
    text = f"{LOG.name}\n1\n{base64.b64encode(merkle.leaf_hash(entry)).decode()}\n"
    content = bytes(Proof(0, (), bytes(note.sign(text, LOG, WITNESS))))
    Proof.parse(content).verify(entry, LOG.verifier, [WITNESS.verifier], quorum=1)
    changed = bytearray(content)
    changed[at % len(content)] ^= 1 << bit
    with pytest.raises((CheckpointError, NoteError, ProofError)):
        Proof.parse(bytes(changed)).verify(entry, LOG.verifier, [WITNESS.verifier], quorum=1)


@pytest.mark.parametrize(
    ("proof", "written"),
    [
        (Proof(5, (ONE, TWO), b"test checkpoint\n"), "index 5\n{one}\n{two}\n\ntest checkpoint\n"),
        (
            Proof(10, (ONE,), b"checkpoint data\n", b"extra information"),
            "extra ZXh0cmEgaW5mb3JtYXRpb24=\nindex 10\n{one}\n\ncheckpoint data\n",
        ),
        (Proof(0, (), b"checkpoint\n"), "index 0\n\ncheckpoint\n"),
    ],
)
def test_proofs_are_written_as_others_write_them(proof: Proof, written: str) -> None:
    filled = written.format(one=base64.b64encode(ONE).decode(), two=base64.b64encode(TWO).decode())
    assert bytes(proof) == f"c2sp.org/tlog-proof@v1\n{filled}".encode()
    assert Proof.parse(bytes(proof)) == proof


def test_the_published_example_is_read_and_written_alike() -> None:
    proof = Proof.parse(C2SP_EXAMPLE.encode())
    assert (proof.index, len(proof.path)) == (73894, 2)
    assert proof.extra == b"age-v1.2.1-darwin-arm64.tar.gz"
    assert proof.checkpoint.startswith(b"example.com/fancylog\n109482\n")
    assert bytes(proof) == C2SP_EXAMPLE.encode()


@pytest.mark.parametrize(
    "wrong",
    [
        "wrong-header\nindex 0\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nextra !!notbase64!!\nindex 0\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\n\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nindex notanumber\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nindex -5\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nindex 05\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nindex 0\nextra AAAA\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nindex 0\n!!notbase64!!\n\ncheckpoint\n",
        f"c2sp.org/tlog-proof@v1\nindex 0\n{base64.b64encode(bytes(64)).decode()}\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nindex 0\n" + f"{base64.b64encode(ONE).decode()}\n" * 64 + "\nc\n",
        "c2sp.org/tlog-proof@v1\nindex 0\n",
        "",
    ],
)
def test_what_is_not_exactly_a_proof_is_refused(wrong: str) -> None:
    with pytest.raises(CheckpointError):
        Proof.parse(wrong.encode())


def test_a_proof_with_a_spoilt_checkpoint_is_refused(log: LogFolder) -> None:
    proof = log.proof(5)
    spoilt = Proof(5, proof.path, proof.checkpoint.replace(b"\n70\n", b"\n71\n"))
    with pytest.raises(BadSignature):
        spoilt.verify(ENTRIES[5].encode(), LOG.verifier)


def test_what_is_made_here_is_what_go_s_packages_accepted(log: LogFolder) -> None:
    accepted = json.loads((HERE / "vectors" / "accepted.json").read_text("utf-8"))
    assert judged(log) == accepted["made"]


def go() -> str:
    beside = str(Path(sys.executable).parent)  # where pip puts it
    found = shutil.which("go", path=os.pathsep.join([beside, os.environ["PATH"]]))
    if found is None:
        pytest.skip("needs Go: install '.[independent]' or a Go toolchain")
    return found


@pytest.mark.long
def test_go_s_own_packages_accept_our_notes_and_proofs(log: LogFolder, tmp_path: Path) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
    }

    def run(*call: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - the tool that was looked for
            call, cwd=build, env=env, input=given, capture_output=True, text=True, check=False
        )

    build = tmp_path / "build"
    build.mkdir()
    root, version = run(go(), "env", "GOROOT", "GOVERSION").stdout.split()
    language = ".".join(version.removeprefix("go").split(".")[:2])
    for package in ("note", "tlog"):
        kept = Path(root, "src/cmd/vendor/golang.org/x/mod/sumdb", package)
        shutil.copytree(kept, build / "mod/sumdb" / package)
    (build / "mod/go.mod").write_text(f"module golang.org/x/mod\n\ngo {language}\n")
    (build / "go.mod").write_text(
        f"module check\n\ngo {language}\n\nrequire golang.org/x/mod v0.0.0\n\n"
        "replace golang.org/x/mod => ./mod\n"
    )
    shutil.copy(HERE / "independent" / "check.go", build)
    built = run(go(), "build", "-o", "check", ".")
    assert built.returncode == 0, built.stderr
    made = judged(log)
    judge = str(build / "check")
    assert run(judge, given=json.dumps(made)).stdout == "accepted: 5 proofs, from 27 to 70\n"
    for key, wrong in (
        ("older", made["older"].replace("\n27\n", "\n28\n")),
        ("consistency", made["consistency"][1:]),
        ("entries", [*ENTRIES[:-1], "other"]),
        ("newer", made["newer"].replace("cage.example", "page.example")),
    ):
        assert run(judge, given=json.dumps(made | {key: wrong})).returncode == 1, key
