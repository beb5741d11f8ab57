"""The meters that a regulator asks for, per level, read in one look."""

from collections.abc import Mapping

import msgspec


class LevelMeters(msgspec.Struct, frozen=True, kw_only=True):
    """One level's meters, in micro-dollars; hits is a count."""

    level: str
    progressive_in: int  # contributed by wagers since the link opened
    display: int  # what the sign shows, before it is cut to whole cents
    hits: int
    wins: int  # won since the link opened, additions by the house included
    overflow: int
    reserve: int
    pending: int  # won and not yet paid


def level_meters(numbers: Mapping[str, int], levels: list[str]) -> list[LevelMeters]:
    """Give every level's meters from a link's numbers."""
    return [
        LevelMeters(
            level=level,
            progressive_in=numbers[f"{level}.in"],
            display=numbers[f"{level}.meter"],
            hits=numbers[f"{level}.hits"],
            wins=numbers[f"{level}.wins"] + numbers[f"{level}.added"],
            overflow=numbers[f"{level}.overflow"],
            reserve=numbers[f"{level}.reserve"],
            pending=numbers[f"{level}.pending"],
        )
        for level in levels
    ]
