"""Gaming days: a site's day begins at an hour of its own, in a time zone of its own."""

import datetime as dt
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from progressive.config.values import Site

DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class GamingDays:
    """When the days of a site begin; every moment belongs to exactly one of them."""

    zone: str
    starts: dt.time

    @classmethod
    def of_site(cls, site: Site) -> "GamingDays":
        """Take them from a site's values."""
        return cls(site.time_zone, site.gaming_day_starts)

    def begins(self, day: dt.date) -> int:
        """Give a day's first millisecond since 1970.

        An hour that the clock shows twice counts the first time, one that it skips when it would
        have been.
        """
        local = dt.datetime.combine(day, self.starts, ZoneInfo(self.zone))
        return round(local.timestamp() * 1000)

    def day_of(self, moment_ms: int) -> dt.date:
        """Give the gaming day of a moment in milliseconds since 1970."""
        day = dt.datetime.fromtimestamp(moment_ms / 1000, ZoneInfo(self.zone)).date()
        if moment_ms < self.begins(day):
            return day - DAY
        return day
