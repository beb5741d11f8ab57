"""The OpenAPI document against the application it describes, by a tool that knows neither."""

import time
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.stateful import run_state_machine_as_test
from schemathesis import checks
from test_api import services, session_of

from progressive.api.app import create_app
from progressive.api.services import Services
from progressive.api.signing import sign_request
from progressive.devices import Kind
from progressive.people.roles import Role

__all__ = ["services"]

DEVICE_PATHS = {"/v1/messages": "hub", "/v1/messages/batch": "gateway", "/v1/cards": "shoe"}
QUIET = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
    derandomize=True,
)


class Signing:
    """The application behind a proxy that signs for a device, or brings a person's session."""

    def __init__(self, app: Flask, keys: dict[str, bytes], person: dict[str, str]) -> None:
        self.app, self.keys, self.person = app, keys, person

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        kind = DEVICE_PATHS.get(path)
        if kind:
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            now = time.time_ns() // 1_000_000
            query = environ.get("QUERY_STRING", "")
            signed_path = f"{path}?{query}" if query else path
            method = environ["REQUEST_METHOD"]
            environ["HTTP_PROGRESSIVE_DEVICE"] = kind
            environ["HTTP_PROGRESSIVE_TIME"] = str(now)
            environ["HTTP_PROGRESSIVE_SIGNATURE"] = sign_request(
                self.keys[kind], method, signed_path, now, body
            )
            environ["wsgi.input"] = BytesIO(body)
        else:
            environ |= {_wsgi(name): value for name, value in self.person.items()}
        return self.app(environ, start)


@pytest.fixture
def signing(services: Services) -> Signing:
    keys = {
        kind: services.devices.add(kind, Kind(kind), ["MB-101", "DA-201"], "admin")
        for kind in DEVICE_PATHS.values()
    }
    person = session_of(services, "fuzz", *Role)
    return Signing(create_app(services), keys, person)


def _wsgi(header: str) -> str:
    return f"HTTP_{header.upper().replace('-', '_')}"


# Everything but what the proxy takes out of the tool's hands: it always authenticates.
checks.load_all_checks()
EXCLUDED: list[Any] = [checks.CHECKS.get_one(name) for name in ("ignored_auth",)]


def test_every_answer_is_as_the_document_says(signing: Signing) -> None:
    schema = schemathesis.openapi.from_wsgi("/v1/openapi.json", signing)
    count = 0
    for result in schema.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]  # an error would be a failure

        @QUIET
        @given(case=operation.as_strategy())
        def check(case: Any) -> None:  # noqa: ANN401 - the tool's own type
            case.call_and_validate(excluded_checks=EXCLUDED)

        check()
        count += 1
    assert count > 30


def test_chains_of_requests_are_as_the_document_says(signing: Signing) -> None:
    schema = schemathesis.openapi.from_wsgi("/v1/openapi.json", signing)
    machine: Any = schema.as_state_machine()

    class Chains(machine):  # type: ignore[misc]
        def validate_response(self, response: Any, case: Any, **kwargs: Any) -> None:  # noqa: ANN401 - the tool's own signature
            case.validate_response(response, excluded_checks=EXCLUDED, **kwargs)

    run_state_machine_as_test(
        Chains, settings=settings(QUIET, max_examples=15, stateful_step_count=12)
    )
