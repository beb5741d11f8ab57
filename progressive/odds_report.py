"""Exact odds put together for people and programs: which wagers, their lines, their returns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from meters.money import plain
from progressive.montecarlo import Checked
from progressive.rules.baccarat import BANKER, PLAYER, Round
from progressive.rules.odds import Royal9Odds, WagerOdds, royal9_odds, wager_odds
from progressive.rules.returns import (
    LevelTerms,
    MustHitTerms,
    Royal9Returns,
    royal9_returns,
)
from progressive.rules.royal9 import (
    STAKE_MICROS,
    Fixed,
    LevelShare,
    Pay,
    Royal9Paytable,
    Seating,
)
from progressive.rules.wagers import CHOSEN, WAGERS, Wager


@dataclass(frozen=True, slots=True)
class Royal9Report:
    """Royal 9 at one seat: the odds, and the returns on given terms."""

    paytable: Royal9Paytable
    seating: Seating
    odds: Royal9Odds
    levels: Mapping[str, LevelTerms]
    returns: Royal9Returns


def royal9_report(  # noqa: PLR0913 - what the figures depend on
    paytable: Royal9Paytable,
    seating: Seating,
    decks: int,
    levels: Mapping[str, LevelTerms],
    must_hit: MustHitTerms | None = None,
    *,
    seat: int = 1,
) -> Royal9Report:
    """Work out Royal 9 for one seat."""
    odds = royal9_odds(seating, seat, decks)
    returns = royal9_returns(paytable, odds, levels, must_hit)
    return Royal9Report(paytable, seating, odds, levels, returns)


def default_levels(paytable: Royal9Paytable) -> dict[str, LevelTerms]:
    """Assume the least seeds that the paytable allows, and its rates where it prints them."""
    rates = paytable.rates_ppm or {}
    return {
        name: LevelTerms(least, least, rates.get(name))
        for name, least in paytable.seeds_min.items()
    }


def wager_reports(
    wagers: Iterable[Wager], decks: Sequence[int], paytable: str | None, on: str | None
) -> list[WagerOdds]:
    """Work out every wager under every paytable and hand that was not ruled out."""
    found = []
    for number in decks:
        for wager in wagers:
            tables = wager.paytables.values() if paytable is None else [wager.paytable(paytable)]
            hands = _hands(wager, on)
            found += [wager_odds(wager, table, number, hand) for table in tables for hand in hands]
    return found


def _hands(wager: Wager, on: str | None) -> Sequence[str | None]:
    if on is None and wager.side == CHOSEN:
        return (PLAYER, BANKER)
    wager.check_on(on)
    return (on,)


def line_return(pays: Fraction, probability: Fraction) -> Fraction:
    """Give what a line brings back of a unit wagered, the stake included."""
    return probability * (1 + pays)


def pay_value(pay: Pay | None, levels: Mapping[str, LevelTerms]) -> Fraction:
    """Give what a Royal 9 line pays with every meter at its seed."""
    if pay is None:
        return Fraction(0)
    if isinstance(pay, Fixed):
        return Fraction(pay.amount_micros)
    return Fraction(levels[pay.level].seed_micros * pay.percent, 100)


def checked_wager(odds: WagerOdds) -> Checked:
    """Make a wager ready to be simulated."""
    wager = WAGERS[odds.wager]
    table = wager.paytables[odds.paytable]

    def line(played: Round) -> str:
        return wager.line(wager.family.facts(played), table, odds.on)

    return Checked(line, {row.line: Fraction(row.ways, odds.total) for row in odds.lines})


def checked_royal9(report: Royal9Report) -> Checked:
    """Make Royal 9 at one seat ready to be simulated."""
    odds = report.odds
    chances = {line: odds.probability(line) for line in odds.ways}
    return Checked(lambda played: report.seating.line(odds.seat, played), chances)


def fixed(value: Fraction, digits: int) -> str:
    """Write a fraction with so many digits, rounded half away from zero."""
    scaled = abs(value) * 10**digits
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    text = f"{whole // 10**digits:,}.{whole % 10**digits:0{digits}}"
    return f"-{text}" if value < 0 and whole else text


def pct(value: Fraction) -> str:
    """Write a part as a percentage with four digits."""
    return f"{fixed(value * 100, 4)} %"


def decimal(value: Fraction, digits: int = 12) -> str:
    """Write a fraction plainly, without the zeros at its end."""
    return fixed(value, digits).replace(",", "").rstrip("0").rstrip(".")


def _line_json(line: str, ways: int, total: int) -> dict[str, Any]:
    probability = Fraction(ways, total)
    return {
        "line": line,
        "ways": str(ways),
        "probability": str(probability),
        "probability_decimal": decimal(probability),
        "one_in": str(1 / probability) if ways else None,
        "one_in_decimal": decimal(1 / probability, 4) if ways else None,
    }


def wager_json(odds: WagerOdds) -> dict[str, Any]:
    """Write one wager's odds for programs: counts and fractions as exact texts."""
    return {
        "wager": odds.wager,
        "on": odds.on,
        "paytable": odds.paytable,
        "decks": odds.decks,
        "total": str(odds.total),
        "lines": [
            _line_json(row.line, row.ways, odds.total)
            | {
                "pays": str(row.pays),
                "return": str(line_return(row.pays, Fraction(row.ways, odds.total))),
            }
            for row in odds.lines
        ],
        "return": str(1 - odds.house_edge),
        "house_edge": str(odds.house_edge),
        "house_edge_percent": decimal(odds.house_edge * 100, 6),
    }


