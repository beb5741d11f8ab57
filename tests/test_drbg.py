"""The generator: NIST's vectors, its limits, its health test, and what a fork does to it."""

import json
import os
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from progressive.draws import health, process
from progressive.draws.drbg import (
    INPUT_BYTES_MAX,
    REQUEST_BYTES_MAX,
    REQUESTS_MAX,
    HmacDrbg,
    InputRefusedError,
    RequestRefusedError,
    ReseedRequiredError,
)
from progressive.draws.scaling import ATTEMPTS_MAX, Draw, DrawError, draw_below

VECTORS = Path(__file__).with_name("vectors") / "hmac_drbg_sha256.jsonl"
CASES: list[dict[str, Any]] = [
    json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()
]


def drbg() -> HmacDrbg:
    return HmacDrbg(bytes(32), bytes(16))


class Scripted:
    """Gives the bytes it was told to give, and remembers what it was asked for."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.asked: list[int] = []

    def generate(self, size: int) -> bytes:
        self.asked.append(size)
        return self.answers.pop(0).to_bytes(size, "big")


def answer(case: dict[str, Any]) -> str:
    """Follow a NIST case through to its last generation."""
    entropy, nonce, personalization = (
        bytes.fromhex(case[name]) for name in ("entropy", "nonce", "personalization")
    )
    reseeds = [bytes.fromhex(text) for text in case.get("reseeds", [])]
    additional = [bytes.fromhex(text) for text in case["additional"]]
    size = len(case["output"]) // 2
    generator = HmacDrbg(entropy, nonce, personalization)
    out = b""
    if case["mode"] == "prediction":
        for fresh, more in zip(reseeds, additional, strict=True):
            generator.reseed(fresh, more)
            out = generator.generate(size)
        return out.hex()
    if case["mode"] == "reseed":
        generator.reseed(reseeds[0], additional.pop(0))
    for more in additional:
        out = generator.generate(size, more)
    return out.hex()


@pytest.mark.parametrize("mode", ["no_reseed", "reseed", "prediction"])
@pytest.mark.parametrize("personalized", [False, True])
@pytest.mark.parametrize("additional", [False, True])
def test_the_generator_gives_what_nist_says(
    mode: str, *, personalized: bool, additional: bool
) -> None:
    cases = [
        case
        for case in CASES
        if case["mode"] == mode
        and bool(case["personalization"]) is personalized
        and bool(case["additional"][0]) is additional
    ]
    assert len(cases) == (15 if mode == "reseed" else 60)
    for case in cases:
        assert answer(case) == case["output"]


def test_the_vectors_are_all_different() -> None:
    assert Counter(case["mode"] for case in CASES) == {
        "no_reseed": 240,
        "reseed": 60,
        "prediction": 240,
    }
    assert len({case["output"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize(
    ("entropy", "nonce", "personalization"),
    [(31, 16, 0), (32, 15, 0), (INPUT_BYTES_MAX + 1, 16, 0), (32, 16, INPUT_BYTES_MAX + 1)],
)
def test_entropy_nonce_and_personalization_have_their_lengths(
    entropy: int, nonce: int, personalization: int
) -> None:
    with pytest.raises(InputRefusedError):
        HmacDrbg(bytes(entropy), bytes(nonce), bytes(personalization))


def test_a_reseed_needs_entropy_too() -> None:
    with pytest.raises(InputRefusedError):
        drbg().reseed(bytes(31))
    with pytest.raises(InputRefusedError):
        drbg().reseed(bytes(32), bytes(INPUT_BYTES_MAX + 1))
    with pytest.raises(InputRefusedError):
        drbg().generate(1, bytes(INPUT_BYTES_MAX + 1))


@pytest.mark.parametrize("size", [-1, 0, REQUEST_BYTES_MAX + 1])
def test_a_request_out_of_bounds_is_refused_and_changes_nothing(size: int) -> None:
    generator = drbg()
    with pytest.raises(RequestRefusedError):
        generator.generate(size)
    assert generator.generate(40) == drbg().generate(40)


def test_the_largest_request_is_answered_whole() -> None:
    assert len(drbg().generate(REQUEST_BYTES_MAX)) == REQUEST_BYTES_MAX


def test_a_generator_stops_at_its_last_request_until_it_is_reseeded() -> None:
    generator = drbg()
    generator._requests = REQUESTS_MAX - 1  # noqa: SLF001 - 2^48 requests take too long
    generator.generate(1)
    with pytest.raises(ReseedRequiredError):
        generator.generate(1)
    generator.reseed(bytes(32))
    assert len(generator.generate(1)) == 1


def test_a_generator_neither_shows_nor_gives_away_its_state() -> None:
    assert repr(drbg()) == "HmacDrbg(hidden)"
    with pytest.raises(TypeError):
        pickle.dumps(drbg())


def test_a_generator_that_gives_something_else_fails_its_health_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    health.health_test()
    right = HmacDrbg.generate

    def wrong(self: HmacDrbg, size: int, additional: bytes = b"") -> bytes:
        return right(self, size, additional)[:-1] + b"\x00"

    monkeypatch.setattr(HmacDrbg, "generate", wrong)
    with pytest.raises(health.HealthTestError, match="known-answer"):
        process.ProcessDrbg()


def test_a_generator_that_takes_a_bad_request_fails_its_health_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("progressive.draws.drbg.REQUEST_BYTES_MAX", REQUEST_BYTES_MAX * 2)
    with pytest.raises(health.HealthTestError, match="must refuse"):
        health.health_test()


def in_child(work: Callable[[], bytes]) -> bytes:
    """Run `work` in a forked child and give what it returned."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, work())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as pipe:  # noqa: PTH123 - the end of a pipe
        found = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return found


