"""The verifier: alone on a machine, it works every log out again and comes to the same."""

import gzip
import io
import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations, product
from pathlib import Path
from random import Random

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from journals import (
    ALL_KINDS,
    COSIGNER,
    MULTI_SIGNER,
    ROYAL_SIGNER,
    SITE_SIGNER,
    Journals,
    RandomPlay,
    open_play,
    royal_link,
    write_log,
)
from redis import Redis

from meters.functions import ensure_loaded
from progressive.audit import verifier as v
from progressive.audit.writer import LogWriter
from progressive.draws.vault import make
from progressive.rules.baccarat import play
from progressive.rules.cards import ALL_CARDS
from progressive.rules.royal9 import DEFAULT_COMBINATIONS, PAYTABLES, ROYAL_HANDS, Seating

KEYS = [str(signer.verifier) for signer in (ROYAL_SIGNER, MULTI_SIGNER, SITE_SIGNER)]
WITNESS = str(COSIGNER.verifier)
DRAWS = Path(__file__).parent.parent / "deploy" / "docs" / "draws.md"


def quiet(_done: int, _of: int) -> None:
    pass


def check(folder: Path, *keys: str) -> list[v.LogReport]:
    return v.verify_folder(folder, v.read_keys(keys or KEYS), quiet)


def problems(folder: Path, *keys: str) -> list[str]:
    return [str(problem) for report in check(folder, *keys) for problem in report.problems]


@pytest.fixture
def logs(journals: Journals, tmp_path: Path) -> Path:
    """Give a folder with the logs of two links and of the site, cosigned."""
    return journals.write(tmp_path / "log", segment=100)


