"""A tolerant reader: takes what it can, notes every problem with its place, and goes on.

A key that nobody asks for is a problem too, so a misspelt option never passes in silence.
"""

import datetime as dt
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from meters.money import CENT, MoneyError, dollars, parse_dollars, parse_rate, percent
from progressive.config.positions import Path, line_of

ERROR = "error"
WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a site file."""

    line: int
    where: str
    what: str
    allowed: str
    rule: str
    severity: str = ERROR

    def __str__(self) -> str:
        """Write it as one line, as `check` prints it after the file's name."""
        return (
            f"line {self.line}: {self.severity}: {self.where}: {self.what}. "
            f"Allowed: {self.allowed}. Rule: {self.rule}."
        )


SITE_FILE = "site file"
_KINDS: Mapping[type | tuple[type, ...], str] = {
    str: "a text in quotes",
    int: "a whole number without quotes",
    dict: "a table",
    list: "an array of tables",
    dt.date: "a date without quotes",
    (str, int): "an amount",
    (str, dt.time): "a time of day",
}
SHOWN_MAX = 40  # characters of a value that a message repeats
WHAT_MAX = 240  # characters of any message, whatever the value in it


@dataclass(slots=True)
class Problems:
    """All that was found wrong, with the lines of the file to place it."""

    lines: Mapping[Path, int]
    found: list[Problem] = field(default_factory=list)

    def add(
        self, path: Path, what: str, allowed: str, rule: str = SITE_FILE, severity: str = ERROR
    ) -> None:
        """Note a problem."""
        where = ".".join(_printable(part) for part in path) or "the file"
        said = what if len(what) <= WHAT_MAX else f"{what[:WHAT_MAX]} ..."
        self.found.append(Problem(line_of(self.lines, path), where, said, allowed, rule, severity))

    @property
    def errors(self) -> int:
        """How many of them keep the site from being used."""
        return sum(problem.severity == ERROR for problem in self.found)


