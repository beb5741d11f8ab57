"""What is read of the past: rounds, awards, days from the index; entries, proofs from the log."""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from progressive.api import wire_past as wire
from progressive.api.problems import ProblemError
from progressive.api.routes import Call, Query, Route
from progressive.api.wire import JournalAnswer
from progressive.audit.folder import LogFolder
from progressive.audit.history import STATES, Between, DayRecord, History
from progressive.audit.merkle import ProofError
from progressive.audit.report import AwardReport, UnknownAward, award_report
from progressive.audit.shelf import NotSealed
from progressive.people.roles import Deed

PAGE = Query("limit", default=100, least=1, most=500)
AFTER = Query("after", default=0)
STATE = Query("state", kind=str, words=STATES)
DAY = Query("after", kind=dt.date)
FROM, TO = Query("from", kind=dt.date), Query("to", kind=dt.date)  # gaming days, both with
PROOF_TYPE = "text/plain"  # a C2SP tlog-proof is text
OLD, NEW = Query("old", default=1, least=1), Query("new")


@contextmanager
def _history(call: Call, link: str) -> Iterator[History]:
    try:
        with call.services.shelf.history(link) as found:
            yield found
    except NotSealed as error:
        raise ProblemError("not_sealed", str(error)) from None


@contextmanager
def _log(call: Call, name: str) -> Iterator[LogFolder]:
    if name != "site":
        call.services.controller(name)
    try:
        with call.services.shelf.log(name) as found:
            yield found
    except NotSealed as error:
        raise ProblemError("not_sealed", str(error)) from None


def _between(call: Call) -> Between:
    return Between(call.params["from"], call.params["to"])


def rounds(call: Call) -> wire.Rounds:
    """List a table's rounds that are sealed."""
    table = call.params["table"]
    link = call.services.controller_of(table).meters.link
    with _history(call, link) as history:
        page = history.rounds(table, call.params["after"], call.params["limit"], _between(call))
    return wire.Rounds(rounds=page.items, next=page.next)


def round_(call: Call) -> wire.RoundAnswer:
    """Read one sealed round and its awards."""
    table, number = call.params["table"], call.params["round"]
    link = call.services.controller_of(table).meters.link
    with _history(call, link) as history:
        found = history.round_of(table, number)
        if found is None:
            raise ProblemError("unknown_round", f"no round {number} of {table} is sealed")
        return wire.RoundAnswer(round=found, awards=history.awards_of(table, number))


def awards(call: Call) -> wire.PastAwards:
    """List awards of every state."""
    link = call.services.controller(call.params["link"]).meters.link
    with _history(call, link) as history:
        page = history.awards(
            call.params["after"], call.params["limit"], call.params["state"], _between(call)
        )
    return wire.PastAwards(awards=page.items, next=page.next)


def award(call: Call) -> AwardReport:
    """Tell an award's whole story, worked out again from the log."""
    link, number = call.params["link"], call.params["award"]
    with _log(call, link) as log, _history(call, link) as history:
        try:
            return award_report(log, history, number)
        except UnknownAward:
            raise ProblemError("unknown_award", f"no award {number} is sealed") from None


def award_proof(call: Call) -> bytes:
    """Prove to anyone that the entry in which an award was won is in the log."""
    link, number = call.params["link"], call.params["award"]
    with _log(call, link) as log, _history(call, link) as history:
        found = history.award(number)
        if found is None:
            raise ProblemError("unknown_award", f"no award {number} is sealed")
        return bytes(log.proof(found.won - 1, extra=log.entry(found.won - 1)))


def days(call: Call) -> wire.Days:
    """List the gaming days that have entries."""
    link = call.services.controller(call.params["link"]).meters.link
    after = call.params["after"] or dt.date.min
    with _history(call, link) as history:
        found = history.days(after, call.params["limit"])
    more = len(found) == call.params["limit"]
    return wire.Days(days=found, next=found[-1] if more else None)


def day(call: Call) -> DayRecord:
    """Read what was posted in a gaming day."""
    link = call.services.controller(call.params["link"]).meters.link
    try:
        named = msgspec.convert(call.params["day"], dt.date)
    except msgspec.ValidationError:
        raise ProblemError("unknown_day", "a day is written such as 2026-03-01") from None
    with _history(call, link) as history:
        found = history.day(named)
    if found is None:
        raise ProblemError("unknown_day", f"nothing was entered in {named}")
    return found


def logs(call: Call) -> wire.Logs:
    """List the logs, their public keys and how far they are sealed."""
    found = []
    for name in call.services.shelf.names():
        with call.services.shelf.log(name) as log:
            found.append(
                wire.LogAnswer(log=name, key=str(log.key), size=log.size, root=log.root.hex())
            )
    return wire.Logs(logs=found)


