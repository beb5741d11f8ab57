"""Logging in and out."""

from progressive.api import wire
from progressive.api.routes import Call, Route


def login(call: Call) -> wire.SessionAnswer:
    """Begin a session; its id goes into a cookie that scripts cannot read."""
    user = call.services.users.check(call.body.user, call.body.password)
    told, session = call.services.sessions.begin(user.user)
    call.params["set_session"] = told
    return wire.SessionAnswer(user=user.user, roles=[*user.roles], csrf=session.csrf)


def who(call: Call) -> wire.SessionAnswer:
    """Tell who is logged in."""
    found = call.services.sessions.find(call.caller.session)
    csrf = found[0].csrf if found else ""
    return wire.SessionAnswer(user=call.caller.name, roles=[*call.caller.roles], csrf=csrf)


def logout(call: Call) -> wire.Health:
    """End the session."""
    call.services.sessions.end(call.caller.session)
    call.params["set_session"] = ""
    return wire.Health(status="ok")


ROUTES = (
    Route("POST", "/v1/session", "login", "Log in", ("anyone",), login, wire.SessionAnswer,
          wire.LoginBody, tag="people",
          problems=("wrong_password", "locked_out", "too_many_requests")),
    Route("GET", "/v1/session", "who", "Who is logged in", ("logged in",), who,
          wire.SessionAnswer, tag="people"),
    Route("DELETE", "/v1/session", "logout", "Log out", ("logged in",), logout, wire.Health,
          tag="people"),
)  # fmt: skip
