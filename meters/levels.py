"""What a progressive level is: where it starts, how it grows, and where it stops."""

from typing import Any

import msgspec

from meters.money import AMOUNT_MAX, CENT, PPM


class LevelError(ValueError):
    """A level that could not be kept exactly."""


class Level(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A meter's definition; amounts are micro-dollars, rates are ppm of the wager."""

    name: str
    seed_micros: int
    reset_micros: int
    increment_ppm: int
    reserve_ppm: int
    limit_micros: int | None  # what goes over it waits in overflow
    contribution_max_micros: int  # of one lock; more is unreasonable, refused and alarmed
    maximum_micros: int | None = None  # Must Hit only: won before the meter passes it
    distribution: dict[str, Any] | None = None  # Must Hit only: how its trigger is drawn
    closed: bool = False  # decommissioned: takes no contributions any more

    @property
    def top_micros(self) -> int:
        """What the meter may show at most."""
        return self.maximum_micros or self.limit_micros or AMOUNT_MAX

    def __post_init__(self) -> None:
        for amount in (self.seed_micros, self.reset_micros):
            if not 0 < amount <= AMOUNT_MAX or amount % CENT:
                raise LevelError(f"{self.name}: {amount} micro-dollars is no whole-cent amount")
        if not 0 < self.increment_ppm <= PPM or not 0 <= self.reserve_ppm <= PPM:
            raise LevelError(f"{self.name}: rates lie between 0 and {PPM} ppm")
        if self.limit_micros is not None and not (
            max(self.seed_micros, self.reset_micros) < self.limit_micros <= AMOUNT_MAX
        ):
            raise LevelError(f"{self.name}: the limit lies above seed and reset")


def contribution(stake_micros: int, rate_ppm: int) -> int:
    """Give what a wager adds at a rate, refusing one that is not exact."""
    amount, rest = divmod(stake_micros * rate_ppm, PPM)
    if rest:
        raise LevelError(f"{rate_ppm} ppm of {stake_micros} micro-dollars is not exact")
    return amount
