"""Logging in and out, and one's own password."""

from collections.abc import Sequence

from progressive.api import wire_people as wire
from progressive.api.routes import Call, Route
from progressive.api.wire import Health
from progressive.people.roles import Role


def login(call: Call) -> wire.SessionAnswer:
    """Begin a session; its id goes into a cookie that scripts cannot read."""
    user = call.services.users.check(call.body.user, call.body.password)
    return _begin(call, user.user, user.roles)


def _begin(call: Call, user: str, roles: Sequence[Role]) -> wire.SessionAnswer:
    told, session = call.services.sessions.begin(user)
    call.params["set_session"] = told
    return wire.SessionAnswer(user=user, roles=[*roles], csrf=session.csrf)


def who(call: Call) -> wire.SessionAnswer:
    """Tell who is logged in."""
    found = call.services.sessions.find(call.caller.session)
    csrf = found[0].csrf if found else ""
    return wire.SessionAnswer(user=call.caller.name, roles=[*call.caller.roles], csrf=csrf)


def change_password(call: Call) -> wire.SessionAnswer:
    """Change one's own password; every session of that person is over, and this one begun anew."""
    caller = call.caller
    call.services.users.change_password(caller.name, call.body.old, call.body.new)
    call.services.sessions.end(caller.session)
    return _begin(call, caller.name, caller.roles)


def logout(call: Call) -> Health:
    """End the session."""
    call.services.sessions.end(call.caller.session)
    call.params["set_session"] = ""
    return Health(status="ok")


ROUTES = (
    Route("POST", "/v1/session", "login", "Log in", ("anyone",), login, wire.SessionAnswer,
          wire.LoginBody, tag="people",
          problems=("wrong_password", "locked_out", "too_many_requests")),
    Route("GET", "/v1/session", "who", "Who is logged in", ("logged in",), who,
          wire.SessionAnswer, tag="people"),
    Route("DELETE", "/v1/session", "logout", "Log out", ("logged in",), logout, Health,
          tag="people"),
    Route("POST", "/v1/session/password", "change_password",
          "Change one's own password; one's other sessions end", ("logged in",), change_password,
          wire.SessionAnswer, wire.PasswordBody, tag="people", for_persons=True,
          problems=("wrong_password", "locked_out", "too_many_requests", "bad_call",
                    "not_audited")),
)  # fmt: skip