def test_a_child_does_not_carry_its_parents_generator_on() -> None:
    mine = process.process_drbg()
    mine.generate(1)
    assert process.process_drbg() is mine

    def drawn() -> bytes:
        fresh = process.process_drbg() is not mine
        return bytes([fresh]) + process.process_drbg().generate(32)

    first, second = in_child(drawn), in_child(drawn)
    assert first[:1] == second[:1] == b"\x01"
    assert len({first[1:], second[1:], mine.generate(32)}) == 3


def test_a_generator_that_is_held_across_a_fork_seeds_itself_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = process.ProcessDrbg()
    state = held._drbg  # noqa: SLF001 - whether it is replaced is the question

    def renewed() -> bytes:
        held.generate(1)
        return bytes([held._drbg is not state])  # noqa: SLF001 - as above

    assert in_child(renewed) == b"\x01"
    held.generate(1)
    assert held._drbg is state  # noqa: SLF001 - as above
    monkeypatch.setattr(os, "getpid", lambda: -1)
    held.generate(1)
    assert held._drbg is not state  # noqa: SLF001 - as above


def test_every_request_of_the_process_takes_entropy_from_the_operating_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = process.ProcessDrbg()
    asked: list[int] = []
    real = os.urandom

    def counted(size: int) -> bytes:
        asked.append(size)
        return real(size)

    monkeypatch.setattr(os, "urandom", counted)
    generator.generate(16)
    generator.generate(16)
    assert asked == [32, 32]


def test_a_number_is_cut_to_the_bits_it_needs() -> None:
    source = Scripted(0xF8)
    assert draw_below(source, 9) == Draw(8)
    assert source.asked == [1]


def test_every_rejected_number_is_on_record() -> None:
    source = Scripted(0x1F, 0x09, 0x23)
    assert draw_below(source, 9) == Draw(3, (15, 9))


@pytest.mark.parametrize(
    ("limit", "size"), [(2, 1), (256, 1), (257, 2), (65_536, 2), (2**40, 5), (2**128, 16)]
)
def test_a_request_is_as_wide_as_the_largest_number_needs(limit: int, size: int) -> None:
    source = Scripted(limit - 1)
    assert draw_below(source, limit) == Draw(limit - 1)
    assert source.asked == [size]


def test_one_possibility_needs_no_bytes() -> None:
    source = Scripted()
    assert draw_below(source, 1) == Draw(0)
    assert source.asked == []


@pytest.mark.parametrize("limit", [0, -5, 2**128 + 1])
def test_nothing_is_drawn_from_nothing(limit: int) -> None:
    with pytest.raises(DrawError):
        draw_below(drbg(), limit)


def test_a_source_that_is_always_out_of_range_is_given_up() -> None:
    with pytest.raises(DrawError, match="broken"):
        draw_below(Scripted(*[255] * (ATTEMPTS_MAX + 1)), 200)


@pytest.mark.parametrize("limit", [2, 3, 5, 9, 52, 200, 256])
def test_scaling_takes_every_byte_value_alike(limit: int) -> None:
    counted: Counter[int] = Counter()
    for byte in range(256):
        try:
            counted[draw_below(Scripted(byte), limit).value] += 1
        except IndexError:  # rejected: the script has no second answer
            continue
    assert set(counted) == set(range(limit))
    assert len(set(counted.values())) == 1
