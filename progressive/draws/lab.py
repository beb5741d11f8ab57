"""Final outcomes for the laboratory: the production functions, fed with secrets of their own."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, count
from typing import Final, NamedTuple

from progressive.draws.drbg import HmacDrbg, Source
from progressive.draws.fields import fields_bytes
from progressive.draws.must_hit import (
    Cycle,
    Dealt,
    Parameters,
    Trigger,
    Winner,
    WonRound,
    draw_trigger,
    draw_winner,
    stretches_above,
)
from progressive.draws.scaling import draw_below
from progressive.draws.secret import SALT_BYTES, SECRET_BYTES, DrawSecret
from progressive.draws.shoe import (
    AutomatedShoe,
    Lock,
    ShoeName,
    open_shoe,
    round_drbg,
    take_card,
)
from progressive.rules.cards import Card
from progressive.rules.must_hit import CENT_MICROS, Distribution, Segment, uniform
from progressive.rules.rulebooks import RULEBOOKS

LINK: Final = "lab"
TABLE: Final = "L1"
LEVEL: Final = "must_hit"
SEED_BYTES: Final = SECRET_BYTES
RESET_MICROS: Final = 250_000_000
MAXIMUM_MICROS: Final = 1_000_000_000
HASH_BYTES: Final = 32


def lab_source(seed: bytes, stream: str) -> HmacDrbg:
    """Make the generator of one named stream, so that no stream depends on another's length."""
    return HmacDrbg(seed, bytes(SALT_BYTES), fields_bytes(("lab/1", stream)))


def lab_parameters(
    reset_micros: int = RESET_MICROS,
    maximum_micros: int = MAXIMUM_MICROS,
    segments: tuple[Segment, ...] = (),
) -> Parameters:
    """Describe a level to draw triggers of: uniform unless segments are given."""
    distribution = uniform(maximum_micros)
    if segments:
        distribution = Distribution("segments", 1, segments)
    return Parameters(reset_micros, maximum_micros, 20_000, 0, distribution)


class DrawnTrigger(NamedTuple):
    """A trigger with all that it was drawn from."""

    cycle: Cycle
    secret: DrawSecret
    opening_micros: int
    won_before: Dealt | None
    trigger: Trigger


class DrawnWinner(NamedTuple):
    """A winner with all that it was drawn from."""

    cycle: Cycle
    secret: DrawSecret
    won_round: WonRound
    winner: Winner


class DrawnShoe(NamedTuple):
    """A whole shoe in the order of dealing: the rounds played, then what was left."""

    name: ShoeName
    secret: DrawSecret
    locks: tuple[Lock, ...]
    cards: tuple[Card, ...]


def triggers(
    source: Source, parameters: Parameters, opening_span: int = 0
) -> Iterator[DrawnTrigger]:
    """Draw the triggers of one cycle after the other, opening up to so many micros over reset."""
    cards = _rounds(source)
    before: Dealt | None = None
    for number in count(1):
        cycle, secret = Cycle(LINK, LEVEL, number), DrawSecret.fresh(source)
        opening = parameters.reset_micros
        if opening_span:
            opening += draw_below(source, opening_span).value
        trigger = draw_trigger(cycle, secret, parameters, opening, before)
        yield DrawnTrigger(cycle, secret, opening, before, trigger)
        before = next(cards)


def winners(source: Source, bettors: int) -> Iterator[DrawnWinner]:
    """Draw the winners of one cycle after the other, the first so many seats betting."""
    seats = tuple(range(1, bettors + 1))
    for number, cards in enumerate(_rounds(source), start=1):
        cycle, secret = Cycle(LINK, LEVEL, number), DrawSecret.fresh(source)
        won_round = WonRound(TABLE, number, cards, seats)
        yield DrawnWinner(cycle, secret, won_round, draw_winner(cycle, secret, won_round))


def shuffles(source: Source, decks: int) -> Iterator[DrawnShoe]:
    """Deal one shoe after the other, round by round, to its very last card."""
    for number in count(1):
        name, secret = ShoeName(LINK, TABLE, number, decks), DrawSecret.fresh(source)
        shoe = open_shoe(name, RULEBOOKS["MD"])
        locks: list[Lock] = []
        cards: list[Card] = []
        while not shoe.position.is_over:
            locks.append(Lock(len(locks) + 1, source.generate(HASH_BYTES).hex()))
            dealt, shoe = shoe.deal(secret, locks[-1])
            cards += _in_order(dealt.played.player, dealt.played.banker)
        locks.append(Lock(len(locks) + 1, source.generate(HASH_BYTES).hex()))
        cards += _behind_the_cover_card(shoe, secret, locks[-1])
        yield DrawnShoe(name, secret, tuple(locks), tuple(cards))


@dataclass(frozen=True, slots=True)
class Places:
    """Where a trigger lies among all that were possible, between 0 and 1."""

    parameters: Parameters

    def of(self, drawn: DrawnTrigger) -> float:
        """Add up the chances of every cent below it, and half of its own."""
        stretches = tuple(stretches_above(self.parameters, drawn.opening_micros))
        sums = list(accumulate((stretch.weight for stretch in stretches), initial=0))
        cent = drawn.trigger.micros // CENT_MICROS
        index = bisect_right([stretch.low for stretch in stretches], cent - 1) - 1
        low, high, weight = stretches[index]
        return (sums[index] + weight * (cent - low - 0.5) / (high - low)) / sums[-1]


def _rounds(source: Source) -> Iterator[Dealt]:
    """Deal one shoe's rounds, and give them again and again: cards to mix into the draws."""
    shoe = open_shoe(ShoeName(LINK, TABLE, 1, 8), RULEBOOKS["MD"])
    secret = DrawSecret.fresh(source)
    dealt: list[Dealt] = []
    while not shoe.position.is_over:
        lock = Lock(len(dealt) + 1, source.generate(HASH_BYTES).hex())
        one, shoe = shoe.deal(secret, lock)
        dealt.append(Dealt(one.played.player, one.played.banker))
    while True:
        yield from dealt


def _in_order(player: tuple[Card, ...], banker: tuple[Card, ...]) -> list[Card]:
    return [player[0], banker[0], player[1], banker[1], *player[2:], *banker[2:]]


def _behind_the_cover_card(shoe: AutomatedShoe, secret: DrawSecret, lock: Lock) -> list[Card]:
    """Draw the cards that no round needed, as one more round would draw them."""
    remaining = list(shoe.remaining)
    source = round_drbg(shoe.name, secret, lock)
    return [take_card(source, remaining)[0] for _ in range(sum(remaining))]
