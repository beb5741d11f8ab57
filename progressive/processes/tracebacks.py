"""Tracebacks among a child's lines: of an exception its type and place, never its words.

An exception's words may quote what was being read: a body, a key, an address with a password.
"""

import re
import time
from pathlib import Path
from typing import Final, NamedTuple

BEGIN: Final = re.compile(r"[ +|]*(Exception Group )?Traceback \(most recent call last\):")
PLACE: Final = re.compile(r'\s*File "(?P<file>.*)", line (?P<line>\d+)(, in (?P<name>.*))?')
TYPE: Final = re.compile(r"[A-Za-z_][\w.]*(?=:|\s*$)")
WORDS_S: Final = 1.0  # they are printed in one go


class Failure(NamedTuple):
    """An exception that nobody caught, without its words."""

    error: str
    at: list[str]


class Tracebacks:
    """Takes a child's lines in turn.

    Words may go on for many lines, and nothing marks their end: no plain line is let through for a
    second after an exception, unless the child says something in the log's own form before.
    """

    def __init__(self) -> None:
        self._places: list[str] | None = None  # of the traceback that is being told
        self._words_end = 0.0

    def sift(self, text: str) -> str | Failure | None:
        """Give a line as it is, an exception when it has been told, and None for the rest."""
        if BEGIN.match(text):
            self._places = []
            return None
        if self._places is None:
            return text if time.monotonic() >= self._words_end else None
        if found := PLACE.match(text):
            place = f"{Path(found['file']).name}:{found['line']} {found['name'] or ''}"
            self._places.append(place.rstrip())
            return None
        if not text.strip() or text[0].isspace():
            return None  # a line of the source
        kind = TYPE.match(text)
        failure = Failure(kind[0].rpartition(".")[2] if kind else "unknown", self._places)
        self._places, self._words_end = None, time.monotonic() + WORDS_S
        return failure

    def end_words(self) -> None:
        """Let plain lines through again."""
        self._words_end = 0.0
