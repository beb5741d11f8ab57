"""Must Hit: a cycle's commitment, its hidden trigger, and the winner among the bettors."""

import hmac
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from progressive.draws.fields import cards_text, fields_bytes, fields_hash, seats_text
from progressive.draws.scaling import Draw, DrawError, draw_below
from progressive.draws.secret import DrawSecret
from progressive.rules.cards import Hand
from progressive.rules.must_hit import CENT_MICROS, Distribution

UNIFORM: Final = ("uniform", 1)
SEGMENTS: Final = ("segments", 1)


@dataclass(frozen=True, slots=True)
class Cycle:
    """Which cycle of which level of which link."""

    link: str
    level: str
    number: int

    def __post_init__(self) -> None:
        if self.number < 1:
            raise DrawError(f"cycle {self.number}: cycles are numbered from 1")

    @property
    def fields(self) -> tuple[str, str, str]:
        """Its part of every hashed array."""
        return self.link, self.level, str(self.number)


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a level cannot change within a cycle."""

    reset_micros: int
    maximum_micros: int
    increment_ppm: int
    reserve_ppm: int
    distribution: Distribution

    def __post_init__(self) -> None:
        uptos = [segment.upto_micros for segment in self.distribution.segments]
        steps = zip([self.reset_micros, *uptos], uptos, strict=False)
        if (
            not uptos
            or uptos[-1] != self.maximum_micros
            or any(amount % CENT_MICROS for amount in (self.reset_micros, *uptos))
            or any(low >= high for low, high in steps)
            or any(segment.weight < 1 for segment in self.distribution.segments)
        ):
            raise DrawError("segments ascend in whole cents from the reset to the maximum")
        known = (self.distribution.name, self.distribution.version)
        if known not in (UNIFORM, SEGMENTS) or (known == UNIFORM and len(uptos) != 1):
            raise DrawError(f"no such distribution: {known[0]} version {known[1]}")

    @property
    def hash(self) -> str:
        """The parameters in one hash, as the trigger's fields name them."""
        segments = (
            text
            for segment in self.distribution.segments
            for text in (str(segment.upto_micros), str(segment.weight))
        )
        return fields_hash(
            (
                "mh-parameters/1",
                str(self.reset_micros),
                str(self.maximum_micros),
                str(self.increment_ppm),
                str(self.reserve_ppm),
                self.distribution.name,
                str(self.distribution.version),
                *segments,
            )
        )


class Dealt(NamedTuple):
    """A round's two hands as first recorded."""

    player: Hand
    banker: Hand

    @property
    def text(self) -> str:
        """The cards as they are hashed."""
        return cards_text(self.player, self.banker)


@dataclass(frozen=True, slots=True, repr=False)
class Trigger:
    """The hidden value that a round must reach, and how it was drawn."""

    micros: int
    draws: tuple[Draw, ...]

    def __repr__(self) -> str:
        return "Trigger(hidden)"


class WonRound(NamedTuple):
    """The round whose lock reached the trigger, and the seats that bet Royal 9 in it."""

    table: str
    number: int
    cards: Dealt
    bettors: Collection[int]


class Winner(NamedTuple):
    """The seat that takes the meter, and how it was drawn."""

    seat: int
    draw: Draw


class Stretch(NamedTuple):
    """Cents above `low` up to `high`, drawn with this weight among the others."""

    low: int
    high: int
    weight: int


def commit(cycle: Cycle, secret: DrawSecret) -> str:
    """Commit to a cycle's secret without telling it."""
    return secret.commit("mh-commit/1", *cycle.fields)


def keeps(commitment: str, cycle: Cycle, secret: DrawSecret) -> bool:
    """Tell whether this is the secret that was committed to."""
    return hmac.compare_digest(commitment.encode(), commit(cycle, secret).encode())


def seal_context(cycle: Cycle) -> bytes:
    """Name the cycle to the vault, so that its sealed secret opens as no other's."""
    return fields_bytes(("mh-secret/1", *cycle.fields))


def draw_trigger(
    cycle: Cycle,
    secret: DrawSecret,
    parameters: Parameters,
    opening_micros: int,
    won_before: Dealt | None,
) -> Trigger:
    """Draw a cycle's trigger: a whole cent above the opening value, at most the maximum."""
    if (won_before is None) != (cycle.number == 1):
        raise DrawError("the first cycle has no round before it, and every other one has")
    stretches = tuple(stretches_above(parameters, opening_micros))
    source = secret.drbg(
        "mh-trigger/1",
        *cycle.fields,
        parameters.hash,
        str(opening_micros),
        won_before.text if won_before else "",
    )
    draws: list[Draw] = []
    chosen = stretches[0]
    if (parameters.distribution.name, parameters.distribution.version) == SEGMENTS:
        draws.append(draw_below(source, sum(stretch.weight for stretch in stretches)))
        chosen = _at_weight(stretches, draws[0].value)
    draws.append(draw_below(source, chosen.high - chosen.low))
    return Trigger((chosen.low + 1 + draws[-1].value) * CENT_MICROS, tuple(draws))


def stretches_above(parameters: Parameters, opening_micros: int) -> Iterator[Stretch]:
    """Cut the segments at the opening value, so that what lies above keeps its proportions."""
    if not parameters.reset_micros <= opening_micros <= parameters.maximum_micros - CENT_MICROS:
        raise DrawError(
            f"a cycle opens between its reset and a cent below its maximum, not at {opening_micros}"
        )
    opening, low = opening_micros // CENT_MICROS, parameters.reset_micros // CENT_MICROS
    cut_width = 0  # in cents, of the one segment that the opening value lies in
    for segment in parameters.distribution.segments:
        high = segment.upto_micros // CENT_MICROS
        if high > opening:
            # Its weight times (what is left / its width); the others times width / width.
            cut_width = cut_width or high - low
            left = high - opening if low <= opening else cut_width
            yield Stretch(max(low, opening), high, segment.weight * left)
        low = high


def _at_weight(stretches: tuple[Stretch, ...], value: int) -> Stretch:
    for stretch in stretches:
        if value < stretch.weight:
            return stretch
        value -= stretch.weight
    raise AssertionError("the value was drawn below the sum of the weights")


def draw_winner(cycle: Cycle, secret: DrawSecret, won_round: WonRound) -> Winner:
    """Draw one of the round's bettors, all alike."""
    seats = sorted(won_round.bettors)
    if not seats or len(set(seats)) != len(seats) or seats[0] < 1:
        raise DrawError("a winner is drawn among one or more different seats, numbered from 1")
    source = secret.drbg(
        "mh-winner/1",
        *cycle.fields,
        won_round.table,
        str(won_round.number),
        won_round.cards.text,
        seats_text(seats),
    )
    draw = draw_below(source, len(seats))
    return Winner(seats[draw.value], draw)


def won(value_micros: int, trigger: Trigger) -> bool:
    """Tell whether a round's value, capped at the maximum by its lock, is at or over it."""
    return value_micros >= trigger.micros
