"""Classical tests of drawn outcomes: each gives a statistic and the chance of one as extreme."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from progressive.draws.probability import chi_square_both, kolmogorov_tail, normal_both

VALUES_MIN: Final = 1_000  # below that the curves are no guide
EXPECTED_MIN: Final = 5.0  # in every class of a chi-square
POKER_HAND: Final = 5
ORDERED: Final = 4  # values in a permutation test's group
GAP_CLASSES_MAX: Final = 60
PAIRS_RANGE_MAX: Final = 100  # more possible pairs than a sample could fill


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one test found; `p_value` is the chance of a result as extreme if all is well."""

    test: str
    statistic: float
    p_value: float
    values: int
    freedom: int | None = None


def chi_square(
    counts: Sequence[int], chances: Sequence[float], test: str = "chi-square"
) -> Outcome:
    """Compare counts with their chances, classes that are too small put together."""
    total = sum(counts)
    seen, expected = _pooled(counts, [chance * total for chance in chances])
    statistic = math.fsum((o - e) ** 2 / e for o, e in zip(seen, expected, strict=True))
    freedom = len(seen) - 1
    p_value = chi_square_both(statistic, freedom) if freedom else 1.0
    return Outcome(test, statistic, p_value, total, freedom)


def frequency(values: Sequence[int], limit: int, classes: int | None = None) -> Outcome:
    """Test frequencies: every outcome, or every one of so many equal classes, is seen alike."""
    classes = classes or limit
    if limit % classes:
        raise ValueError(f"{limit} outcomes do not fall into {classes} equal classes")
    counted = Counter(value * classes // limit for value in values)
    return chi_square([counted[k] for k in range(classes)], [1 / classes] * classes)


def runs(values: Sequence[int], limit: int) -> Outcome:
    """Test runs: stretches above and below the middle are as many as chance makes them."""
    above = [2 * value >= limit for value in values if 2 * value != limit - 1]
    high = sum(above)
    low = len(above) - high
    if not high or not low:
        return _impossible("runs", len(values))
    found = 1 + sum(a != b for a, b in pairwise(above))
    mean = 1 + 2 * high * low / (high + low)
    variance = (mean - 1) * (mean - 2) / (high + low - 1)
    deviation = (found - mean) / math.sqrt(variance)
    return Outcome("runs", deviation, normal_both(deviation), len(values))


def serial_correlation(values: Sequence[int], lag: int = 1) -> Outcome:
    """Test serial correlation: a value says nothing about the one after it."""
    count = len(values)
    mean = math.fsum(values) / count
    off = [value - mean for value in values]
    spread = math.fsum(d * d for d in off)
    if not spread:
        return _impossible("serial correlation", count)
    coefficient = math.fsum(a * b for a, b in zip(off, off[lag:], strict=False)) / spread
    deviation = (coefficient + 1 / count) * math.sqrt(count)
    return Outcome("serial correlation", coefficient, normal_both(deviation), count)


def gap(values: Sequence[int], limit: int) -> Outcome:
    """Test gaps: outcomes of the lowest quarter come back after the right waiting times."""
    marked = max(1, limit // 4)
    chance = marked / limit
    places = [place for place, value in enumerate(values) if value < marked]
    gaps = Counter(b - a - 1 for a, b in pairwise(places))
    total = gaps.total()
    if total < VALUES_MIN * chance / 4:
        return _impossible("gap", len(values))
    longest = int(math.log(2 * EXPECTED_MIN / total) / math.log(1 - chance))
    classes = max(1, min(GAP_CLASSES_MAX, longest))
    chances = [chance * (1 - chance) ** k for k in range(classes)]
    counts = [gaps[k] for k in range(classes)]
    counts.append(total - sum(counts))
    return chi_square(counts, [*chances, (1 - chance) ** classes], "gap")


def poker(values: Sequence[int], limit: int) -> Outcome:
    """Test poker: hands of five hold as many different values as they should."""
    hands = zip(*(values[k::POKER_HAND] for k in range(POKER_HAND)), strict=False)
    counted = Counter(len(set(hand)) for hand in hands)
    different = range(1, min(POKER_HAND, limit) + 1)
    chances = [
        math.perm(limit, k) * _ways_to_share(POKER_HAND, k) / limit**POKER_HAND for k in different
    ]
    return chi_square([counted[k] for k in different], chances, "poker")


def permutation(values: Sequence[int], limit: int) -> Outcome:
    """Test permutations: groups without equal values come in every order alike."""
    size = min(ORDERED, limit)
    groups = zip(*(values[k::size] for k in range(size)), strict=False)
    orders: Counter[tuple[int, ...]] = Counter(
        tuple(sorted(range(size), key=group.__getitem__))
        for group in groups
        if len(set(group)) == size
    )
    ways = math.factorial(size)
    if orders.total() < EXPECTED_MIN * ways:
        return _impossible("permutation", len(values))
    counts = [*orders.values()] + [0] * (ways - len(orders))
    return chi_square(counts, [1 / ways] * ways, "permutation")


def equidistribution(values: Sequence[int], limit: int) -> Outcome:
    """Test equidistribution: pairs fill the square, or in a large range values the line."""
    if limit > PAIRS_RANGE_MAX:
        return evenly([(value + 0.5) / limit for value in values])
    pairs = Counter(a * limit + b for a, b in zip(values[::2], values[1::2], strict=False))
    if len(values) // 2 < EXPECTED_MIN * limit**2:
        raise ValueError(f"{len(values)} values are too few for pairs of {limit}")
    cells = limit**2
    return chi_square([pairs[k] for k in range(cells)], [1 / cells] * cells, "equidistribution")


def evenly(places: Iterable[float]) -> Outcome:
    """Compare places between 0 and 1 with the even line (Kolmogorov and Smirnov)."""
    ordered = sorted(places)
    count = len(ordered)
    distance = max(
        max((k + 1) / count - place, place - k / count) for k, place in enumerate(ordered)
    )
    tail = kolmogorov_tail(distance, count)
    return Outcome("equidistribution", distance, tail, count)


def all_seven(values: Sequence[int], limit: int, classes: int | None = None) -> list[Outcome]:
    """Run every test on one stream; `classes` groups a large range where a test needs few."""
    if len(values) < VALUES_MIN:
        raise ValueError(f"{len(values)} values are too few to judge: take {VALUES_MIN} or more")
    few = limit if classes is None else classes
    grouped = values if classes is None else [value * classes // limit for value in values]
    return [
        frequency(values, limit, classes),
        runs(values, limit),
        serial_correlation(values),
        gap(grouped, few),
        poker(grouped, few),
        permutation(values, limit),
        equidistribution(values, limit),
    ]


def holm(p_values: Sequence[float], family: float) -> list[bool]:
    """Say which results fail, keeping the chance of any false alarm in the family below this."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    failed = [False] * len(p_values)
    for rank, index in enumerate(order):
        if p_values[index] > family / (len(p_values) - rank):
            break
        failed[index] = True
    return failed


def _impossible(test: str, values: int) -> Outcome:
    """Give the verdict on a stream that cannot even be tested, such as a constant one."""
    return Outcome(test, math.inf, 0.0, values)


def _pooled(counts: Sequence[int], expected: Sequence[float]) -> tuple[list[int], list[float]]:
    """Put neighbouring classes together until each is expected often enough."""
    seen: list[int] = []
    wanted: list[float] = []
    count, expect = 0, 0.0
    for c, e in zip(counts, expected, strict=True):
        count, expect = count + c, expect + e
        if expect >= EXPECTED_MIN:
            seen.append(count)
            wanted.append(expect)
            count, expect = 0, 0.0
    if not seen:
        return [count], [expect or 1.0]
    seen[-1] += count
    wanted[-1] += expect
    return seen, wanted


def _ways_to_share(things: int, parts: int) -> int:
    """Count the ways to share different things out into so many parts, none empty."""
    if parts in {0, things}:
        return int(parts == things)
    return parts * _ways_to_share(things - 1, parts) + _ways_to_share(things - 1, parts - 1)
