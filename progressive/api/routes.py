"""The routes as a table: method, path, who may call, what goes in and out, what can go wrong."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from progressive.api.services import Caller, Services
from progressive.devices import Kind
from progressive.people.roles import Deed

Who = Deed | Kind | Literal["anyone", "logged in"]


@dataclass(frozen=True, slots=True)
class Query:
    """A query parameter: a whole number with a range, a day, or one of some words."""

    name: str
    kind: type[int] | type[dt.date] | type[str] = int
    default: int | None = None
    least: int = 0
    most: int = 2**53 - 1
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler is given."""

    services: Services
    caller: Caller
    params: dict[str, Any]
    body: Any = None


Handler = Callable[[Call], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """One route; `who` is the deed, the kind of device, or everybody."""

    method: str
    path: str  # such as /v1/tables/{table}; numbers are written {round:int}
    name: str
    summary: str
    who: tuple[Who, ...]
    handler: Handler
    answer: Any
    body: Any = None  # a type: a struct, or a union of them
    query: tuple[Query, ...] = ()
    problems: tuple[str, ...] = ()
    tag: str = "reading"
    media_type: str = "application/json"
    for_persons: bool = False  # one of two persons does it: a program's token is not enough

    @property
    def for_devices(self) -> bool:
        """Whether it is called by devices, with signatures."""
        return isinstance(self.who[0], Kind)

    @property
    def is_open(self) -> bool:
        """Whether anybody may call it."""
        return self.who == ("anyone",)


ALWAYS: Final = ("not_found", "wrong_method", "too_large", "bad_query", "link_down", "defect")
OF_DEVICES: Final = (
    "unsigned",
    "unknown_device",
    "revoked_device",
    "wrong_signature",
    "clock_skew",
    "not_allowed",
    "too_many_requests",
)
OF_PEOPLE: Final = ("not_logged_in", "csrf", "not_allowed")
OF_BODIES: Final = ("wrong_type", "bad_body")
OF_STEPS: Final = (
    "unknown_table",
    "stale_round",
    "round_ahead",
    "wrong_phase",
    "conflict",
    "table_closed",
    "not_audited",
)


def problems_of(route: Route) -> list[str]:
    """List every code that a route can answer with."""
    codes = [*ALWAYS, *route.problems]
    if route.for_devices:
        codes += OF_DEVICES
    elif not route.is_open:
        codes += OF_PEOPLE
        if route.for_persons:
            codes.append("person_needed")
    if route.body:
        codes += OF_BODIES
    return sorted(set(codes))
