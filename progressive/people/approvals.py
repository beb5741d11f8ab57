"""Changes of users and tokens need two persons: one proposes, another approves."""

from typing import Final, Literal, cast

import msgspec

from meters.errors import Refused
from meters.site import Change, SiteJournal
from progressive.people.roles import Role
from progressive.people.sessions import Sessions
from progressive.people.users import Users

RECORD: Final = "proposals"
What = Literal["user", "retire", "token", "revoke_token"]


class Wish(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is proposed; the entry that proposed it is its number."""

    what: What
    name: str
    roles: list[Role] = []
    reason: str
    by: str = ""


class Approvals:
    """Open proposals of the site; each is an entry of its journal, and so is what becomes of it."""

    def __init__(self, journal: SiteJournal, users: Users, sessions: Sessions) -> None:
        self._journal = journal
        self._users = users
        self._sessions = sessions

    def propose(self, wish: Wish) -> int:
        """Record what the first person asks for; gives its number."""
        self._insist_on_sense(wish)
        number = self._journal.head() + 1
        stored = msgspec.json.encode(wish).decode()
        while True:
            changes = [Change(RECORD, str(number), stored)]
            try:
                return self._journal.record(number, wish.by, "propose", _shown(wish), changes)
            except Refused as refusal:
                if refusal.code != "entry_number":
                    raise
                number = int(refusal.detail["next"])

    def open_ones(self) -> dict[int, Wish]:
        """List the open proposals by number."""
        found = cast("dict[str, str]", self._journal.client.hgetall(self._journal.key(RECORD)))
        wishes = {int(n): msgspec.json.decode(text, type=Wish) for n, text in found.items()}
        return dict(sorted(wishes.items()))

    def approve(self, number: int, by: str) -> str:
        """Carry out what another person proposed; gives the new password or token, told once."""
        wish = self._take(number)
        if wish.by == by:
            raise Refused("same_person", "a proposal is approved by another person")
        self._insist_on_sense(wish)
        self._settle(number, by, "approve")
        if wish.what == "user":
            return self._users.put(wish.name, wish.roles, by)
        if wish.what == "token":
            return self._sessions.add_token(wish.name, wish.roles, by)
        if wish.what == "retire":
            self._users.retire(wish.name, by)
        else:
            self._sessions.revoke_token(wish.name, by)
        return ""

    def _insist_on_sense(self, wish: Wish) -> None:
        """Refuse what cannot be carried out, so that it is neither proposed nor lost when approved.

        A name means one person or one program for good: the journal knows them by nothing else.
        """
        self._users.check_name(wish.name)
        user = self._users.find(wish.name)
        if wish.what in {"user", "token"} and not wish.roles:
            raise Refused("bad_user", f"{wish.name} needs a role")
        if wish.what == "user":
            if user is not None and not user.active:
                raise Refused("bad_user", f"{wish.name} was retired: choose another name")
            if wish.name in self._sessions.programs():
                raise Refused("bad_user", f"{wish.name} is a program: choose another name")
        if wish.what == "token" and user is not None:
            raise Refused("bad_user", f"{wish.name} is, or was, a user: choose another name")
        if wish.what == "retire" and (user is None or not user.active):
            raise Refused("unknown_user", f"there is no user {wish.name}")
        if wish.what == "revoke_token" and wish.name not in self._sessions.programs():
            raise Refused("unknown_user", f"no program {wish.name} has a token")

    def reject(self, number: int, by: str) -> None:
        """Turn a proposal down, or withdraw one's own."""
        self._settle(number, by, "reject")

    def _take(self, number: int) -> Wish:
        wish = self.open_ones().get(number)
        if wish is None:
            raise Refused("unknown_proposal", f"there is no open proposal {number}")
        return wish

    def _settle(self, number: int, by: str, kind: str) -> None:
        """Close a proposal, which of two persons at once only one can do."""
        entry = self._journal.head() + 1
        while True:
            body = {"number": number, **_shown(self._take(number))}
            try:
                self._journal.record(entry, by, kind, body, [Change(RECORD, str(number), None)])
            except Refused as refusal:
                if refusal.code != "entry_number":
                    raise
                entry = int(refusal.detail["next"])
            else:
                return


def _shown(wish: Wish) -> dict[str, object]:
    return {"what": wish.what, "name": wish.name, "roles": wish.roles, "reason": wish.reason}
