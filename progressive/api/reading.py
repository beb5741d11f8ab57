"""What is read: health, meters, tables, awards, the journal."""

from typing import Any

import msgspec

from meters.connect import FAILURES
from meters.report import level_meters
from meters.seats import seats_of
from meters.server_error import ServerError
from meters.state import State, Table
from progressive.api import wire
from progressive.api.problems import ProblemError
from progressive.api.routes import Call, Query, Route
from progressive.controller import Controller
from progressive.people.roles import Deed

PAGE = Query("limit", default=100, least=1, most=500)
AFTER = Query("after", default=0)
OPEN, SILENT = "open", "does not answer"


def health(_: Call) -> wire.Health:
    """Tell that the process lives."""
    return wire.Health(status="ok")


def ready(call: Call) -> wire.Readiness:
    """Tell that every link takes wagers; else a problem, so that a load balancer sees it."""
    links = {name: _standing(each) for name, each in call.services.controllers.items()}
    if SILENT in links.values():
        raise ProblemError("link_down", "the store does not answer", links=links)
    if set(links.values()) - {OPEN}:
        raise ProblemError("not_audited", "not every link takes wagers", links=links)
    return wire.Readiness(status="ok", links=links)


def _standing(controller: Controller) -> str:
    try:
        return OPEN if controller.meters.is_audited() else "awaits its audit"
    except (*FAILURES, ServerError):
        return SILENT


def links(call: Call) -> wire.Links:
    """Tell how every link is defined now."""
    found = []
    for name, controller in call.services.controllers.items():
        known = controller.known()
        found.append(
            wire.LinkAnswer(
                link=name,
                terms=known.terms,
                levels=list(known.levels.values()),
                tables=[table.definition for _, table in sorted(known.tables.items())],
            )
        )
    return wire.Links(links=found)


def meters(call: Call) -> wire.MetersAnswer:
    """Read a link's meters in one look."""
    face = call.services.controller(call.params["link"]).meters
    state = face.snapshot()
    return wire.MetersAnswer(
        link=face.link,
        entry=state.numbers["head"],
        time_ms=state.numbers["time"],
        levels=level_meters(state.numbers, state.texts["levels"].split(",")),
    )


def _lamps(table: Table) -> list[wire.Lamp]:
    """Say what each seat's lamp shows, as the function library does."""
    lamps: list[wire.Lamp] = []
    for seat in range(1, table.places + 1):
        bit = 1 << (seat - 1)
        bets = table.phase == "open" and bool(table.seats & bit)
        if table.winners & bit and not bets:
            lamps.append("winner")
        elif table.phase != "open" and table.locked & bit:
            lamps.append("locked")
        elif table.late & bit:
            lamps.append("late")
        else:
            lamps.append("accepted" if bets else "off")
    return lamps


def _table(link: str, name: str, table: Table) -> wire.TableAnswer:
    cards = table.cards or table.reader
    return wire.TableAnswer(
        table=name,
        link=link,
        asset=table.definition.asset,
        kind=table.definition.kind,
        status=table.status,  # type: ignore[arg-type]
        round=table.round,
        phase=table.phase,
        shoe=table.shoe,
        lamps=_lamps(table),
        seats=seats_of(table.seats if table.phase == "open" else table.locked),
        cards=[cards[at : at + 2] for at in range(0, len(cards), 2)],
        combinations=table.definition.combinations,
    )


def tables(call: Call) -> wire.Tables:
    """List the tables of every link."""
    found = []
    for link, controller in call.services.controllers.items():
        state: State = controller.meters.snapshot()
        found += [_table(link, name, table) for name, table in sorted(state.tables.items())]
    return wire.Tables(tables=found)


def table(call: Call) -> wire.TableAnswer:
    """Read one table."""
    name = call.params["table"]
    controller = call.services.controller_of(name)
    return _table(controller.meters.link, name, controller.meters.snapshot().tables[name])


def awards(call: Call) -> wire.Awards:
    """List the pending awards, by number."""
    after, limit = call.params["after"], call.params["limit"]
    state = call.services.controller(call.params["link"]).meters.snapshot()
    later = [award for award in state.awards if award.award > after]
    rows = [
        wire.AwardAnswer(
            award=each.award,
            table=each.table,
            round=each.round,
            seat=each.seat,
            line=each.line,
            kind=each.kind,
            level=each.level,
            amount=each.amount,
            entry=each.entry,
            time_ms=each.time,
            payable=each.over,
        )
        for each in later[:limit]
    ]
    return wire.Awards(awards=rows, next=rows[-1].award if len(later) > limit else None)


def journal(call: Call) -> wire.JournalAnswer:
    """Read journal entries after a number, as far as the server keeps them."""
    face = call.services.controller(call.params["link"]).meters
    after, limit = call.params["after"], call.params["limit"]
    lines: list[dict[str, Any]] = []
    for number, line in face.journal(after + 1):
        if len(lines) == limit:
            return wire.JournalAnswer(entries=lines, next=number - 1)
        lines.append(msgspec.json.decode(line))
    return wire.JournalAnswer(entries=lines)


ROUTES = (
    Route("GET", "/v1/health", "health", "Whether the process lives", ("anyone",), health,
          wire.Health),
    Route("GET", "/v1/ready", "ready", "Whether every link takes wagers", ("anyone",), ready,
          wire.Readiness, problems=("not_audited",)),
    Route("GET", "/v1/links", "links", "All links, as they are defined now", (Deed.LOOK,), links,
          wire.Links),
    Route("GET", "/v1/links/{link}/meters", "meters", "A link's meters in one look",
          (Deed.LOOK,), meters, wire.MetersAnswer, problems=("unknown_link",)),
    Route("GET", "/v1/tables", "tables", "All tables", (Deed.LOOK,), tables, wire.Tables),
    Route("GET", "/v1/tables/{table}", "table", "One table", (Deed.LOOK,), table,
          wire.TableAnswer, problems=("unknown_table",)),
    Route("GET", "/v1/links/{link}/awards", "awards", "Pending awards", (Deed.LOOK,), awards,
          wire.Awards, query=(AFTER, PAGE), problems=("unknown_link",)),
    Route("GET", "/v1/links/{link}/journal", "journal", "Journal entries that are still kept",
          (Deed.AUDIT,), journal, wire.JournalAnswer, query=(AFTER, PAGE),
          problems=("unknown_link",)),
)  # fmt: skip
