"""Addresses: read strictly, and never shown with their secrets."""

import pytest

from meters.address import Address, Mode, parse_address
from meters.server_error import Fault, ServerError

SECRET = "correct-horse-battery"  # noqa: S105  it is looked for where it must not be


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("redis://floor", Address("redis", (("floor", 6379),))),
        ("redis://10.0.0.7:6380/3", Address("redis", (("10.0.0.7", 6380),), db=3)),
        ("rediss://[::1]:7000?db=2", Address("rediss", (("::1", 7000),), db=2)),
        (
            "rediss://pit.example?ssl_ca_certs=/etc/ca.pem",
            Address("rediss", (("pit.example", 6379),), options={"ssl_ca_certs": "/etc/ca.pem"}),
        ),
        ("unix:///run/valkey.sock?db=1", Address("unix", path="/run/valkey.sock", db=1)),
        ("unix:///run/a%40b.sock", Address("unix", path="/run/a@b.sock")),
        (
            f"redis://clerk:{SECRET}%40/?#1@floor:1",
            Address("redis", (("floor", 1),), username="clerk", password=f"{SECRET}@/?#1"),
        ),
        (
            f"sentinel://:{SECRET}@a,b:1/royal?db=4&sentinel_password=other",
            Address(
                "sentinel", (("a", 26379), ("b", 1)), service="royal", db=4, password=SECRET,
                options={"sentinel_password": "other"},
            ),
        ),
        ("clusters://a:1,b:2", Address("clusters", (("a", 1), ("b", 2)))),
    ],
)  # fmt: skip
def test_an_address_is_taken_apart(text: str, expected: Address) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "does not begin"),
        ("floor:6379", "does not begin"),
        ("http://floor", "does not begin"),
        ("redis://", "each host"),
        ("redis://a,b", "many hosts"),
        ("redis://floor:0", "each host"),
        ("redis://floor:65536", "each host"),
        ("redis://floor:port", "each host"),
        ("redis://floor/one", "the database"),
        ("redis://floor/1?db=2", "its path"),
        ("redis://floor?retry_on_timeout=yes", "unknown or given twice (allowed: db)"),
        ("redis://floor?db=1&db=2", "given twice"),
        ("redis://floor?ssl_ca_certs=x", "unknown"),
        ("rediss://floor?ssl_cert_reqs=none", "unknown"),
        ("redis://clerk@floor", "user:password@"),
        ("unix://", "names the socket"),
        ("unix://host/path", "three slashes"),
        ("sentinel://a:1", "name the service"),
        ("sentinel://a:1/x/y", "name the service"),
        ("cluster://a:1/0", "its path"),
        ("cluster://a:1?db=0", "unknown"),
    ],
)
def test_an_address_that_means_nothing_is_refused(text: str, why: str) -> None:
    with pytest.raises(ServerError) as refused:
        parse_address(text)
    assert refused.value.code == Fault.ADDRESS_INVALID
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        f"redis://clerk:{SECRET}@floor:0",
        f"redis://:{SECRET}@",
        f"redis://{SECRET}@floor",
        f"redis://{SECRET}@floor/x?{SECRET}={SECRET}",
        f"nothing://:{SECRET}@floor",
        f"sentinel://a:1/royal?sentinel_password={SECRET}&sentinel_password={SECRET}",
        f"{SECRET}",
    ],
)
def test_a_refused_address_shows_no_secret(text: str) -> None:
    with pytest.raises(ServerError) as refused:
        parse_address(text)
    assert SECRET not in f"{refused.value} {refused.value!r}"


@pytest.mark.parametrize(
    ("text", "shown", "mode"),
    [
        (f"redis://clerk:{SECRET}@floor/2", "redis://floor:6379 (db 2)", Mode.SINGLE),
        (f"unix://:{SECRET}@/run/s", "unix:///run/s", Mode.SINGLE),
        (
            f"sentinels://:{SECRET}@a,[::1]:7/royal?sentinel_password={SECRET}",
            "sentinels://a:26379,[::1]:7/royal",
            Mode.SENTINEL,
        ),
        (f"cluster://:{SECRET}@a,b", "cluster://a:6379,b:6379", Mode.CLUSTER),
    ],
)
def test_an_address_is_shown_without_its_secrets(text: str, shown: str, mode: Mode) -> None:
    address = parse_address(text)
    assert str(address) == shown
    assert address.mode is mode
    assert SECRET not in repr(address)
    assert "clerk" not in repr(address)
