"""The Flask application: routes from the table, and nothing else is let in."""

import datetime as dt
import json
import logging
import re
import secrets
import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
from flask import Flask, request
from redis.exceptions import RedisClusterException, RedisError
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.wrappers import Request, Response

from meters.errors import Refused
from meters.server_error import ServerError
from progressive.api import cage, dealing, entrance, openapi, past, people, reading, sensors
from progressive.api.auth import (
    SESSION_COOKIE,
    SIGNATURE_HEADER,
    Rates,
    Signed,
    admit,
    challenge,
    count_login,
    identify,
)
from progressive.api.problems import MEDIA_TYPE, Problem, ProblemError, document, of_refusal
from progressive.api.routes import Call, Query, Route
from progressive.api.services import Services
from progressive.api.signing import sign_answer
from progressive.api.wire import WHOLE_MAX

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

ROUTES: tuple[Route, ...] = (
    *sensors.ROUTES,
    *dealing.ROUTES,
    *cage.ROUTES,
    *reading.ROUTES,
    *past.ROUTES,
    *entrance.ROUTES,
    *people.ROUTES,
)
log = logging.getLogger("progressive.api")
WHOLE = re.compile(r"[0-9]{1,16}")  # more digits than Python turns into a number are none
_HTTP_CODES = {404: "not_found", 405: "wrong_method", 413: "too_large", 415: "wrong_type"}


def create_app(services: Services) -> Flask:
    """Make the application; only what the table lists is there at all."""
    app = Flask("progressive", static_folder=None)
    app.url_map.merge_slashes = False  # else a redirect, as HTML and to whatever Host says
    app.config["MAX_CONTENT_LENGTH"] = services.limits.body_bytes_max
    rates = Rates()
    endpoints = [Endpoint(route, services, rates) for route in (*ROUTES, *openapi.routes(ROUTES))]
    for endpoint in endpoints:
        app.add_url_rule(
            _flask_path(endpoint.route.path),
            endpoint.route.name,
            endpoint.view,
            methods=[endpoint.route.method],
            provide_automatic_options=False,
        )
    app.before_request(_insist_on_one_address)
    app.register_error_handler(HTTPException, _no_route)
    app.wsgi_app = DevicePosts(endpoints, app.wsgi_app)  # type: ignore[method-assign]  # Flask's way
    return app


def _insist_on_one_address() -> None:
    """Refuse slashes in front, which Flask passes over: a proxy's rules name one address only."""
    if request.environ["PATH_INFO"].startswith("//"):
        raise NotFound


def _no_route(error: HTTPException) -> Response:
    """Answer what no route takes."""
    number = secrets.token_hex(8)
    response = _http_problem(error, number)
    _finish(request, response, Signed(), None)
    log.info("request", extra={"request": number} | _logged(Signed(), {}, response))
    return response


def _flask_path(path: str) -> str:
    path = re.sub(r"\{(\w+):int\}", rf"<int(max={WHOLE_MAX}):\1>", path)
    return path.replace("{", "<").replace("}", ">")


class Endpoint:
    """A route at work: finds out who calls, admits them, runs the handler, says the answer."""

    def __init__(self, route: Route, services: Services, rates: Rates) -> None:
        self.route = route
        self.services = services
        self._rates = rates
        self._decoder = msgspec.json.Decoder(route.body) if route.body else None

    def view(self, **params: Any) -> Response:  # noqa: ANN401 - what the path holds
        """Answer the request that Flask is at."""
        return self.respond(request, params)

    def respond(self, asked: Request, params: dict[str, Any]) -> Response:
        """Answer a request, whatever becomes of it."""
        began = time.perf_counter()
        number = secrets.token_hex(8)
        signed = Signed()
        call: Call | None = None
        route = self.route
        try:
            signed = identify(asked, route, self.services)
            admit(signed, asked, route, self.services, self._rates)
            params |= _queries(route, asked)
            body = _body(asked, self._decoder) if self._decoder else None
            count_login(asked, route, self.services, self._rates)
            call = Call(self.services, signed.caller, params, body)
            response = _answer(route, route.handler(call))
        except (ProblemError, Refused) as problem:
            response = _problem(_document(problem, number))
        except (RedisError, RedisClusterException, ServerError) as error:
            log.warning("store", extra={"request": number, "error": type(error).__name__})
            response = _problem(document("link_down", "the store does not answer", {}, number))
        except HTTPException as error:
            response = _http_problem(error, number)
        except Exception:
            log.exception("defect", extra={"request": number})
            response = _problem(document("defect", "see the log", {}, number))
        _finish(asked, response, signed, call)
        took_ms = round((time.perf_counter() - began) * 1000, 3)
        facts = {"request": number, "route": route.name, "took_ms": took_ms}
        log.info("request", extra=facts | _logged(signed, _named(call) | params, response))
        return response


class DevicePosts:
    """Leads what devices post straight to its endpoint: most requests are these, by far.

    Flask would find the same endpoint, and takes a fifth of a post's time for that.
    """

    def __init__(self, endpoints: Iterable[Endpoint], otherwise: "WSGIApplication") -> None:
        self._endpoints = {
            (endpoint.route.method, endpoint.route.path): endpoint
            for endpoint in endpoints
            if endpoint.route.for_devices
        }
        self._otherwise = otherwise

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer as Flask's own `wsgi_app` does."""
        endpoint = self._endpoints.get((environ["REQUEST_METHOD"], environ["PATH_INFO"]))
        if endpoint is None:
            return self._otherwise(environ, start_response)
        asked = Request(environ)
        asked.max_content_length = endpoint.services.limits.body_bytes_max
        return endpoint.respond(asked, {})(environ, start_response)


