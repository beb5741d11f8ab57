"""The reference firmware in C: its hashes, its signatures, the guide's bytes, and bad answers."""

import hashlib
import hmac
import json
import random
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hubs import CORE, FIRMWARE, SANITIZED, STRICT, Probe, compiled, compiler, has_sanitizers

from progressive.api import wire
from progressive.api.app import ROUTES
from progressive.api.problems import KINDS, Problem
from progressive.api.routes import problems_of
from progressive.api.signing import sign_answer, sign_request

GUIDE = (FIRMWARE.parents[1] / "deploy" / "docs" / "firmware.md").read_text(encoding="utf-8")
KEY = bytes(range(32))
EPOCH_MS = 1_767_225_600_000
PATH = "/v1/messages"
Exchange = dict[str, str]
C_LIBRARY = {"memcmp", "memcpy", "memmove", "memset", "strchr", "strcmp", "strlen", "strspn"}


def block(name: str) -> str:
    found = re.search(rf"^```{name}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    assert found, f"the guide has no {name}"
    return found[1]


def exchanges(name: str) -> list[Exchange]:
    """Read vectors out of the guide: a title in brackets, then a name and a text a line."""
    found: list[Exchange] = []
    for line in filter(None, block(name).splitlines()):
        if line.startswith("["):
            found.append({"title": line.strip("[]")})
        else:
            word, _, rest = line.partition(" ")
            found[-1][word] = rest.strip()
    return found


SESSION = exchanges("vectors")
OTHERS = exchanges("others")


def titles(exchange: Exchange) -> str:
    return exchange["title"].replace(" ", "_")


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Probe]:
    folder = tmp_path_factory.mktemp("probe")
    flags = SANITIZED if has_sanitizers(folder) else ["-O2"]
    source = Path(__file__).with_name("firmware_probe.c")
    found = Probe(compiled(folder / "probe", [source, *CORE], flags))
    yield found
    found.close()


def started(probe: Probe) -> Probe:
    """Begin as the guide's session does."""
    assert probe.ask("start", "hub-101", "MB-101", 7, KEY.hex(), "-") == "fine"
    probe.ask("clock", 0, EPOCH_MS)
    return probe


def mask(seats: str) -> int:
    return sum(1 << int(seat) - 1 for seat in seats.split())


def asked(probe: Probe, tick: int) -> bytes:
    probe.ask("prepare")
    probe.ask("stored")
    return bytes.fromhex(probe.ask("request", tick, "controller.example", 1024))


def signature_of(request: bytes) -> str:
    return request.partition(b"Progressive-Signature: ")[2][:64].decode()


def answered(probe: Probe, request: bytes, body: bytes, status: int = 200, tick: int = 0) -> str:
    """Answer as the controller does: signed for this very request."""
    signed = sign_answer(KEY, signature_of(request), status, body)
    return probe.ask("answer", tick, status, signed, body.hex())


@pytest.mark.parametrize("name", ["cc", *filter(shutil.which, ("gcc", "clang"))])
def test_it_compiles_without_a_warning(name: str, tmp_path: Path) -> None:
    compiler()
    folder = shutil.copytree(FIRMWARE, tmp_path / "firmware", ignore=lambda *_: ["hub"])
    command = ["make", "-C", str(folder), f"CC={name}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  make
    assert done.returncode == 0, done.stderr
    assert all(flag in done.stdout for flag in STRICT)


def test_it_needs_nothing_but_the_string_functions_of_c(tmp_path: Path) -> None:
    """So it allocates nothing, and has no input, output or clock of its own."""
    listing = shutil.which("nm")
    if listing is None:
        pytest.skip("there is no nm here")
    needed: set[str] = set()
    own: set[str] = set()
    for source in CORE:
        made = compiled(tmp_path / f"{source.stem}.o", [source], ["-O2", "-c"])
        done = subprocess.run([listing, made], capture_output=True, text=True, check=True)  # noqa: S603  the tool
        for line in done.stdout.splitlines():
            kind, name = line.split()[-2:]
            (needed if kind == "U" else own).add(name)
    assert needed - own - {"__stack_chk_fail"} <= C_LIBRARY


def test_a_build_machine_without_a_compiler_fails_and_another_skips(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="must have one"):
        compiler()
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="no C compiler"):
        compiler()


