"""How likely a test statistic is if all is well: tails of the curves that the tests need."""

import math
from typing import Final

ROUNDS_MAX: Final = 100_000
FREEDOM_BOTH_MIN: Final = 5  # with fewer, whole counts fit exactly more often than the curve says
ENOUGH: Final = 1e-15  # relative; what is left out is below the precision of a float


def chi_square_tail(statistic: float, freedom: int) -> float:
    """Give the chance of a chi-square at least this large."""
    return _gamma_upper(freedom / 2, statistic / 2)


def chi_square_both(statistic: float, freedom: int) -> float:
    """Give the chance of a chi-square at least this far out: a fit can also be too good."""
    upper = chi_square_tail(statistic, freedom)
    if freedom < FREEDOM_BOTH_MIN:
        return upper
    return min(1.0, 2 * min(upper, 1 - upper))


def normal_both(deviation: float) -> float:
    """Give the chance of a normal deviation at least this large, to either side."""
    return math.erfc(abs(deviation) / math.sqrt(2))


def kolmogorov_tail(distance: float, count: int) -> float:
    """Give the chance of a largest distance at least this between a sample and its curve."""
    root = math.sqrt(count)
    scaled = (root + 0.12 + 0.11 / root) * distance  # Stephens' correction for finite samples
    if scaled < 0.2:  # noqa: PLR2004 - the tail differs from 1 by less than 1e-12 here
        return 1.0
    terms = (
        (1 if k % 2 else -1) * math.exp(-2 * (k * scaled) ** 2)
        for k in range(1, 101)  # far more than a scaled distance of 0.2 needs
    )
    return min(1.0, max(0.0, 2 * sum(terms)))


def _gamma_upper(shape: float, x: float) -> float:
    """Give the regularised upper incomplete gamma function."""
    if x <= 0:
        return 1.0
    if math.isinf(x):
        return 0.0
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        return max(0.0, 1 - front * _lower_series(shape, x))
    return min(1.0, front * _upper_fraction(shape, x))


def _lower_series(shape: float, x: float) -> float:
    term = total = 1 / shape
    for n in range(1, ROUNDS_MAX):
        term *= x / (shape + n)
        total += term
        if term < total * ENOUGH:
            return total
    raise ArithmeticError("the series did not settle")


def _upper_fraction(shape: float, x: float) -> float:
    """Evaluate 1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- ...))) from the front."""
    bottom = x + 1 - shape
    ratio_top, ratio_bottom = math.inf, 1 / bottom
    value = ratio_bottom
    for n in range(1, ROUNDS_MAX):
        numerator = n * (shape - n)
        bottom += 2
        ratio_bottom = 1 / _not_zero(bottom + numerator * ratio_bottom)
        ratio_top = _not_zero(bottom + numerator / ratio_top)
        value *= ratio_top * ratio_bottom
        if abs(ratio_top * ratio_bottom - 1) < ENOUGH * 10:
            return value
    raise ArithmeticError("the continued fraction did not settle")


def _not_zero(value: float) -> float:
    return value or 1e-300
