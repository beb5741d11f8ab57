"""Sentences that describe links and tables, before anything is done."""

from typing import Final

from pit import Pit
from story import SETS, Language

says: Final = Language()


@says(SETS, "Link {link} plays {paytable} with {number} decks")
def describe_link(pit: Pit, link: str, paytable: str, number: int) -> None:
    pit.describe(link, paytable, number)


@says(SETS, "{openings}")
def describe_seeds(pit: Pit, openings: dict[str, int]) -> None:
    pit.drafts[-1].seeds.update(openings)


@says(SETS, "Increments: {rates}")
def describe_increments(pit: Pit, rates: dict[str, int]) -> None:
    pit.drafts[-1].increments.update(rates)


@says(SETS, "Reserves: {rates}")
def describe_reserves(pit: Pit, rates: dict[str, int]) -> None:
    pit.drafts[-1].reserves.update(rates)


@says(SETS, "Limits: {amounts}")
def describe_limits(pit: Pit, amounts: dict[str, int]) -> None:
    pit.drafts[-1].limits.update(amounts)


@says(SETS, "Bounds of one lock: {amounts}")
def describe_bounds(pit: Pit, amounts: dict[str, int]) -> None:
    pit.drafts[-1].bounds.update(amounts)


@says(
    SETS,
    "Must Hit opens at {money}, resets to {money_reset}, is hit by {money_maximum},"
    " increment {rate}",
)
def describe_must_hit(
    pit: Pit, money: int, money_reset: int, money_maximum: int, rate: int
) -> None:
    pit.drafts[-1].add_must_hit(seed=money, reset=money_reset, maximum=money_maximum, rate=rate)


@says(SETS, "Hand pay above {money}")
def describe_hand_pay(pit: Pit, money: int) -> None:
    pit.drafts[-1].terms["hand_pay_above_micros"] = money


@says(SETS, "Two persons above {money}")
def describe_two_persons(pit: Pit, money: int) -> None:
    pit.drafts[-1].terms["two_person_above_micros"] = money


@says(SETS, "Wins within {number} seconds get the full amount each")
def describe_full_amount(pit: Pit, number: int) -> None:
    pit.drafts[-1].terms["simultaneous_seconds"] = number


@says(SETS, "Table {table} has {number} seats")
def describe_table(pit: Pit, table: str, number: int) -> None:
    pit.drafts[-1].add_table(table.upper(), number)