def alone(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a copy of the one file, with no package in reach, as a regulator would."""
    machine = tmp_path / "machine"
    machine.mkdir(exist_ok=True)
    shutil.copy(v.__file__, machine / "verifier.py")
    command = [sys.executable, "-I", "-S", "verifier.py", *arguments]
    return subprocess.run(  # noqa: S603 - the product's own file
        command, cwd=machine, capture_output=True, text=True, check=False
    )


def test_the_journals_hold_every_kind_of_entry_there_is(journals: Journals) -> None:
    kinds = {json.loads(line)["k"] for lines in (journals.royal, journals.multi) for line in lines}
    assert kinds == {kind.__struct_config__.tag for kind in ALL_KINDS}
    whats = [json.loads(line).get("what") for line in journals.royal + journals.multi]
    assert set(v.CARRY_OUT) <= set(whats)


def test_one_file_alone_finds_all_logs_right_and_shows_the_closing_meters(
    journals: Journals, logs: Path, tmp_path: Path
) -> None:
    (tmp_path / "keys.txt").write_text("# keys of the floor\n" + "\n".join(KEYS), "utf-8")
    ran = alone(tmp_path, str(logs), "--key", str(tmp_path / "keys.txt"), "--witness", WITNESS)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "All of it is right." in ran.stdout
    star = v.dollars(journals.numbers["royal"]["star.meter"])
    assert ["star", star] in [line.split()[:2] for line in ran.stdout.splitlines()]


def test_the_json_report_has_the_balances_that_the_server_has(
    journals: Journals, logs: Path, tmp_path: Path
) -> None:
    ran = alone(tmp_path, str(logs), "--json", *(f"--key={key}" for key in KEYS))
    report = json.loads(ran.stdout)
    assert (ran.returncode, report["ok"], report["first_problem"]) == (0, True, None)
    for log in report["logs"]:
        if log["kind"] == "link":
            shown = {**log["accounts"]}
            for level, parts in log["levels"].items():
                shown |= {f"{level}.{part}": amount for part, amount in parts.items()}
            held = journals.numbers[log["link"]]
            assert shown == {name: held.get(name, 0) for name in shown}


def test_what_is_not_over_is_counted_as_not_yet_checkable(journals: Journals, logs: Path) -> None:
    multi, royal, site = check(logs)
    assert royal.content["counts"]["cycles checked"] >= 3
    assert royal.content["counts"]["cycles revealed without an award"] == 2
    assert royal.content["not_yet_checkable"] == {"cycles": 0, "shoes": 1}
    assert multi.content["not_yet_checkable"] == {"cycles": 0, "shoes": 0}
    assert site.content["counts"]["user"] == 2
    begun = write_log(logs.parent / "begun", journals.royal[:60], ROYAL_SIGNER)
    [report] = check(begun, KEYS[0])
    assert report.problems == []
    assert report.content["not_yet_checkable"]["cycles"] == 2


@pytest.mark.parametrize("length", [1, 2, 17, 99, 100, 101, 200])
def test_a_log_is_right_at_every_length(journals: Journals, tmp_path: Path, length: int) -> None:
    folder = write_log(tmp_path / "log", journals.royal[:length], ROYAL_SIGNER, segment=50)
    assert problems(folder, KEYS[0]) == []


def test_an_empty_log_is_right(tmp_path: Path) -> None:
    assert problems(write_log(tmp_path / "log", [], ROYAL_SIGNER), KEYS[0]) == []


def test_a_second_process_comes_to_the_same_report(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = check(logs / "royal", KEYS[0], WITNESS)
    monkeypatch.setattr(v, "INLINE_ENTRIES", 0)
    assert check(logs / "royal", KEYS[0], WITNESS) == here
    (logs / "royal" / "hashes").write_bytes(b"")
    assert "hashes" in problems(logs / "royal", KEYS[0])[0]


def test_entries_that_are_not_sealed_yet_are_counted_and_not_checked(
    journals: Journals, tmp_path: Path
) -> None:
    folder = write_log(tmp_path / "log", journals.royal[:20], ROYAL_SIGNER)
    with LogWriter(folder, ROYAL_SIGNER.verifier) as log:
        log.append(journals.royal[20:25])
    [report] = check(folder, KEYS[0])
    assert (report.problems, report.seal["unsealed"]) == ([], 5)
    with (folder / "segments" / "000000000000.log").open("ab") as file:
        file.write(journals.royal[19] + b"\n")
    assert "entry 21" in problems(folder, KEYS[0])[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "--key", KEYS[0]], "nowhere"),
        (["{logs}", "--key", "royal+12345678+AAAA"], "reads name+id+key"),
        (["{logs}", "--key", KEYS[0].replace("royal", "ruby")], "does not belong to it"),
        (["{logs}", "--key", WITNESS], "no key of a log"),
        (["{logs}"], "--key"),
    ],
)
def test_a_wrong_call_is_told_apart_from_a_wrong_log(
    logs: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    ran = alone(tmp_path, *(one.replace("{logs}", str(logs)) for one in arguments))
    assert ran.returncode == 2
    assert said in ran.stderr


def test_a_log_that_is_gone_or_has_no_key_is_noticed(logs: Path) -> None:
    assert problems(logs, KEYS[0], KEYS[1]) == [
        "site: the folder: no key was given for it: its checkpoint and manifest name none that was"
    ]
    shutil.rmtree(logs / "multi")
    assert problems(logs) == [
        "floor.example/multi: the folder: a key of it was given, but its log is not there"
    ]


@pytest.mark.parametrize(
    ("kind", "change", "why"),
    [
        ("approve", {"by": "ann"}, "is approved by ann, who proposed it"),
        ("approve", {"body": {"number": 3}}, "settles proposal 3, which is not open"),
        ("token_revoked", {"body": {"name": "sign"}}, "which is no token of this site"),
        ("device_rotated", {"body": {"device": "hub-2"}}, "which is no device of this site"),
        ("user_roles", {"body": {"user": "cy"}}, "which is no user of this site"),
        ("user", {"by": "owner"}, "is agreed to by owner, who did it"),
    ],
)
def test_what_happens_to_people_and_devices_must_hold_together(
    journals: Journals, tmp_path: Path, kind: str, change: dict[str, object], why: str
) -> None:
    lines = [json.loads(line) for line in journals.site]
    at = next(at for at, entry in enumerate(lines) if entry["k"] == kind)
    body = {**lines[at]["body"], **change.get("body", {})}  # type: ignore[dict-item]
    lines[at] |= {**change, "body": body}
    texts = [json.dumps(entry).encode() for entry in lines]
    [problem] = problems(write_log(tmp_path / "log", texts, SITE_SIGNER), KEYS[2])
    assert problem.startswith(f"log: entry {at + 1}: ")
    assert why in problem


def test_a_log_that_no_witness_saw_is_told_apart(journals: Journals, tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", journals.multi, MULTI_SIGNER)
    assert problems(folder, KEYS[1]) == []
    assert problems(folder, KEYS[1], WITNESS) == [
        "log: the folder: no checkpoint is cosigned by witness.example/cage"
    ]


def test_what_a_link_received_must_be_what_the_other_sent(
    journals: Journals, tmp_path: Path
) -> None:
    changed = journals.multi[:4]
    assert changed[2].count(b"heart") == 2
    changed[2] = changed[2].replace(b"heart", b"spade")
    write_log(tmp_path / "log" / "royal", journals.royal, ROYAL_SIGNER)
    write_log(tmp_path / "log" / "multi", changed, MULTI_SIGNER)
    assert problems(tmp_path / "log" / "multi", KEYS[1]) == []
    [problem] = problems(tmp_path / "log", KEYS[0], KEYS[1])
    assert "entry 3: takes another transfer 2 than entry" in problem


def test_cycles_of_a_level_that_went_without_a_reveal_are_counted(
    client: Redis, tmp_path: Path
) -> None:
    ensure_loaded(client)
    play_ = open_play(client, make(tmp_path / "draws.key", cycle_open=False), royal_link())
    play_.play("T1", [1])
    play_.carry_out("decommission", {"level": "must_hit"})
    play_.play("T1", [1])
    [report] = check(write_log(tmp_path / "log", play_.lines(), ROYAL_SIGNER), KEYS[0])
    assert report.problems == []
    assert report.content["counts"]["cycles abandoned"] == 2


def test_a_reader_who_goes_away_gets_no_traceback_and_no_good_verdict(logs: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-I", "-S", v.__file__, str(logs), *(f"--key={key}" for key in KEYS)]
    ran = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, check=False)  # noqa: S603 - the product's own file
    os.close(theirs)
    assert (ran.returncode, ran.stderr) == (1, b"")


def test_a_cosignature_of_no_time_that_there_is_does_not_count() -> None:
    text = "floor.example/royal\n0\nroot\n"
    [key] = v.read_keys([WITNESS])
    assert key.signed(text, COSIGNER.sign_at(text, 2**63 - 1).value)
    assert not key.signed(text, COSIGNER.sign_at(text, 2**63).value)


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def as_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


PLACES = [
    "checkpoint",
    "manifest.jsonl",
    "hashes",
    "checkpoints/000000000100",
    "segments/000000000000.log.gz",
    "segments/open",
]


@pytest.mark.parametrize("put", [as_folder, as_pipe, as_device])
@pytest.mark.parametrize("file", PLACES)
def test_what_is_no_plain_file_is_named_and_never_waited_for(
    logs: Path, tmp_path: Path, file: str, put: Callable[[Path], None]
) -> None:
    [open_segment] = (logs / "royal" / "segments").glob("*.log")
    put(open_segment if file == "segments/open" else logs / "royal" / file)
    ran = alone(tmp_path, str(logs / "royal"), "--key", KEYS[0])
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "WRONG: royal: " in ran.stdout


def endless_line(folder: Path) -> str:
    """Pack zeros, a thousand times what they take on disk, where a segment belongs."""
    packed = (folder / PLACES[4]).open("wb")
    with packed, gzip.GzipFile("", "wb", 6, packed, mtime=0) as file:
        for _ in range(200):
            file.write(bytes(1 << 20))
    return "entry 1: "


def far_too_long(file: str) -> Callable[[Path], str]:
    def put(folder: Path) -> str:
        os.truncate(folder / file, 1 << 33)
        return file

    return put


def nested(folder: Path) -> str:
    (folder / "manifest.jsonl").write_bytes(b"[" * 100_000 + b"\n")
    return "manifest.jsonl is missing or damaged"


def digits_of_another_kind(folder: Path) -> str:
    (folder / "checkpoints" / "00000000000²").touch()
    return "checkpoints/00000000000²: does not belong"


@pytest.mark.parametrize(
    "put",
    [
        endless_line,
        far_too_long("checkpoint"),
        far_too_long("manifest.jsonl"),
        far_too_long("checkpoints/000000000100"),
        nested,
        digits_of_another_kind,
    ],
)
def test_a_file_made_to_exhaust_the_verifier_is_named(
    logs: Path, tmp_path: Path, put: Callable[[Path], str]
) -> None:
    place = put(logs / "royal")
    keys = [f"--key={key}" for key in KEYS]
    ran = alone(tmp_path, str(logs / "royal"), *keys)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert place in ran.stdout
    assert "WRONG: royal: " in ran.stdout


def random_journal(client: Redis, tmp_path: Path, seed: int, steps: int) -> list[bytes]:
    print(f"seed {seed}")  # noqa: T201 - so that a failure can be played again
    ensure_loaded(client)
    definition = royal_link(simultaneous_seconds=seed % 2)
    play_ = open_play(client, make(tmp_path / "draws.key", cycle_open=False), definition)
    RandomPlay(play_, Random(seed)).go(steps)  # noqa: S311 - play
    return play_.lines()


def test_whatever_is_played_at_random_is_found_right(client: Redis, tmp_path: Path) -> None:
    lines = random_journal(client, tmp_path, Random().randrange(10**6), 400)  # noqa: S311 - a seed
    assert problems(write_log(tmp_path / "log", lines, ROYAL_SIGNER), KEYS[0]) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_long_play_at_random_is_found_right(client: Redis, tmp_path: Path, seed: int) -> None:
    lines = random_journal(client, tmp_path, seed, 4000)
    assert problems(write_log(tmp_path / "log", lines, ROYAL_SIGNER), KEYS[0]) == []


def test_a_bar_shows_progress_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for screen, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", screen)
        bar = v.Bar()
        bar.last = 0
        bar(5000, 10_000)
        assert ("[###############               ]  50% 5,000" in screen.getvalue()) == shown


def test_a_regulator_at_a_terminal_sees_the_bar(logs: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-I", "-S", v.__file__, str(logs), *(f"--key={key}" for key in KEYS)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=False)  # noqa: S603 - the product's own file
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert ran.returncode == 0
    assert "[##############################] 100% " in shown


# Its own arithmetic, against what is published and against other ways of computing


def test_ed25519_agrees_with_rfc_8032() -> None:
    secret = "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7"  # noqa: S105 - published
    public = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"
    signature = (
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
    )
    assert v.signed_by(bytes.fromhex(public), b"\xaf\x82", bytes.fromhex(signature))
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret))
    assert key.public_key().public_bytes_raw().hex() == public


@pytest.mark.parametrize("length", [0, 1, 100])
def test_ed25519_takes_only_the_signature_of_the_very_message(length: int) -> None:
    key = Ed25519PrivateKey.generate()
    public, message = key.public_key().public_bytes_raw(), os.urandom(length)
    signature = key.sign(message)
    assert v.signed_by(public, message, signature)
    assert not v.signed_by(public, message + b"x", signature)
    assert not v.signed_by(bytes(32), message, signature)
    assert not v.signed_by(public, message, signature[:-1])
    larger = int.from_bytes(signature[32:], "little") + v.ORDER
    assert not v.signed_by(public, message, signature[:32] + larger.to_bytes(32, "little"))
    for bit in (0, 255, 256, 500):
        changed = (int.from_bytes(signature, "little") ^ 1 << bit).to_bytes(64, "little")
        assert not v.signed_by(public, message, changed)


def vectors(kind: str) -> Iterator[dict[str, object]]:
    text = DRAWS.read_text("utf-8").split("```json\n")[1].split("```")[0]
    return (one for one in json.loads(text) if one["kind"] == kind)


SECRET, SALT = bytes(range(32)).hex(), bytes(range(0xA0, 0xB0)).hex()


def test_the_generator_scales_as_the_documented_vectors_say() -> None:
    for vector in vectors("scaling"):
        drbg = v.Drbg(SECRET, SALT, "example")
        assert [drbg.below(limit) for limit in vector["limits"]] == vector["values"]  # type: ignore[attr-defined]


def must_hit_books(vector: dict[str, str]) -> tuple[v.Draws, v.Level]:
    """Set up the cycle that a vector describes, whichever of the two parameter sets it names."""
    for parameters in vectors("parameters"):
        segments = [[int(upto), int(weight)] for upto, weight in parameters["segments"]]  # type: ignore[attr-defined]
        definition = {
            "name": vector["level"],
            "seed_micros": 250_000_000,
            "reset_micros": int(str(parameters["reset"])),
            "increment_ppm": int(str(parameters["increment"])),
            "reserve_ppm": int(str(parameters["reserve"])),
            "limit_micros": None,
            "contribution_max_micros": 45_000_000,
            "maximum_micros": int(str(parameters["maximum"])),
            "distribution": {
                "name": parameters["distribution"],
                "version": 1,
                "segments": segments,
            },
        }
        if vector.get("parameters") in (None, parameters["hash"]):
            break
    books = v.Draws({})
    books.link, books.cycle = vector["link"], int(vector["cycle"])
    return books, v.Level(v.read_level(definition))


def test_triggers_are_those_of_the_documented_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    for vector in vectors("mh-trigger"):
        books, level = must_hit_books(vector)  # type: ignore[arg-type]
        books.opening = int(str(vector["opening"]))
        cards = str(vector["cards"])  # of five cards, which a journal never has there
        books.opening_cards = cards.split()
        monkeypatch.setattr(v, "cards_text", lambda _, text=cards: text)
        assert books.trigger(level, SECRET, SALT) == int(str(vector["trigger"]))


def test_commitments_are_those_of_the_documented_vectors() -> None:
    for vector in vectors("mh-commit"):
        fields = ("mh-commit/1", vector["link"], vector["level"], vector["cycle"])
        v.check_commitment(str(vector["commit"]), SECRET, SALT, *fields)
        with pytest.raises(v.Wrong, match="not the one committed to"):
            v.check_commitment(str(vector["commit"]), SECRET[::-1], SALT, *fields)


def test_shoes_are_dealt_as_the_documented_vectors_say() -> None:
    for vector in vectors("shoe-rounds"):
        books, decks = v.Draws({}), int(str(vector["decks"]))
        books.link = str(vector["link"])
        table = v.Table(str(vector["table"]), {})
        shoe = v.Shoe(int(str(vector["shoe"])), decks, "")
        counts = bytearray(52)
        for round_ in vector["rounds"]:  # type: ignore[attr-defined]
            dealt = v.Dealt(1, round_["round"], round_["lock"], bytes(counts), decks, [])
            four, more = books.deal_again(table, shoe, dealt, SECRET, SALT)
            player, banker = round_["player"].split(), round_["banker"].split()
            assert four == player[:2] + banker[:2]
            assert more == player[2:] + banker[2:]
            for card in four + more:
                counts[v.CARD_PLACE[card]] += 1


@pytest.mark.parametrize("name", PAYTABLES)
def test_every_pair_of_hands_has_the_line_that_the_product_gives_it(name: str) -> None:
    """Two implementations that share nothing: all 49 by 49 hands, every seat."""
    seating = Seating(PAYTABLES[name].edition, DEFAULT_COMBINATIONS[:7])
    own = tuple(one.face_suit + one.nine_suit for one in DEFAULT_COMBINATIONS[:7])
    hands = [None, *((one, v.ROYALS[str(one[0]), str(one[1])]) for one in ROYAL_HANDS)]
    for player, banker in product(hands, repeat=2):
        royals = [ROYAL_HANDS[side[0]] if side else None for side in (player, banker)]
        ours = [side[1] if side else None for side in (player, banker)]
        for seat in range(1, 8):
            assert v.line_of(name, own, seat, *ours) == seating.line_of(seat, *royals)
    assert set(v.PAYTABLES[name]) == set(PAYTABLES[name].pays)


def test_third_cards_are_drawn_as_the_product_draws_them() -> None:
    rng = Random(9)  # noqa: S311 - cards for a comparison
    for _ in range(20_000):
        six = rng.choices(ALL_CARDS, k=6)
        played = play(six)
        rest = iter(six[4:])
        more = v.third_cards(six[0:4:2], six[1:4:2], partial(next, rest))
        assert more == [*played.player[2:], *played.banker[2:]]


SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), max_size=12)


@given(spans=SPANS, opening=st.integers(0, 20))
def test_what_ended_rounds_rule_out_is_kept_exactly(
    spans: list[tuple[int, int]], opening: int
) -> None:
    kept = v.Spans(opening)
    ruled_out = set(range(opening + 1))
    for low, width in spans:
        kept.rule_out(low, low + width)
        ruled_out |= set(range(low + 1, low + width + 1))
    assert {value for value in range(50) if kept.has(value)} == ruled_out
    assert len(kept.others) <= len(spans)
    for (_, high), (low, _) in combinations(kept.others, 2):
        assert high < low


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"n":1,"n" :1}', "there twice"),
        (b'{"n":1,"a":{"b":1,"b":1}}', "there twice"),
        (b'{"n":1.0}', "not a whole number"),
        (b'{"n":NaN}', "not a whole number"),
        (b'{"n":true}', "true or false"),
        (b'{"n":1} ', "not one JSON object"),
        (b'[{"n":1}]', "not one JSON object"),
        (b'{"n":1,"post":{"a":5,"b":-4}}', "sum to 1 micro-dollars"),
        (b'{"n":1,"post":[1]}', "cannot be read"),
        (b'{"n":"\xff"}', "cannot be read"),
        (b"", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
    ],
)
def test_a_line_that_could_be_read_in_two_ways_is_no_entry(line: bytes, why: str) -> None:
    entry, said = v.read_line(line)
    assert entry is None
    assert why in said


def test_a_colon_or_a_quotation_mark_in_a_text_does_no_harm() -> None:
    line = b'{"n":1,"by":"a:b \\" true","post":{"a":1,"b":-1}}'
    assert v.read_line(line)[0] == {"n": 1, "by": 'a:b " true', "post": {"a": 1, "b": -1}}
