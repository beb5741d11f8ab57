"""Awards that are paid, and what needs two persons."""

from typing import Any

import msgspec

from meters import answers
from meters.definitions import TableDefinition
from meters.errors import Refused
from meters.state import Proposal, State
from meters.transfers import deliver
from progressive import change
from progressive.api import wire
from progressive.api import wire_proposals as bodies
from progressive.api.problems import ProblemError
from progressive.api.routes import Call, Route
from progressive.controller import Controller
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
    said: bodies.Proposal = call.body
    _require(call, said.what, Deed.PROPOSE_MONEY, Deed.PROPOSE_CHANGE)
    controller = call.services.controller(call.params["link"])
    _check(call, controller, controller.meters.snapshot(), said.body)
    meters = controller.meters
    body = msgspec.to_builtins(said.body)
    done = meters.run(
        meters.calls.propose(said.number, call.caller.name, said.what, said.reason, body)
    )
    return _proposed(done)


def _check(call: Call, controller: Controller, state: State, body: Any) -> None:  # noqa: ANN401 - as its kind says
    """Refuse a definition that the link could not be played with."""
    match body:
        case bodies.ChangedLevel(definition=level):
            change.check_level(state, change.level_of(msgspec.to_builtins(level)))
        case bodies.ChangedTable(definition=table):
            change.check_table(state, table, controller.book)
            _insist_on_own(call, controller, table.name)
        case bodies.ChangedTerms(terms=terms):
            change.check_terms(state, terms)
        case bodies.Transfer(to_link=str(link), to=level):
            there = call.services.controller(link)
            found = there.meters.snapshot().levels.get(level)
            if there is controller or found is None or found.closed:
                raise Refused("unknown_level", f"{level} is no open level of another link {link}")


def _insist_on_own(call: Call, controller: Controller, table: str) -> None:
    for link, other in call.services.controllers.items():
        if other is not controller and table in other.known().tables:
            raise change.refuse(f"{table} is a table of {link}")


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
        body = _body(proposal)
        if proposal.by != call.caller.name:
            _check(call, controller, state, body)  # much may have changed since it was proposed
        tables = _tables_of(proposal.what, body, list(state.tables))
    done = controller.approve(number, call.caller.name, tables)
    if done.transfer:
        deliver(meters.client, meters.link)  # what is held up is brought later, and an alarm
    return _proposed(done)


def _body(proposal: Proposal) -> Any:  # noqa: ANN401 - as its kind says
    try:
        return bodies.read_body(proposal.what, proposal.body)
    except msgspec.MsgspecError as error:
        raise change.refuse(f"{error}: reject it, and propose it anew") from None


def _tables_of(what: str, body: Any, every: list[str]) -> list[str]:  # noqa: ANN401 - as its kind says
    """Name the tables that carrying out a proposal looks at."""
    if what in NEEDS_ALL_TABLES:
        return every
    match body:
        case bodies.HandAward(table=name) | bodies.ChangedTable(definition=TableDefinition(name)):
            return [name]
    return []


def reject(call: Call) -> wire.Proposed:
    """Turn a proposal down, or withdraw one's own."""
    meters = call.services.controller(call.params["link"]).meters
    for proposal in meters.snapshot().proposals:
        if proposal.number == call.params["number"] and proposal.by != call.caller.name:
            _require(call, proposal.what, Deed.APPROVE_MONEY, Deed.APPROVE_CHANGE)
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
          _MONEY_OR_CHANGE, propose, wire.Proposed, bodies.AnyProposal, tag="proposals",
          problems=("unknown_link", "unknown_level", "proposal_number", "not_audited",
                    "bad_call"), for_persons=True),
    Route("POST", "/v1/links/{link}/proposals/{number:int}/approve", "approve",
          "Approve another person's proposal, which is carried out", _APPROVERS, approve,
          wire.Proposed, tag="proposals", problems=_CARRYING_OUT, for_persons=True),
    Route("POST", "/v1/links/{link}/proposals/{number:int}/reject", "reject",
          "Turn a proposal down, or withdraw one's own", (*_MONEY_OR_CHANGE, *_APPROVERS), reject,
          wire.Proposed, wire.ReasonBody, tag="proposals",
          problems=("unknown_link", "unknown_proposal", "proposal_settled", "not_audited")),
)  # fmt: skip
