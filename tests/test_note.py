"""Signed notes, checkpoints, cosignatures and keys: the published examples, and what is refused."""

import json
import re
import stat
import traceback
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from progressive.audit import checkpoint, key_file, note
from progressive.audit.checkpoint import (
    Checkpoint,
    CheckpointError,
    CosignatureVerifier,
    Cosigner,
    cosigned_at,
)
from progressive.audit.note import (
    BadSignature,
    KeyTextError,
    MalformedNote,
    NoteError,
    Signer,
    Unsigned,
    Verifier,
)

VECTORS = json.loads((Path(__file__).parent / "vectors" / "notes.json").read_text("utf-8"))
TEXT: str = VECTORS["text"]
PETER, ENOCH = Verifier.parse(VECTORS["verifier"]), Verifier.parse(VECTORS["other_verifier"])
PETER_LINE: str = VECTORS["signature"]
ENOCH_LINE: str = VECTORS["other_signature"]
SECRET: str = VECTORS["signer"]
ROOT = bytes(range(32))


def message(*lines: str, text: str = TEXT) -> bytes:
    return "".join([text, "\n", *lines]).encode()


def test_the_published_note_is_signed_byte_for_byte() -> None:
    signer = Signer.parse(SECRET)
    assert bytes(note.sign(TEXT, signer)) == message(PETER_LINE)
    assert signer.secret_text() == SECRET
    assert str(signer.verifier) == str(PETER) == VECTORS["verifier"]


def test_a_new_signature_takes_the_place_of_the_key_s_old_one() -> None:
    old = note.Signature("PeterNeumann", PETER.key_id, b"stale")
    signed = note.sign(TEXT, Signer.parse(SECRET), keep=[old, *note.parse_signatures(ENOCH_LINE)])
    assert bytes(signed) == message(ENOCH_LINE, PETER_LINE)


@pytest.mark.parametrize("kind", [Verifier, Signer])
def test_no_mangled_key_is_taken_for_a_key(kind: type[Verifier | Signer]) -> None:
    key = VECTORS["verifier"] if kind is Verifier else SECRET
    parts = {key[start:end] for start in range(len(key)) for end in range(start, len(key) + 1)}
    changed = {f"{key[:at]}{chr(ord(key[at]) + 1)}{key[at + 1 :]}" for at in range(len(key))}
    for wrong in (parts | changed | set(VECTORS["bad_verifiers"])) - {key}:
        with pytest.raises(KeyTextError):
            kind.parse(wrong)


def test_signatures_of_known_and_unknown_keys_are_kept_apart() -> None:
    one = note.verify(message(PETER_LINE, ENOCH_LINE), [PETER])
    assert one.text == TEXT
    assert [str(line) for line in one.signatures] == [PETER_LINE]
    assert [str(line) for line in one.unverified] == [ENOCH_LINE]
    both = note.verify(message(PETER_LINE, ENOCH_LINE), [ENOCH, PETER])
    assert [str(line) for line in both.signatures] == [PETER_LINE, ENOCH_LINE]
    assert both.unverified == ()
    assert bytes(both) == bytes(one) == message(PETER_LINE, ENOCH_LINE)


def test_a_note_that_no_known_key_signed_is_refused() -> None:
    for keys in ([], [Verifier(PETER.name, ENOCH.public)], [Verifier("Peter", PETER.public)]):
        with pytest.raises(Unsigned):
            note.verify(message(PETER_LINE), keys)


def test_a_bad_signature_of_a_known_key_spoils_the_note() -> None:
    for wrong in (f"{PETER_LINE[:60]}ABCD{PETER_LINE[60:]}", PETER_LINE.replace("ZJku", "ZJkv")):
        with pytest.raises(BadSignature, match=r"PeterNeumann\+c74f20a3"):
            note.verify(message(wrong, ENOCH_LINE), [PETER, ENOCH])
    with pytest.raises(BadSignature):
        note.verify(message(PETER_LINE, text=TEXT.replace("answer", "Answer")), [PETER])


def test_repeated_signatures_count_once() -> None:
    other = f"{ENOCH_LINE[:60]}ABCD{ENOCH_LINE[60:]}"
    opened = note.verify(message(PETER_LINE, PETER_LINE, ENOCH_LINE, ENOCH_LINE, other), [PETER])
    assert [str(line) for line in opened.signatures] == [PETER_LINE]
    assert [str(line) for line in opened.unverified] == [ENOCH_LINE, other]