def royal9_json(report: Royal9Report) -> dict[str, Any]:
    """Write Royal 9 for programs: counts and fractions as exact texts."""
    odds, returns = report.odds, report.returns
    return {
        "wager": "royal_9",
        "on": None,
        "paytable": report.paytable.name,
        "edition": report.paytable.edition,
        "decks": odds.decks,
        "table_seats": len(report.seating.combinations),
        "seat": odds.seat,
        "combinations": [str(mine) for mine in report.seating.combinations],
        "stake": plain(STAKE_MICROS),
        "total": str(odds.total),
        "lines": [_royal9_line(report, line, ways) for line, ways in odds.ways.items()],
        "fixed_return": str(returns.fixed),
        "return_at_seeds": str(returns.at_seeds),
        "return_at_seeds_percent": decimal(returns.at_seeds * 100, 6),
        "house_edge_at_seeds": str(returns.house_edge_at_seeds),
        "house_edge_at_seeds_percent": decimal(returns.house_edge_at_seeds * 100, 6),
        "must_hit_return": _text(returns.must_hit),
        "must_hit_wagers_per_cycle": _text(returns.must_hit_wagers),
        "long_run_return": _text(returns.long_run),
        "long_run_return_percent": _percent(returns.long_run),
        "long_run_house_edge": None if returns.long_run is None else str(1 - returns.long_run),
        "levels": {
            name: {
                "seed": plain(report.levels[name].seed_micros),
                "reset": plain(report.levels[name].reset_micros),
                "increment_ppm": report.levels[name].increment_ppm,
                "wagers_between_hits": str(level.wagers_between_hits),
                "expected_meter_at_hit": _dollars(level.meter_at_hit_micros),
                "expected_meter_at_hit_micros": _text(level.meter_at_hit_micros),
                "break_even_meter": _dollars(level.break_even_micros),
                "break_even_meter_micros": _text(level.break_even_micros),
            }
            for name, level in returns.levels.items()
        },
    }


def _royal9_line(report: Royal9Report, line: str, ways: int) -> dict[str, Any]:
    pay = report.paytable.pays.get(line)
    value = pay_value(pay, report.levels) * Fraction(ways, report.odds.total) / STAKE_MICROS
    shown: dict[str, Any] = {"pays": None, "level": None, "share_percent": None}
    if isinstance(pay, Fixed):
        shown["pays"] = plain(pay.amount_micros)
    elif isinstance(pay, LevelShare):
        shown |= {"level": pay.level, "share_percent": pay.percent}
    else:
        shown["pays"] = plain(0)
    return _line_json(line, ways, report.odds.total) | shown | {"return_at_seeds": str(value)}


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _percent(value: Fraction | None) -> str | None:
    return None if value is None else decimal(value * 100, 6)


def _dollars(micros: Fraction | None) -> str | None:
    return None if micros is None else decimal(micros / 1_000_000, 6)
