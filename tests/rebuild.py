"""The draws rebuilt from deploy/docs/draws.md alone: hashlib, hmac, and nothing of the product."""

import hashlib
import hmac
from collections.abc import Callable, Iterator

SECRET = bytes(range(32))
SALT = bytes(range(160, 176))
SHORT = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
Bytes = Callable[[int], bytes]


def quoted(text: str) -> str:
    units = text.encode("utf-16-be")
    codes = (units[k] << 8 | units[k + 1] for k in range(0, len(units), 2))
    return '"' + "".join(map(_escaped, codes)) + '"'


def _escaped(code: int) -> str:
    return SHORT.get(code) or (chr(code) if 32 <= code <= 126 else f"\\u{code:04x}")


def joined(*fields: str) -> bytes:
    return ("[" + ",".join(map(quoted, fields)) + "]").encode()


def digest(*fields: str) -> str:
    return hashlib.sha256(joined(*fields)).hexdigest()


def mac(key: bytes, *parts: bytes) -> bytes:
    made = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        made.update(part)
    return made.digest()


def stream(personalization: bytes, secret: bytes = SECRET, salt: bytes = SALT) -> Bytes:
    """Give a function that answers one request after the other."""
    state = [bytes(32), bytes([1]) * 32]

    def stir(seed: bytes) -> None:
        for mark in (0, 1) if seed else (0,):
            state[0] = mac(state[0], state[1], bytes([mark]), seed)
            state[1] = mac(state[0], state[1])

    def request(size: int) -> bytes:
        out = b""
        while len(out) < size:
            state[1] = mac(state[0], state[1])
            out += state[1]
        stir(b"")
        return out[:size]

    stir(secret + salt + personalization)
    return request


def below(request: Bytes, n: int) -> tuple[int, list[int]]:
    refused: list[int] = []
    if n == 1:
        return 0, refused
    bits = len(bin(n - 1)) - 2
    while True:
        number = int(request(-(-bits // 8)).hex(), 16) % 2**bits
        if number < n:
            return number, refused
        refused.append(number)


def trigger(
    request: Bytes, opening: int, reset: int, segments: list[tuple[int, int]], name: str
) -> tuple[list[int], list[list[int]], int]:
    """Give the numbers drawn, those rejected before each, and the trigger in micro-dollars."""
    low = opening // 10_000
    if name == "uniform":
        value, refused = below(request, segments[-1][0] // 10_000 - low)
        return [value], [refused], (low + 1 + value) * 10_000
    parts: list[tuple[int, int, int]] = []
    start, width = reset // 10_000, 0
    for end, weight in ((upto // 10_000, weight) for upto, weight in segments):
        if end > low:
            if not parts:
                width = end - start
                parts.append((low, end, weight * (end - low)))
            else:
                parts.append((start, end, weight * width))
        start = end
    number, first = below(request, sum(part[2] for part in parts))
    rest = number
    while rest >= parts[0][2]:
        rest -= parts.pop(0)[2]
    value, second = below(request, parts[0][1] - parts[0][0])
    return [number, value], [first, second], (parts[0][0] + 1 + value) * 10_000


def full_shoe(decks: int) -> list[str]:
    return [rank + suit for rank in "A23456789TJQK" for suit in "SHDC" for _ in range(decks)]


def cards(request: Bytes, left: list[str]) -> Iterator[tuple[str, int, list[int]]]:
    while left:
        place, refused = below(request, len(left))
        yield left.pop(place), place, refused


def third_cards(player: list[str], banker: list[str]) -> Iterator[list[str]]:
    """Name the hand that takes each further card, by the drawing rules."""

    def worth(card: str) -> int:
        return "A23456789".find(card[0]) + 1

    p, b = (sum(map(worth, two)) % 10 for two in (player, banker))
    if p > 7 or b > 7:
        return
    if p > 5:
        if b < 6:
            yield banker
        return
    yield player
    third = worth(player[2])
    if b < 3 or (b == 3 and third != 8) or (4 <= b <= 6 and 2 * b - 6 <= third <= 7):
        yield banker
