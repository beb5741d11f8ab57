"""Users: their roles, their passwords (hashed), and the lock after too many wrong ones."""

import hashlib
import re
import secrets
from collections.abc import Callable
from functools import cache
from typing import Any, Final, cast

import msgspec
from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

from meters.errors import Refused
from meters.site import Change, SiteJournal
from progressive.people.roles import Role

NAME: Final = re.compile(r"[a-z][a-z0-9._-]{1,31}")
PASSWORD_LENGTH_MIN: Final = 12
FAILURES_MAX: Final = 5
LOCKED_MS: Final = 15 * 60 * 1000
RECORD: Final = "users"


class User(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A user as stored; the password is an argon2id hash."""

    user: str
    roles: list[Role]
    password_hash: str = msgspec.field(default="", name="hash")
    active: bool = True
    changed_ms: int = 0  # sessions from before are over

    def __repr__(self) -> str:
        return f"User({self.user!r}, {self.roles!r})"


@cache
def nobodys_hash() -> str:
    """Give a hash that no password fits, to be compared with where there is no user."""
    return PasswordHasher().hash(secrets.token_urlsafe())


class Users:
    """The site's users; every change is an entry of the site's journal."""

    def __init__(self, journal: SiteJournal, now_ms: Callable[[], int]) -> None:
        self._journal = journal
        self._client = journal.client
        self._now_ms = now_ms
        self._hasher = PasswordHasher()

    def find(self, name: str) -> User | None:
        """Find a user by name."""
        text = cast("str | None", self._client.hget(self._journal.key(RECORD), name))
        return msgspec.json.decode(text, type=User) if text else None

    def all(self) -> list[User]:
        """List the users by name."""
        found = cast("dict[str, str]", self._client.hgetall(self._journal.key(RECORD)))
        return [msgspec.json.decode(found[name], type=User) for name in sorted(found)]

    def put(
        self,
        name: str,
        roles: list[Role],
        by: str,
        *,
        password: str | None = None,
        second: str = "",
    ) -> str:
        """Add a user or give one new roles and a new password, which is told once."""
        self.check_name(name)
        told, hashed = self._fresh(password)
        user = User(
            user=name,
            roles=sorted(set(roles)),
            password_hash=hashed,
            changed_ms=self._now_ms(),
        )
        self._write(user, by, "user", second)
        self._client.delete(self._failures(name))
        return told

    def check_name(self, name: str) -> None:
        """Refuse what is no name for a user."""
        if not NAME.fullmatch(name):
            raise Refused(
                "bad_user",
                f"{name!r} is no user name: 2 to 32 lower-case letters, digits, dots and dashes",
            )

    def _fresh(self, password: str | None) -> tuple[str, str]:
        """Give a password, drawn if none was chosen, and its hash."""
        told = password or secrets.token_urlsafe(15)
        if len(told) < PASSWORD_LENGTH_MIN:
            raise Refused("bad_password", f"{PASSWORD_LENGTH_MIN} characters are the least")
        return told, self._hasher.hash(told)

    def give_roles(self, name: str, roles: list[Role], by: str, *, second: str = "") -> None:
        """Give a user other roles; the sessions begun with the old ones are over."""
        user = self._known(name)
        changed = msgspec.structs.replace(user, roles=sorted(set(roles)), changed_ms=self._now_ms())
        self._write(changed, by, "user_roles", second)

    def give_password(
        self, name: str, by: str, *, password: str | None = None, second: str = ""
    ) -> str:
        """Give a user a new password, which is told once; sessions from before are over."""
        user = self._known(name)
        told, hashed = self._fresh(password)
        changed = msgspec.structs.replace(user, password_hash=hashed, changed_ms=self._now_ms())
        self._write(changed, by, "user_password", second)
        self._client.delete(self._failures(name))
        return told

    def retire(self, name: str, by: str, *, second: str = "") -> None:
        """Take a user's access away for good; the name stays taken."""
        user = self._known(name)
        gone = msgspec.structs.replace(user, active=False, changed_ms=self._now_ms())
        self._write(gone, by, "user_retired", second)

    def _known(self, name: str) -> User:
        user = self.find(name)
        if user is None or not user.active:
            raise Refused("unknown_user", f"there is no user {name}")
        return user

    def _write(self, user: User, by: str, kind: str, second: str) -> None:
        body: dict[str, Any] = {"user": user.user, "roles": user.roles}  # never the hash
        if second:
            body["second"] = second  # who agreed to it
        stored = msgspec.json.encode(user).decode()
        self._journal.note(by, kind, body, [Change(RECORD, user.user, stored)])

    def check(self, name: str, password: str) -> User:
        """Prove a user by password; too many wrong ones lock the name for a while.

        A name that nobody has is answered as slowly, and locked as soon, as one that somebody has:
        whoever tries names learns nothing. Every try is counted before it is looked at, so that
        many at once are no more than five.
        """
        failures = self._failures(name)
        count = self._client.incr(failures)
        if count > FAILURES_MAX:
            raise Refused("locked_out", "too many wrong passwords: try again in 15 minutes")
        self._client.pexpire(failures, LOCKED_MS)
        user = self.find(name)
        fits = self._matches(user.password_hash if user else nobodys_hash(), password)
        if user is None or not user.active or not fits:
            raise Refused("wrong_password", "the name or the password is wrong")
        self._client.delete(failures)
        return user

    def _failures(self, name: str) -> str:
        """Name the key that counts wrong passwords; what is typed as a name may be a password."""
        return self._journal.key(f"failures:{hashlib.sha256(name.encode()).hexdigest()}")

    def _matches(self, hashed: str, password: str) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except VerificationError:
            return False
