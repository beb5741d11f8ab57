"""What dealers and supervisors do at a table."""

from typing import Any

from meters import answers
from progressive.api import wire
from progressive.api.routes import OF_STEPS, Call, Route
from progressive.api.sensors import lamps_of
from progressive.people.roles import Deed
from progressive.rules.cards import Hand, hand


def _standing(table: str, answer: answers.Standing) -> dict[str, Any]:
    return {
        "table": table,
        "round": answer.round,
        "phase": answer.phase,
        "lamps": lamps_of(answer.lamps),
    }


def _hand(cards: list[str]) -> Hand:
    return hand(" ".join(cards))


def lock(call: Call) -> wire.Locked:
    """No more bets."""
    table, round_ = call.params["table"], call.params["round"]
    controller = call.services.controller_of(table)
    done = controller.lock(table, round_, call.body.seats, call.caller.name, call.body.kind)
    return wire.Locked(
        **_standing(table, done),
        entry=done.entry,
        seats=done.seats,
        cycle=done.cycle,
        value_micros=done.value,
    )


def _dealt(table: str, done: answers.Dealt) -> wire.Dealt:
    return wire.Dealt(
        **_standing(table, done), entry=done.entry, awards=done.awards, reversed=done.reversed
    )


def deal(call: Call) -> wire.Dealt:
    """Record the first four cards."""
    table, round_ = call.params["table"], call.params["round"]
    hands = _hand(call.body.player), _hand(call.body.banker)
    controller = call.services.controller_of(table)
    return _dealt(table, controller.deal(table, round_, *hands, call.caller.name))


def draw(call: Call) -> wire.Drawn:
    """Deal a locked round from an automated table's shoe; a repeat draws the same cards."""
    table, round_ = call.params["table"], call.params["round"]
    controller = call.services.controller_of(table)
    played, done = controller.deal_drawn(table, round_, call.caller.name)
    return wire.Drawn(
        **_standing(table, done),
        entry=done.entry,
        awards=done.awards,
        player=[str(card) for card in played.player[:2]],
        banker=[str(card) for card in played.banker[:2]],
        thirds=[str(card) for card in (*played.player[2:], *played.banker[2:])],
    )


def correct(call: Call) -> wire.Dealt:
    """Correct a misread card."""
    table, round_ = call.params["table"], call.params["round"]
    done = call.services.controller_of(table).correct(
        table,
        round_,
        call.body.number,
        player=_hand(call.body.player),
        banker=_hand(call.body.banker),
        by=call.caller.name,
    )
    return _dealt(table, done)


def _ended(table: str, done: answers.Ended) -> wire.Ended:
    return wire.Ended(
        **_standing(table, done), entry=done.entry, paid=done.paid, must_hit=done.must_hit
    )


def end(call: Call) -> wire.Ended:
    """End a round."""
    table, round_ = call.params["table"], call.params["round"]
    more = "".join(call.body.cards)
    controller = call.services.controller_of(table)
    return _ended(table, controller.end(table, round_, call.caller.name, more))


def void(call: Call) -> wire.Ended:
    """Void a locked or dealt round."""
    table, round_ = call.params["table"], call.params["round"]
    meters = call.services.controller_of(table).meters
    done = meters.run(meters.calls.void(table, round_, call.caller.name, call.body.reason))
    return _ended(table, done)


def cancel(call: Call) -> wire.Ended:
    """Cancel a round that was not locked."""
    table, round_ = call.params["table"], call.params["round"]
    meters = call.services.controller_of(table).meters
    done = meters.run(meters.calls.cancel(table, round_, call.caller.name, call.body.reason))
    return _ended(table, done)


def shoe(call: Call) -> wire.ShoeAnswer:
    """Record a new shoe."""
    table = call.params["table"]
    controller = call.services.controller_of(table)
    done = controller.new_shoe(table, call.body.shoe, call.caller.name)
    return wire.ShoeAnswer(entry=done.entry, shoe=done.shoe)


def _door(call: Call, verb: str) -> wire.Standing:
    table = call.params["table"]
    meters = call.services.controller_of(table).meters
    door = getattr(meters.calls, verb)
    done = meters.run(door(table, call.caller.name, call.body.reason))
    return wire.Standing(**_standing(table, done))


def open_table(call: Call) -> wire.Standing:
    """Open a table."""
    return _door(call, "open_table")


def close_table(call: Call) -> wire.Standing:
    """Close a table between rounds."""
    return _door(call, "close_table")


ROUND = "/v1/tables/{table}/rounds/{round:int}/"
TABLE = "/v1/tables/{table}/"
OF_TABLES = ("unknown_table", "wrong_phase", "not_audited")
PLAY, SUPERVISE = (Deed.PLAY,), (Deed.SUPERVISE,)
ROUTES = (
    Route("POST", ROUND + "lock", "lock", "No more bets: every wager contributes", PLAY, lock,
          wire.Locked, wire.LockBody, tag="tables",
          problems=(*OF_STEPS, "seats_mismatch", "no_wagers_in_a_free_round",
                    "unreasonable_contribution", "amount_out_of_bounds")),
    Route("POST", ROUND + "deal", "deal", "Record the first four cards", PLAY, deal, wire.Dealt,
          wire.DealBody, tag="tables",
          problems=(*OF_STEPS, "card_not_in_shoe", "amount_out_of_bounds")),
    Route("POST", ROUND + "draw", "draw", "Deal a round from an automated table's own shoe", PLAY,
          draw, wire.Drawn, tag="tables",
          problems=(*OF_STEPS, "not_automated", "shoe_over", "amount_out_of_bounds")),
    Route("POST", ROUND + "correct", "correct", "Correct a misread card before the round ends",
          SUPERVISE, correct, wire.Dealt, wire.CorrectBody, tag="tables",
          problems=(*OF_STEPS, "card_not_in_shoe", "correction_number", "level_closed",
                    "amount_out_of_bounds")),
    Route("POST", ROUND + "end", "end", "End the round: tray awards are paid, Must Hit is decided",
          PLAY, end, wire.Ended, wire.EndBody, tag="tables",
          problems=(*OF_STEPS, "card_not_in_shoe", "amount_out_of_bounds")),
    Route("POST", ROUND + "void", "void", "Void a locked or dealt round: wagers go back",
          SUPERVISE, void, wire.Ended, wire.ReasonBody, tag="tables",
          problems=(*OF_STEPS, "level_closed")),
    Route("POST", ROUND + "cancel", "cancel", "Cancel a round that was not locked", PLAY, cancel,
          wire.Ended, wire.ReasonBody, tag="tables", problems=OF_STEPS),
    Route("POST", TABLE + "shoe", "shoe", "Record a new shoe", PLAY, shoe, wire.ShoeAnswer,
          wire.ShoeBody, tag="tables", problems=(*OF_TABLES, "shoe_number", "table_closed")),
    Route("POST", TABLE + "open", "open_table", "Open a table", SUPERVISE, open_table,
          wire.Standing, wire.ReasonBody, tag="tables", problems=(*OF_TABLES, "level_closed")),
    Route("POST", TABLE + "close", "close_table", "Close a table between rounds", SUPERVISE,
          close_table, wire.Standing, wire.ReasonBody, tag="tables", problems=OF_TABLES),
)  # fmt: skip