def checkpoint(call: Call) -> bytes:
    """Give the latest signed checkpoint, with the witnesses' cosignatures."""
    with _log(call, call.params["log"]) as log:
        return log.signed


def entries(call: Call) -> JournalAnswer:
    """Read sealed entries after a number, from the first that ever was."""
    after, limit = call.params["after"], call.params["limit"]
    with _log(call, call.params["log"]) as log:
        lines = [msgspec.json.decode(line) for line in log.entries(after, after + limit)]
        more = after + limit < log.size
    return JournalAnswer(entries=lines, next=after + limit if more else None)


def entry_proof(call: Call) -> bytes:
    """Prove to anyone that an entry is in the log."""
    number = call.params["entry"]
    with _log(call, call.params["log"]) as log:
        if not 1 <= number <= log.size:
            raise ProblemError("unknown_entry", f"1 to {log.size} are sealed, not {number}")
        return bytes(log.proof(number - 1, extra=log.entry(number - 1)))


def consistency(call: Call) -> wire.Consistency:
    """Prove that the log of one size begins with the log of an earlier one."""
    with _log(call, call.params["log"]) as log:
        old, new = call.params["old"], call.params["new"] or log.size
        try:
            path = log.consistency_proof(old, new)
        except ProofError as error:
            raise ProblemError("unknown_entry", str(error)) from None
    return wire.Consistency(old=old, new=new, path=[node.hex() for node in path])


_OF_LINK = ("unknown_link", "not_sealed")
_OF_TABLE = ("unknown_table", "not_sealed")
ROUTES = (
    Route("GET", "/v1/tables/{table}/rounds", "rounds", "A table's rounds, sealed ones",
          (Deed.LOOK,), rounds, wire.Rounds, query=(AFTER, PAGE, FROM, TO), problems=_OF_TABLE,
          tag="past"),
    Route("GET", "/v1/tables/{table}/rounds/{round:int}", "round", "A sealed round and its awards",
          (Deed.LOOK,), round_, wire.RoundAnswer, problems=(*_OF_TABLE, "unknown_round"),
          tag="past"),
    Route("GET", "/v1/links/{link}/past/awards", "past_awards", "Awards of every state",
          (Deed.LOOK,), awards, wire.PastAwards, query=(AFTER, PAGE, STATE, FROM, TO),
          problems=_OF_LINK, tag="past"),
    Route("GET", "/v1/links/{link}/past/awards/{award:int}", "award_story",
          "How an award arose, worked out again", (Deed.LOOK,), award, AwardReport,
          problems=(*_OF_LINK, "unknown_award"), tag="past"),
    Route("GET", "/v1/links/{link}/past/awards/{award:int}/proof", "award_proof",
          "An award's proof, a C2SP tlog-proof", (Deed.AUDIT,), award_proof, None,
          problems=(*_OF_LINK, "unknown_award"), tag="past", media_type=PROOF_TYPE),
    Route("GET", "/v1/links/{link}/past/days", "days", "Gaming days that have entries",
          (Deed.LOOK,), days, wire.Days, query=(DAY, PAGE), problems=_OF_LINK, tag="past"),
    Route("GET", "/v1/links/{link}/past/days/{day}", "day", "What was posted in a gaming day",
          (Deed.LOOK,), day, DayRecord, problems=(*_OF_LINK, "unknown_day"),
          tag="past"),
    Route("GET", "/v1/logs", "logs", "The logs, their keys and sizes", (Deed.AUDIT,), logs,
          wire.Logs, tag="past"),
    Route("GET", "/v1/logs/{log}/checkpoint", "checkpoint", "The latest checkpoint, a C2SP note",
          (Deed.AUDIT,), checkpoint, None, problems=_OF_LINK, tag="past", media_type="text/plain"),
    Route("GET", "/v1/logs/{log}/entries", "entries", "Sealed entries, from the very first",
          (Deed.AUDIT,), entries, JournalAnswer, query=(AFTER, PAGE), problems=_OF_LINK,
          tag="past"),
    Route("GET", "/v1/logs/{log}/entries/{entry:int}/proof", "entry_proof",
          "An entry's proof, a C2SP tlog-proof", (Deed.AUDIT,), entry_proof, None,
          problems=(*_OF_LINK, "unknown_entry"), tag="past", media_type=PROOF_TYPE),
    Route("GET", "/v1/logs/{log}/consistency", "consistency",
          "That the log of one size begins with an earlier one", (Deed.AUDIT,), consistency,
          wire.Consistency, query=(OLD, NEW), problems=(*_OF_LINK, "unknown_entry"), tag="past"),
)  # fmt: skip
