"""Every plain way of writing a number or some bytes, to search for what must not be anywhere."""

import base64
import json
import struct
from collections.abc import Iterable, Mapping
from urllib.parse import quote_from_bytes

CENT_MICROS = 10_000


def forms_of_bytes(secret: bytes) -> set[bytes]:
    """Give bytes as they are, turned round, in hex, base64 at any offset, escaped, as numbers."""
    found = set()
    for content in (secret, secret[::-1]):
        texts = {
            content.hex(),
            content.hex().upper(),
            content.hex(" "),
            content.hex(":"),
            str(int.from_bytes(content)),
            repr(content)[2:-1],
            json.dumps(content.decode("latin-1"))[1:-1],
            quote_from_bytes(content),
            *_base64(content),
        }
        found |= {content, *(text.encode() for text in texts)}
    return found


def _base64(content: bytes) -> set[str]:
    """Give what stays the same whatever stands before and after."""
    found = set()
    for offset in range(3):
        text = base64.b64encode(bytes(offset) + content).decode().rstrip("=")
        inner = text[(0, 2, 3)[offset] : -1]
        found |= {inner, inner.translate({43: "-", 47: "_"})}
    return found


def forms_of_amount(micros: int) -> set[bytes]:
    """Give an amount in micros, cents and dollars, as text and as it lies in memory."""
    cents = micros // CENT_MICROS
    plain = f"{cents // 100}.{cents % 100:02}"
    grouped = f"{cents // 100:,}.{cents % 100:02}"
    turned = grouped.translate({44: ".", 46: ","})
    texts = {plain, grouped, turned, grouped.replace(",", " "), grouped.replace(",", "'")}
    found = {text.encode() for text in texts}
    for number in (micros, cents):
        found |= {text.encode() for text in (str(number), f"{number:,}", f"{number:_}")}
        found |= {f"{number:x}".encode(), f"{number:X}".encode(), f"{float(number):e}".encode()}
        size = (number.bit_length() + 7) // 8
        found |= {number.to_bytes(size, "big"), number.to_bytes(size, "little")}  # msgpack too
        found |= {struct.pack(order + "d", number) for order in "<>"}
        wide = base64.b64encode(str(number).encode()).decode().rstrip("=")[:-1]
        found |= {wide.encode(), *(text.encode() for text in _base64(number.to_bytes(8, "big")))}
    return found | {struct.pack(order + "d", cents / 100) for order in "<>"}


def places_of(forms: Iterable[bytes], places: Mapping[str, bytes]) -> list[str]:
    """Name the places in which one of the forms is found."""
    known = list(forms)
    return [name for name, content in places.items() if any(form in content for form in known)]
