"""Amounts and rates are exact or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meters.levels import Level, LevelError, contribution
from meters.money import (
    AMOUNT_MAX,
    MoneyError,
    dollars,
    parse_dollars,
    parse_rate,
    percent,
    plain,
)


@given(st.integers(0, AMOUNT_MAX))
def test_amounts_are_read_back_as_written(micros: int) -> None:
    assert parse_dollars(dollars(micros)) == parse_dollars(plain(micros)) == micros


@given(st.integers(0, 1_000_000))
def test_rates_are_read_back_as_written(ppm: int) -> None:
    assert parse_rate(percent(ppm)) == ppm


def test_amounts_print_as_people_write_them() -> None:
    assert dollars(50_000_000_000) == "$50,000.00"
    assert dollars(-1_250_500) == "-$1.2505"
    assert plain(1) == "0.000001"
    assert percent(90_000) == "9.00 %"
    assert percent(1) == "0.0001 %"


@pytest.mark.parametrize(
    "text", ["", "$", "1.2345678", "1,00", "12,34", "-5", "1e3", "５", "$9,007,199,255.00", "NaN"]
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(MoneyError):
        parse_dollars(text)


@pytest.mark.parametrize("text", ["9", "9.00001 %", "101 %", "100.0001 %", "-1 %", "% 9", ""])
def test_what_is_no_exact_rate_is_refused(text: str) -> None:
    with pytest.raises(MoneyError):
        parse_rate(text)


def test_a_contribution_is_exact_or_refused() -> None:
    assert contribution(5_000_000, 90_000) == 450_000
    assert contribution(5_000_000, 1) == 5
    with pytest.raises(LevelError):
        contribution(1, 1)


@pytest.mark.parametrize(
    ("seed", "increment", "limit"),
    [(0, 1, None), (1, 1, None), (10_000, 0, None), (10_000, 1, 10_000), (2**53, 1, None)],
)
def test_a_level_that_cannot_be_kept_is_refused(
    seed: int, increment: int, limit: int | None
) -> None:
    with pytest.raises(LevelError):
        Level("star", seed, 10_000, increment, 0, limit, 1)
