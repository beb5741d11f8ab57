"""The journal as its server still holds it: a stream whose ids are 1-0, 2-0, ... without a gap."""

from typing import Any

from redis import Redis

from meters.link import Meters

Row = tuple[bytes, dict[bytes, bytes]]


class JournalGap(Exception):  # noqa: N818 - it is the journal that has a gap
    """An entry is not in the stream, where it should be."""


class JournalStream:
    """Reads a journal's lines as the bytes that the server has."""

    def __init__(self, client: Redis, name: str) -> None:
        self.meters = Meters(client, name)
        self._client = client
        self._key = self.meters.calls.keys.journal

    def read(self, first: int, count: int) -> list[bytes]:
        """Give up to `count` lines from an entry on; none if the journal ends before it."""
        return _lines(self._ask("XRANGE", self._key, f"{first}-0", "+", "COUNT", count), first)

    def wait(self, first: int, count: int, block_ms: int) -> list[bytes]:
        """Give up to `count` lines from an entry on, waiting for the first of them."""
        found = self._ask(
            "XREAD", "COUNT", count, "BLOCK", block_ms, "STREAMS", self._key, f"{first - 1}-0"
        )
        return _lines(found[0][1], first) if found else []

    def ends(self) -> tuple[int, int]:
        """Tell the numbers of the first and of the last entry; zeroes if there is none."""
        first = self._ask("XRANGE", self._key, "-", "+", "COUNT", 1)
        last = self._ask("XREVRANGE", self._key, "+", "-", "COUNT", 1)
        return (_number(first[0]), _number(last[0])) if first and last else (0, 0)

    def server_time_ms(self) -> int:
        """Tell the server's time, which is the journal's."""
        seconds, micros = self._client.time()
        return seconds * 1000 + micros // 1000

    def _ask(self, *command: str | int) -> Any:  # noqa: ANN401 - rows as the client parses them
        client: Any = self._client  # redis-py leaves this untyped
        return client.execute_command(*command, NEVER_DECODE=True)


def _number(row: Row) -> int:
    return int(row[0].partition(b"-")[0])


def _lines(rows: list[Row], first: int) -> list[bytes]:
    lines = []
    for number, (name, fields) in enumerate(rows, first):
        if name != b"%d-0" % number:
            raise JournalGap(f"entry {number} is not in the journal: {name.decode()} is next")
        lines.append(fields[b"e"])
    return lines
