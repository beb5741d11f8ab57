"""What travels about people, programs and devices, as types that refuse unknown fields."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from progressive.api.wire import Answer, Body, Name, Reason
from progressive.devices import Kind
from progressive.people.roles import Role
from progressive.people.users import PASSWORD_LENGTH_MIN

UserName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9._-]{1,31}$")]
Password = Annotated[str, Meta(max_length=256)]


class LoginBody(Body, frozen=True, kw_only=True):
    """A user's name and password."""

    user: Annotated[str, Meta(max_length=64)]
    password: Password


class PasswordBody(Body, frozen=True, kw_only=True):
    """One's password as it is, and as it is to be."""

    old: Password
    new: Annotated[Password, Meta(min_length=PASSWORD_LENGTH_MIN)]


class WishBody(Body, frozen=True, kw_only=True):
    """A change of users or tokens: `user` adds one or gives new roles and a new password."""

    what: Literal["user", "retire", "token", "revoke_token"]
    name: UserName
    roles: list[Role] = msgspec.field(default_factory=list)
    reason: Reason


class DeviceBody(Body, frozen=True, kw_only=True):
    """A new device: a hub or shoe reader has one table, a gateway many."""

    device: Name
    kind: Kind
    tables: Annotated[list[Name], Meta(min_length=1, max_length=1000)]


class SessionAnswer(Answer, frozen=True, kw_only=True):
    """Who is logged in; `csrf` goes into the X-CSRF-Token header of every change."""

    user: str
    roles: list[str]
    csrf: str


class UserAnswer(Answer, frozen=True, kw_only=True):
    """A user."""

    user: str
    roles: list[str]
    active: bool


class WishAnswer(Answer, frozen=True, kw_only=True):
    """An open proposal about users or tokens."""

    number: int
    what: str
    name: str
    roles: list[str]
    reason: str
    by: str


class ProgramAnswer(Answer, frozen=True, kw_only=True):
    """A program that has a token."""

    name: str
    roles: list[str]


class Users(Answer, frozen=True, kw_only=True):
    """Users, programs with tokens, and what is proposed about them."""

    users: list[UserAnswer]
    programs: list[ProgramAnswer]
    proposals: list[WishAnswer]


class WishSettled(Answer, frozen=True, kw_only=True):
    """A proposal's number and result; `told` is a new password or token, shown this once."""

    number: int
    result: Literal["proposed", "approved", "rejected"]
    told: str = ""


class DeviceAnswer(Answer, frozen=True, kw_only=True):
    """A device; `key` is shown once, when it is made; `seen_ms` is its last post for each table."""

    device: str
    kind: str
    tables: list[str]
    active: bool
    key: str = ""
    seen_ms: dict[str, int] = msgspec.field(default_factory=dict)


class DevicesAnswer(Answer, frozen=True, kw_only=True):
    """The devices."""

    devices: list[DeviceAnswer]
