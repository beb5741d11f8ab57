"""The OpenAPI document as a golden file: what others build on does not change by accident."""

import base64
import hashlib
import json
import re
from pathlib import Path

from flask.testing import FlaskClient
from test_api import http, services

from progressive.api.app import ROUTES
from progressive.api.problems import KINDS
from progressive.api.routes import problems_of

__all__ = ["http", "services"]

GOLDEN = Path(__file__).parent / "vectors" / "openapi.json"


def test_the_served_document_is_the_golden_one(http: FlaskClient) -> None:
    served = json.loads(http.get("/v1/openapi.json").data)
    served["info"]["version"] = "golden"
    wanted = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert served == wanted, f"if it is meant, write it to {GOLDEN.name}"


def test_the_page_loads_nothing_from_elsewhere(http: FlaskClient) -> None:
    page = http.get("/v1/docs").data.decode()
    assert "://" not in page
    assert "/v1/openapi.json" in page


def test_the_page_runs_its_own_script_and_speaks_to_us_alone(http: FlaskClient) -> None:
    answer = http.get("/v1/docs")
    page = answer.data
    script = page[page.index(b"<script>") + 8 : page.index(b"</script>")]
    style = page[page.index(b"<style>") + 7 : page.index(b"</style>")]
    hashes = [base64.b64encode(hashlib.sha256(part).digest()).decode() for part in (script, style)]
    assert answer.headers["Content-Security-Policy"].split("; ") == [
        "default-src 'none'",
        f"script-src 'sha256-{hashes[0]}'",
        f"style-src 'sha256-{hashes[1]}'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert not re.search(rb"<[^>]*\s(style|on\w+)=", page)  # such ones the policy would refuse


def test_every_problem_that_a_route_names_is_known() -> None:
    named = {code for route in ROUTES for code in problems_of(route)}
    assert named <= set(KINDS)
