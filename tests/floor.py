"""A small link for tests: meters near their limits, so that everything happens often."""

from collections.abc import Sequence

from redis import Redis

from meters.definitions import LinePay, LinkDefinition, TableDefinition, Terms
from meters.functions import ensure_loaded
from meters.levels import Level
from meters.link import Meters
from meters.money import MICROS

STAKE = 5 * MICROS
COMMITS = [("commit-1", "sealed-1"), ("commit-2", "sealed-2")]
LINES = {
    "star": LinePay("star", 100),
    "any_two": LinePay("star", 10),
    "spade": LinePay("spade", 100),
    "heart": LinePay("heart", 100),
    "suited_both": LinePay(amount_micros=1500 * MICROS),
    "any_royal": LinePay(amount_micros=25 * MICROS),
}


def usd(text: str) -> int:
    """Read dollars: `usd("5.00")`."""
    whole, _, fraction = text.replace(",", "").partition(".")
    return int(whole) * MICROS + int(fraction.ljust(6, "0"))


def level(  # noqa: PLR0913 - a level has these parts
    name: str,
    seed: str,
    rate_ppm: int,
    *,
    reserve_ppm: int = 0,
    limit: str | None = None,
    reset: str | None = None,
    maximum: str | None = None,
    bound: str = "45.00",
) -> Level:
    return Level(
        name,
        usd(seed),
        usd(reset or seed),
        rate_ppm,
        reserve_ppm,
        usd(limit) if limit else None,
        usd(bound),
        usd(maximum) if maximum else None,
        {"name": "uniform", "version": 1} if maximum else None,
    )


SMALL_LEVELS = (
    level("star", "100.00", 90_000, reserve_ppm=30_000, limit="104.00"),
    level("spade", "20.00", 50_001, reserve_ppm=10_000),
    level("heart", "20.00", 50_000),
    level("must_hit", "2.00", 100_000, maximum="6.00"),
)


def small_link(
    link: str = "royal",
    tables: Sequence[str] = ("T1", "T2", "T3"),
    *,
    levels: Sequence[Level] = SMALL_LEVELS,
    seats: int = 4,
    simultaneous_seconds: int = 0,
) -> LinkDefinition:
    return LinkDefinition(
        link=link,
        terms=Terms(
            paytable="TEST",
            stake_micros=STAKE,
            lines={
                line: pay
                for line, pay in LINES.items()
                if pay.level in {None, *(level.name for level in levels)}
            },
            hand_pay_above_micros=usd("1000.00"),
            two_person_above_micros=usd("100.00"),
            simultaneous_seconds=simultaneous_seconds,
        ),
        levels=list(levels),
        tables=[
            TableDefinition(name, f"A-{name}", "live", seats, 2, ["KS9H"] * seats)
            for name in tables
        ],
    )


def opened(client: Redis, definition: LinkDefinition | None = None) -> Meters:
    """Open a link on a server that has none yet."""
    definition = definition or small_link()
    ensure_loaded(client)
    meters = Meters(client, definition.link)
    has_must_hit = any(level.maximum_micros for level in definition.levels)
    meters.run(meters.calls.open_link(definition, "boss", COMMITS if has_must_hit else []))
    return meters