def test_two_keys_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(NoteError, match="which one"):
        note.verify(message(ENOCH_LINE), [ENOCH, PETER, ENOCH])


@pytest.mark.parametrize(
    "wrong",
    [
        TEXT.encode(),
        f"{TEXT}\n".encode(),
        message(PETER_LINE[:-1]),
        b"\x01" + message(PETER_LINE),
        b"\xff" + message(PETER_LINE),
        b"a\rb\n" + message(PETER_LINE),
        message(PETER_LINE.replace("PeterNeumann", "Bad Name")),
        message(PETER_LINE.replace("PeterNeumann", "Bad\u00a0Name")),
        message(PETER_LINE.replace("PeterNeumann", "Bad+Name")),
        message(PETER_LINE.replace("PeterNeumann", "")),
        message(PETER_LINE.replace("— ", "- ")),
        message(PETER_LINE.replace("=\n", "\n")),
        message(PETER_LINE.replace("nAM=", "nAN=")),
        message(PETER_LINE.replace("=\n", "= \n")),
        message("— PeterNeumann \n"),
        message("— PeterNeumann x08gow==\n"),
        message(PETER_LINE, "Unexpected line.\n"),
        message(*[PETER_LINE] * 101),
        message(PETER_LINE, text="x" * note.NOTE_BYTES_MAX + "\n"),
    ],
)
def test_what_is_not_exactly_a_note_is_malformed(wrong: bytes) -> None:
    with pytest.raises(MalformedNote):
        note.verify(wrong, [PETER])


def test_up_to_a_hundred_signatures_are_read() -> None:
    assert len(note.parse(message(*[ENOCH_LINE] * 100)).unverified) == 100


def test_the_last_empty_line_parts_text_and_signatures() -> None:
    published = VECTORS["c2sp_note"].encode()
    opened = note.parse(published)
    assert opened.text.endswith("\n\ned è subito sera.\n")
    assert [line.name for line in opened.unverified] == ["quasimodo.example/salvatore"]
    assert bytes(opened) == published


@pytest.mark.parametrize("text", ["no newline", "", "a\tb\n", "a\x00\n"])
def test_what_cannot_be_a_note_is_not_signed(text: str) -> None:
    with pytest.raises(MalformedNote):
        note.sign(text, Signer.parse(SECRET))


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40))
def test_any_text_that_is_signed_can_be_opened_again(text: str) -> None:
    signer = Signer.generate("log.example/floor")
    opened = note.verify(bytes(note.sign(f"{text}\n", signer)), [signer.verifier])
    assert opened.text == f"{text}\n"


def test_the_published_checkpoint_is_read_and_written_alike() -> None:
    published = note.parse(VECTORS["c2sp_checkpoint"].encode())
    found = Checkpoint.parse(published.text)
    assert (found.origin, found.size) == ("example.com/behind-the-sofa", 20852163)
    assert found.text == published.text
    assert cosigned_at(published.unverified[1]) == VECTORS["c2sp_cosigned_at"]
    with pytest.raises(CheckpointError, match="no time"):
        cosigned_at(published.unverified[0])


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "log\n1\n",
        "log\n1\n{root}",
        "\n1\n{root}\n",
        "log\n\n{root}\n",
        "log\n01\n{root}\n",
        "log\n-1\n{root}\n",
        "log\n+1\n{root}\n",
        "log\n1_0\n{root}\n",
        "log\n1 \n{root}\n",
        "log\n٣\n{root}\n",
        "log\n9223372036854775808\n{root}\n",
        "log\n3438945738945739845734895735\n{root}\n",
        "log\nbananas\n{root}\n",
        "log\n1\nThisIsn'tBase64\n",
        "log\n1\nYmFuYW5hcw==\n",
        "log\n1\n{root}\n\n",
        "log\n1\n{root}\nmore\n\nand more\n",
    ],
)
def test_what_is_not_exactly_a_checkpoint_is_refused(wrong: str) -> None:
    root = Checkpoint("log", 1, ROOT).text.split("\n")[2]
    with pytest.raises(CheckpointError):
        Checkpoint.parse(wrong.replace("{root}", root))


