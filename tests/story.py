"""Floor stories: plain sentences, read into what was said, with the words of the pit.

Reading is pure. `pit.py` says what each sentence does; stories/README.md teaches the words.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from meters.money import parse_dollars, parse_rate
from progressive.rules.cards import Hand, hand
from progressive.rules.royal9 import CARD_LEVELS, LINES, MUST_HIT, PAYTABLES

SETS, ACTS, TELLS = "sets", "acts", "tells"  # before play; what is done; what must be so
LAMPS: Final = {"off": "-", "accepted": "A", "locked": "K", "late": "L", "winner": "W"}
KINDS: Final = {"hand": "played", "free hand": "free", "simulated round": "simulated"}

_LINES = sorted({line for lines in LINES.values() for line in lines if line != "loss"})
_NAME = r"[a-z][a-z0-9-]*"
_MONEY = r"\$[\d,]+(?:\.\d+)?"
_RATE = r"\d+(?:\.\d+)? ?%"
_CARD = r"(?:10|[a2-9tjqk])[shdc♠♥♦♣]"
_SEATS = r"\d(?: ?(?:and |or )?\d)*"
_COMMA = re.compile(r",(?!\d{3})")  # all but those inside an amount
_REFUSED = re.compile(r"(.*?)(?: which)? is refused: (\w+)")
_REPEATED = re.compile(r"repeated: ?(.*)", re.IGNORECASE)
_PLACE = re.compile(r"\[.*?\]|\{\w+\}|\(s\)|[,:]")
_PART = re.compile(r"(\{\w+\}|\(s\)|\[|\])")


class StoryError(AssertionError):
    """A sentence that nobody understands, or that did not come true; says where it stands."""


def _spelt(names: Iterable[str]) -> str:
    spelt = [name.replace("king9", "king-?9").replace("_", "[ _-]") for name in names]
    return "|".join(sorted(spelt, key=len, reverse=True))


_LEVEL = _spelt((*CARD_LEVELS, MUST_HIT))


def _name(text: str) -> str:
    """Read `Must Hit` or `other King-9` as the paytable spells it."""
    return re.sub("[ -]", "_", text.casefold()).replace("king_9", "king9")


def _person(text: str) -> str:
    return text.casefold().removeprefix("the ")


def _seats(text: str) -> list[int]:
    return [int(seat) for seat in re.findall(r"\d", text)]


def _cards(text: str) -> Hand:
    return hand(text.casefold())


def _lamps(text: str) -> str:
    return "".join(LAMPS[word] for word in text.casefold().split())


def _pairs(value: str, read: Callable[[str], int]) -> Callable[[str], dict[str, int]]:
    pair = re.compile(rf"({_LEVEL}) (?:opens )?(?:at )?({value})", re.IGNORECASE)
    return lambda text: {_name(found[1]): read(found[2]) for found in pair.finditer(text)}


def _many(one: str) -> str:
    return f"{one}(?: {one})*"


@dataclass(frozen=True)
class Kind:
    """A kind of word: how it is written, and how it is read."""

    pattern: str
    read: Callable[[str], Any] = str.casefold


WORDS: Final[Mapping[str, Kind]] = {
    "amounts": Kind(_many(rf"(?:{_LEVEL}) {_MONEY}"), _pairs(_MONEY, parse_dollars)),
    "cards": Kind(_many(_CARD), _cards),
    "kind": Kind("|".join(KINDS), lambda text: KINDS[text.casefold()]),
    "lamps": Kind(_many(f"(?:{'|'.join(LAMPS)})"), _lamps),
    "level": Kind(_LEVEL, _name),
    "line": Kind(_spelt((*_LINES, MUST_HIT)), _name),
    "link": Kind(_NAME),
    "money": Kind(_MONEY, parse_dollars),
    "number": Kind(r"\d+", int),
    "openings": Kind(_many(rf"(?:{_LEVEL}) (?:opens )?at {_MONEY}"), _pairs(_MONEY, parse_dollars)),
    "part": Kind("meter|overflow|reserve"),
    "paytable": Kind("|".join(PAYTABLES), str.upper),
    "person": Kind(rf"(?:the )?{_NAME}", _person),
    "phase": Kind("open|locked|dealt"),
    "rate": Kind(_RATE, parse_rate),
    "rates": Kind(_many(rf"(?:{_LEVEL}) {_RATE}"), _pairs(_RATE, parse_rate)),
    "reason": Kind(".+", str),
    "seats": Kind(_SEATS, _seats),
    "table": Kind(_NAME),
    "way": Kind("up|down"),
}


@dataclass(frozen=True)
class Phrase:
    """A sentence that the stories may use: `(s)` may be missing, and so may what is in brackets."""

    text: str
    does: str
    meaning: Callable[..., Any]
    pattern: re.Pattern[str]


@dataclass(frozen=True)
class Sentence:
    """A sentence of a story: where it stands, what it means, and the words in it."""

    line: int
    text: str
    phrase: Phrase
    words: Mapping[str, Any]
    refused: str | None = None
    repeated: bool = False


@dataclass(frozen=True)
class Story:
    """A title and its sentences."""

    name: str
    title: str
    sentences: list[Sentence]

    def fail(self, line: int, why: str) -> NoReturn:
        """Say which line of which story is at fault, and why."""
        raise StoryError(f"{self.name}:{line}: {why}")


def _pattern(text: str) -> re.Pattern[str]:
    parts = []
    for part in _PART.split(_COMMA.sub("", text)):
        if part.startswith("{"):
            name = part[1:-1]
            parts.append(f"(?P<{name}>{WORDS[name.split('_')[0]].pattern})")
        else:
            parts.append({"(s)": "s?", "[": "(?:", "]": ")?"}.get(part) or re.escape(part))
    return re.compile("".join(parts), re.IGNORECASE)


@dataclass
class Language:
    """All the phrases that a story may be written in."""

    phrases: list[Phrase] = field(default_factory=list)

    def __call__(self, does: str, *texts: str) -> Callable[[Callable[..., Any]], Any]:
        """Give a function's meaning to one or more phrases."""

        def learn(meaning: Callable[..., Any]) -> Callable[..., Any]:
            self.phrases += [Phrase(text, does, meaning, _pattern(text)) for text in texts]
            return meaning

        return learn

    def read(self, name: str, text: str) -> Story:
        """Read a story; a sentence that is not known is an error that names the nearest one."""
        story = Story(name, _title(name, text), [])
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip() or line.lstrip().startswith("#") or _is_title(line):
                continue
            for said in line.split(";"):
                story.sentences.append(self._sentence(story, number, _plain(said)))
        return story

    def _sentence(self, story: Story, line: int, text: str) -> Sentence:
        said, refused, repeated = text, None, False
        if found := _REFUSED.fullmatch(said):
            said, refused = found.groups()
        if found := _REPEATED.fullmatch(said):
            said, repeated = found[1], True
        matches = [(phrase, phrase.pattern.fullmatch(said)) for phrase in self.phrases]
        known = [(phrase, match) for phrase, match in matches if match]
        if not known:
            nearest = self.nearest(said)
            story.fail(line, f"nobody understands {text!r}; the nearest sentence is {nearest!r}")
        phrase, match = known[0]
        if (refused or repeated) and phrase.does != ACTS:
            story.fail(line, f"only what is done can be refused or repeated: {text!r}")
        return Sentence(line, said, phrase, _words(story, line, match), refused, repeated)

    def nearest(self, said: str) -> str:
        """Give the known sentence that has most words with this one in common."""
        words = _own_words(said)

        def likeness(phrase: Phrase) -> float:
            return difflib.SequenceMatcher(None, _own_words(phrase.text), words).ratio()

        return max(self.phrases, key=likeness).text


def _own_words(text: str) -> list[str]:
    """Give a sentence's words without what stands for others, what may be missing, and plurals."""
    return [word.rstrip("s") for word in _PLACE.sub("", text).casefold().split()]


def _words(story: Story, line: int, found: re.Match[str]) -> dict[str, Any]:
    words = {}
    for name, text in found.groupdict().items():
        if text is not None:
            try:
                words[name] = WORDS[name.split("_")[0]].read(text)
            except ValueError as error:
                story.fail(line, str(error))
    return words


def _plain(said: str) -> str:
    return " ".join(_COMMA.sub(" ", said).split()).rstrip(".")


def _is_title(line: str) -> bool:
    return line.casefold().startswith("title:")


def _title(name: str, text: str) -> str:
    first = text.splitlines()[0] if text else ""
    if not _is_title(first):
        raise StoryError(f"{name}:1: a story begins with its title, such as 'Title: A free hand'")
    return first.partition(":")[2].strip()
