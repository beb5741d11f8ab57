"""An award's report as a page to read and to file: Markdown."""

import datetime as dt
from collections.abc import Iterator

from meters.money import dollars
from progressive.audit.draw_story import DrawnNumber, DrawStory
from progressive.audit.history import AwardRecord, RoundRecord
from progressive.audit.meter_story import MeterStory
from progressive.audit.report import AwardReport

HOW = {
    "tray": "paid from the tray at the end of the round",
    "hand_pay": "paid by hand",
    "correct": "reversed: a card was corrected",
    "void": "reversed: the round was voided",
    "void_award": "voided",
}
MOVEMENTS_SHOWN = 100


def report_text(report: AwardReport) -> str:
    """Write the report."""
    parts = [
        _head(report),
        _round(report),
        _meter(report.meter) if report.meter else (),
        _amount(report),
        _draw(report.draw) if report.draw else (),
        _settled(report.award),
        _proof(report),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(report: AwardReport) -> Iterator[str]:
    award = report.award
    yield f"# Award {award.award}: {dollars(award.amount)}"
    yield ""
    what = "Won by hand award" if award.hand else "Won"
    yield f"{what} {_time(award.won_at)} in entry {award.won:,} of {report.log}."
    if report.problems:
        yield ""
        yield "**This award does not add up:**"
        yield ""
        yield from (f"- {problem}" for problem in report.problems)


def _round(report: AwardReport) -> Iterator[str]:
    award = report.award
    yield from ("", "## The round", "")
    yield f"- Table {award.table} (asset {report.asset}), round {award.round:,}, seat {award.seat}"
    if report.combination:
        yield f"- Printed at the seat: {_cards(report.combination)}"
    yield f"- Line: {award.line}{_verdict(report.rules_say, award.line)}"
    if report.round:
        yield from _cards_and_seats(report.round)


def _cards_and_seats(round_: RoundRecord) -> Iterator[str]:
    yield f"- Wagers at seats {', '.join(map(str, round_.seats)) or 'none'}"
    yield f"- Player {_cards(round_.cards[:4])}, Banker {_cards(round_.cards[4:])}"
    if round_.first != round_.cards:
        yield f"- As first recorded: {_cards(round_.first[:4])}, {_cards(round_.first[4:])}"
    if round_.more:
        yield f"- Third cards: {_cards(round_.more)}"
    steps = (("locked", round_.locked), ("dealt", round_.dealt), (round_.outcome, round_.over))
    yield "- Entries: " + ", ".join(f"{name} {entry:,}" for name, entry in steps if entry)


def _meter(meter: MeterStory) -> Iterator[str]:
    yield from ("", f"## The meter {meter.level}", "")
    yield from ("| | entry | amount |", "|---|---:|---:|")
    yield f"| opening value | {meter.since:,} | {dollars(meter.opening)} |"
    counted = f"{meter.wagers:,} wagers in {meter.locks:,} locks"
    yield f"| contributions of {counted} | | {dollars(meter.contributed)} |"
    for moved in meter.movements[:MOVEMENTS_SHOWN]:
        yield f"| {moved.kind} | {moved.entry:,} | {dollars(moved.micros)} |"
    if len(meter.movements) > MOVEMENTS_SHOWN:
        rest = meter.movements[MOVEMENTS_SHOWN:]
        total = sum(moved.micros for moved in rest)
        yield f"| {len(rest):,} more movements | | {dollars(total)} |"
    yield f"| **total** | | **{dollars(meter.total)}** |"
    yield f"| taken, {meter.percent} % in whole cents | | {dollars(meter.taken)} |"
    yield f"| left on the meter | | {dollars(meter.left)} |"
    yield ""
    sign = "=" if meter.equal else "≠"
    yield f"{dollars(meter.total)} {sign} {dollars(meter.taken)} + {dollars(meter.left)}."
    if meter.to_overflow:
        yield f"Beyond the limit, and waiting for the reset: {dollars(meter.to_overflow)}."
    if meter.later:
        yield f"Added after the winning lock, for the next cycle: {dollars(meter.later)}."


def _amount(report: AwardReport) -> Iterator[str]:
    award = report.award
    yield from ("", "## The amount", "")
    if award.kind == "fixed":
        yield f"- Fixed by the paytable: {dollars(award.amount)}"
    if report.meter:
        yield f"- Taken off the meter: {dollars(report.meter.taken)}"
    if award.added:
        yield f"- Added by the house, for wins close together: {dollars(award.added)}"
    for handed in report.handed:
        left = f"award {handed.award}, reversed in entry {handed.entry:,}"
        yield f"- Left by {left}: {dollars(handed.micros)}"
    yield f"- Award: {dollars(award.amount)}"
    if award.from_reserve or award.from_house:
        reset = award.from_reserve + award.from_house
        yield (
            f"- Reset of {dollars(reset)}: {dollars(award.from_reserve)} by the reserve, "
            f"{dollars(award.from_house)} by the house"
        )
    if report.reopened is not None:
        yield f"- The meter after this entry: {dollars(report.reopened)}"


def _draw(draw: DrawStory) -> Iterator[str]:
    yield from ("", f"## The draw of cycle {draw.cycle:,}", "")
    yield f"- Committed to: `{draw.commitment}`"
    yield f"- Revealed: secret `{draw.secret}`, salt `{draw.salt}`"
    yield f"- Opened at {dollars(draw.opening)} by cards {_cards(draw.opening_cards) or 'none'}"
    if draw.trigger is not None:
        yield f"- Trigger: {dollars(draw.trigger)}, drawn as {_numbers(draw.trigger_draws)}"
    yield f"- The winning lock left the meter at {dollars(draw.value)}"
    yield f"- Bettors: seats {', '.join(map(str, draw.bettors))}; cards {_cards(draw.cards)}"
    if draw.winner_draw is not None:
        yield f"- Winner: seat {draw.winner}, drawn as {_numbers([draw.winner_draw])}"


def _settled(award: AwardRecord) -> Iterator[str]:
    yield from ("", "## Payment", "")
    if award.state == "pending":
        yield "- Pending: not paid yet"
        return
    who = f"{award.by} and {award.second}" if award.second else award.by
    yield f"- {HOW[award.how]}, entry {award.settled:,}, {_time(award.settled_at)}, by {who}"


def _proof(report: AwardReport) -> Iterator[str]:
    yield from ("", "## The entry", "", "```", report.entry, "```", "")
    yield f"It is leaf {report.award.won - 1:,} of a log of {report.size:,} entries."


def _verdict(rules_say: str | None, line: str) -> str:
    if rules_say is None:
        return ""
    return ", as the rules say" if rules_say == line else f"; the rules say {rules_say}"


def _numbers(drawn: list[DrawnNumber]) -> str:
    return ", ".join(
        f"{one.value:,}" + (f" after {', '.join(map(str, one.rejected))}" if one.rejected else "")
        for one in drawn
    )


def _cards(cards: str) -> str:
    return " ".join(cards[at : at + 2] for at in range(0, len(cards), 2))


def _time(moment_ms: int) -> str:
    moment = dt.datetime.fromtimestamp(moment_ms / 1000, dt.UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment_ms % 1000:03} UTC"
