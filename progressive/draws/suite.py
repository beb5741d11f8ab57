"""The statistical suite: which streams are drawn, which tests they meet, and the verdict."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

from progressive.draws import lab
from progressive.draws.must_hit import Parameters, stretches_above
from progressive.draws.scaling import draw_below
from progressive.draws.shuffles import CardPlaces, card_tests
from progressive.draws.statistics import (
    Outcome,
    all_seven,
    chi_square,
    evenly,
    frequency,
    holm,
    runs,
    serial_correlation,
)
from progressive.rules.must_hit import CENT_MICROS, Segment
from progressive.rules.rulebooks import SEATS_MAX

FAMILY: Final = 0.01  # 99 % confidence for a report as a whole, by Holm's correction
CYCLES: Final = 100_000
SHOES: Final = 2_000
CYCLES_MIN: Final = 30_000  # so that pairs of the largest scaled range fill their square
SHOES_MIN: Final = 300  # so that every card is expected at a position five times
SCALED: Final = (2, 10, 52)
TRIGGER_CLASSES: Final = 100
SEGMENT_CLASSES: Final = 50
SEGMENTS: Final = (Segment(500_000_000, 1), Segment(900_000_000, 5), Segment(1_000_000_000, 4))
OPENING_SPAN_MICROS: Final = 300_000_000  # so that the opening value passes a segment's end

T = TypeVar("T")
Progress = Callable[[str, int, int], object]  # what is being drawn, how many, of how many


@dataclass(frozen=True, slots=True)
class Verdict:
    """One test of one stream, and whether it fails once all tests are seen together."""

    stream: str
    outcome: Outcome
    failed: bool


@dataclass(frozen=True, slots=True)
class Suite:
    """Everything that a report shows."""

    seed: bytes
    cycles: int
    shoes: int
    verdicts: tuple[Verdict, ...]
    triggers: tuple[int, ...]  # counts of equal classes between reset and maximum
    segments: tuple[int, ...]  # counts of equal classes by chance
    winners: dict[int, tuple[int, ...]]  # number of bettors: wins of each seat
    places: tuple[CardPlaces, ...]  # of six and of eight decks

    @property
    def passed(self) -> bool:
        """Whether no test fails."""
        return not any(verdict.failed for verdict in self.verdicts)


class _Run:
    """Collects outcomes while streams are drawn."""

    def __init__(self, seed: bytes, progress: Progress) -> None:
        self.seed, self.progress = seed, progress
        self.found: list[tuple[str, Outcome]] = []

    def note(self, stream: str, outcomes: Iterable[Outcome]) -> None:
        self.found += [(stream, outcome) for outcome in outcomes]

    def watched(self, stream: str, values: Iterator[T], total: int) -> Iterator[T]:
        every = max(1, total // 100)
        for done, value in enumerate(islice(values, total)):
            if done % every == 0:
                self.progress(stream, done, total)
            yield value
        self.progress(stream, total, total)

    def scaled(self, limit: int, total: int) -> None:
        stream = f"scaled below {limit}"
        source = lab.lab_source(self.seed, stream)
        drawn = iter(lambda: draw_below(source, limit).value, None)
        self.note(stream, all_seven(list(self.watched(stream, drawn, total)), limit))

    def triggers(self, total: int) -> tuple[int, ...]:
        stream = "trigger, uniform"
        parameters = lab.lab_parameters()
        first = parameters.reset_micros // CENT_MICROS + 1
        width = parameters.maximum_micros // CENT_MICROS + 1 - first
        drawn = lab.triggers(lab.lab_source(self.seed, stream), parameters)
        values = [
            one.trigger.micros // CENT_MICROS - first for one in self.watched(stream, drawn, total)
        ]
        self.note(stream, all_seven(values, width, TRIGGER_CLASSES))
        return _counts((value * TRIGGER_CLASSES // width for value in values), TRIGGER_CLASSES)

    def segments(self, total: int) -> tuple[int, ...]:
        stream = "trigger, segments"
        parameters = lab.lab_parameters(segments=SEGMENTS)
        source = lab.lab_source(self.seed, stream)
        drawn = lab.triggers(source, parameters, OPENING_SPAN_MICROS)
        place = lab.Places(parameters).of
        places = [place(one) for one in self.watched(stream, drawn, total)]
        values = [int(one * SEGMENT_CLASSES) for one in places]
        self.note(
            stream,
            [
                frequency(values, SEGMENT_CLASSES),
                runs(values, SEGMENT_CLASSES),
                serial_correlation(values),
                evenly(places),
                _segment_choice(self.seed, parameters, total),
            ],
        )
        return _counts(values, SEGMENT_CLASSES)

    def winners(self, bettors: int, total: int) -> tuple[int, ...]:
        stream = f"winner of {bettors}"
        drawn = lab.winners(lab.lab_source(self.seed, stream), bettors)
        values = [one.winner.seat - 1 for one in self.watched(stream, drawn, total)]
        if bettors == 1:
            others = sum(value != 0 for value in values)
            always = Outcome("always the one bettor", others, float(not others), total)
            self.note(stream, [always])
        elif bettors == SEATS_MAX:
            self.note(stream, all_seven(values, bettors))
        else:
            self.note(stream, [frequency(values, bettors)])
        return _counts(values, bettors)

    def shoes(self, decks: int, total: int) -> CardPlaces:
        stream = f"shoe of {decks} decks"
        places = CardPlaces(decks)
        drawn = lab.shuffles(lab.lab_source(self.seed, stream), decks)
        for shoe in self.watched(stream, drawn, total):
            places.add(shoe.cards)
        self.note(stream, card_tests(places))
        return places


def run_suite(seed: bytes, cycles: int, shoes: int, progress: Progress) -> Suite:
    """Draw every stream through the production functions, and test it."""
    if cycles < CYCLES_MIN or shoes < SHOES_MIN:
        raise ValueError(f"take at least {CYCLES_MIN} cycles and {SHOES_MIN} shoes")
    run = _Run(seed, progress)
    for limit in SCALED:
        run.scaled(limit, cycles)
    triggers = run.triggers(cycles)
    segments = run.segments(cycles // 2)
    winners = {
        bettors: run.winners(bettors, cycles if bettors == SEATS_MAX else cycles // 5)
        for bettors in range(1, SEATS_MAX + 1)
    }
    places = tuple(run.shoes(decks, shoes) for decks in (6, 8))
    failed = holm([outcome.p_value for _, outcome in run.found], FAMILY)
    verdicts = tuple(
        Verdict(stream, outcome, bad)
        for (stream, outcome), bad in zip(run.found, failed, strict=True)
    )
    return Suite(seed, cycles, shoes, verdicts, triggers, segments, winners, places)


def _segment_choice(seed: bytes, parameters: Parameters, total: int) -> Outcome:
    """Test how often each segment is chosen when cycles open at the reset."""
    drawn = lab.triggers(lab.lab_source(seed, "segments at reset"), parameters)
    uptos = [segment.upto_micros for segment in parameters.distribution.segments]
    chosen = (sum(one.trigger.micros > upto for upto in uptos) for one in islice(drawn, total))
    stretches = tuple(stretches_above(parameters, parameters.reset_micros))
    weights = [stretch.weight for stretch in stretches]
    chances = [weight / sum(weights) for weight in weights]
    return chi_square(_counts(chosen, len(uptos)), chances, "choice of segment")


def _counts(values: Iterable[int], classes: int) -> tuple[int, ...]:
    counted = Counter(values)
    return tuple(counted[k] for k in range(classes))
