"""Awards that are paid, and what needs two persons."""

from typing import Any

import msgspec

from meters import answers
from meters.errors import Refused
from meters.transfers import deliver
from progressive.api import wire
from progressive.api.problems import ProblemError
from progressive.api.routes import Call, Route
from progressive.people.roles import Deed

MONEY = frozenset({"adjust", "transfer", "pay", "void_award", "hand_award"})
NEEDS_ALL_TABLES = frozenset({"terms", "decommission"})


def pay(call: Call) -> wire.Paid:
    """Pay a pending award."""
    meters = call.services.controller(call.params["link"]).meters
    done = meters.run(meters.calls.pay(call.params["award"], call.caller.name))
    return wire.Paid(**msgspec.structs.asdict(done))


def _require(call: Call, what: str, money: Deed, change: Deed) -> None:
    if not call.caller.may(money if what in MONEY else change):
        raise ProblemError("not_allowed", f"your role does not allow {what}")


def _proposed(done: answers.Proposed) -> wire.Proposed:
    fields = msgspec.structs.asdict(done)
    fields.pop("revealed")
    return wire.Proposed(**fields)


def propose(call: Call) -> wire.Proposed:
    """Propose something that needs two persons."""
    body: wire.ProposeBody = call.body
    _require(call, body.what, Deed.PROPOSE_MONEY, Deed.PROPOSE_CHANGE)
    meters = call.services.controller(call.params["link"]).meters
    done = meters.run(
        meters.calls.propose(body.number, call.caller.name, body.what, body.reason, body.body)
    )
    return _proposed(done)


def approve(call: Call) -> wire.Proposed:
    """Approve another person's proposal, which is carried out."""
    controller = call.services.controller(call.params["link"])
    meters, number = controller.meters, call.params["number"]
    state = meters.snapshot()
    open_ones = {proposal.number: proposal for proposal in state.proposals}
    proposal = open_ones.get(number)
    tables: list[str] = []
    if proposal is not None:
        _require(call, proposal.what, Deed.APPROVE_MONEY, Deed.APPROVE_CHANGE)
        content = msgspec.json.decode(proposal.body)
        tables = _tables_of(proposal.what, content, list(state.tables))
        if proposal.what == "transfer":
            _insist_on_place(call, content)
    done = controller.approve(number, call.caller.name, tables)
    if done.transfer:
        deliver(meters.client, meters.link)  # what is held up is brought later, and an alarm
    return _proposed(done)


def _insist_on_place(call: Call, body: dict[str, Any]) -> None:
    """Refuse a transfer to a link or level that is not there: it would stay in transit."""
    to_link = body.get("to_link")
    if not isinstance(to_link, str):
        return
    levels = call.services.controller(to_link).meters.snapshot().levels
    level = levels.get(str(body.get("to")))
    if level is None or level.closed:
        raise Refused("unknown_level", f"{body.get('to')} is not an open level of {to_link}")


def _tables_of(what: str, body: dict[str, Any], every: list[str]) -> list[str]:
    """Name the tables that carrying out a proposal looks at."""
    if what in NEEDS_ALL_TABLES:
        return every
    name = body.get("table") if what == "hand_award" else None
    if what == "table":
        definition = body.get("definition")
        name = definition.get("name") if isinstance(definition, dict) else None
    if what in {"table", "hand_award"} and not isinstance(name, str):
        raise Refused("bad_call", f"{what} names its table")
    return [name] if name else []


def reject(call: Call) -> wire.Proposed:
    """Turn a proposal down, or withdraw one's own."""
    meters = call.services.controller(call.params["link"]).meters
    done = meters.run(
        meters.calls.reject(call.params["number"], call.caller.name, call.body.reason)
    )
    return _proposed(done)


def proposals(call: Call) -> wire.Proposals:
    """List the open proposals."""
    state = call.services.controller(call.params["link"]).meters.snapshot()
    rows = [
        wire.ProposalAnswer(
            number=each.number,
            by=each.by,
            what=each.what,
            reason=each.reason,
            body=msgspec.json.decode(each.body),
        )
        for each in state.proposals
    ]
    return wire.Proposals(proposals=rows, next_number=state.numbers["proposals"] + 1)


_MONEY_OR_CHANGE = (Deed.PROPOSE_MONEY, Deed.PROPOSE_CHANGE)
_APPROVERS = (Deed.APPROVE_MONEY, Deed.APPROVE_CHANGE)
_CARRYING_OUT = (
    "unknown_link", "unknown_proposal", "proposal_settled", "same_person", "not_audited",
    "bad_call", "bad_amount", "unknown_level", "unknown_line", "unknown_table", "unknown_award",
    "seat_out_of_range", "not_enough", "limit_below_meter", "table_not_closed", "rounds_open",
    "round_not_over", "level_closed", "amount_out_of_bounds",
)  # fmt: skip
ROUTES = (
    Route("POST", "/v1/links/{link}/awards/{award:int}/pay", "pay", "Pay a pending award",
          (Deed.PAY,), pay, wire.Paid, tag="awards",
          problems=("unknown_link", "unknown_award", "round_not_over", "second_person_needed",
                    "not_audited")),
    Route("GET", "/v1/links/{link}/proposals", "proposals", "List the open proposals",
          (Deed.LOOK,), proposals, wire.Proposals, tag="proposals", problems=("unknown_link",)),
    Route("POST", "/v1/links/{link}/proposals", "propose", "Propose what needs two persons",
          _MONEY_OR_CHANGE, propose, wire.Proposed, wire.ProposeBody, tag="proposals",
          problems=("unknown_link", "proposal_number", "not_audited", "bad_call")),
    Route("POST", "/v1/links/{link}/proposals/{number:int}/approve", "approve",
          "Approve another person's proposal, which is carried out", _APPROVERS, approve,
          wire.Proposed, tag="proposals", problems=_CARRYING_OUT),
    Route("POST", "/v1/links/{link}/proposals/{number:int}/reject", "reject",
          "Turn a proposal down, or withdraw one's own", (*_MONEY_OR_CHANGE, *_APPROVERS), reject,
          wire.Proposed, wire.ReasonBody, tag="proposals",
          problems=("unknown_link", "unknown_proposal", "proposal_settled", "not_audited")),
)  # fmt: skip
