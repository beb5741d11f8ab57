"""Amounts in integer micro-dollars and rates in integer parts per million, read and written."""

import re
from typing import Final

MICROS: Final = 1_000_000
CENT: Final = 10_000
PPM: Final = 1_000_000  # all of it
AMOUNT_MAX: Final = 2**53 - 1  # what the function library can hold exactly, about $9 billion

_AMOUNT = re.compile(r"\$? ?([0-9]{1,3}(?:,[0-9]{3}){1,5}|[0-9]{1,18})(?:\.([0-9]{1,6}))?")
_RATE = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,9}))? ?%")


class MoneyError(ValueError):
    """A text that is no amount or rate, or one that cannot be held exactly."""


def parse_dollars(text: str) -> int:
    """Read `$50,000.00`, `50000` or `0.0505` as micro-dollars."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise MoneyError(f"{text!r} is not an amount of dollars, such as $50,000.00 or 25.00")
    whole, fraction = match[1].replace(",", ""), (match[2] or "").ljust(6, "0")
    amount = int(whole) * MICROS + int(fraction)
    if amount > AMOUNT_MAX:
        raise MoneyError(f"{text!r} is more than the largest amount, {dollars(AMOUNT_MAX)}")
    return amount


def plain(micros: int) -> str:
    """Write `50000.00`, with further digits only where there are fractions of a cent."""
    sign, size = "-" * (micros < 0), abs(micros)
    digits = f"{size % MICROS:06}"
    return f"{sign}{size // MICROS}.{digits[:2]}{digits[2:].rstrip('0')}"


def dollars(micros: int) -> str:
    """Write `$50,000.00`, with further digits only where there are fractions of a cent."""
    whole, _, fraction = plain(abs(micros)).partition(".")
    return f"{'-' * (micros < 0)}${int(whole):,}.{fraction}"


def parse_rate(text: str) -> int:
    """Read `9.00 %` as parts per million; a rate finer than that is refused, not rounded."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise MoneyError(f"{text!r} is not a rate, such as 9.00 %")
    digits = (match[2] or "").ljust(4, "0")
    if digits[4:].strip("0"):
        raise MoneyError(f"{text!r} is finer than 0.0001 %: a contribution would not be exact")
    rate = int(match[1]) * 10_000 + int(digits[:4])
    if rate > PPM:
        raise MoneyError(f"{text!r} is more than 100 %")
    return rate


def percent(ppm: int) -> str:
    """Write `9.00 %`, with further digits only where they are needed."""
    digits = f"{ppm % 10_000:04}"
    return f"{ppm // 10_000}.{digits[:2]}{digits[2:].rstrip('0')} %"
