"""HTTP as a device or a program speaks it: a kept connection, signed requests, checked answers."""

import hashlib
import hmac
import http.client
import json
import time
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

TIMEOUT_S: Final = 10.0
OK: Final = 200
SIGNATURE: Final = "Progressive-Signature"


class LostError(Exception):
    """No answer that can be trusted came: the request may have been done, or not."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request, ready to be sent and to be sent again."""

    method: str
    path: str
    body: bytes
    headers: dict[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; `signature` is empty where nobody signed it."""

    status: int
    body: bytes
    signature: str = ""

    @property
    def is_fine(self) -> bool:
        """Tell whether it was done."""
        return self.status == OK

    def json(self) -> Any:  # noqa: ANN401 - what the API answers
        """Read the body."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """Give a problem's code."""
        try:
            return str(self.json().get("code", ""))
        except (ValueError, AttributeError):
            return ""


class Line(Protocol):
    """Something that requests go out by."""

    def send(self, request: Request) -> Answer:
        """Send a request and wait for its answer."""

    def close(self) -> None:
        """Hang up."""


class KeptLine:
    """One connection that is kept open, and opened again when it breaks."""

    def __init__(self, url: str, timeout_s: float = TIMEOUT_S) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(f"{url!r} is no http:// address")
        self._open = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=timeout_s)

    def send(self, request: Request) -> Answer:
        """Send a request; whatever breaks on the way is a lost answer."""
        try:
            self._open.request(request.method, request.path, request.body, request.headers)
            found = self._open.getresponse()
            return Answer(found.status, found.read(), found.headers.get(SIGNATURE, ""))
        except (OSError, http.client.HTTPException) as error:
            self._open.close()
            raise LostError(f"{request.path}: {type(error).__name__}") from None

    def close(self) -> None:
        """Hang up."""
        self._open.close()


class Caller(Protocol):
    """Somebody whose requests the controller knows by."""

    def request(self, method: str, path: str, body: Any = None) -> Request:  # noqa: ANN401 - JSON
        """Make a request of theirs."""

    def check(self, request: Request, answer: Answer) -> Answer:
        """Refuse an answer that did not come from the controller."""


def call(line: Line, caller: Caller, method: str, path: str, body: Any = None) -> Answer:  # noqa: ANN401 - JSON
    """Ask once."""
    request = caller.request(method, path, body)
    return caller.check(request, line.send(request))


def _data(body: Any) -> bytes:  # noqa: ANN401 - JSON
    return b"" if body is None else json.dumps(body, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Device:
    """A device with its own key."""

    name: str
    key: bytes = field(repr=False)

    def request(self, method: str, path: str, body: Any = None) -> Request:  # noqa: ANN401 - JSON
        """Sign method, path, time and body."""
        data, now_ms = _data(body), time.time_ns() // 1_000_000
        head = f"progressive-request/1\n{method}\n{path}\n{now_ms}\n".encode()
        headers = {
            "Content-Type": "application/json",
            "Progressive-Device": self.name,
            "Progressive-Time": str(now_ms),
            SIGNATURE: hmac.new(self.key, head + data, hashlib.sha256).hexdigest(),
        }
        return Request(method, path, data, headers)

    def check(self, request: Request, answer: Answer) -> Answer:
        """Refuse an answer that is not signed for this very request.

        Only a refusal may be unsigned: a controller that does not know the device has no key.
        """
        if not answer.signature and not answer.is_fine:
            return answer
        head = f"progressive-answer/1\n{request.headers[SIGNATURE]}\n{answer.status}\n".encode()
        expected = hmac.new(self.key, head + answer.body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected, answer.signature):
            raise LostError(f"{request.path}: the answer is not the controller's")
        return answer


@dataclass(frozen=True, slots=True)
class Person:
    """A person with a session, or a program with a token."""

    headers: dict[str, str] = field(repr=False)

    @classmethod
    def with_token(cls, token: str) -> "Person":
        """Speak with a program's token."""
        return cls({"Authorization": f"Bearer {token}"})

    @classmethod
    def logged_in(cls, url: str, user: str, password: str) -> "Person":
        """Log in and keep the session."""
        parts = urlsplit(url)
        host = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=TIMEOUT_S)
        body = _data({"user": user, "password": password})
        host.request("POST", "/v1/session", body, {"Content-Type": "application/json"})
        found = host.getresponse()
        answer = Answer(found.status, found.read())
        host.close()
        if not answer.is_fine:
            raise PermissionError(f"{user} cannot log in: {answer.code}")
        cookie = (found.headers.get("Set-Cookie") or "").partition(";")[0]
        return cls({"Cookie": cookie, "X-CSRF-Token": str(answer.json()["csrf"])})

    def request(self, method: str, path: str, body: Any = None) -> Request:  # noqa: ANN401 - JSON
        """Make a request of this person's."""
        kind = {} if body is None else {"Content-Type": "application/json"}
        return Request(method, path, _data(body), self.headers | kind)

    def check(self, request: Request, answer: Answer) -> Answer:  # noqa: ARG002 - people do not sign
        """Take the answer as it is."""
        return answer
