"""The calls of the function library as values: one method a verb, with the type of its answer."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from meters.answers import (
    CardRead,
    Dealt,
    Door,
    Due,
    Ended,
    Entered,
    Head,
    Locked,
    Moved,
    NewShoe,
    Proposed,
    Reported,
    Sealed,
    Settled,
)
from meters.definitions import LinkDefinition
from meters.keys import Keys
from meters.seats import mask_of

A = TypeVar("A")


class Draw(msgspec.Struct, frozen=True, kw_only=True):
    """A Must Hit award: the seat, the cycle's secret, and the commitment to the one after next."""

    seat: int
    secret: str
    salt: str
    commit: str
    ciphertext: str


class SealedShoe(msgspec.Struct, frozen=True, kw_only=True):
    """An automated shoe: its commitment and ciphertext, and what the shoe before was made from."""

    commit: str
    ciphertext: str
    last_secret: str = ""
    last_salt: str = ""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What a device says: the state of its table's seats, or only that it is alive."""

    table: str
    device: str
    epoch: int
    sequence: int
    round: int
    seats: Collection[int] = ()
    kind: str = "state"  # or heartbeat


class CardSaid(msgspec.Struct, frozen=True, kw_only=True):
    """What a shoe reader says: the next card."""

    table: str
    device: str
    epoch: int
    sequence: int
    round: int
    card: str


class Call(NamedTuple, Generic[A]):
    """A function of the library with its keys and arguments, and the type of its answer."""

    function: str
    keys: Sequence[str]
    args: Sequence[str | int]
    decoder: "msgspec.json.Decoder[A]"


_LOCKED = msgspec.json.Decoder(Locked)
_DEALT = msgspec.json.Decoder(Dealt)
_ENDED = msgspec.json.Decoder(Ended)
_REPORTED = msgspec.json.Decoder(Reported)
_CARD = msgspec.json.Decoder(CardRead)
_DOOR = msgspec.json.Decoder(Door)
_ENTERED = msgspec.json.Decoder(Entered)
_SHOE = msgspec.json.Decoder(NewShoe)
_SETTLED = msgspec.json.Decoder(Settled)
_PROPOSED = msgspec.json.Decoder(Proposed)
_MOVED = msgspec.json.Decoder(Moved)
_SEALED = msgspec.json.Decoder(Sealed)
_HEAD = msgspec.json.Decoder(Head)
_DUE = msgspec.json.Decoder(Due)


def _message_args(message: Message) -> tuple[str | int, ...]:
    return (
        message.device,
        message.epoch,
        message.sequence,
        message.kind,
        message.round,
        mask_of(message.seats),
    )


def _lines(lines: Mapping[int, str]) -> list[str | int]:
    return [part for seat in sorted(lines) for part in (seat, lines[seat])]


