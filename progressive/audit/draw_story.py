"""How a Must Hit award was drawn: the commitment opened, trigger and winner worked out again."""

import msgspec

from meters import entries as e
from meters.seats import seats_of
from meters.state import State
from progressive.definition import draw_parameters
from progressive.draws import must_hit
from progressive.draws.scaling import Draw, DrawError
from progressive.draws.secret import DrawSecret
from progressive.rules.cards import CardError, hand


class DrawnNumber(msgspec.Struct, frozen=True):
    """A number that was drawn, and those that were out of range before it."""

    value: int
    rejected: list[int]


class DrawStory(msgspec.Struct, frozen=True, kw_only=True):
    """A cycle's draws, worked out from what was revealed; None where that cannot be done."""

    cycle: int
    commitment: str
    secret: str
    salt: str
    opening: int
    opening_cards: str
    value: int  # what the winning lock left the meter at
    bettors: list[int]
    cards: str
    seat: int
    trigger: int | None = None
    trigger_draws: list[DrawnNumber] = []
    winner: int | None = None
    winner_draw: DrawnNumber | None = None
    problems: list[str] = []


def tell_draw(link: str, level: str, state: State, won: e.End) -> DrawStory:
    """Work out the draws of the cycle that an entry ends; `state` is the link just before it."""
    end = won.must_hit
    if end is None:
        raise ValueError(f"entry {won.n} does not end a cycle")
    table = state.tables[won.table]
    story = DrawStory(
        cycle=end.cycle,
        commitment=state.commits.get(str(end.cycle), ""),
        secret=end.secret,
        salt=end.salt,
        opening=state.numbers["opening"],
        opening_cards=state.texts.get("opening_cards", ""),
        value=table.value,
        bettors=seats_of(table.locked),
        cards=table.first,
        seat=end.award.seat,
    )
    cycle = must_hit.Cycle(link, level, end.cycle)
    try:
        return _worked_out(story, cycle, state, won)
    except (DrawError, CardError, ValueError, KeyError) as error:
        problem = f"the draw cannot be worked out: {type(error).__name__}: {error}"
        return msgspec.structs.replace(story, problems=[problem])


def _worked_out(story: DrawStory, cycle: must_hit.Cycle, state: State, won: e.End) -> DrawStory:
    secret = DrawSecret(bytes.fromhex(story.secret), bytes.fromhex(story.salt))
    before = _hands(story.opening_cards) if story.opening_cards else None
    parameters = draw_parameters(state.levels[cycle.level])
    trigger = must_hit.draw_trigger(cycle, secret, parameters, story.opening, before)
    played = must_hit.WonRound(won.table, won.round, _hands(story.cards), story.bettors)
    winner = must_hit.draw_winner(cycle, secret, played)
    problems = []
    if not must_hit.keeps(story.commitment, cycle, secret):
        problems.append("the revealed secret is not the one that was committed to")
    if not must_hit.won(story.value, trigger):
        problems.append("the winning lock left the meter below the trigger")
    if winner.seat != story.seat:
        problems.append(f"the draw gives seat {winner.seat}, the award went to {story.seat}")
    return msgspec.structs.replace(
        story,
        trigger=trigger.micros,
        trigger_draws=[_number(draw) for draw in trigger.draws],
        winner=winner.seat,
        winner_draw=_number(winner.draw),
        problems=problems,
    )


def _number(draw: Draw) -> DrawnNumber:
    return DrawnNumber(draw.value, list(draw.rejected))


def _hands(cards: str) -> must_hit.Dealt:
    four = hand(" ".join(cards[at : at + 2] for at in range(0, len(cards), 2)))
    return must_hit.Dealt(four[:2], four[2:])
