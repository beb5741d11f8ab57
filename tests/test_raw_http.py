"""HTTP as it comes over a real socket: slow, cut, chunked, and sent by people who mean harm."""

import json
import socket
from collections.abc import Iterator

import pytest

from progressive.api.whole import WAITING_MAX
from progressive.trial import Trial

POST = b"POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CLOSE = b"Connection: close\r\n"
GET = b"GET /v1/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
LOGIN = b'{"user":"nobody","password":"x"}'


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with Trial(tmp_path_factory.mktemp("raw"), 1) as trial:
        yield trial.port


def opened(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def answer(port: int, sent: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send bytes, and read until the server hangs up; gives status, headers and body."""
    with opened(port) as line:
        line.sendall(sent)
        data = b""
        while part := line.recv(65536):
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in rest)}
    return int(first.split()[1]), headers, body


def test_many_that_never_send_their_bodies_hold_up_nobody(port: int) -> None:
    lines = [opened(port) for _ in range(WAITING_MAX // 2)]
    try:
        for line in lines:
            line.sendall(POST + b"Content-Length: 1000\r\n\r\n{")
        for _ in range(3):
            assert answer(port, GET)[0] == 200
    finally:
        for line in lines:
            line.close()
    assert answer(port, GET)[0] == 200


def chunked(body: bytes, size: int) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def test_a_body_in_chunks_is_a_body(port: int) -> None:
    head = POST + CLOSE + b"Transfer-Encoding: chunked\r\n\r\n"
    status, _, body = answer(port, head + chunked(LOGIN, 7))
    assert (status, json.loads(body)["code"]) == (401, "wrong_password")


def test_a_body_in_chunks_that_are_too_many_is_too_large(port: int) -> None:
    head = POST + CLOSE + b"Transfer-Encoding: chunked\r\n\r\n"
    status, _, body = answer(port, head + chunked(b" " * (256 * 1024 + 1), 1 << 16))
    assert (status, json.loads(body)["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    "path", ["/v1//health", "/v1/health/", "/v1/tables//MB-101", "//v1/health", "///v1/health"]
)
def test_another_spelling_of_an_address_is_no_address_and_never_a_redirect(
    port: int, path: str
) -> None:
    ask = f"GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode()
    status, headers, body = answer(port, ask)
    assert (status, json.loads(body)["code"]) == (404, "not_found")
    assert "location" not in headers


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/messages", "POST"),
        ("OPTIONS", "/v1/messages", "POST"),
        ("BREW", "/v1/health", "GET, HEAD"),
        ("PUT", "/v1/session", "DELETE, GET, HEAD, POST"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(
    port: int, method: str, path: str, allowed: str
) -> None:
    ask = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    status, headers, body = answer(port, ask)
    assert (status, headers["allow"]) == (405, allowed)
    assert json.loads(body)["request"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_a_number_with_thousands_of_digits_is_no_number(port: int) -> None:
    many = b"1" * 5000
    signed = b"Progressive-Device: a\r\nProgressive-Signature: b\r\nProgressive-Time: " + many
    ask = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\n" + CLOSE + signed + b"\r\n\r\n"
    status, _, body = answer(port, ask)
    assert (status, json.loads(body)["code"]) == (401, "unsigned")


def test_a_compressed_body_is_refused_by_its_type(port: int) -> None:
    head = POST + CLOSE + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(LOGIN)
    status, _, body = answer(port, head + LOGIN)
    assert (status, json.loads(body)["code"]) == (415, "wrong_type")
