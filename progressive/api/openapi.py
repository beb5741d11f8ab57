"""The OpenAPI 3.1 document, made of the routes and wire types, and a page to look at it."""

import base64
import datetime as dt
import hashlib
import re
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import msgspec

from progressive.api.auth import CSRF_HEADER, DEVICE_HEADER, SESSION_COOKIE, SIGNATURE_HEADER
from progressive.api.problems import KINDS, MEDIA_TYPE, Problem
from progressive.api.routes import Call, Query, Route, problems_of
from progressive.people.roles import ALLOWED, Deed

_REF = "#/components/schemas/{name}"
_OWN_HEADERS = {401: "WWW-Authenticate", 405: "Allow", 429: "Retry-After"}
_PARAM = re.compile(r"\{(\w+)(?::(\w+))?\}")


def document(routes: tuple[Route, ...]) -> dict[str, Any]:
    """Make the whole document."""
    types = [kind for route in routes for kind in (route.body, route.answer) if kind]
    schemas, components = msgspec.json.schema_components([*types, Problem], ref_template=_REF)
    refs = dict(zip([*map(id, types), id(Problem)], schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        path = _PARAM.sub(r"{\1}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, refs)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Linked progressive controller",
            "version": version("linked-progressive"),
            "description": "Amounts are whole micro-dollars. Problems are RFC 9457 documents.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SECURITY},
    }


_SECURITY = {
    "device": {
        "type": "apiKey",
        "in": "header",
        "name": SIGNATURE_HEADER,
        "description": f"HMAC-SHA-256 of the request, with {DEVICE_HEADER} and Progressive-Time.",
    },
    "session": {"type": "apiKey", "in": "cookie", "name": SESSION_COOKIE},
    "csrf": {"type": "apiKey", "in": "header", "name": CSRF_HEADER},
    "token": {"type": "http", "scheme": "bearer"},
}


def _operation(route: Route, refs: dict[int, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [route.tag],
        "responses": _responses(route, refs),
        "security": _security(route),
    }
    if deeds := [who for who in route.who if isinstance(who, Deed)]:
        roles = sorted({role.value for deed in deeds for role in ALLOWED[deed]})
        operation["description"] = f"Roles: {', '.join(roles)}."
    if parameters := [*_path_parameters(route), *map(_query_parameter, route.query)]:
        operation["parameters"] = parameters
    if route.body:
        content = {"application/json": {"schema": refs[id(route.body)]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _responses(route: Route, refs: dict[int, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": refs[id(route.answer)]} if route.answer else {}
    responses: dict[str, Any] = {
        "200": {"description": route.summary, "content": {route.media_type: content}}
    }
    by_status: dict[int, list[str]] = {}
    for code in problems_of(route):
        by_status.setdefault(KINDS[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        responses[str(status)] = {
            "description": "; ".join(f"`{code}`: {KINDS[code].title}" for code in codes),
            "content": {MEDIA_TYPE: {"schema": refs[id(Problem)]}},
        }
        if name := _OWN_HEADERS.get(status):
            responses[str(status)]["headers"] = {name: {"schema": {"type": "string"}}}
    return responses


def _security(route: Route) -> list[dict[str, list[str]]]:
    if route.is_open:
        return []
    if route.for_devices:
        return [{"device": []}]
    person: dict[str, list[str]] = {"session": [], "csrf": []}
    return [person] if route.for_persons else [person, {"token": []}]


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "integer", "minimum": 0} if kind else {"type": "string"},
        }
        for name, kind in _PARAM.findall(route.path)
    ]


def _query_parameter(query: Query) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if query.words:
        schema["enum"] = list(query.words)
    elif query.kind is dt.date:
        schema["format"] = "date"
    elif query.kind is int:
        schema = {"type": "integer", "minimum": query.least, "maximum": query.most}
    if query.default is not None:
        schema["default"] = query.default
    return {"name": query.name, "in": "query", "required": False, "schema": schema}


def _serve(body: bytes, _: Call) -> bytes:
    return body


def page_policy(page: bytes) -> str:
    """Write the page's Content-Security-Policy: its own script and style, and our own answers."""
    script, style = (
        base64.b64encode(hashlib.sha256(part).digest()).decode()
        for tag in (b"script", b"style")
        for part in re.findall(b"<%b>(.*?)</%b>" % (tag, tag), page, re.DOTALL)
    )
    return (
        f"default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def routes(table: tuple[Route, ...]) -> tuple[Route, ...]:
    """Give the routes that serve the document and its page."""
    text = msgspec.json.format(msgspec.json.encode(document(table)), indent=2)
    page = (files("progressive.api") / "docs.html").read_bytes()
    return (
        Route("GET", "/v1/openapi.json", "openapi", "This document", ("anyone",),
              partial(_serve, text), None),
        Route("GET", "/v1/docs", "docs", "A page to look at and try it", ("anyone",),
              partial(_serve, page), None, media_type="text/html"),
    )  # fmt: skip
