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


def _entry(user: User, second: str) -> tuple[dict[str, Any], list[Change]]:
    """Write an entry's body, never with the hash, and the record it changes."""
    body: dict[str, Any] = {"user": user.user, "roles": user.roles}
    if second:
        body["second"] = second  # who agreed to it
    return body, [Change(RECORD, user.user, msgspec.json.encode(user).decode())]


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
        self._journal.note(by, "user", *_entry(user, second))
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
        told = secrets.token_urlsafe(15) if password is None else password
        if len(told) < PASSWORD_LENGTH_MIN:
            raise Refused("bad_password", f"{PASSWORD_LENGTH_MIN} characters are the least")
        return told, self._hasher.hash(told)

    def give_roles(self, name: str, roles: list[Role], by: str, *, second: str = "") -> None:
        """Give a user other roles; the sessions begun with the old ones are over."""
        self._change(name, by, "user_roles", second, roles=sorted(set(roles)))

    def give_password(
        self, name: str, by: str, *, password: str | None = None, second: str = ""
    ) -> str:
        """Give a user a new password, which is told once; sessions from before are over."""
        self._known(name)
        told, hashed = self._fresh(password)
        self._change(name, by, "user_password", second, password_hash=hashed)
        self._client.delete(self._failures(name))
        return told

    def change_password(self, name: str, old: str, new: str) -> None:
        """Change one's own password, proved by the old one; sessions from before are over."""
        proved = self.check(name, old).password_hash
        if old == new:
            raise Refused("bad_password", "the new password is the old one")
        _, hashed = self._fresh(new)
        self._change(name, name, "user_password", "", proved, password_hash=hashed)

    def retire(self, name: str, by: str, *, second: str = "") -> None:
        """Take a user's access away for good; the name stays taken."""
        self._change(name, by, "user_retired", second, active=False)

    def _change(
        self,
        name: str,
        by: str,
        kind: str,
        second: str,
        proved: str | None = None,
        **fields: Any,  # noqa: ANN401 - as User has them
    ) -> None:
        """Change a user as nobody else has changed them meanwhile.

        The number of the entry sees to that: whoever chose a password while their access was taken
        away would else write themselves back as they were.
        """
        while True:
            number = self._journal.head() + 1
            user = self._known(name)
            if proved not in (None, user.password_hash):
                raise Refused("wrong_password", "the name or the password is wrong")
            changed = msgspec.structs.replace(user, changed_ms=self._now_ms(), **fields)
            try:
                self._journal.record(number, by, kind, *_entry(changed, second))
            except Refused as refusal:
                if refusal.code != "entry_number":
                    raise
            else:
                return

    def _known(self, name: str) -> User:
        user = self.find(name)
        if user is None or not user.active:
            raise Refused("unknown_user", f"there is no user {name}")
        return user

    def check(self, name: str, password: str) -> User:
        """Prove a user by password; too many wrong ones lock the name for a while.

        A name that nobody has is answered as slowly, and locked as soon, as one that somebody has:
        whoever tries names learns nothing. Every try is counted before it is looked at, so that
        many at once are no more than five.
        """
        failures = self._failures(name)
        self._client.set(failures, 0, px=LOCKED_MS, nx=True)  # it ends, even if we do in between
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
