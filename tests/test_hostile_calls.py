"""A client that calls the functions by hand, wrongly: it is refused, and not a byte is written."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec
import pytest
from floor import COMMITS, opened, small_link, usd
from redis import Redis, ResponseError

from meters.calls import Call, Calls, CardSaid, Draw, Message, SealedShoe
from meters.definitions import LinePay
from meters.errors import Refused
from meters.functions import source
from meters.link import Meters
from meters.replay import audit

Args: TypeAlias = list[Any]
TABLES = ["T1", "T2", "T3"]
NOT_NUMBERS: list[str | bytes] = [
    "", "x", "nan", "inf", "-1", "1.5", "1e3", "0x10", " 1", "1 ", "01", "a\0b", b"\xff\xfe",
    str(2**53), str(2**63), "1" * 400,
]  # fmt: skip
WRONG_KEYS = ["", "x", "{silver}:link", "{silver}:journal", "{silver}:table:T1", "{royal}:secrets2"]


def said(table: str, sequence: int, seats: list[int]) -> Message:
    return Message(
        table=table, device=f"hub-{table}", epoch=1, sequence=sequence, round=1, seats=seats
    )


def floor(client: Redis) -> Meters:
    """Give a link with a locked round at T1, a dealt one at T2, wagers at T3, and proposals."""
    client.flushall()
    meters = opened(client)
    run, calls = meters.run, meters.calls
    for table, seats in (("T1", [1, 2]), ("T2", [1, 2]), ("T3", [1])):
        run(calls.message(said(table, 1, seats)))
    run(calls.lock("T1", 1, "ann", [1, 2]))
    run(calls.lock("T2", 1, "ann", [1, 2]))
    run(calls.deal("T2", 1, "ann", ("KS9H", "2C3D"), {1: "spade", 2: "any_royal"}))
    money = {"level": "star", "amount_micros": usd("1.00")}
    run(calls.propose(1, "ann", "transfer", "test", money | {"to_link": "other", "to": "star"}))
    run(calls.approve(1, "bob"))
    run(calls.propose(2, "ann", "adjust", "test", money))
    return meters


def good_calls(meters: Meters) -> dict[str, Call[Any]]:
    """Give a call of every function that would be taken just now."""
    calls, gold = meters.calls, Calls("gold")
    hands, earlier = ("KS9H", "2C4D"), "T1 1 1 3000000"
    draw = Draw(seat=1, secret="s", salt="t", commit="c", ciphertext="x")  # noqa: S106 - no secret
    reads: Any = None  # their answers are not read here
    made: list[Call[Any]] = [
        calls.message(said("T3", 2, [1, 2])),
        calls.messages([said("T3", 2, [1, 2])]),
        calls.card(
            CardSaid(table="T1", device="shoe", epoch=1, sequence=1, round=1, card="KS")
        ),
        calls.lock("T3", 1, "ann", [1]),
        calls.deal("T1", 1, "ann", hands, {1: "loss", 2: "star"}),
        calls.correct("T2", 1, "bob", 1, hands=hands, lines={1: "loss", 2: "star"}),
        calls.end("T2", 1, "ann", decided=(1, earlier), draw=draw),
        calls.void("T1", 1, "ann", "misdeal"),
        calls.cancel("T3", 1, "ann", "no dealer"),
        calls.shoe("T3", 1, "ann", SealedShoe(commit="c", ciphertext="d")),
        calls.close_table("T3", "ann", "night"),
        calls.open_table("T3", "ann", "day"),
        calls.pay(99, "bob"),
        calls.propose(3, "ann", "adjust", "why", {"level": "star"}),
        calls.approve(2, "bob"),
        calls.reject(2, "bob", "no"),
        calls.receive("ann", "other", 1, "star", 5),
        calls.cleared("ann", "other", 1),
        calls.balance(TABLES, "sealer"),
        calls.sealed(3),
        calls.audited(10, meters.start()),
        calls.due("T1"),
        gold.open_link(small_link("gold"), "boss", COMMITS),
        Call("pm_snapshot", calls.keys.all(TABLES), (), reads),
        Call(
            "pm_record",
            ("{site}:site", "{site}:journal", "{site}:users", "{site}:roles"),
            (1, "boss", "user", '{"a":1}', 1, "ann", "{}", 2, "bob", "{}"),
            reads,
        ),
    ]  # fmt: skip
    return {call.function: call for call in made}


# Where a function takes a number, and where it takes a text that becomes JSON.
NUMBERS = {
    "pm_message": [1, 2, 4, 5], "pm_messages": [], "pm_card": [1, 2, 3], "pm_lock": [0, 2],
    "pm_deal": [0, 4, 6], "pm_correct": [0, 2, 5, 7], "pm_end": [0, 3, 5], "pm_void": [0],
    "pm_cancel": [0], "pm_shoe": [0], "pm_pay": [0], "pm_propose": [0], "pm_approve": [0],
    "pm_reject": [0], "pm_receive": [2, 4], "pm_cleared": [2], "pm_sealed": [0],
    "pm_audited": [0, 1], "pm_record": [0, 4, 7],
}  # fmt: skip
TEXTS = {
    "pm_message": [0, 3], "pm_card": [0, 4], "pm_lock": [1, 3], "pm_deal": [1, 2, 3, 5],
    "pm_correct": [1, 3, 4], "pm_end": [1, 2, 6, 7, 8, 9], "pm_void": [1, 2], "pm_cancel": [1, 2],
    "pm_shoe": [1, 2, 3], "pm_close_table": [0, 1], "pm_pay": [1],
    "pm_propose": [1, 2, 3, 4], "pm_approve": [1], "pm_reject": [1, 2],
    "pm_receive": [0, 1, 3], "pm_cleared": [0, 1], "pm_balance": [0], "pm_open": [0, 1, 2, 3, 4, 5],
    "pm_record": [1, 2, 3],
}  # fmt: skip
LEAST = {"pm_shoe": 2}  # a shoe that nobody commits to needs no more arguments
FUNCTIONS = sorted({*NUMBERS, *TEXTS, "pm_open_table", "pm_due", "pm_snapshot"})


def wrong_variants(call: Call[Any]) -> Iterator[tuple[str, list[str], Args]]:
    """Spoil a good call in one place at a time."""
    keys, args = list(call.keys), list(call.args)
    for at in NUMBERS.get(call.function, []):
        for bad in NOT_NUMBERS:
            yield f"argument {at} is {bad!r}", keys, [*args[:at], bad, *args[at + 1 :]]
    for at in TEXTS.get(call.function, []):
        yield f"argument {at} is no UTF-8", keys, [*args[:at], b"\xc3(", *args[at + 1 :]]
        yield f"argument {at} is too long", keys, [*args[:at], "a" * 70_000, *args[at + 1 :]]
    for count in range(min(len(args), LEAST.get(call.function, 4))):
        yield f"{count} arguments", keys, args[:count]
    yield "too many arguments", keys, [*args, *["zz"] * 25]
    if call.function == "pm_audited":
        return  # its first key says whether it is of a link or of the site, the others are not used
    for count in range(len(keys)):
        if not (call.function == "pm_messages" and count == len(keys) - 1):
            yield f"{count} keys", keys[:count], args
    for at in range(len(keys)):
        for bad in WRONG_KEYS:
            yield f"key {at} is {bad!r}", [*keys[:at], bad, *keys[at + 1 :]], args


def everything(client: Redis) -> dict[str, Any]:
    """Read every key of the server, byte for byte."""
    raw = client.connection_pool.connection_kwargs["path"]
    with Redis(unix_socket_path=raw) as reader:
        return {key: reader.dump(key) for key in sorted(reader.keys("*"))}


def test_every_function_has_calls_to_spoil(client: Redis) -> None:
    meters = floor(client)
    [library] = client.function_list("progressive_meters")
    told = dict(zip(library[::2], library[1::2], strict=True))
    names = {dict(zip(one[::2], one[1::2], strict=True))["name"] for one in told["functions"]}
    assert names - {"pm_start", "pm_is_audited"} == set(good_calls(meters))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_call_that_is_wrong_in_one_place_is_refused_and_writes_nothing(
    client: Redis, function: str
) -> None:
    meters = floor(client)
    call = good_calls(meters)[function]
    before = everything(client)
    for what, keys, args in wrong_variants(call):
        with pytest.raises(ResponseError) as reply:
            client.fcall(function, len(keys), *keys, *args)
        assert str(reply.value).startswith('REFUSED {"code":"'), what
        assert everything(client) == before, what
        assert meters.is_audited(), what
    if function != "pm_pay":  # no award is payable just now
        assert client.fcall(function, len(call.keys), *call.keys, *call.args)


@pytest.mark.parametrize(
    "body",
    [
        "[]", "{", "", '{"a":NaN}', '{"a":1e3}', '{"a":0x10}', '{"a":007}', '{"a":1.5}', '{"a":-0}',
        '{"a":9007199254740993}', '{"a":"\n"}', '{"a":\n1}', '{"a":' + "[" * 40 + "]" * 40 + "}",
    ],
)  # fmt: skip
def test_a_proposal_that_the_journals_readers_could_not_take_is_refused(
    client: Redis, body: str
) -> None:
    meters = floor(client)
    call = meters.calls.propose(3, "ann", "adjust", "why", {})
    before = everything(client)
    with pytest.raises(Refused, match="bad_call"):
        meters.run(call._replace(args=(*call.args[:4], body)))
    assert everything(client) == before


def closed(client: Redis) -> Meters:
    """Give a link whose tables are all closed."""
    client.flushall()
    meters = opened(client)
    for table in TABLES:
        meters.run(meters.calls.close_table(table, "ann", "night"))
    return meters


def fields(value: msgspec.Struct, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    return {**msgspec.to_builtins(value), **changes}


LINK = small_link()
STAR, MUST_HIT, TERMS, TABLE = LINK.levels[0], LINK.levels[3], LINK.terms, LINK.tables[0]
CHANGES: dict[str, tuple[str, dict[str, Any], str]] = {
    "an adjustment of a number": ("adjust", {"level": 1, "amount_micros": 5}, "unknown_level"),
    "an adjustment of nothing": ("adjust", {}, "unknown_level"),
    "an amount that is a text": ("adjust", {"level": "star", "amount_micros": "5"}, "bad_amount"),
    "a transfer to no level": (
        "transfer",
        {"level": "star", "amount_micros": 5, "to_link": "other"},
        "bad_call",
    ),
    "a transfer to a link whose name is a list": (
        "transfer",
        {"level": "star", "amount_micros": 5, "to": "star", "to_link": ["other"]},
        "bad_call",
    ),
    "a transfer to the link itself": (
        "transfer",
        {"level": "star", "amount_micros": 5, "to": "star", "to_link": "royal"},
        "bad_call",
    ),
    "a limit below the seed": (
        "limit",
        {"level": "spade", "limit_micros": usd("20.00")},
        "limit_below_meter",
    ),
    "a level that is none": ("level", {"definition": {"name": "star"}}, "bad_call"),
    "a level without a definition": ("level", {}, "unknown_level"),
    "a reset above the limit": (
        "level",
        {"definition": fields(STAR, reset_micros=usd("200.00"))},
        "amount_out_of_bounds",
    ),
    "a reset at the maximum": (
        "level",
        {"definition": fields(MUST_HIT, reset_micros=usd("6.00"))},
        "amount_out_of_bounds",
    ),
    "a reset with a fraction of a cent": (
        "level",
        {"definition": fields(STAR, reset_micros=usd("100.00") + 1)},
        "amount_out_of_bounds",
    ),
    "a level that is closed by stealth": (
        "level",
        {"definition": fields(STAR, closed=True)},
        "bad_call",
    ),
    "a level with a colour": ("level", {"definition": fields(STAR, colour="red")}, "bad_call"),
    "levels that take more than the wager": (
        "level",
        {"definition": fields(STAR, increment_ppm=999_000)},
        "bad_call",
    ),
    "a table that is none": ("table", {"definition": {"name": "T1"}}, "bad_call"),
    "a table of ten seats": ("table", {"definition": fields(TABLE, seats=10)}, "bad_call"),
    "a shoe of ten decks": ("table", {"definition": fields(TABLE, decks=10)}, "bad_call"),
    "a table without combinations": (
        "table",
        {"definition": fields(TABLE, combinations=[])},
        "bad_call",
    ),
    "terms that are none": ("terms", {"terms": {}}, "bad_call"),
    "terms that are missing": ("terms", {}, "bad_call"),
    "a line of a level that is not there": (
        "terms",
        {"terms": fields(TERMS, lines={"star": {"level": "moon", "percent": 100}})},
        "unknown_level",
    ),
    "a line that cards win Must Hit with": (
        "terms",
        {"terms": fields(TERMS, lines={"star": {"level": "must_hit", "percent": 100}})},
        "unknown_level",
    ),
    "a line of 110 percent": (
        "terms",
        {"terms": fields(TERMS, lines={"star": {"level": "star", "percent": 110}})},
        "bad_call",
    ),
    "a line that pays both": (
        "terms",
        {"terms": fields(TERMS, lines={"star": fields(LinePay("star", 1), amount_micros=1)})},
        "bad_call",
    ),
    "a level that takes over from itself": (
        "decommission",
        {"level": "star", "to": "star"},
        "bad_call",
    ),
    "a hand award at half a seat": (
        "hand_award",
        {"table": "T1", "round": 1, "seat": "1", "line": "spade"},
        "seat_out_of_range",
    ),
    "a payment of a text": ("pay", {"award": "1"}, "unknown_award"),
    "a void of nothing": ("void_award", {}, "unknown_award"),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_that_is_not_one_is_refused_when_it_is_approved(client: Redis, what: str) -> None:
    kind, body, code = CHANGES[what]
    meters = closed(client)
    meters.run(meters.calls.propose(1, "ann", kind, "typing error", body))
    tables = {"table": ["T1"], "hand_award": ["T1"], "terms": TABLES, "decommission": TABLES}
    before = everything(client)
    with pytest.raises(Refused) as refusal:
        meters.run(meters.calls.approve(1, "bob", tables.get(kind, [])))
    assert refusal.value.code == code
    assert everything(client) == before
    client.function_load(source(), replace=True)
    assert audit(meters).problems == []


OPENINGS: dict[str, Callable[[Calls], Call[Any]]] = {
    "no commitments for Must Hit": lambda c: c.open_link(LINK, "boss", []),
    "the keys of another link": lambda c: c.open_link(small_link("silver"), "boss", COMMITS),
    "a table too few": lambda c: c.open_link(LINK, "boss", COMMITS)._replace(
        keys=c.keys.all(["T1"])
    ),
    "a table twice": lambda c: c.open_link(LINK, "boss", COMMITS)._replace(
        keys=c.keys.all(["T1", "T1", "T2"])
    ),
    "two levels of one name": lambda c: c.open_link(
        small_link(levels=[*LINK.levels, STAR]), "boss", COMMITS
    ),
    "seeds beyond what is exact": lambda c: c.open_link(
        small_link(
            levels=[
                msgspec.structs.replace(level, limit_micros=None, seed_micros=9 * 10**15)
                for level in LINK.levels[:2]
            ]
        ),
        "boss",
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", OPENINGS)
def test_a_link_that_could_not_be_kept_is_not_opened(client: Redis, what: str) -> None:
    client.function_load(source(), replace=True)
    meters = Meters(client, "royal")
    with pytest.raises(Refused):
        meters.run(OPENINGS[what](meters.calls))
    assert everything(client) == {}
    assert opened(client).is_audited()


def test_a_link_that_is_not_there_is_said_to_be_so(client: Redis) -> None:
    client.function_load(source(), replace=True)
    with pytest.raises(Refused, match="unknown_link"):
        audit(Meters(client, "moon"))


def test_every_table_is_every_table_once(client: Redis) -> None:
    meters = closed(client)
    meters.run(meters.calls.open_table("T3", "ann", "day"))
    meters.run(meters.calls.propose(1, "ann", "terms", "winter", {"terms": fields(TERMS)}))
    before = everything(client)
    twice = ["T1", "T1", "T2"]
    wrong: list[Call[Any]] = [
        meters.calls.approve(1, "bob", twice),
        meters.calls.balance(twice, "sealer"),
    ]
    for call in wrong:
        with pytest.raises(Refused):
            meters.run(call)
    assert everything(client) == before


def test_a_proposal_is_compared_by_what_it_says_not_by_its_blanks(client: Redis) -> None:
    meters = floor(client)
    call = meters.calls.propose(3, "ann", "adjust", "why", {})
    meters.run(call._replace(args=(*call.args[:4], '{ "level" : "st\\u0061r" }')))
    client.function_load(source(), replace=True)
    assert audit(meters).problems == []
