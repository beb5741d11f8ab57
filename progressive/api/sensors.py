"""What devices post: the state of the seats, a card, or a gateway's batch."""

from typing import Any

import msgspec

from meters.answers import Reported
from meters.calls import CardSaid, Message
from meters.errors import Refused
from meters.seats import LAMPS
from progressive.api import wire
from progressive.api.problems import ProblemError, of_refusal
from progressive.api.routes import OF_STEPS, Call, Route
from progressive.controller import Controller
from progressive.devices import Kind
from progressive.rules.cards import hand

OF_MESSAGES = (
    "unknown_table",
    "other_table",
    "seat_out_of_range",
    "sequence_reused",
    "epoch_lower",
    "not_audited",
)
FIRST_FOUR = 4


def lamps_of(letters: str) -> list[Any]:
    """Spell a table's lamps out."""
    return [LAMPS[letter] for letter in letters]


def own_table(call: Call, table: str) -> None:
    """Refuse a device that speaks for a table that is not its own; note that it was heard."""
    device = call.caller.device
    if device is None or table not in device.tables:
        raise ProblemError("other_table", f"{call.caller.name} does not belong to table {table}")
    call.services.devices.seen.note(call.caller.name, table, call.services.now_ms())


def _said(message: wire.SensorMessage, device: str) -> Message:
    return Message(
        table=message.table,
        device=device,
        epoch=message.epoch,
        sequence=message.sequence,
        round=message.round,
        seats=message.seats,
        kind=message.kind,
    )


def _reported(table: str, answer: Reported) -> wire.Reported:
    return wire.Reported(
        table=table,
        round=answer.round,
        phase=answer.phase,  # type: ignore[arg-type]
        lamps=lamps_of(answer.lamps),
        result=answer.result,  # type: ignore[arg-type]
        expected=answer.expected,
        late=answer.late,
    )


def take_message(call: Call) -> wire.Reported:
    """Take a hub's message."""
    body: wire.SensorMessage = call.body
    own_table(call, body.table)
    meters = call.services.controller_of(body.table).meters
    answer = meters.run(meters.calls.message(_said(body, call.caller.name)))
    return _reported(body.table, answer)


def take_batch(call: Call) -> wire.BatchAnswer:
    """Take a gateway's messages, one call a link; each is answered on its own."""
    messages: list[wire.GatewayMessage] = call.body.messages
    answers: list[dict[str, Any]] = [{} for _ in messages]
    by_link: dict[str, list[int]] = {}
    own = set(call.caller.device.tables) if call.caller.device else set()
    note, now_ms = call.services.devices.seen.note, call.services.now_ms()
    for place, message in enumerate(messages):
        if message.table not in own:
            answers[place] = _problem(Refused("other_table", f"{message.table} is not yours"))
            continue
        note(call.caller.name, message.table, now_ms)
        try:
            link = call.services.controller_of(message.table).meters.link
        except ProblemError as problem:
            answers[place] = _problem(Refused(problem.code, problem.detail))
        else:
            by_link.setdefault(link, []).append(place)
    for link, places in by_link.items():
        said = [_said(messages[place], messages[place].device) for place in places]
        found = call.services.controllers[link].report(said)
        for place, answer in zip(places, found, strict=True):
            answers[place] = (
                _problem(answer)
                if isinstance(answer, Refused)
                else msgspec.to_builtins(_reported(messages[place].table, answer))
            )
    return wire.BatchAnswer(answers=answers)


def _problem(refusal: Refused) -> dict[str, Any]:
    return {"problem": msgspec.to_builtins(of_refusal(refusal))}


def take_card(call: Call) -> wire.CardRead:
    """Take a shoe reader's card; the fourth of a locked round deals it."""
    body: wire.CardMessage = call.body
    own_table(call, body.table)
    controller = call.services.controller_of(body.table)
    meters = controller.meters
    said = CardSaid(
        table=body.table,
        device=call.caller.name,
        epoch=body.epoch,
        sequence=body.sequence,
        round=body.round,
        card=body.card,
    )
    answer = meters.run(meters.calls.card(said))
    phase, lamps = answer.phase, answer.lamps
    if phase == "locked" and len(answer.cards) >= FIRST_FOUR:
        due = meters.run(meters.calls.due(body.table))
        if due.round == body.round:  # a repeat may come when the table has gone on
            phase, lamps = _deal_read(controller, body, answer.cards, call.caller.name)
    return wire.CardRead(
        table=body.table,
        round=answer.round,
        phase=phase,  # type: ignore[arg-type]
        lamps=lamps_of(lamps),
        result=answer.result,  # type: ignore[arg-type]
        expected=answer.expected,
        cards=answer.cards,
    )


def _deal_read(
    controller: Controller, body: wire.CardMessage, cards: list[str], by: str
) -> tuple[str, str]:
    """Deal the four cards that were read: first and third to Player, the others to Banker."""
    four = hand(" ".join(cards[:FIRST_FOUR]))
    dealt = controller.deal(body.table, body.round, four[0::2], four[1::2], by)
    return dealt.phase, dealt.lamps


ROUTES = (
    Route(
        "POST",
        "/v1/messages",
        "message",
        "Report the state of a table's seats, or that the hub is alive",
        (Kind.HUB,),
        take_message,
        wire.Reported,
        wire.SensorMessage,
        problems=OF_MESSAGES,
        tag="devices",
    ),
    Route(
        "POST",
        "/v1/messages/batch",
        "batch",
        "Report for many tables at once",
        (Kind.GATEWAY,),
        take_batch,
        wire.BatchAnswer,
        wire.Batch,
        problems=("table_twice", "not_audited"),
        tag="devices",
    ),
    Route(
        "POST",
        "/v1/cards",
        "card",
        "Report the next card that a shoe reader saw",
        (Kind.SHOE,),
        take_card,
        wire.CardRead,
        wire.CardMessage,
        problems=(*OF_MESSAGES, *OF_STEPS, "card_not_in_shoe"),
        tag="devices",
    ),
)
