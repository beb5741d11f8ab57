"""What travels over HTTP about the past; the records are the index's own."""

import datetime as dt

from progressive.api.wire import Answer
from progressive.audit.history import AwardRecord, RoundRecord


class Rounds(Answer, frozen=True, kw_only=True):
    """A table's rounds; `next` continues the list."""

    rounds: list[RoundRecord]
    next: int | None = None


class RoundAnswer(Answer, frozen=True, kw_only=True):
    """A round and what was won in it."""

    round: RoundRecord
    awards: list[AwardRecord]


class PastAwards(Answer, frozen=True, kw_only=True):
    """Awards of every state; `next` continues the list."""

    awards: list[AwardRecord]
    next: int | None = None


class Days(Answer, frozen=True, kw_only=True):
    """Gaming days; `next` continues the list."""

    days: list[dt.date]
    next: dt.date | None = None


class LogAnswer(Answer, frozen=True, kw_only=True):
    """A log: the key that its checkpoints are signed with, how many entries, and their root."""

    log: str
    key: str
    size: int
    root: str


class Logs(Answer, frozen=True, kw_only=True):
    """The logs of the site."""

    logs: list[LogAnswer]


class Consistency(Answer, frozen=True, kw_only=True):
    """The hashes that lead from one root to a later one (RFC 6962), in hexadecimal."""

    old: int
    new: int
    path: list[str]
