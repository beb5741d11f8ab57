"""The journal's entries, one type a step: what was asked, and what it brought about.

A line of the journal is one of these as JSON. Fields up to the blank line of each type are the
event (who asked for what); those after it are its effects, which replay works out again.
"""

from typing import Any

import msgspec

from meters.definitions import LinkDefinition

Postings = dict[str, int]  # account -> micro-dollars; they sum to zero


class WonAward(msgspec.Struct, frozen=True, omit_defaults=True):
    """An award as the entry that won it shows it."""

    award: int
    seat: int
    line: str
    amount: int
    level: str | None = None
    added: int = 0  # by the house, where the site pays simultaneous wins in full
    from_reserve: int = 0  # who paid the reset
    from_house: int = 0


class Reversal(msgspec.Struct, frozen=True, omit_defaults=True):
    """An award that was taken back, and the later award that what it left went to."""

    award: int
    amount: int
    to: int | None = None


class MustHitWin(msgspec.Struct, frozen=True, omit_defaults=True):
    """The end of a cycle: its secret revealed, the next one open, the one after committed to."""

    cycle: int
    opening: int  # value at which the next cycle opens
    secret: str
    salt: str
    commit: str
    award: WonAward


class Entry(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="k",
    tag=str.lower,
):
    """What every entry has: its number, its time in milliseconds, its postings."""

    n: int = 0
    t: int = 0
    post: Postings = {}


class Open(Entry, frozen=True, kw_only=True):
    """A link begins, its seeds funded by the house."""

    by: str
    definition: LinkDefinition
    commits: list[str] = []


class Seats(Entry, frozen=True, kw_only=True):
    """A table's sensors report who has a wager."""

    table: str
    round: int
    device: str
    epoch: int
    sequence: int
    seats: list[int]


class Late(Seats, frozen=True, kw_only=True, tag="late"):
    """Wagers that came after the lock: never counted."""


class Card(Entry, frozen=True, kw_only=True):
    """A shoe reader saw a card of a locked or dealt round."""

    table: str
    round: int
    device: str
    epoch: int
    sequence: int
    card: str


class Step(Entry, frozen=True, kw_only=True):
    """A step of a round."""

    table: str
    round: int
    by: str


class Lock(Step, frozen=True, kw_only=True):
    """No more bets: every wager contributes."""

    seats: list[int]
    kind: str = "played"

    cycle: int = 0
    value: int = 0


class Deal(Step, frozen=True, kw_only=True):
    """The first four cards, and what every bettor's line is."""

    player: list[str]
    banker: list[str]
    lines: dict[str, str] = {}

    awards: list[WonAward] = []
    in_force: list[str] = []


class Correct(Deal, frozen=True, kw_only=True):
    """A misread card: awards whose line changes are reversed, and their seats decided anew."""

    number: int

    reversed: list[Reversal] = []


class End(Step, frozen=True, kw_only=True):
    """Tray awards are paid, Must Hit is decided, the next round opens."""

    more: list[str] = []
    must_hit: MustHitWin | None = None

    paid: list[int] = []
    in_force: list[str] = []


class Void(Step, frozen=True, kw_only=True):
    """A locked round that does not count: wagers go back, contributions stay."""

    reason: str

    reversed: list[Reversal] = []


class Cancel(Step, frozen=True, kw_only=True):
    """A round that was given up before its lock."""

    reason: str


class Shoe(Entry, frozen=True, kw_only=True):
    """New cards at a table."""

    table: str
    shoe: int
    by: str
    commit: str = ""  # automated tables: to this shoe's secret
    secret: str = ""  # of the shoe before, revealed now that it is over
    salt: str = ""


class CloseTable(Entry, frozen=True, kw_only=True, tag="close_table"):
    """A table stops."""

    table: str
    by: str
    reason: str


class OpenTable(CloseTable, frozen=True, kw_only=True, tag="open_table"):
    """A table plays again."""


class Pay(Entry, frozen=True, kw_only=True):
    """One person paid a pending award."""

    by: str
    award: int

    amount: int = 0


class Propose(Entry, frozen=True, kw_only=True):
    """The first of two persons asks for something."""

    number: int
    by: str
    what: str
    reason: str
    body: dict[str, Any]


class Approve(Entry, frozen=True, kw_only=True):
    """The second of two persons agrees, and it is carried out."""

    number: int
    by: str
    revealed: dict[str, Any] | None = None  # secrets of a Must Hit that was decommissioned

    transfer: int = 0
    paid: list[int] = []
    reversed: list[Reversal] = []
    awards: list[WonAward] = []
    in_force: list[str] = []


class Reject(Entry, frozen=True, kw_only=True):
    """A proposal was turned down or withdrawn."""

    number: int
    by: str
    reason: str


class Receive(Entry, frozen=True, kw_only=True):
    """Money that another link sent has arrived."""

    by: str
    from_: str = msgspec.field(name="from")
    transfer: int
    level: str
    amount: int


class Cleared(Entry, frozen=True, kw_only=True):
    """A transfer to another link is known to have arrived."""

    by: str
    to: str
    transfer: int


class Balance(Entry, frozen=True, kw_only=True):
    """The whole state before this entry, so that a replay can begin here."""

    by: str
    state: msgspec.Raw


AnyEntry = (
    Open
    | Seats
    | Late
    | Card
    | Lock
    | Deal
    | Correct
    | End
    | Void
    | Cancel
    | Shoe
    | CloseTable
    | OpenTable
    | Pay
    | Propose
    | Approve
    | Reject
    | Receive
    | Cleared
    | Balance
)

_decoder = msgspec.json.Decoder(AnyEntry)


def read_entry(line: str | bytes) -> AnyEntry:
    """Read a line of the journal."""
    entry: AnyEntry = _decoder.decode(line)
    return entry