@pytest.mark.parametrize(
    ("text", "digest"),
    [  # FIPS 180-4's examples
        (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (
            b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
    ],
)
def test_its_sha256_gives_the_published_digests(probe: Probe, text: bytes, digest: str) -> None:
    assert probe.ask("sha", text.hex(), "-") == digest


@pytest.mark.parametrize(
    ("key", "text", "digest"),
    [  # RFC 4231, cases 1, 2 and 6
        (
            b"\x0b" * 20,
            b"Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        ),
        (
            b"Jefe",
            b"what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (
            b"\xaa" * 131,
            b"Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        ),
    ],
)
def test_its_hmac_gives_the_published_digests(
    probe: Probe, key: bytes, text: bytes, digest: str
) -> None:
    assert probe.ask("hmac", key.hex(), text.hex()) == digest


def test_its_digests_are_right_at_every_length_and_wherever_the_input_is_cut(probe: Probe) -> None:
    for length in range(200):
        data = bytes(7 * place % 256 for place in range(length))
        cut = length * 5 % (length + 1)
        got = probe.ask("sha", data[:cut].hex(), data[cut:].hex())
        assert got == hashlib.sha256(data).hexdigest(), length
        wanted = hmac.new(data[:cut] or b"k", data, hashlib.sha256).hexdigest()
        assert probe.ask("hmac", (data[:cut] or b"k").hex(), data.hex()) == wanted, length


@pytest.mark.parametrize("exchange", [*SESSION, *OTHERS], ids=titles)
def test_the_guides_signatures_are_those_of_the_controller_and_of_the_client(
    probe: Probe, exchange: Exchange
) -> None:
    path, time_ms = exchange.get("path", PATH), int(exchange["time"])
    body, answer = exchange["body"].encode(), exchange["answer"].encode()
    assert sign_request(KEY, "POST", path, time_ms, body) == exchange["signature"]
    assert probe.ask("sign", KEY.hex(), "POST", path, time_ms, body.hex()) == exchange["signature"]
    status = int(exchange["status"])
    signed = sign_answer(KEY, exchange["signature"], status, answer)
    words = "sign", KEY.hex(), exchange["signature"], status, answer.hex()
    assert probe.ask(*words) == signed
    assert (exchange["signed"] == signed) is (exchange["then"] != "unproven")


@pytest.mark.parametrize("exchange", [*SESSION, *OTHERS], ids=titles)
def test_the_guides_bodies_are_what_the_controller_reads_and_writes(exchange: Exchange) -> None:
    (route,) = (one for one in ROUTES if one.path == exchange.get("path", PATH))
    assert route.body
    msgspec.json.decode(exchange["body"], type=route.body)
    kind = route.answer if exchange["status"] == "200" else Problem
    read = msgspec.json.decode(exchange["answer"], type=kind)
    assert msgspec.json.encode(read).decode() == exchange["answer"]
    if isinstance(read, Problem):
        known = KINDS[read.code]
        assert (read.status, read.title, read.remedy) == tuple(known)


def test_the_client_lives_the_guides_session_byte_for_byte(probe: Probe) -> None:
    started(probe)
    for exchange in SESSION:
        tick = int(exchange["tick"])
        probe.ask("seats", mask(exchange["seats"]))
        assert probe.ask("wait", tick) == "0", exchange["title"]
        request = asked(probe, tick)
        assert request.endswith(b"\r\n\r\n" + exchange["body"].encode()), exchange["title"]
        assert f"Progressive-Time: {exchange['time']}\r\n".encode() in request
        assert signature_of(request) == exchange["signature"]
        answer = exchange["status"], exchange["signed"], exchange["answer"].encode().hex()
        assert probe.ask("answer", tick, *answer) == exchange["then"], exchange["title"]


def test_the_first_request_and_its_record_are_the_guides(probe: Probe) -> None:
    started(probe)
    assert probe.ask("prepare") == block("record").strip()
    probe.ask("stored")
    request = bytes.fromhex(probe.ask("request", 0, "controller.example", 1024))
    assert request.decode() == block("request").rstrip("\n").replace("\n", "\r\n")


def test_what_is_not_stored_is_not_sent(probe: Probe) -> None:
    started(probe)
    probe.ask("prepare")
    assert probe.ask("request", 0, "controller.example", 1024) == "-"


def test_a_request_that_does_not_fit_is_not_sent(probe: Probe) -> None:
    started(probe)
    probe.ask("prepare")
    probe.ask("stored")
    whole = len(probe.ask("request", 0, "controller.example", 1024)) // 2
    for capacity in (0, 1, whole - 1, whole):
        assert probe.ask("request", 0, "controller.example", capacity) == "-"
    assert probe.ask("request", 0, "controller.example", whole + 1) != "-"


def test_a_record_that_is_torn_or_anothers_begins_a_new_epoch(probe: Probe) -> None:
    started(probe)
    probe.ask("seats", 5)
    record = bytearray.fromhex(probe.ask("prepare"))
    for place in range(len(record)):
        record[place] ^= 1
        assert probe.ask("start", "hub-101", "MB-101", 7, KEY.hex(), record.hex()) == "fine"
        assert probe.ask("prepare") != "-", place
        record[place] ^= 1
    assert probe.ask("start", "hub-101", "MB-101", 7, KEY.hex(), record.hex()) == "fine"
    assert probe.ask("prepare") == "-"  # it is kept already, and goes again
    assert probe.ask("start", "hub-101", "MB-102", 7, KEY.hex(), record.hex()) == "fine"
    assert probe.ask("prepare") != "-"


def test_a_clock_is_not_set_by_whoever_has_no_key(probe: Probe) -> None:
    (skew,) = (one for one in SESSION if '"clock_skew"' in one["answer"])
    request = asked(started(probe), 0)
    forged = sign_answer(b"x" * 32, signature_of(request), 401, skew["answer"].encode())
    assert probe.ask("answer", 10, 401, forged, skew["answer"].encode().hex()) == "unproven"
    assert f"Progressive-Time: {EPOCH_MS + 500}\r\n".encode() in asked(probe, 500)


def test_an_answer_to_another_request_is_no_answer(probe: Probe) -> None:
    first = asked(started(probe), 0)
    probe.ask("none", 10)
    asked(probe, 500)
    assert answered(probe, first, SESSION[0]["answer"].encode(), tick=510) == "unproven"


def test_repeats_come_further_and_further_apart_up_to_two_seconds(probe: Probe) -> None:
    started(probe)
    tick, waits = 0, []
    for _ in range(9):
        asked(probe, tick)
        probe.ask("none", tick)
        waits.append(int(probe.ask("wait", tick)))
        tick += waits[-1]
    for wait, longest in zip(waits, [100, 200, 400, 800, 1600, *[2000] * 4], strict=True):
        assert 0.75 * longest <= wait <= longest


def unsettled(probe: Probe, body: bytes, status: int) -> str:
    """Give the verdict on a signed answer to hello, after which nothing is settled by it."""
    request = asked(started(probe), 0)
    verdict = answered(probe, request, body, status)
    if verdict == "unreadable":
        assert probe.ask("look", 0).split()[:6] == ["1", "1", "0", "0", "heartbeat", "waits"]
    return verdict


@pytest.mark.parametrize("exchange", SESSION, ids=titles)
def test_an_answer_that_was_cut_anywhere_is_unreadable_even_if_it_is_signed(
    probe: Probe, exchange: Exchange
) -> None:
    whole, status = exchange["answer"].encode(), int(exchange["status"])
    assert unsettled(probe, whole, status) != "unreadable"
    for length in range(len(whole)):
        assert unsettled(probe, whole[:length], status) == "unreadable", whole[:length]


def scrambled(chance: random.Random, body: bytes) -> bytes:
    spoiled = bytearray(body)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(spoiled))
        way = chance.randrange(3)
        if way == 0:
            spoiled[at] = chance.randrange(256)
        elif way == 1:
            spoiled.insert(at, chance.choice(b'{}[]",:\\0 9e-\x00\xff'))
        else:
            del spoiled[at : min(at + 9, len(spoiled) - 1)]
    return bytes(spoiled)


def test_garbage_never_brings_the_client_down(probe: Probe) -> None:
    seed = secrets.randbelow(2**32)
    print(f"seed {seed}")  # noqa: T201 - to play it again
    chance = random.Random(seed)  # noqa: S311 - chance, not secrecy
    verdicts = set()
    for _ in range(2000):
        exchange = chance.choice(SESSION)
        body = scrambled(chance, exchange["answer"].encode())
        verdicts.add(unsettled(probe, body, int(exchange["status"])))
        look = probe.ask("look", 0).split()
        assert all(0 <= int(number) < 2**53 for number in look[:3])
        assert set(look[7:]) <= set("012345")
    assert "unreadable" in verdicts


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b"{", b"{}", b'"applied"', b"{" * 5000, b"[" * 5000, b'{"a":' * 5000,
        b'{"result":7}', b'{"result":"applied","round":1.5,"phase":"open","lamps":[]}',
        b'{"result":"applied","round":99999999999999999999,"phase":"open","lamps":[]}',
        b'{"result":"applied","round":1,"phase":"open","lamps":["purple"]}',
        b'{"result":"applied","round":1,"phase":"open","lamps":["off"]}',
        SESSION[0]["answer"].replace("applied", "gap").encode(),  # and no word of what is expected
    ],
)  # fmt: skip
def test_an_answer_that_a_hub_cannot_use_is_unreadable(probe: Probe, body: bytes) -> None:
    assert unsettled(probe, body, 200) == "unreadable"


def test_a_code_that_is_no_word_is_not_shown_to_anybody(probe: Probe) -> None:
    """Anybody can answer without a signature, and what a technician sees must be harmless."""
    for code in ("a b", "\x7f", "ж", "x" * 32, "\\u0041"):
        asked(started(probe), 0)
        body = f'{{"code":"{code}"}}'.encode()
        assert probe.ask("answer", 0, 401, "-", body.hex()) == "unproven"
        assert probe.ask("look", 0).split()[6] == "?"


def test_fields_that_a_later_controller_adds_are_passed_over(probe: Probe) -> None:
    told = json.loads(SESSION[0]["answer"])
    more = {"new": {"a": [1, -2.5e9, None, {"b": 'q"\\\n'}], "c": "x" * 300}, "ж": True} | told
    for text in (json.dumps(more), json.dumps(more, indent=2), json.dumps(more, sort_keys=True)):
        assert unsettled(probe, text.encode(), 200) == "settled"


def test_the_guide_names_every_code_that_a_device_can_meet() -> None:
    of_devices = {code for route in ROUTES if route.for_devices for code in problems_of(route)}
    assert {code for code in of_devices if f"`{code}`" not in GUIDE} == set()
    for word in wire.Reported.__annotations__["result"].__args__:
        assert f"`{word}`" in GUIDE
