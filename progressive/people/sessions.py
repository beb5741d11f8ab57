"""Sessions of people and tokens of programs: random, stored as hashes, over when their user is."""

import hashlib
import secrets
from collections.abc import Callable
from typing import Final, cast

import msgspec

from meters.site import Change, SiteJournal
from progressive.people.roles import Role
from progressive.people.users import Users

SESSION_S: Final = 12 * 60 * 60
IDLE_S: Final = 60 * 60  # without a request: a screen that somebody left is nobody's
SEEN_EVERY_S: Final = 60  # how exactly that is kept, so that reading seldom writes
TOKENS: Final = "tokens"


class Session(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A session as stored, under the hash of its id."""

    user: str
    csrf: str
    since_ms: int


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program's token as stored, under the hash of its text."""

    name: str
    roles: list[Role]


def hashed(text: str) -> str:
    """Hash what only its holder knows; it is random, so a plain hash is enough."""
    return hashlib.sha256(text.encode()).hexdigest()


class Sessions:
    """Who is logged in, kept by the server so that any process can ask."""

    def __init__(self, journal: SiteJournal, users: Users, now_ms: Callable[[], int]) -> None:
        self._journal = journal
        self._client = journal.client
        self._users = users
        self._now_ms = now_ms

    def begin(self, user: str) -> tuple[str, Session]:
        """Begin a session; its id is told to the browser and nowhere else."""
        told = secrets.token_urlsafe(32)
        session = Session(user, secrets.token_urlsafe(24), self._now_ms())
        key = self._journal.key(f"session:{hashed(told)}")
        self._client.set(key, msgspec.json.encode(session), ex=IDLE_S)
        return told, session

    def find(self, told: str) -> tuple[Session, list[Role]] | None:
        """Give a session that is not over, with its user's present roles."""
        key = self._journal.key(f"session:{hashed(told)}")
        text = cast("str | None", self._client.get(key))
        if text is None:
            return None
        session = msgspec.json.decode(text, type=Session)
        left_ms = session.since_ms + SESSION_S * 1000 - self._now_ms()
        if left_ms <= 0:
            return None
        user = self._users.find(session.user)
        if user is None or not user.active or user.changed_ms > session.since_ms:
            return None
        idle_ms = min(IDLE_S * 1000, left_ms)
        if idle_ms - self._client.pttl(key) > SEEN_EVERY_S * 1000:
            self._client.pexpire(key, idle_ms)
        return session, user.roles

    def end(self, told: str) -> None:
        """End a session."""
        self._client.delete(self._journal.key(f"session:{hashed(told)}"))

    def add_token(self, name: str, roles: list[Role], by: str) -> str:
        """Give a program a token, which is told once."""
        told = f"pt_{secrets.token_urlsafe(32)}"
        stored = msgspec.json.encode(Token(name, roles)).decode()
        change = Change(TOKENS, hashed(told), stored)
        self._journal.note(by, "token", {"name": name, "roles": roles}, [change])
        return told

    def find_token(self, told: str) -> Token | None:
        """Give the program that a token belongs to."""
        text = cast("str | None", self._client.hget(self._journal.key(TOKENS), hashed(told)))
        return msgspec.json.decode(text, type=Token) if text else None

    def programs(self) -> dict[str, list[Role]]:
        """Name the programs that have tokens, with their roles."""
        held = cast("dict[str, str]", self._client.hgetall(self._journal.key(TOKENS)))
        tokens = [msgspec.json.decode(text, type=Token) for text in held.values()]
        return {token.name: token.roles for token in sorted(tokens, key=lambda token: token.name)}

    def revoke_token(self, name: str, by: str) -> int:
        """Revoke every token of a program; gives how many there were."""
        held = cast("dict[str, str]", self._client.hgetall(self._journal.key(TOKENS)))
        gone = [
            Change(TOKENS, field, None)
            for field, text in held.items()
            if msgspec.json.decode(text, type=Token).name == name
        ]
        if gone:
            self._journal.note(by, "token_revoked", {"name": name}, gone)
        return len(gone)
