"""The roles, and what each may do. What no role is given, nobody may do."""

from collections.abc import Collection
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Role(StrEnum):
    """What somebody is here for."""

    DEALER = "dealer"
    SUPERVISOR = "supervisor"
    ACCOUNTING = "accounting"
    AUDITOR = "auditor"
    TECHNICIAN = "technician"
    ADMINISTRATOR = "administrator"


class Deed(StrEnum):
    """Something that a role allows."""

    LOOK = "look"  # meters, tables, awards, rounds
    PLAY = "play"  # lock, deal, end, cancel, new shoe
    SUPERVISE = "supervise"  # correct, void, open and close tables
    PAY = "pay"
    PROPOSE_MONEY = "propose_money"  # adjustments, transfers, award voids, hand awards
    APPROVE_MONEY = "approve_money"
    PROPOSE_CHANGE = "propose_change"  # parameters, tables, paytable
    APPROVE_CHANGE = "approve_change"
    AUDIT = "audit"  # journal, proofs, checkpoints
    DEVICES = "devices"
    PEOPLE = "people"


_EVERYBODY: Final = frozenset(Role)

# The administrator keeps users and devices and has no money verb.
ALLOWED: Final = MappingProxyType(
    {
        Deed.LOOK: _EVERYBODY,
        Deed.PLAY: frozenset({Role.DEALER, Role.SUPERVISOR}),
        Deed.SUPERVISE: frozenset({Role.SUPERVISOR}),
        Deed.PAY: frozenset({Role.SUPERVISOR}),
        Deed.PROPOSE_MONEY: frozenset({Role.SUPERVISOR, Role.ACCOUNTING}),
        Deed.APPROVE_MONEY: frozenset({Role.SUPERVISOR, Role.ACCOUNTING}),
        Deed.PROPOSE_CHANGE: frozenset({Role.TECHNICIAN, Role.ACCOUNTING}),
        Deed.APPROVE_CHANGE: frozenset({Role.SUPERVISOR, Role.ACCOUNTING}),
        Deed.AUDIT: frozenset({Role.AUDITOR, Role.ACCOUNTING}),
        Deed.DEVICES: frozenset({Role.TECHNICIAN, Role.ADMINISTRATOR}),
        Deed.PEOPLE: frozenset({Role.ADMINISTRATOR}),
    }
)


def may(roles: Collection[Role], deed: Deed) -> bool:
    """Tell whether somebody with these roles may do something."""
    return not ALLOWED[deed].isdisjoint(roles)
