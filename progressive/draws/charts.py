"""Plots as SVG text: bars against what is expected, tables of deviations, and p-values."""

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

WIDTH: Final = 960
LEFT: Final = 70
RIGHT: Final = 24
TOP: Final = 46
BOTTOM: Final = 52
INK: Final = "#1f2933"
FAINT: Final = "#cbd2d9"
BAR: Final = "#4c7fb8"
OUTSIDE: Final = "#274b73"
BAND: Final = "#f2e3c2"
LINE: Final = "#b4690e"
GOOD: Final = "#2f7d4f"
BAD: Final = "#c0242b"
TICKS_WANTED: Final = 5
BAND_DEVIATIONS: Final = 2.5758  # 99 % of a normal curve lie within
COLOUR_END: Final = 4.0  # standard errors at which a cell has its full colour


def svg(title: str, height: int, parts: Iterable[str]) -> str:
    """Put the parts of a plot under its title."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" aria-label="{escape(title)}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="13">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n'
        f"{_text(LEFT, 24, title, size=16, weight='bold')}\n" + "\n".join(parts) + "\n</svg>\n"
    )


def bars(
    title: str, counts: Sequence[int], labels: Sequence[str], x_title: str, height: int = 320
) -> str:
    """Draw counts that should be equal, with their expectation and the band of 99 %."""
    expected = sum(counts) / len(counts)
    error = math.sqrt(expected * (1 - 1 / len(counts)))
    low = min(*counts, expected - 4 * error)
    high = max(*counts, expected + 4 * error)
    scale = _Scale(low, high, height - BOTTOM, TOP)
    return svg(title, height, _bars(counts, labels, x_title, scale, expected, error))


def _bars(  # noqa: PLR0913, PLR0917 - what the parts of one plot share
    counts: Sequence[int],
    labels: Sequence[str],
    x_title: str,
    scale: "_Scale",
    expected: float,
    error: float,
) -> Iterator[str]:
    room = WIDTH - LEFT - RIGHT
    step = room / len(counts)
    band = BAND_DEVIATIONS * error
    top, bottom = scale.at(expected + band), scale.at(expected - band)
    yield _rect(LEFT, top, room, bottom - top, BAND)
    for tick in scale.ticks():
        y = scale.at(tick)
        yield _line(LEFT, y, WIDTH - RIGHT, y, FAINT)
        yield _text(LEFT - 8, y + 4, f"{tick:,.0f}", anchor="end")
    for index, count in enumerate(counts):
        x, y = LEFT + index * step, scale.at(count)
        outside = abs(count - expected) > band
        yield _rect(
            x + step * 0.12, y, step * 0.76, scale.bottom - y, OUTSIDE if outside else BAR, 0.85
        )
    yield _line(LEFT, scale.at(expected), WIDTH - RIGHT, scale.at(expected), LINE, 2)
    every = max(1, math.ceil(len(labels) / 10))
    for index in range(0, len(labels), every):
        x = LEFT + (index + 0.5) * step
        yield _text(x, scale.bottom + 18, labels[index], anchor="middle")
    yield _text(LEFT + room / 2, scale.bottom + 40, x_title, anchor="middle")
    note = f"cycles a bar; line: expected {expected:,.1f}; band: 99 of 100 bars end in it; axis cut"
    yield _text(WIDTH - RIGHT, 24, note, anchor="end", size=12)


def shares(title: str, wins: dict[int, tuple[int, ...]]) -> str:
    """Draw each seat's share of the wins, one row for every number of bettors."""
    row = 44
    height = TOP + row * len(wins) + BOTTOM
    return svg(title, height, _shares(wins, row))


def _shares(wins: dict[int, tuple[int, ...]], row: int) -> Iterator[str]:
    left = 120
    room = WIDTH - left - RIGHT
    for index, (bettors, counts) in enumerate(wins.items()):
        total, y, x = sum(counts), TOP + index * row, float(left)
        yield _text(left - 10, y + 22, f"{bettors} bettor{'s' * (bettors > 1)}", anchor="end")
        for seat, count in enumerate(counts, start=1):
            width = room * count / total
            yield _rect(x, y + 4, width - 1, row - 14, BAR, 0.4 + 0.5 * (seat % 2))
            label = f"{100 * count / total:.2f} %"
            ink = "#ffffff" if seat % 2 else INK
            yield _text(x + width / 2, y + 23, label, anchor="middle", fill=ink)
            x += width
        for edge in range(1, bettors):
            x = left + room * edge / bettors
            yield _line(x, y, x, y + row - 6, LINE, 2)
    foot = "each block is a seat's share of the wins; lines: where equal shares would end"
    yield _text(left + room / 2, TOP + row * len(wins) + 24, foot, anchor="middle")


