"""Where each key of a TOML text stands, since the standard parser does not tell.

The text has been parsed before, so the scan may take it to be well formed.
"""

from collections.abc import Iterator, Mapping
from typing import Final

Path = tuple[str | int, ...]
_STRINGS: Final = ('"""', "'''", '"', "'")
_BARE_END: Final = " \t\r\n=.]#"


def positions(text: str) -> Mapping[Path, int]:
    """Give the line of every key, table header and array element, by its path."""
    lines: dict[Path, int] = {}
    for path, line in _Scanner(text).statements():
        for length in range(1, len(path) + 1):  # a dotted header begins its parents too
            lines.setdefault(path[:length], line)
    return lines


def line_of(lines: Mapping[Path, int], path: Path) -> int:
    """Find the line of a path or, where it is absent, of what it would stand in."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n") + "\n"
        self.at = 0
        self.line = 1
        self.arrays: dict[Path, int] = {}

    def statements(self) -> Iterator[tuple[Path, int]]:
        table: Path = ()
        while self._skip_blank():
            line = self.line
            if self._take("[["):
                named = self._resolve(self._dotted_key(), last=False)
                self.arrays[named] = self.arrays.get(named, -1) + 1
                table = (*named, self.arrays[named])
                self._take("]]")
                yield table, line
            elif self._take("["):
                table = self._resolve(self._dotted_key(), last=True)
                self._take("]")
                yield table, line
            else:
                yield from self._pair(table)

    def _resolve(self, key: Path, *, last: bool) -> Path:
        """Put in the running index of every array of tables that the key goes through."""
        path: Path = ()
        for number, part in enumerate(key, start=1):
            path = (*path, part)
            if path in self.arrays and (last or number < len(key)):
                path = (*path, self.arrays[path])
        return path

    def _pair(self, table: Path) -> Iterator[tuple[Path, int]]:
        line = self.line
        path = (*table, *self._dotted_key())
        self._skip_blank()
        self._take("=")
        yield path, line
        yield from self._value(path)

    def _value(self, path: Path) -> Iterator[tuple[Path, int]]:
        self._skip_blank()
        if self._take("["):
            index = 0
            while self._skip_blank() and not self._take("]"):
                yield (*path, index), self.line
                yield from self._value((*path, index))
                index += 1
                self._skip_blank()
                self._take(",")
        elif self._take("{"):
            while self._skip_blank() and not self._take("}"):
                yield from self._pair(path)
                self._skip_blank()
                self._take(",")
        elif not self._string():
            while self.text[self.at] not in ",]}#\n":
                self.at += 1

    def _dotted_key(self) -> Path:
        parts: list[str] = []
        while True:
            self._skip_blank()
            start = self.at
            if self._string():
                parts.append(self.text[start + 1 : self.at - 1])
            else:
                while self.text[self.at] not in _BARE_END:
                    self.at += 1
                parts.append(self.text[start : self.at])
            self._skip_blank()
            if not self._take("."):
                return tuple(parts)

    def _string(self) -> bool:
        """Pass over a string of any of the four kinds, if one starts here."""
        quote = next((q for q in _STRINGS if self.text.startswith(q, self.at)), None)
        if quote is None:
            return False
        self.at += len(quote)
        while not self.text.startswith(quote, self.at):
            if self.text[self.at] == "\\" and quote[0] == '"':
                self.at += 1
            self._step()
        self.at += len(quote)
        while len(quote) == len('"""') and self.text[self.at] == quote[0]:
            self.at += 1  # a multi-line string may end in one or two quotes of its own
        return True

    def _skip_blank(self) -> bool:
        """Pass over white space and comments; tell whether anything follows."""
        while self.at < len(self.text):
            if self.text[self.at] == "#":
                self.at = self.text.index("\n", self.at)
            elif not self.text[self.at].isspace():
                return True
            else:
                self._step()
        return False

    def _step(self) -> None:
        self.line += self.text[self.at] == "\n"
        self.at += 1

    def _take(self, token: str) -> bool:
        found = self.text.startswith(token, self.at)
        self.at += len(token) * found
        return found
