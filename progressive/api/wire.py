"""What travels over HTTP, as types that refuse unknown fields and make the OpenAPI document."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from meters.definitions import TableDefinition, Terms
from meters.entries import MustHitWin, Reversal, WonAward
from meters.levels import Level
from meters.report import LevelMeters

WHOLE_MAX = 2**53 - 1
BATCH_MAX = 256

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Number = Annotated[int, Meta(ge=1, le=WHOLE_MAX)]
Count = Annotated[int, Meta(ge=0, le=WHOLE_MAX)]
Seat = Annotated[int, Meta(ge=1, le=9)]
Seats = Annotated[list[Seat], Meta(max_length=9)]
CardText = Annotated[str, Meta(pattern=r"^[A2-9TJQK][SHDC]$")]
TwoCards = Annotated[list[CardText], Meta(min_length=2, max_length=2)]
Reason = Annotated[str, Meta(min_length=1, max_length=500)]
Lamp = Literal["off", "accepted", "locked", "late", "winner", "link-down"]


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a request carries."""


class SensorMessage(Body, frozen=True, kw_only=True):
    """The state of a table's seats, or a heartbeat; kept by the device until it is answered."""

    table: Name
    epoch: Number
    sequence: Number
    round: Count
    seats: Seats = []
    kind: Literal["state", "heartbeat"] = "state"


class GatewayMessage(SensorMessage, frozen=True, kw_only=True):
    """A hub's message that a gateway posts for it."""

    device: Name


class Batch(Body, frozen=True, kw_only=True):
    """Messages of many tables, one a table."""

    messages: Annotated[list[GatewayMessage], Meta(min_length=1, max_length=BATCH_MAX)]


class CardMessage(Body, frozen=True, kw_only=True):
    """The next card that a shoe reader saw."""

    table: Name
    epoch: Number
    sequence: Number
    round: Count
    card: CardText


class LockBody(Body, frozen=True, kw_only=True):
    """No more bets, naming the seats that the dealer's screen showed."""

    seats: Seats
    kind: Literal["played", "free", "simulated"] = "played"


class DealBody(Body, frozen=True, kw_only=True):
    """The first two cards of each hand."""

    player: TwoCards
    banker: TwoCards


class CorrectBody(DealBody, frozen=True, kw_only=True):
    """The right cards; corrections of a round are numbered from 1."""

    number: Number


class EndBody(Body, frozen=True, kw_only=True):
    """Third cards, as far as any were drawn."""

    cards: Annotated[list[CardText], Meta(max_length=2)] = []


class ReasonBody(Body, frozen=True, kw_only=True):
    """Why something is done."""

    reason: Reason


class ShoeBody(Body, frozen=True, kw_only=True):
    """The number of the new shoe, one more than the last."""

    shoe: Number


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an answer carries."""


class Standing(Answer, frozen=True, kw_only=True):
    """Where a table stands: its round, its phase, and each seat's lamp."""

    table: str
    round: int
    phase: Literal["open", "locked", "dealt"]
    lamps: list[Lamp]


class Reported(Standing, frozen=True, kw_only=True):
    """What became of a message; `expected` is the sequence to go on with after a gap."""

    result: Literal["applied", "duplicate", "gap", "stale", "late", "closed"]
    expected: int | None = None
    late: list[int] = []


class BatchAnswer(Answer, frozen=True, kw_only=True):
    """One answer a message, in their order: a report, or the problem with it."""

    answers: list[dict[str, Any]]


class CardRead(Standing, frozen=True, kw_only=True):
    """What became of a card, and the round's cards so far."""

    result: Literal["applied", "duplicate", "gap", "stale", "ignored"]
    expected: int | None = None
    cards: list[str] = []


class Locked(Standing, frozen=True, kw_only=True):
    """A lock that stands."""

    entry: int
    seats: list[int]
    cycle: int
    value_micros: int


class Dealt(Standing, frozen=True, kw_only=True):
    """A deal or correction that stands, and what was won by it."""

    entry: int
    awards: list[WonAward] = []
    reversed: list[Reversal] = []


class Drawn(Dealt, frozen=True, kw_only=True):
    """A round that the controller's own shoe dealt; `thirds` go into its end."""

    player: list[str]
    banker: list[str]
    thirds: list[str] = []


class Ended(Standing, frozen=True, kw_only=True):
    """A round that is over; the standing is that of the next."""

    entry: int
    paid: list[int] = []
    must_hit: MustHitWin | None = None


class ShoeAnswer(Answer, frozen=True, kw_only=True):
    """A shoe that was recorded."""

    entry: int
    shoe: int


class Paid(Answer, frozen=True, kw_only=True):
    """An award that is settled."""

    result: str
    award: int = 0
    amount: int = 0
    entry: int = 0


class Proposed(Answer, frozen=True, kw_only=True):
    """A proposal that was made, approved or rejected, and what it brought about."""

    entry: int
    number: int
    result: Literal["proposed", "approved", "rejected"]
    transfer: int = 0
    paid: list[int] = []
    awards: list[WonAward] = []
    reversed: list[Reversal] = []


class MetersAnswer(Answer, frozen=True, kw_only=True):
    """A link's meters in one look, in micro-dollars."""

    link: str
    entry: int
    time_ms: int
    levels: list[LevelMeters]


class LinkAnswer(Answer, frozen=True, kw_only=True):
    """A link as it is defined now: rates are ppm of the stake, amounts micro-dollars."""

    link: str
    terms: Terms
    levels: list[Level]
    tables: list[TableDefinition]


class Links(Answer, frozen=True, kw_only=True):
    """The links."""

    links: list[LinkAnswer]


class TableAnswer(Answer, frozen=True, kw_only=True):
    """A table, and where its round stands."""

    table: str
    link: str
    asset: str
    kind: str
    status: Literal["open", "closed"]
    round: int
    phase: str
    shoe: int
    lamps: list[Lamp]
    seats: list[int]
    cards: list[str]
    combinations: list[str]


class Tables(Answer, frozen=True, kw_only=True):
    """The tables."""

    tables: list[TableAnswer]


class AwardAnswer(Answer, frozen=True, kw_only=True):
    """A pending award."""

    award: int
    table: str
    round: int
    seat: int
    line: str
    kind: str
    level: str | None
    amount: int
    entry: int
    time_ms: int
    payable: bool


class Awards(Answer, frozen=True, kw_only=True):
    """Pending awards; `next` continues the list."""

    awards: list[AwardAnswer]
    next: int | None = None


class ProposalAnswer(Answer, frozen=True, kw_only=True):
    """An open proposal."""

    number: int
    by: str
    what: str
    reason: str
    body: dict[str, Any]


class Proposals(Answer, frozen=True, kw_only=True):
    """Open proposals, and the number of the next."""

    proposals: list[ProposalAnswer]
    next_number: int


class JournalAnswer(Answer, frozen=True, kw_only=True):
    """Journal entries as they were written; `next` continues the list."""

    entries: list[dict[str, Any]]
    next: int | None = None


class Health(Answer, frozen=True, kw_only=True):
    """That the process lives, or that something is done."""

    status: Literal["ok"]


class Readiness(Answer, frozen=True, kw_only=True):
    """That every link takes wagers."""

    status: Literal["ok"]
    links: dict[str, str]