def test_extension_lines_are_kept_and_signed() -> None:
    signer = Signer.generate("log.example")
    written = Checkpoint("log.example", 7, ROOT, ("more", "and more"))
    signed = bytes(note.sign(written.text, signer))
    assert checkpoint.verify(signed, signer.verifier)[0] == written
    with pytest.raises(BadSignature):
        checkpoint.verify(signed.replace(b"and more", b"and none"), signer.verifier)


def test_a_checkpoint_counts_only_under_its_own_log_s_key() -> None:
    ours, other = Signer.generate("log.example/a"), Signer.generate("log.example/b")
    witness = Cosigner.generate("witness.example")
    text = Checkpoint("log.example/a", 7, ROOT).text
    with pytest.raises(CheckpointError, match=r"a checkpoint of log\.example/a"):
        checkpoint.verify(bytes(note.sign(text, other)), other.verifier)
    with pytest.raises(Unsigned, match=r"log\.example/a did not sign"):
        checkpoint.verify(bytes(note.sign(text, witness)), ours.verifier, witness.verifier)


def test_a_witness_key_has_its_published_id() -> None:
    published = VECTORS["cosignature_verifier"]
    assert str(CosignatureVerifier.parse(published)) == published
    with pytest.raises(KeyTextError, match="type 0x01"):
        Verifier.parse(published)


def test_a_cosignature_covers_time_and_text() -> None:
    witness = Cosigner.generate("witness.example")
    text = Checkpoint("log.example", 7, ROOT).text
    signature = witness.sign_at(text, 1679315147)
    assert cosigned_at(signature) == 1679315147
    assert witness.verifier.verify(text, signature.value)
    assert not witness.verifier.verify(text.replace("7", "8"), signature.value)
    for at in range(len(signature.value)):
        spoilt = bytearray(signature.value)
        spoilt[at] ^= 1
        assert not witness.verifier.verify(text, bytes(spoilt))
    assert not witness.verifier.verify(text, signature.value[:8])
    plain = Verifier(witness.name, witness.verifier.public)
    assert not plain.verify(text, signature.value[8:])
    message = f"cosignature/v1\ntime 1679315147\n{text}".encode()
    assert plain.verify_message(message, signature.value[8:])


def test_a_key_file_is_its_owner_s_alone_and_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "log.key"
    signer = Signer.generate("log.example")
    key_file.make(path, signer)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key_file.read(path, Signer).secret_text() == signer.secret_text()
    with pytest.raises(key_file.KeyFileError, match="already"):
        key_file.make(path, Signer.generate("log.example"))
    assert key_file.read(path, Signer).secret_text() == signer.secret_text()
    assert [one.name for one in tmp_path.iterdir()] == ["log.key"]


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        (SECRET, 0o640, "chmod 600"),
        (SECRET, 0o604, "chmod 600"),
        (SECRET[:-4], 0o600, "not a key"),
        (SECRET.replace("c74f20a3", "c74f20a4"), 0o600, "id does not belong"),
        (SECRET.replace("PRIVATE", "public"), 0o600, "PRIVATE"),
        (f"{SECRET}ä", 0o600, "cannot be read"),
        (None, 0o600, "missing"),
    ],
)
def test_a_key_file_that_cannot_be_used_is_refused_without_telling_it(
    content: str | None, mode: int, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.key"
    if content is not None:
        path.write_text(content, encoding="utf-8")
        path.chmod(mode)
    with pytest.raises(key_file.KeyFileError, match=said) as refused:
        key_file.read(path, Signer)
    assert not tells("".join(traceback.format_exception(refused.value)))


def test_a_signer_never_shows_its_secret() -> None:
    signer = Signer.parse(SECRET)
    assert tells(signer.secret_text())
    for shown in (repr(signer), str(signer), f"{signer}", repr(vars(signer)), repr(PETER)):
        assert not tells(shown)


def tells(shown: str) -> bool:
    """Look for any piece of the secret key in what was shown."""
    secret = SECRET.rpartition("+")[2]
    pieces = {secret[at : at + 10] for at in range(len(secret) - 10)}
    return any(piece in re.sub(r"\s", "", shown) for piece in pieces)