class Calls:
    """The calls of one link."""

    def __init__(self, link: str) -> None:
        self.keys = Keys(link)

    def open_link(
        self, definition: LinkDefinition, by: str, commits: Sequence[tuple[str, str]]
    ) -> Call[Entered]:
        """Open a link; Must Hit brings the commitments and ciphertexts of its first two cycles."""
        text = msgspec.json.encode(definition).decode()
        secrets = [commit for commit, _ in commits] + [sealed for _, sealed in commits]
        tables = [table.name for table in definition.tables]
        return Call("pm_open", self.keys.all(tables), [by, text, *secrets], _ENTERED)

    def message(self, said: Message) -> Call[Reported]:
        """Take a device's message."""
        called = (self.keys.link, self.keys.journal, self.keys.table(said.table))
        return Call("pm_message", called, _message_args(said), _REPORTED)

    def card(self, said: CardSaid) -> Call[CardRead]:
        """Take a card that a shoe reader saw."""
        called = (self.keys.link, self.keys.journal, self.keys.table(said.table))
        args = (said.device, said.epoch, said.sequence, said.round, said.card)
        return Call("pm_card", called, args, _CARD)

    def messages(self, said: Sequence[Message]) -> Call[Reported]:
        """Take many devices' messages; the answers come as a list."""
        called = (
            self.keys.link,
            self.keys.journal,
            *(self.keys.table(each.table) for each in said),
        )
        args = [arg for each in said for arg in _message_args(each)]
        return Call("pm_messages", called, args, _REPORTED)

    def lock(
        self, table: str, round_: int, by: str, seats: Iterable[int], kind: str = "played"
    ) -> Call[Locked]:
        """No more bets, naming the seats that the dealer saw."""
        return Call("pm_lock", self.keys.step(table), (round_, by, mask_of(seats), kind), _LOCKED)

    def deal(
        self, table: str, round_: int, by: str, hands: tuple[str, str], lines: Mapping[int, str]
    ) -> Call[Dealt]:
        """Record the first four cards (`("KS9H", "2C3D")`) and every bettor's line."""
        return Call("pm_deal", self.keys.step(table), [round_, by, *hands, *_lines(lines)], _DEALT)

    def correct(  # noqa: PLR0913 - a step has these parts
        self,
        table: str,
        round_: int,
        by: str,
        number: int,
        *,
        hands: tuple[str, str],
        lines: Mapping[int, str],
    ) -> Call[Dealt]:
        """Correct a misread card; corrections of a round are numbered from 1."""
        args = [round_, by, number, *hands, *_lines(lines)]
        return Call("pm_correct", self.keys.step(table), args, _DEALT)

    def end(  # noqa: PLR0913 - a step has these parts
        self,
        table: str,
        round_: int,
        by: str,
        more: str = "",
        *,
        decided: tuple[int, str] = (0, ""),
        draw: Draw | None = None,
    ) -> Call[Ended]:
        """End a round; `decided` is the cycle and the earlier rounds Must Hit was decided on."""
        args: list[str | int] = [round_, by, more, *decided]
        if draw:
            args += [draw.seat, draw.secret, draw.salt, draw.commit, draw.ciphertext]
        return Call("pm_end", self.keys.step(table), args, _ENDED)

    def void(self, table: str, round_: int, by: str, reason: str) -> Call[Ended]:
        """Void a locked or dealt round."""
        return Call("pm_void", self.keys.step(table), (round_, by, reason), _ENDED)

    def cancel(self, table: str, round_: int, by: str, reason: str) -> Call[Ended]:
        """Cancel a round that was not locked."""
        return Call("pm_cancel", self.keys.step(table), (round_, by, reason), _ENDED)

    def shoe(
        self, table: str, number: int, by: str, sealed: SealedShoe | None = None
    ) -> Call[NewShoe]:
        """Record a new shoe; an automated one is committed to, and the one before revealed."""
        args: list[str | int] = [number, by]
        if sealed:
            args += [sealed.commit, sealed.ciphertext, sealed.last_secret, sealed.last_salt]
        return Call("pm_shoe", self.keys.step(table), args, _SHOE)

    def close_table(self, table: str, by: str, reason: str) -> Call[Door]:
        """Close a table between rounds."""
        return Call("pm_close_table", self.keys.all([table]), (by, reason), _DOOR)

    def open_table(self, table: str, by: str, reason: str) -> Call[Door]:
        """Open a closed table."""
        return Call("pm_open_table", self.keys.all([table]), (by, reason), _DOOR)

    def pay(self, award: int, by: str) -> Call[Settled]:
        """Pay a pending award."""
        return Call("pm_pay", self.keys.all(), (award, by), _SETTLED)

    def propose(
        self, number: int, by: str, what: str, reason: str, body: Mapping[str, Any]
    ) -> Call[Proposed]:
        """Ask, as the first of two persons, for an adjustment, a transfer, a change, ..."""
        text = msgspec.json.encode(body).decode()
        return Call("pm_propose", self.keys.all(), (number, by, what, reason, text), _PROPOSED)

    def approve(
        self,
        number: int,
        by: str,
        tables: Iterable[str] = (),
        revealed: Mapping[str, Any] | None = None,
    ) -> Call[Proposed]:
        """Agree, as the second person; `tables` are those that the change concerns."""
        args: list[str | int] = [number, by]
        if revealed is not None:
            args.append(msgspec.json.encode(revealed).decode())
        return Call("pm_approve", self.keys.all(tables), args, _PROPOSED)

    def reject(self, number: int, by: str, reason: str) -> Call[Proposed]:
        """Turn a proposal down, or withdraw it."""
        return Call("pm_reject", self.keys.all(), (number, by, reason), _PROPOSED)

    def receive(
        self, by: str, from_link: str, number: int, level: str, amount_micros: int
    ) -> Call[Moved]:
        """Take in what another link sent."""
        return Call(
            "pm_receive", self.keys.all(), (by, from_link, number, level, amount_micros), _MOVED
        )

    def cleared(self, by: str, to_link: str, number: int) -> Call[Moved]:
        """Note that a transfer has arrived."""
        return Call("pm_cleared", self.keys.all(), (by, to_link, number), _MOVED)

    def balance(self, tables: Iterable[str], by: str) -> Call[Entered]:
        """Write the state into the journal, so that a replay can begin there."""
        return Call("pm_balance", self.keys.all(tables), (by,), _ENTERED)

    def sealed(self, count: int) -> Call[Sealed]:
        """Move the sealer's cursor; the journal is trimmed behind the last sealed balance."""
        return Call("pm_sealed", self.keys.all(), (count,), _SEALED)

    def audited(self, head: int, start: str) -> Call[Head]:
        """Vouch for the journal up to its head, so that the link takes steps in this start."""
        return Call("pm_audited", self.keys.all(), (head, start), _HEAD)

    def due(self, table: str) -> Call[Due]:
        """Read what deciding Must Hit for a table's round needs."""
        return Call("pm_due", self.keys.all([table]), (), _DUE)