def _queries(route: Route, asked: Request) -> dict[str, Any]:
    """Read the parameters; one that is misspelt would change the answer without a word."""
    if asked.query_string:
        known = [query.name for query in route.query]
        odd = [name for name in asked.args if name not in known]
        twice = [name for name, values in asked.args.lists() if len(values) > 1]
        if odd or twice:
            allowed = f"it takes {', '.join(known)}, once each" if known else "it takes none"
            named = ", ".join(f"{name[:64]!r}" for name in (odd or twice)[:8])
            raise ProblemError("bad_query", f"{named}: {allowed}")
    return {query.name: _query(query, asked) for query in route.query}


def _query(query: Query, asked: Request) -> int | str | dt.date | None:
    text = asked.args.get(query.name)
    if text is None:
        return query.default
    if query.kind is str:
        if text not in query.words:
            raise ProblemError("bad_query", f"{query.name} is one of {', '.join(query.words)}")
        return text
    if query.kind is dt.date:
        return _day(query.name, text)
    if not WHOLE.fullmatch(text) or not query.least <= int(text) <= query.most:
        raise ProblemError(
            "bad_query", f"{query.name} is a whole number from {query.least} to {query.most}"
        )
    return int(text)


def _day(name: str, text: str) -> dt.date:
    try:
        return msgspec.convert(text, dt.date)
    except msgspec.ValidationError:
        raise ProblemError("bad_query", f"{name} is a day such as 2026-03-01") from None


def _body(asked: Request, decoder: "msgspec.json.Decoder[Any]") -> Any:  # noqa: ANN401 - as the route says
    if asked.mimetype != "application/json":
        raise ProblemError("wrong_type", "the body is not JSON by its Content-Type")
    if asked.headers.get("Content-Encoding", "identity") != "identity":
        raise ProblemError("wrong_type", "the body is compressed: send it as it is")
    data = asked.get_data()
    try:
        try:
            return decoder.decode(data)
        except msgspec.ValidationError:
            # JSON knows no integers: 5.0 is the whole number 5 to the schema, and so to us.
            return msgspec.convert(_whole(msgspec.json.decode(data)), decoder.type)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ProblemError("bad_body", str(error)[:500]) from None


def _whole(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(each) for each in value]
    if isinstance(value, dict):
        return {name: _whole(each) for name, each in value.items()}
    return value


def _answer(route: Route, answer: Any) -> Response:  # noqa: ANN401 - as the route says
    if isinstance(answer, bytes):
        response = Response(answer, mimetype=route.media_type)
        if route.media_type == "text/html":
            response.headers["Content-Security-Policy"] = openapi.page_policy(answer)
            response.headers["Referrer-Policy"] = "no-referrer"
        return response
    return Response(msgspec.json.encode(answer), mimetype=route.media_type)


def _document(problem: ProblemError | Refused, number: str) -> Problem:
    if isinstance(problem, Refused):
        return of_refusal(problem, number)
    return document(problem.code, problem.detail, problem.facts, number)


def _problem(problem: Problem) -> Response:
    response = Response(msgspec.json.encode(problem), problem.status, mimetype=MEDIA_TYPE)
    if problem.status == HTTPStatus.TOO_MANY_REQUESTS:
        response.headers["Retry-After"] = "1"
    if problem.status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = challenge(problem.code)
    return response


def _http_problem(error: HTTPException, number: str) -> Response:
    code = _HTTP_CODES.get(error.code or 500, "bad_call")
    response = _problem(document(code, error.description or "", {}, number))
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return response


def _finish(asked: Request, response: Response, signed: Signed, call: Call | None) -> None:
    """Sign a device's answer, keep or drop a person's cookie, and forbid what is not needed."""
    if signed.key:
        body = response.get_data()
        answer = sign_answer(signed.key, signed.signature, response.status_code, body)
        response.headers[SIGNATURE_HEADER] = answer
    if call and "set_session" in call.params:
        secure = call.services.behind_tls or asked.is_secure
        _set_cookie(response, call.params["set_session"], secure=secure)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"


def _set_cookie(response: Response, told: str, *, secure: bool) -> None:
    if told:
        response.set_cookie(SESSION_COOKIE, told, httponly=True, samesite="Strict", secure=secure)
    else:
        response.delete_cookie(SESSION_COOKIE, httponly=True, samesite="Strict", secure=secure)


def _named(call: Call | None) -> dict[str, Any]:
    """Give the table and the round that a message names in its body."""
    body = call.body if call else None
    return {name: getattr(body, name, None) for name in ("table", "round")}


def _logged(signed: Signed, params: dict[str, Any], response: Response) -> dict[str, Any]:
    """Say who asked for what and how it ended; never a body, a key or a signature."""
    who = "device" if signed.caller.device else "person"
    code = json.loads(response.get_data())["code"] if response.mimetype == MEDIA_TYPE else ""
    return {
        "status": response.status_code,
        "code": code,
        who: signed.caller.name,
        "table": params.get("table"),
        "round": params.get("round"),
    }
