"""An award's report: what it was won with, how its amount arose, and how it was paid."""

import msgspec

from meters import entries as e
from meters.state import State
from progressive.audit.draw_story import DrawStory, tell_draw
from progressive.audit.folder import LogFolder
from progressive.audit.history import AwardRecord, Handed, History, RoundRecord
from progressive.audit.meter_story import MeterStory, state_before, tell_meter
from progressive.rules.baccarat import RoundError, round_of
from progressive.rules.cards import hand
from progressive.rules.royal9 import PAYTABLES, Seating, combination

HAND_CARDS = 4  # characters of two cards


class UnknownAward(Exception):  # noqa: N818 - it is the award that is unknown
    """The log has no such award."""


class AwardReport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one award; amounts are micro-dollars, times milliseconds since 1970."""

    log: str
    size: int  # entries that the proof's checkpoint covers
    entry: str  # the line that won it
    award: AwardRecord
    round: RoundRecord | None
    asset: str
    combination: str  # what is printed at the seat
    rules_say: str | None  # the line by the rules; None where the paytable is not theirs
    meter: MeterStory | None  # None: a fixed amount, or one handed on
    handed: list[Handed]
    draw: DrawStory | None
    reopened: int | None  # the level's meter after the winning entry
    problems: list[str]


def award_report(log: LogFolder, history: History, number: int) -> AwardReport:
    """Tell an award's story from the log, working everything out again."""
    award = history.award(number)
    if award is None:
        raise UnknownAward(f"{log.folder} has no award {number}")
    line = log.entry(award.won - 1)
    won = e.read_entry(line)
    state = state_before(log, history, award.won)
    round_ = history.round_of(award.table, award.round)
    table = state.tables[award.table].definition
    own = table.combinations[award.seat - 1] if award.seat <= len(table.combinations) else ""
    from_meter = award.level is not None and award.kind != "addition"
    meter = tell_meter(log, history, award, state, won) if from_meter else None
    draw = None
    if award.kind == "must_hit" and isinstance(won, e.End) and award.level:
        draw = tell_draw(_link(log), award.level, state, won)
    handed = history.handed_to(number)
    rules_say = _by_the_rules(state, award, won)
    return AwardReport(
        log=log.key.name,
        size=log.size,
        entry=line.decode(),
        award=award,
        round=round_,
        asset=table.asset,
        combination=own,
        rules_say=rules_say,
        meter=meter,
        handed=handed,
        draw=draw,
        reopened=_after(state, won, award.level) if from_meter else None,
        problems=_problems(award, meter, handed, draw, rules_say),
    )


def _link(log: LogFolder) -> str:
    opening = e.read_entry(log.entry(0))
    return opening.definition.link if isinstance(opening, e.Open) else ""


def _by_the_rules(state: State, award: AwardRecord, won: e.AnyEntry) -> str | None:
    """Decide the seat's line again from the cards of the winning entry."""
    paytable = PAYTABLES.get(state.terms.paytable)
    if paytable is None or not isinstance(won, e.Deal):
        return None
    own = state.tables[award.table].definition.combinations
    seating = Seating(paytable.edition, tuple(map(combination, own)))
    try:
        played = round_of(hand(" ".join(won.player)), hand(" ".join(won.banker)))
    except RoundError:
        return None
    return seating.line(award.seat, played)


def _after(state: State, won: e.AnyEntry, level: str | None) -> int:
    posted = won.post.get(f"{level}.meter", 0)
    return state.numbers[f"{level}.meter"] + posted


def _problems(
    award: AwardRecord,
    meter: MeterStory | None,
    handed: list[Handed],
    draw: DrawStory | None,
    rules_say: str | None,
) -> list[str]:
    problems = list(draw.problems) if draw else []
    if meter and not meter.equal:
        problems.append("the meter does not add up to what was taken of it")
    if award.level:
        own = (meter.taken if meter else 0) + sum(each.micros for each in handed)
        if award.amount != own + award.added:
            problems.append("the amount is not what was taken, added and handed on")
    if rules_say is not None and rules_say != award.line:
        problems.append(f"by the rules the line is {rules_say}, not {award.line}")
    return problems
