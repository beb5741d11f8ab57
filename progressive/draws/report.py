"""The report of the statistical suite: a page with plots, and the same as JSON."""

import math
from collections.abc import Iterator
from html import escape
from typing import Any, Final

from progressive.draws import charts
from progressive.draws.shuffles import CardPlaces
from progressive.draws.suite import FAMILY, SEGMENT_CLASSES, TRIGGER_CLASSES, Suite
from progressive.rules.cards import ALL_CARDS
from progressive.rules.rulebooks import SEATS_MAX

COLUMNS: Final = ("stream", "test", "values", "statistic", "freedom", "p-value", "verdict")
STYLE: Final = (
    "body{font:16px/1.5 Helvetica,Arial,sans-serif;color:#1f2933;max-width:980px;margin:2em auto;"
    "padding:0 1em}table{border-collapse:collapse;font-size:14px}td,th{padding:3px 12px;"
    "text-align:right;border-bottom:1px solid #cbd2d9}td:nth-child(-n+2),th:nth-child(-n+2)"
    "{text-align:left}.failed{color:#c0242b;font-weight:bold}svg{max-width:100%;height:auto}"
)


def report_json(suite: Suite) -> dict[str, Any]:
    """Give the verdicts as plain values."""
    return {
        "passed": suite.passed,
        "confidence": 1 - FAMILY,
        "correction": "Holm",
        "seed": suite.seed.hex(),
        "cycles": suite.cycles,
        "shoes": suite.shoes,
        "tests": [
            {
                "stream": one.stream,
                "test": one.outcome.test,
                "values": one.outcome.values,
                "statistic": _finite(one.outcome.statistic),
                "freedom": one.outcome.freedom,
                "p_value": one.outcome.p_value,
                "passed": not one.failed,
            }
            for one in suite.verdicts
        ],
    }


def report_plots(suite: Suite) -> dict[str, str]:
    """Draw every plot, by the name of its file."""
    rows = [
        (f"{one.stream}: {one.outcome.test}", one.outcome.p_value, one.failed)
        for one in suite.verdicts
    ]
    dollars = [f"${250 + 750 * k / TRIGGER_CLASSES:,.0f}" for k in range(TRIGGER_CLASSES)]
    shares = [f"{100 * k // SEGMENT_CLASSES} %" for k in range(SEGMENT_CLASSES)]
    seats = [str(seat) for seat in range(1, SEATS_MAX + 1)]
    nine = suite.winners[SEATS_MAX]
    plots = {
        "p_values": charts.p_values("All tests", rows, FAMILY / len(rows)),
        "triggers": charts.bars("Triggers, uniform", suite.triggers, dollars, "trigger"),
        "segments": charts.bars(
            "Triggers, segments",
            suite.segments,
            shares,
            "place among all possible triggers, by chance",
        ),
        "winners": charts.bars("Winners of nine bettors", nine, seats, "seat"),
        "winners_by_bettors": charts.shares("Winners of one to nine bettors", suite.winners),
    }
    for places in suite.places:
        plots[f"shoe_{places.decks}_decks"] = _places_plot(places)
    return plots


def report_page(suite: Suite, plots: dict[str, str]) -> str:
    """Write the whole report as one page that loads nothing."""
    return "\n".join(_page(suite, plots)) + "\n"


def _page(suite: Suite, plots: dict[str, str]) -> Iterator[str]:
    failed = [one for one in suite.verdicts if one.failed]
    verdict = (
        f"<span class='failed'>{len(failed)} of {len(suite.verdicts)} tests failed.</span>"
        if failed
        else f"All {len(suite.verdicts)} tests passed."
    )
    yield "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
    yield f"<title>Statistical report of the draws</title><style>{STYLE}</style></head><body>"
    yield f"<h1>Statistical report of the draws</h1>\n<p><strong>{verdict}</strong></p>"
    yield (
        f"<p>{suite.cycles:,} cycles and {suite.shoes:,} shoes of six and of eight decks, drawn "
        "through the functions that draw in play, with secrets of their own. Confidence 99 % for "
        "the report as a whole, by Holm's correction: if all is well, one report in a hundred "
        "shows a failure. From five degrees of freedom on, chi-square tests look both ways: a "
        "fit can also be too good.</p>"
        f"<p>Repeat it with <code>progressive rng report --seed {suite.seed.hex()} "
        f"--cycles {suite.cycles} --shoes {suite.shoes}</code>.</p>"
    )
    yield from (f"<figure>{plot}</figure>" for plot in plots.values())
    yield "<h2>Every test</h2>\n<table><tr>"
    yield "".join(f"<th>{name}</th>" for name in COLUMNS) + "</tr>"
    for one in suite.verdicts:
        found = one.outcome
        cells = (
            one.stream,
            found.test,
            f"{found.values:,}",
            f"{found.statistic:,.4f}",
            "" if found.freedom is None else f"{found.freedom:,}",
            f"{found.p_value:.6f}",
            "failed" if one.failed else "passed",
        )
        mark = " class='failed'" if one.failed else ""
        yield f"<tr{mark}>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    yield "</table></body></html>"


def _places_plot(places: CardPlaces) -> str:
    """Show cards against positions, as many neighbouring positions together as there are decks."""
    kinds = len(ALL_CARDS)
    expected = places.expected * places.decks
    chance = 1 / kinds
    size = len(places.counts)
    # Neighbouring positions share a shoe's cards, so their sum spreads a little less.
    spread = math.sqrt(expected * (1 - chance) * (size - places.decks) / (size - 1))
    cells = [
        [
            (sum(row[card] for row in places.counts[k : k + places.decks]) - expected) / spread
            for k in range(0, size, places.decks)
        ]
        for card in range(kinds)
    ]
    title = f"Every card in every position: {places.shoes:,} shoes of {places.decks} decks"
    x_title = f"position in the shoe, 1 to {size}, {places.decks} to a column"
    return charts.deviations(title, cells, [card.symbol for card in ALL_CARDS], x_title)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