class Section:
    """One table of the file; every getter gives None where it noted a problem."""

    def __init__(self, values: Mapping[str, Any], path: Path, problems: Problems) -> None:
        self.values = values
        self.path = path
        self.problems = problems
        self.asked: set[str] = set()
        self.missing: dict[str, str] = {}  # key -> what it may be

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def note(
        self, key: str | None, what: str, allowed: str, rule: str = SITE_FILE, severity: str = ERROR
    ) -> None:
        """Note a problem with a key, or with the section itself."""
        path = self.path if key is None else (*self.path, key)
        self.problems.add(path, what, allowed, rule, severity)

    def _take(self, key: str, kind: type | tuple[type, ...], allowed: str, *, needed: bool) -> Any:  # noqa: ANN401 - a TOML value may be anything until it is looked at
        self.asked.add(key)
        if key not in self.values:
            if needed:
                self.missing[key] = allowed
            return None
        value = self.values[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.note(key, f"{_shown(value)} is not {_KINDS[kind]}", allowed)
            return None
        return value

    def text(self, key: str, allowed: str, pattern: str, *, needed: bool = True) -> str | None:
        """Read a text of a given form."""
        value = self._take(key, str, allowed, needed=needed)
        if value is not None and not (re.fullmatch(pattern, value) and value.isprintable()):
            self.note(key, f"{_shown(value)} is not of the right form", allowed)
            return None
        return None if value is None else str(value)

    def choice(
        self, key: str, choices: Sequence[str], rule: str = SITE_FILE, default: str | None = None
    ) -> str | None:
        """Read one of a few words."""
        allowed = "one of " + ", ".join(choices) if len(choices) > 1 else str(choices[0])
        value = self._take(key, str, allowed, needed=default is None)
        if value is not None and value not in choices:
            what = f"{_shown(value)} is not allowed{guess(value, choices)}"
            self.note(key, what, allowed, rule)
            return None
        return default if value is None and key not in self.values else value

    def integer(
        self,
        key: str,
        numbers: Sequence[int],
        rule: str = SITE_FILE,
        default: int | None = None,
        *,
        needed: bool = True,
    ) -> int | None:
        """Read a whole number out of those allowed."""
        allowed = numbers_text(numbers)
        value = self._take(key, int, allowed, needed=needed and default is None)
        if value is not None and value not in numbers:
            self.note(key, f"{_shown(value)} is not allowed", allowed, rule)
            return None
        return default if key not in self.values else value

    def money(self, key: str, *, needed: bool = True) -> int | None:
        """Read an amount of whole cents above nothing."""
        allowed = 'a text such as "$50,000.00", or a whole number of dollars'
        value = self._take(key, (str, int), allowed, needed=needed)
        if value is None:
            return None
        try:
            amount = parse_dollars(value if isinstance(value, str) else _shown(value))
        except MoneyError as error:
            self.note(key, str(error), allowed)
            return None
        if amount % CENT or amount == 0:
            self.note(key, f"{dollars(amount)} cannot be kept", "whole cents, more than $0.00")
            return None
        return amount

    def rate(self, key: str, *, needed: bool = True, least_ppm: int = 1) -> int | None:
        """Read a rate of the wager."""
        allowed = f'a text such as "9.00 %", at least {percent(least_ppm)}, in steps of 0.0001 %'
        value = self._take(key, str, allowed, needed=needed)
        if value is None:
            return None
        try:
            ppm = parse_rate(value)
        except MoneyError as error:
            self.note(key, str(error), allowed)
            return None
        if ppm < least_ppm:
            self.note(key, f"{percent(ppm)} is too little", allowed)
            return None
        return ppm

    def date(self, key: str) -> dt.date | None:
        """Read a date."""
        allowed = "a date such as 2026-01-01, without quotes"
        value = self._take(key, dt.date, allowed, needed=True)
        if isinstance(value, dt.datetime):
            self.note(key, f"{_shown(value)} has a time of day", allowed)
            return None
        return value if isinstance(value, dt.date) else None

    def time(self, key: str) -> dt.time | None:
        """Read a time of day, to the minute."""
        allowed = 'a time of day to the minute, such as "06:00"'
        value = self._take(key, (str, dt.time), allowed, needed=True)
        if isinstance(value, str):
            if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", value):
                self.note(key, f"{value!r} is not a time of day", allowed)
                return None
            return dt.time.fromisoformat(value)
        if value is not None and (value.second or value.microsecond):
            self.note(key, f"{value} is not on the minute", allowed)
            return None
        return value if isinstance(value, dt.time) else None

    def section(self, key: str, *, needed: bool = True) -> "Section | None":
        """Read a table inside this one."""
        value = self._take(key, dict, f"a table [{_dotted(self.path, key)}]", needed=needed)
        return None if value is None else Section(value, (*self.path, key), self.problems)

    def sections(self, key: str, pattern: str, allowed: str) -> "Iterator[tuple[str, Section]]":
        """Read tables that the site has named itself."""
        outer = self.section(key, needed=False)
        for name in outer.values if outer else ():
            inner = outer.section(name) if outer else None
            if not re.fullmatch(pattern, name):
                self.problems.add((*self.path, key, name), "this name cannot be used", allowed)
            if inner is not None:
                yield name, inner

    def array(self, key: str) -> "Iterator[Section]":
        """Read an array of tables."""
        allowed = f"tables [[{_dotted(self.path, key)}]]"
        for index, value in enumerate(self._take(key, list, allowed, needed=False) or ()):
            path = (*self.path, key, index)
            if isinstance(value, dict):
                yield Section(value, path, self.problems)
            else:
                self.problems.add(path, f"{_shown(value)} is not of the right kind", allowed)

    def value(self, key: str, kind: type | tuple[type, ...], allowed: str) -> Any:  # noqa: ANN401 - the caller looks at it
        """Read an optional value that the caller interprets."""
        return self._take(key, kind, allowed, needed=False)

    def done(self) -> None:
        """Note every key that nobody asked for, and every one that was asked for in vain."""
        for key in self.values:
            if key in self.asked:
                continue
            meant = _closest(key, sorted(self.asked - self.values.keys()))
            what = "nobody knows this key" + (f" (did you mean {meant!r}?)" if meant else "")
            allowed = self.missing.pop(meant, None) if meant else None
            self.note(key, what, allowed or "one of " + ", ".join(sorted(self.asked)))
        for key, allowed in self.missing.items():
            self.note(key, "is missing", allowed)


def numbers_text(numbers: Sequence[int]) -> str:
    """Write numbers as a person does: `1 to 9`, `6 or 8`."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:  # noqa: PLR2004 - a run
        return f"{numbers[0]:,} to {numbers[-1]:,}"
    return " or ".join(str(number) for number in numbers)


def _shown(value: object) -> str:
    """Show a value as the file writes it, cut to fit a line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, dt.date | dt.time):
        return str(value)
    if isinstance(value, int) and abs(value) >= 10**SHOWN_MAX:
        return "so large a number"
    text = repr(value)
    return text if len(text) <= SHOWN_MAX else text[: SHOWN_MAX - 3] + "..."


def _printable(part: str | int) -> str:
    text = str(part)
    return text if text.isprintable() and len(text) <= SHOWN_MAX else _shown(text)


def _dotted(path: Path, key: str) -> str:
    return ".".join(str(part) for part in (*path, key))


def _closest(word: str, known: Sequence[str]) -> str | None:
    return next(iter(difflib.get_close_matches(word[:SHOWN_MAX], known, n=1)), None)


def guess(word: str, known: Sequence[str]) -> str:
    """Say which known word was probably meant, if any is close."""
    close = _closest(word, [str(one) for one in known])
    return f" (did you mean {close!r}?)" if close else ""
