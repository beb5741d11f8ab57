"""Devices in the model: which messages count, which are repeats, which come late."""

from dataclasses import dataclass, field

from meters import entries as e
from meters.calls import Message
from meters.errors import Refused
from meters.seats import mask_of, seats_of
from meters.state import State, Table


@dataclass
class Devices:
    """The last message of each device, which lives beside the state and not in it."""

    last: dict[tuple[str, str], Message] = field(default_factory=dict)

    def hear(self, state: State, said: Message) -> tuple[str, e.Seats | None]:
        """Give what becomes of a message, and the event that it leads to, if any."""
        table = state.tables.get(said.table)
        if table is None:
            raise Refused("unknown_table", said.table)
        if mask_of(said.seats) >> table.places:
            raise Refused("seat_out_of_range", str(said.seats))
        result = self._order(said)
        if result:
            return result, None
        self.last[said.table, said.device] = said
        return _consume(table, said)

    def _order(self, said: Message) -> str | None:
        last = self.last.get((said.table, said.device))
        epoch, sequence = (last.epoch, last.sequence) if last else (0, 0)
        if said.epoch < epoch:
            raise Refused("epoch_lower", str(epoch))
        if said.epoch > epoch:
            sequence = 0
        elif last and said.sequence == sequence:
            if _content(said) == _content(last):
                return "duplicate"
            raise Refused("sequence_reused", str(sequence))
        elif said.sequence < sequence:
            return "stale"
        return None if said.sequence == sequence + 1 else "gap"


def _content(said: Message) -> tuple[str, int, int]:
    return said.kind, said.round, mask_of(said.seats)


def _consume(table: Table, said: Message) -> tuple[str, e.Seats | None]:
    mask = mask_of(said.seats)
    if said.kind != "state":
        return "applied", None
    if table.status != "open":
        return "closed", None
    if (said.round, table.phase) == (table.round, "open"):
        changed = mask != table.seats
        return "applied", _event(e.Seats, said, mask) if changed else None
    counted = {table.round: table.locked, table.round - 1: table.prev_locked}.get(said.round, 0)
    late = mask & ~counted
    return ("late", _event(e.Late, said, late)) if late else ("applied", None)


def _event(kind: type[e.Seats], said: Message, mask: int) -> e.Seats:
    return kind(
        table=said.table,
        round=said.round,
        device=said.device,
        epoch=said.epoch,
        sequence=said.sequence,
        seats=seats_of(mask),
    )