def deviations(
    title: str, cells: Sequence[Sequence[float]], rows: Sequence[str], x_title: str
) -> str:
    """Draw a table of deviations, in standard errors: blue is too few, red is too many."""
    size = 11
    height = TOP + size * len(cells) + 74
    return svg(title, height, _deviations(cells, rows, x_title, size))


def _deviations(
    cells: Sequence[Sequence[float]], rows: Sequence[str], x_title: str, size: int
) -> Iterator[str]:
    step = (WIDTH - LEFT - RIGHT) / len(cells[0])
    for index, (row, label) in enumerate(zip(cells, rows, strict=True)):
        y = TOP + index * size
        yield _text(LEFT - 8, y + size - 1.5, label, anchor="end", size=10)
        for column, value in enumerate(row):
            yield _rect(LEFT + column * step, y, step - 0.5, size - 0.5, _colour(value))
    bottom = TOP + len(cells) * size
    yield _text(LEFT, bottom + 20, x_title)
    for index in range(9):
        value = index - COLOUR_END
        x = WIDTH - RIGHT - (9 - index) * 40
        yield _rect(x, bottom + 10, 39, 14, _colour(value))
        yield _text(
            x + 20, bottom + 40, f"{value:+.0f}" if value else "0", anchor="middle", size=11
        )
    yield _text(WIDTH - RIGHT - 370, bottom + 40, "standard errors", anchor="end", size=11)


def p_values(title: str, rows: Sequence[tuple[str, float, bool]], strictest: float) -> str:
    """Draw every test's p-value on a logarithmic line, those that fail in red."""
    height = TOP + 18 * len(rows) + BOTTOM
    return svg(title, height, _p_values(rows, strictest))


def _p_values(rows: Sequence[tuple[str, float, bool]], strictest: float) -> Iterator[str]:
    left, decades = 330, 6
    room = WIDTH - left - RIGHT
    bottom = TOP + 18 * len(rows)

    def at(p_value: float) -> float:
        return left + room * (1 + max(math.log10(max(p_value, 1e-99)), -decades) / decades)

    for exponent in range(decades + 1):
        x = at(10**-exponent)
        yield _line(x, TOP, x, bottom, FAINT)
        yield _text(x, bottom + 18, f"{10**-exponent:g}", anchor="middle")
    yield _line(at(strictest), TOP, at(strictest), bottom, LINE, 2)
    for index, (name, p_value, failed) in enumerate(rows):
        y = TOP + 18 * index + 9
        yield _text(left - 14, y + 4, name, anchor="end", size=12)
        yield f'<circle cx="{at(p_value):.1f}" cy="{y}" r="5" fill="{BAD if failed else GOOD}"/>'
    foot = f"p-value; left of the line ({strictest:.2g}) even the smallest of all tests fails"
    yield _text(left + room / 2, bottom + 40, foot, anchor="middle")


class _Scale:
    """An upright axis between two values."""

    def __init__(self, low: float, high: float, bottom: float, top: float) -> None:
        spare = (high - low) * 0.05 or 1.0
        self.low, self.high = max(0.0, low - spare), high + spare
        self.bottom, self.top = bottom, top

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.bottom - share * (self.bottom - self.top)

    def ticks(self) -> list[float]:
        rough = (self.high - self.low) / TICKS_WANTED
        power = 10 ** math.floor(math.log10(rough))
        step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough)
        first = math.ceil(self.low / step)
        return [k * step for k in range(first, math.floor(self.high / step) + 1)]


def _colour(value: float) -> str:
    share = min(1.0, abs(value) / COLOUR_END)
    end = (178, 24, 43) if value > 0 else (33, 102, 172)
    red, green, blue = (round(247 + (part - 247) * share) for part in end)
    return f"#{red:02x}{green:02x}{blue:02x}"


def _rect(  # noqa: PLR0913, PLR0917 - the attributes of one shape
    x: float, y: float, width: float, height: float, fill: str, opacity: float = 1.0
) -> str:
    shown = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(0, width):.1f}" '
        f'height="{max(0, height):.1f}" fill="{fill}"{shown}/>'
    )


def _line(  # noqa: PLR0913, PLR0917 - the attributes of one shape
    x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1
) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{colour}" stroke-width="{width:g}"/>'
    )


def _text(  # noqa: PLR0913 - the attributes of one shape
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    size: int = 13,
    weight: str = "normal",
    fill: str = INK,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'font-weight="{weight}" fill="{fill}">{escape(text)}</text>'
    )
