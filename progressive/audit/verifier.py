#!/usr/bin/env python3
"""Checks the logs of a linked progressive offline: every signature, every cent, every draw.

    python3 verifier.py FOLDER --key KEY [--witness KEY] [--seen CHECKPOINT] [--json]

FOLDER is the folder of one log, or one that holds several. KEY is a log's public key, or a file
with one a line. CHECKPOINT is one that you kept, or that a witness shows: a log that was cut back
or written anew since then does not hold it. This file is the whole program: it needs Python 3.11
and nothing else, it shares no code with the controller, and it works everything out again from the
entries alone.

Exit code: 0 all is right, 1 something is wrong (the first wrong entry is named), 2 a wrong call.

What is where, from top to bottom: problems · signatures · the tree · the folder · lines as entries
· draws · the rules of the wager · levels, awards, tables · the books of a link · rounds · Must Hit
and automated shoes · two persons · sealed balances · the site's journal · one log · the report.
"""

import argparse
import base64
import binascii
import gc
import hashlib
import hmac
import json
import marshal
import multiprocessing
import os
import re
import stat
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

sha256 = hashlib.sha256
Entry = dict[str, Any]
Json = Any  # whatever a JSON text holds

# ---------------------------------------------------------------------------------------------
# Problems


class Wrong(Exception):  # noqa: N818 - it is the entry that is wrong
    """Something is not as it should be; the message says what, as a sentence about it.

    `entry` is where it is, if that is not the entry at hand.
    """

    def __init__(self, what: str, entry: int | None = None) -> None:
        super().__init__(what)
        self.entry = entry


class Missing(Wrong):
    """A file is not there."""


class Overlooked(Wrong):
    """A revealed trigger shows that an earlier round should have won: that round is to be named."""

    def __init__(self, what: str, cycle: int, trigger: int) -> None:
        super().__init__(what)
        self.cycle, self.trigger = cycle, trigger


class CallError(Exception):
    """The program was called wrongly: nothing was checked."""


@dataclass(frozen=True)
class Problem:
    """What is wrong, and where: an entry's number, a run of them, or a file."""

    log: str
    what: str
    entry: int | None = None
    last: int | None = None  # where one of several entries is wrong: the last of them
    file: str | None = None
    order: int = 0

    def __str__(self) -> str:
        if self.last is not None and self.last != self.entry:
            place = f"one of the entries {self.entry} to {self.last}"
        elif self.entry is not None:
            place = f"entry {self.entry}"
        else:
            place = self.file or "the folder"
        return f"{self.log}: {place}: {self.what}"


def dollars(micros: int) -> str:
    """Write micro-dollars as `$50,000.00`, with further digits only where there are any."""
    digits = f"{abs(micros) % 1_000_000:06}"
    sign = "-" if micros < 0 else ""
    return f"{sign}${abs(micros) // 1_000_000:,}.{digits[:2]}{digits[2:].rstrip('0')}"


# ---------------------------------------------------------------------------------------------
# Signatures: Ed25519 (RFC 8032) over signed notes and checkpoints (C2SP)

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE_D = -121665 * pow(121666, -1, PRIME) % PRIME
ROOT_OF_MINUS_1 = pow(2, (PRIME - 1) // 4, PRIME)
Point = tuple[int, int, int, int]  # extended coordinates: X, Y, Z, T
NEUTRAL: Point = (0, 1, 1, 0)


def add_points(p: Point, q: Point) -> Point:
    """Add two points of the curve."""
    a = (p[1] - p[0]) * (q[1] - q[0]) % PRIME
    b = (p[1] + p[0]) * (q[1] + q[0]) % PRIME
    c = 2 * p[3] * q[3] * CURVE_D % PRIME
    d = 2 * p[2] * q[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def find_x(y: int, sign: int) -> int | None:
    """Find the point's other coordinate, or None where no point has this one."""
    if y >= PRIME:
        return None
    square = (y * y - 1) * pow(CURVE_D * y * y + 1, -1, PRIME) % PRIME
    if square == 0:
        return None if sign else 0
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME:
        x = x * ROOT_OF_MINUS_1 % PRIME
    if (x * x - square) % PRIME:
        return None
    return x if x & 1 == sign else PRIME - x


def read_point(data: bytes) -> Point | None:
    """Read a point from its 32 bytes."""
    number = int.from_bytes(data, "little")
    y = number & ((1 << 255) - 1)
    x = find_x(y, number >> 255)
    return None if x is None else (x, y, 1, x * y % PRIME)


def write_point(p: Point) -> bytes:
    """Write a point as 32 bytes."""
    inverse = pow(p[2], -1, PRIME)
    x, y = p[0] * inverse % PRIME, p[1] * inverse % PRIME
    return (y | (x & 1) << 255).to_bytes(32, "little")


BASE_Y = 4 * pow(5, -1, PRIME) % PRIME
BASE_X = find_x(BASE_Y, 0) or 0
BASE: Point = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % PRIME)


def signed_by(public: bytes, message: bytes, signature: bytes) -> bool:
    """Tell whether an Ed25519 signature over a message was made by this key."""
    key = read_point(public)
    if key is None or len(signature) != 64:
        return False
    scalar = int.from_bytes(signature[32:], "little")
    if scalar >= ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + public + message).digest()
    challenge = int.from_bytes(digest, "little") % ORDER
    minus_key: Point = (PRIME - key[0], key[1], 1, PRIME - key[3])
    both = add_points(BASE, minus_key)
    sum_ = NEUTRAL  # scalar * BASE - challenge * key, both bits at a time
    for bit in range(max(scalar.bit_length(), challenge.bit_length()) - 1, -1, -1):
        sum_ = add_points(sum_, sum_)
        which = (scalar >> bit & 1) | (challenge >> bit & 1) << 1
        if which:
            sum_ = add_points(sum_, (BASE, minus_key, both)[which - 1])
    return write_point(sum_) == signature[:32]


LOG_KEY, WITNESS_KEY = 0x01, 0x04
NOTE_BYTES_MAX = 1_000_000
SIGNATURES_MAX = 100


@dataclass(frozen=True)
class Key:
    """A public key: who, which kind (a log's or a witness's), and its 32 bytes."""

    name: str
    kind: int
    public: bytes

    @property
    def id(self) -> bytes:
        """The four bytes by which a signature line names it."""
        named = self.name.encode() + b"\n" + bytes([self.kind]) + self.public
        return sha256(named).digest()[:4]

    def signed(self, text: str, signature: bytes) -> bool:
        """Check a signature line's bytes over a note's text."""
        if self.kind == LOG_KEY:
            return signed_by(self.public, text.encode(), signature)
        moment = int.from_bytes(signature[:8], "big")
        if moment >= 1 << 63:
            return False
        said = f"cosignature/v1\ntime {moment}\n{text}".encode()
        return signed_by(self.public, said, signature[8:])


def read_key(text: str) -> Key:
    """Read `name+id+key`, insisting that the id belongs to the key."""
    name, _, rest = text.strip().partition("+")
    named_id, _, encoded = rest.partition("+")
    blob = exact_base64(encoded)
    if (
        not name.isprintable()
        or not name
        or blob is None
        or len(blob) != 33
        or blob[0] not in {LOG_KEY, WITNESS_KEY}
    ):
        raise CallError(f"{text.strip()[:60]!r} is neither a file nor a key: it reads name+id+key")
    key = Key(name, blob[0], blob[1:])
    if key.id.hex() != named_id:
        raise CallError(f"the key of {name} has an id that does not belong to it")
    return key


def exact_base64(text: str) -> bytes | None:
    """Decode base64 that is written in the one right way."""
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if base64.b64encode(found).decode() == text else None


class Checkpoint(NamedTuple):
    """A log's signed word: so many entries, with this root; and which witnesses agreed."""

    size: int
    root: bytes
    witnesses: list[str]


SIGNATURE_LINE = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/=]+)")
SIZE_TEXT = re.compile(r"0|[1-9][0-9]{0,18}")


def read_checkpoint(message: bytes, log: Key, witnesses: Sequence[Key]) -> Checkpoint:
    """Open a checkpoint, insisting on the log's signature and on no bad one by a known key."""
    try:
        whole = message.decode()
    except UnicodeDecodeError:
        raise Wrong("is not text") from None
    text, border, signatures = whole.rpartition("\n\n")
    if len(message) > NOTE_BYTES_MAX or not border or not signatures.endswith("\n"):
        raise Wrong("is not a signed note")
    if any(letter < " " and letter != "\n" for letter in whole):
        raise Wrong("has control characters")
    text += "\n"
    agreed = check_signatures(text, signatures[:-1].split("\n"), (log, *witnesses))
    if log not in agreed:
        raise Wrong(f"is not signed by {log.name}")
    lines = text[:-1].split("\n")
    root = exact_base64(lines[2]) if len(lines) >= 3 else None
    if root is None or len(root) != 32 or not all(lines) or not SIZE_TEXT.fullmatch(lines[1]):
        raise Wrong("is signed, but is no checkpoint")
    if lines[0] != log.name:
        raise Wrong(f"is a checkpoint of {lines[0]}, where one of {log.name} belongs")
    return Checkpoint(int(lines[1]), root, [key.name for key in agreed if key is not log])


def check_signatures(text: str, lines: list[str], keys: Sequence[Key]) -> list[Key]:
    """Give the keys that signed; a signature in a known key's name that is not its own is wrong."""
    if len(lines) > SIGNATURES_MAX:
        raise Wrong(f"has more than {SIGNATURES_MAX} signatures")
    agreed: list[Key] = []
    for line in lines:
        match = SIGNATURE_LINE.fullmatch(line)
        blob = exact_base64(match[2]) if match else None
        if match is None or blob is None or len(blob) < 5:
            raise Wrong("has a line among its signatures that is none")
        near = [key for key in keys if key.name == match[1] or key.id == blob[:4]]
        if not near:
            continue  # by somebody whose key was not given
        found = next((key for key in near if (key.name, key.id) == (match[1], blob[:4])), None)
        if found is None:
            raise Wrong(f"has a signature of {match[1]} by a key that was not given")
        if not found.signed(text, blob[4:]):
            raise Wrong(f"has a signature of {found.name} that {found.name} did not make")
        if found not in agreed:
            agreed.append(found)
    return agreed


# ---------------------------------------------------------------------------------------------
# The tree of RFC 6962


class Tree:
    """A Merkle tree as it grows: one hash for every set bit of its size."""

    def __init__(self) -> None:
        self.size = 0
        self.edge: list[bytes] = []

    def extend(self, lines: Iterable[bytes]) -> list[bytes]:
        """Add entries; gives every hash that became final, each entry's own first."""
        edge, size, made = self.edge, self.size, []
        for line in lines:
            node = sha256(b"\x00" + line).digest()
            made.append(node)
            rest = size
            while rest & 1:
                node = sha256(b"\x01" + edge.pop() + node).digest()
                made.append(node)
                rest >>= 1
            edge.append(node)
            size += 1
        self.size = size
        return made

    def root(self) -> bytes:
        """Give the root at the present size."""
        return root_of_edge(self.edge)


def root_of_edge(edge: Sequence[bytes]) -> bytes:
    """Put the whole subtrees of a tree together, smallest first."""
    if not edge:
        return sha256(b"").digest()
    node = edge[-1]
    for left in reversed(edge[:-1]):
        node = sha256(b"\x01" + left + node).digest()
    return node


def stored_hashes(size: int) -> int:
    """Tell how many hashes the hash file of a tree of this size holds."""
    return 2 * size - size.bit_count()


def edge_places(size: int) -> list[int]:
    """Tell where in the hash file the roots of the whole subtrees of a tree stand."""
    places, start = [], 0
    for level in range(size.bit_length() - 1, -1, -1):
        if size >> level & 1:
            start += 1 << level
            places.append(stored_hashes(start - 1) + level)
    return places


# ---------------------------------------------------------------------------------------------
# The folder: segments, manifest, checkpoints and hashes against each other

DIGITS = 12
CHUNK_BYTES = 1 << 20
LINE_BYTES_MAX = 1 << 26  # a sealed balance of a thousand tables has a fiftieth of it
MANIFEST_BYTES_MAX = 1 << 26
GZIP_HEADER = bytes.fromhex("1f8b08000000000000ff")
Message = tuple[str, Any]  # ("size", entries), ("entries", [...]), and last ("seal", {...})


def open_file(path: Path) -> BinaryIO:
    """Open a plain file; a pipe or a device in its place could be read for ever."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
    except FileNotFoundError:
        raise Missing("is missing") from None
    except OSError as error:
        raise Wrong(f"cannot be opened: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Wrong("is not a plain file")
    return os.fdopen(handle, "rb")


def read_start(path: Path, most: int) -> bytes:
    """Read a file's first bytes, so many at most."""
    with open_file(path) as file:
        return file.read(most)


def read_whole(path: Path, most: int) -> bytes:
    """Read a file that is small by its nature."""
    content = read_start(path, most + 1)
    if len(content) > most:
        raise Wrong(f"has more than {most:,} bytes")
    return content


def unpacked(file: BinaryIO) -> Iterator[bytes]:
    """Unpack a closed segment, insisting that it is one stream with nothing before or behind."""
    if file.read(len(GZIP_HEADER)) != GZIP_HEADER:
        raise Wrong("does not begin as a packed segment does")
    stream, check, length = zlib.decompressobj(-zlib.MAX_WBITS), 0, 0
    rest = b""
    while not stream.eof:
        rest = rest or file.read(CHUNK_BYTES // 4)
        try:
            plain = stream.decompress(rest, CHUNK_BYTES)
        except zlib.error:
            raise Wrong("cannot be unpacked") from None
        if not rest and not plain:
            raise Wrong("ends too early to be unpacked")
        rest = stream.unconsumed_tail
        check, length = zlib.crc32(plain, check), length + len(plain)
        yield plain
    trailer = stream.unused_data + file.read(9)
    if trailer != check.to_bytes(4, "little") + (length & 0xFFFFFFFF).to_bytes(4, "little"):
        raise Wrong("ends otherwise than its content says")


def plain_chunks(file: BinaryIO, *, packed: bool) -> Iterator[bytes]:
    """Give a segment's content piece by piece."""
    with file:
        if packed:
            yield from unpacked(file)
            return
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def split_lines(text: bytes) -> list[bytes]:
    """Cut a text into lines, insisting that the last one, which may go on, is not endless."""
    lines = text.split(b"\n")
    if len(lines[-1]) > LINE_BYTES_MAX:
        raise Wrong(f"is a line of more than {LINE_BYTES_MAX:,} bytes")
    return lines


class SealedFolder:
    """Reads a log's folder in order, and checks all that needs no look into the entries."""

    def __init__(
        self, folder: Path, log: Key, witnesses: Sequence[Key], seen: Sequence[bytes] = ()
    ) -> None:
        self.folder, self.log, self.witnesses = folder, log, witnesses
        self.seen = sorted(
            (read_checkpoint(one, log, witnesses) for one in seen), key=lambda one: one.size
        )
        self.tree = Tree()
        self.found: list[dict[str, Any]] = []  # problems, as marshal can carry them
        self.witnessed: dict[str, int] = {}
        self.checkpoints = 0
        self.unsealed = 0
        self.proven = 0  # entries under a root that was signed
        self.differs: int | None = None  # first entry whose hash is not as the hash file has it
        self.hashes: BinaryIO | None = None
        self.read_on = True

    def messages(self) -> Iterator[Message]:
        """Give the entries batch by batch, and at last what the seal comes to."""
        try:
            latest = self._checkpoint("checkpoint")
        except Wrong as wrong:
            self._note(str(wrong), file="checkpoint")
            latest = None
        if latest is not None:
            yield "size", latest.size
            try:
                yield from self._entries(latest)
                self._check_never_cut(latest.size)
            except Wrong as wrong:
                self._note(str(wrong), entry=self.tree.size + 1)
            except OSError as error:
                what = f"cannot be read: {error.strerror}: {error.filename or self.folder}"
                self._note(what, entry=self.tree.size + 1)
            finally:
                if self.hashes:
                    self.hashes.close()
        yield (
            "seal",
            {
                "size": self.tree.size,
                "checkpoints": self.checkpoints,
                "witnessed": self.witnessed,
                "unsealed": self.unsealed,
                "problems": self.found,
            },
        )

    def _note(self, what: str, **where: int | str | None) -> None:
        self.found.append({"what": what, "order": self.tree.size + 1, **where})

    def _checkpoint(self, file: str) -> Checkpoint:
        message = read_whole(self.folder / file, NOTE_BYTES_MAX)
        found = read_checkpoint(message, self.log, self.witnesses)
        self.checkpoints += 1
        for name in found.witnesses:
            self.witnessed[name] = max(found.size, self.witnessed.get(name, 0))
        return found

    def _entries(self, latest: Checkpoint) -> Iterator[Message]:
        length, listed = self._manifest(latest.size)
        self._open_hashes(latest.size)
        for first in range(0, latest.size + 1, length):
            end = min(first + length, latest.size)
            path = self._segment(first, listed=first // length < len(listed))
            if path is None:
                if first < end:
                    self._note(
                        f"is missing: there is no segment {first:0{DIGITS}}", entry=first + 1
                    )
                break
            content = sha256()
            yield from self._segment_entries(path, end, content, whole=end == first + length)
            if not self.read_on:
                return
            if first // length < len(listed):
                self._check_closed(first, end, listed[first // length], content.hexdigest())
            elif (self.folder / f"checkpoints/{end:0{DIGITS}}").exists() and end == first + length:
                self._check_root(end, f"checkpoints/{end:0{DIGITS}}")
        if self.tree.size == latest.size and self.read_on:
            self._check_root(latest.size, "checkpoint", latest)
        if self.differs is not None and not self.found:
            self._note(
                "its hash in the hash file is not its own", entry=self.differs, file="hashes"
            )

    def _manifest(self, size: int) -> tuple[int, list[bytes]]:
        try:
            whole = read_whole(self.folder / "manifest.jsonl", MANIFEST_BYTES_MAX)
            lines = whole.split(b"\n")[:-1]
            length = json.loads(lines[0])["segment_entries"]
        except (Wrong, ValueError, LookupError, TypeError, RecursionError):
            raise Wrong("is not readable: manifest.jsonl is missing or damaged") from None
        about = {"log": self.log.name, "segment_entries": length, "format": 1}
        if type(length) is not int or length < 1 or lines[0] != compact(about):
            raise Wrong("is not readable: manifest.jsonl begins with a line about another log")
        names = sorted(path.name for path in (self.folder / "checkpoints").glob("[0-9]*"))
        newest = self._size_by_now(size)
        if len(lines) - 1 > newest // length:
            self._note("lists more segments than the checkpoint covers", file="manifest.jsonl")
        for name in names:
            if not self._belongs(name, newest, length):
                self._note("does not belong to this log", file=f"checkpoints/{name}")
        return length, lines[1 : 1 + size // length]

    def _size_by_now(self, size: int) -> int:
        """Give the size of a log that a sealer may have gone on with since it was opened."""
        try:
            message = read_whole(self.folder / "checkpoint", NOTE_BYTES_MAX)
            return max(size, read_checkpoint(message, self.log, self.witnesses).size)
        except Wrong:
            return size

    def _listed_by_now(self, packed: Path) -> bool:
        """Tell whether a sealer has listed a segment since the manifest was read."""
        try:
            whole = read_whole(self.folder / "manifest.jsonl", MANIFEST_BYTES_MAX)
        except Wrong:
            return False
        named = f'"file":"segments/{packed.name}"'.encode()
        return any(named in line for line in whole.split(b"\n")[:-1])

    @staticmethod
    def _belongs(name: str, size: int, length: int) -> bool:
        if name.endswith(".new"):
            return True  # what a power cut leaves of a file that was being written
        return (
            name.isascii()
            and name.isdigit()
            and len(name) == DIGITS
            and 0 < int(name) <= size
            and int(name) % length == 0
        )

    def _segment(self, first: int, *, listed: bool) -> Path | None:
        plain = self.folder / f"segments/{first:0{DIGITS}}.log"
        packed = plain.with_suffix(".log.gz")
        if listed:
            return packed if packed.exists() else None
        if not plain.exists() and packed.exists():  # in this order: the plain one goes last
            if not self._listed_by_now(packed):
                self._note(
                    "is packed, but the manifest does not list it", file=f"segments/{packed.name}"
                )
            return packed
        return plain if plain.exists() else None

    def _open_segment(self, path: Path) -> Iterator[bytes]:
        """Open a segment, the packed one where a sealer has packed it since it was looked for."""
        try:
            file = open_file(path)
        except Missing:
            packed = path.with_suffix(".log.gz")
            if path == packed or not self._listed_by_now(packed):
                raise
            path, file = packed, open_file(packed)
        return plain_chunks(file, packed=path.suffix == ".gz")

    def _segment_entries(
        self,
        path: Path,
        end: int,
        content: Any,  # noqa: ANN401 - the type of hashlib's objects has no public name
        *,
        whole: bool,
    ) -> Iterator[Message]:
        rest = b""
        try:
            for chunk in self._open_segment(path):
                content.update(chunk)
                *lines, rest = split_lines(rest + chunk)
                room = end - self.tree.size
                yield from self._batch(lines[:room])
                self._check_beyond(lines[room:], whole=whole)
        except Wrong as wrong:
            self._note(str(wrong), entry=self.tree.size + 1, file=f"segments/{path.name}")
            self._place_difference(end)
            return
        if self.tree.size < end or (rest and whole):
            what = (
                f"is missing: {path.name} ends before it"
                if self.tree.size < end
                else (f"{path.name} does not end with it")
            )
            self._note(what, entry=self.tree.size + 1)
            self._place_difference(end)

    def _batch(self, lines: list[bytes]) -> Iterator[Message]:
        if not lines:
            return
        before = self.tree.size
        made = self._grow(lines)
        if self.hashes and self.differs is None:
            expected = b"".join(made)
            kept = self.hashes.read(len(expected))
            if kept != expected:
                self.differs = first_difference(before, len(lines), expected, kept)
        yield "entries", read_lines(lines)

    def _grow(self, lines: list[bytes]) -> list[bytes]:
        """Put lines into the tree, looking at its root wherever somebody has seen one."""
        made: list[bytes] = []
        start, end = self.tree.size, self.tree.size + len(lines)
        for signed in self.seen:
            if start < signed.size <= end:
                made += self.tree.extend(lines[self.tree.size - start : signed.size - start])
                self._check_seen(signed)
        return made + self.tree.extend(lines[self.tree.size - start :])

    def _check_seen(self, signed: Checkpoint) -> None:
        if signed.root != self.tree.root():
            self._note(
                f"history was written anew: {self.log.name} had signed another root of entries "
                f"1 to {signed.size}, which was seen",
                entry=1,
                last=signed.size,
            )

    def _check_never_cut(self, size: int) -> None:
        for signed in self.seen:
            if signed.size > size:
                self._note(
                    f"is missing: the log ends before it, and {self.log.name} had signed "
                    f"{signed.size} entries, which was seen",
                    entry=size + 1,
                )

    def _check_beyond(self, lines: list[bytes], *, whole: bool) -> None:
        """Insist that what stands behind the last sealed entry is what would come next."""
        if lines and whole:
            raise Wrong("holds more entries than belong into it")
        for line in lines:
            self.unsealed += 1
            number = self.tree.size + self.unsealed
            entry, _ = read_line(line)
            if entry is None or entry.get("n") != number:
                raise Wrong(f"is not sealed, and is not what entry {number} could be")

    def _check_closed(self, first: int, end: int, line: bytes, content: str) -> None:
        file = f"checkpoints/{end:0{DIGITS}}"
        exact = {
            "first": first,
            "last": end - 1,
            "count": end - first,
            "file": f"segments/{first:0{DIGITS}}.log.gz",
            "sha256": content,
            "root": base64.b64encode(self.tree.root()).decode(),
            "checkpoint": file,
        }
        self._check_root(end, file)
        if not self.read_on:
            return
        if line != compact(exact):
            what = (
                f"line {first // (end - first) + 2} is not what segment {first:0{DIGITS}} comes to"
            )
            self._note(what, file="manifest.jsonl")
        plain = self.folder / f"segments/{first:0{DIGITS}}.log"
        if plain.exists() and not self._holds(plain, content):
            self._note("is not what the packed segment holds", file=f"segments/{plain.name}")

    @staticmethod
    def _holds(path: Path, content: str) -> bool:
        found = sha256()
        try:
            for chunk in plain_chunks(open_file(path), packed=False):
                found.update(chunk)
        except Wrong:
            return False
        return found.hexdigest() == content

    def _check_root(self, size: int, file: str, signed: Checkpoint | None = None) -> None:
        """Compare the tree with what was signed; where they differ, find the entry."""
        try:
            signed = signed or self._checkpoint(file)
        except Wrong as wrong:
            self._note(str(wrong), file=file)
            return
        if signed.size != size:
            self._note(f"is the checkpoint of {signed.size} entries, not of {size}", file=file)
        elif signed.root == self.tree.root():
            self.proven = size
        else:
            self._note(
                f"is not the entry that was signed: entries 1 to {size} do not come to the root "
                f"that {file} signs",
                entry=self.proven + 1,
                last=size,
            )
            self._place_difference(size)

    def _place_difference(self, size: int) -> None:
        """Name the very entry, where the hash file is still the one that was signed."""
        self.read_on = False
        if (
            self.differs is not None
            and self.differs > self.proven
            and self._hashes_are_signed(size)
        ):
            self._note(
                "is not the entry that was signed: its hash is not the one in the signed tree",
                entry=self.differs,
            )

    def _hashes_are_signed(self, size: int) -> bool:
        for file in (f"checkpoints/{size:0{DIGITS}}", "checkpoint"):
            try:
                signed = self._checkpoint(file)
            except Wrong:
                continue
            return self._root_in_hashes(signed.size) == signed.root
        return False

    def _root_in_hashes(self, size: int) -> bytes | None:
        if self.hashes is None:
            return None
        edge = []
        for place in edge_places(size):
            self.hashes.seek(place * 32)
            edge.append(self.hashes.read(32))
        return root_of_edge(edge)

    def _open_hashes(self, size: int) -> None:
        path = self.folder / "hashes"
        if not path.exists():
            return  # it can be worked out again, and a copy may do without
        try:
            self.hashes = open_file(path)
        except Wrong as wrong:
            self._note(str(wrong), file="hashes")
            return
        if path.stat().st_size < stored_hashes(size) * 32:
            self._note("ends before the checkpoint does", file="hashes")


def first_difference(before: int, count: int, expected: bytes, kept: bytes) -> int:
    """Give the number of the first entry whose own hash differs, or else of a subtree's last."""
    base = stored_hashes(before)
    for index in range(before, before + count):
        at = (stored_hashes(index) - base) * 32
        if expected[at : at + 32] != kept[at : at + 32]:
            return index + 1
    for index in range(before, before + count):
        at, end = ((stored_hashes(index + more) - base) * 32 for more in (0, 1))
        if expected[at:end] != kept[at:end]:
            return index + 1
    raise AssertionError("some hash differs")


def compact(value: Json) -> bytes:
    """Write JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


# ---------------------------------------------------------------------------------------------
# Lines as entries: JSON with nothing in it twice, nothing fractional, postings that sum to zero

Line = tuple[Entry | None, Any]  # the entry and its line's hash (locks only), or None and why


def refuse_number(text: str) -> NoReturn:
    """Refuse a number that is not whole."""
    raise ValueError(f"{text} is not a whole number")


def distinct(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Make an object of its fields, refusing one that has a name twice."""
    made = dict(pairs)
    if len(made) != len(pairs):
        names = Counter(name for name, _ in pairs)
        raise ValueError(f"the field {names.most_common(1)[0][0]} is there twice")
    return made


fast_json = json.JSONDecoder(parse_float=refuse_number, parse_constant=refuse_number)
strict_json = json.JSONDecoder(
    parse_float=refuse_number, parse_constant=refuse_number, object_pairs_hook=distinct
)
LONG_LINE_BYTES = 1_000  # a shorter one cannot be deeper than half of it
DEPTH_MAX = 100
WITH_BOOLEANS = frozenset({"definition", "body", "state"})  # what is in them is checked apart
NOTHING: dict[str, Any] = {}


def has_boolean(value: Json) -> bool:
    """Look for true or false in a value; Python would take them for 1 and 0."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return any(has_boolean(one) for one in value)
    return isinstance(value, bool)


def deeper_than(value: Json, most: int) -> bool:
    """Tell whether lists and objects lie in each other more often than so."""
    layer = [value]
    for _ in range(most):
        layer = [
            inner
            for one in layer
            if isinstance(one, (dict, list))
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not layer:
            return False
    return True


def read_lines(lines: list[bytes]) -> list[Line]:
    """Read journal lines."""
    return [read_line(line) for line in lines]


def read_line(line: bytes) -> Line:
    """Read a journal line as an entry, or tell why it is none."""
    try:
        text = line.decode()
        entry, end = fast_json.raw_decode(text)
        if end != len(text) or type(entry) is not dict:
            return None, "is not one JSON object"
        if len(line) > LONG_LINE_BYTES and deeper_than(entry, DEPTH_MAX):
            return None, f"has lists or objects in each other more than {DEPTH_MAX} deep"
        post, lines = entry.get("post"), entry.get("lines")
        names = len(entry) + (len(post) if post else 0) + (len(lines) if lines else 0)
        if line.count(b":") != names:  # deeper parts, a colon in a text, or a name twice
            entry = strict_json.decode(text)
        if b"true" in line or b"false" in line:
            plain = [part for name, part in entry.items() if name not in WITH_BOOLEANS]
            if has_boolean(plain):
                return None, "has true or false where a number or a text belongs"
        if post and sum(post.values()):
            return None, f"its postings sum to {sum(post.values())} micro-dollars, not to zero"
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        return None, f"cannot be read: {error}"
    return entry, sha256(line).hexdigest() if entry.get("k") == "lock" else None


# ---------------------------------------------------------------------------------------------
# Draws: HMAC-DRBG with SHA-256 (SP 800-90A), scaled by rejection

REJECTIONS_MAX = 256
HEX_32, HEX_16 = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{32}")


def field_bytes(*fields: object) -> bytes:
    """Write fields as they are hashed: a JSON array of strings, in ASCII, without spaces."""
    return json.dumps([str(one) for one in fields], separators=(",", ":")).encode("ascii")


class Drbg:
    """A generator made from a revealed secret, its salt and the fields of one draw."""

    def __init__(self, secret: str, salt: str, *fields: object) -> None:
        self.key, self.value = bytes(32), b"\x01" * 32
        self._update(bytes.fromhex(secret) + bytes.fromhex(salt) + field_bytes(*fields))

    def _update(self, data: bytes) -> None:
        for mark in (b"\x00", b"\x01") if data else (b"\x00",):
            self.key = hmac.digest(self.key, self.value + mark + data, "sha256")
            self.value = hmac.digest(self.key, self.value, "sha256")

    def _request(self, size: int) -> bytes:
        made = b""
        while len(made) < size:
            self.value = hmac.digest(self.key, self.value, "sha256")
            made += self.value
        self._update(b"")
        return made[:size]

    def below(self, limit: int) -> int:
        """Draw from 0 to one less than the limit, all alike."""
        bits = (limit - 1).bit_length()
        if not bits:
            return 0
        for _ in range(REJECTIONS_MAX):
            number = int.from_bytes(self._request((bits + 7) // 8), "big") & ((1 << bits) - 1)
            if number < limit:
                return number
        raise Wrong("the generator rejects without end")


def check_commitment(commit: str, secret: Json, salt: Json, *fields: object) -> None:
    """Insist that a revealed secret is the one that was committed to."""
    for text, form in ((secret, HEX_32), (salt, HEX_16)):
        if not isinstance(text, str) or not form.fullmatch(text):
            raise Wrong("reveals what is no secret of 32 bytes with a salt of 16, in hex")
    if sha256(field_bytes(*fields, salt, secret)).hexdigest() != commit:
        raise Wrong(
            f"reveals a secret that is not the one committed to: {' '.join(map(str, fields[1:]))}"
        )


def cards_text(cards: Sequence[str]) -> str:
    """Write the four cards as they are hashed: `9H KS/2C TD`."""
    return "/".join(" ".join(sorted(two)) for two in (cards[:2], cards[2:]))


# ---------------------------------------------------------------------------------------------
# The rules of the wager: seats, lines and pays of Royal 9, and the drawing of third cards

STAKE = 5_000_000
CENT = 10_000
AMOUNT_MAX = 2**53 - 1
RANKS, SUITS = "A23456789TJQK", "SHDC"
CARDS = [rank + suit for rank in RANKS for suit in SUITS]
CARD_PLACE = {card: place for place, card in enumerate(CARDS)}
POINTS = {card: (RANKS.index(card[0]) + 1) % 10 if card[0] in "A23456789" else 0 for card in CARDS}
MASKS = {
    tuple(seat for seat in range(1, 10) if mask >> (seat - 1) & 1): mask for mask in range(512)
}
SEATS = {mask: list(seats) for seats, mask in MASKS.items()}
LOSSES = {mask: {str(seat): "loss" for seat in seats} for mask, seats in SEATS.items()}

FIXED = {
    "suited_both": {"amount_micros": 1_500_000_000},
    "royal_both": {"amount_micros": 250_000_000},
    "any_suited": {"amount_micros": 50_000_000},
    "any_royal": {"amount_micros": 25_000_000},
}
SPADE_AND_HEART = {
    "spade": {"level": "spade", "percent": 100},
    "heart": {"level": "heart", "percent": 100},
}
KING_9 = {
    "star": {"level": "star", "percent": 100},
    **SPADE_AND_HEART,
    "other_king9": {"amount_micros": 5_000_000_000},
    **FIXED,
}
MULTI_LEVEL = {
    "exact_match": {"level": "star", "percent": 100},
    "any_two": {"level": "star", "percent": 10},
    **SPADE_AND_HEART,
    **FIXED,
}
PAYTABLES = {
    "MA-K9": KING_9,
    "MA-1": MULTI_LEVEL,
    "MA-2": MULTI_LEVEL,
    "MD-A": MULTI_LEVEL,
    "MD-B": MULTI_LEVEL,
    "MD-C": KING_9,
}

Royal = tuple[str, str]  # the face, and the suits of face and nine
ROYALS: dict[tuple[str, str], Royal] = {}
for _face in "JQK":
    for _suits in (a + b for a in SUITS for b in SUITS):
        _pair = _face + _suits[0], "9" + _suits[1]
        ROYALS[_pair] = ROYALS[_pair[::-1]] = (_face, _suits)


def suited(royal: Royal | None) -> bool:
    """Tell whether a hand is a Royal 9 of one suit."""
    return royal is not None and royal[1][0] == royal[1][1]


def king_9_line(
    mine: str, printed: Sequence[str], player: Royal | None, banker: Royal | None
) -> str | None:
    """Decide what a seat's own combination wins in the King-9 edition."""
    on_player, on_banker = player == ("K", mine), banker == ("K", mine)
    if on_player and on_banker:
        return "star"
    if on_banker:
        return "spade"
    if on_player:
        return "heart"
    if player is not None and player == banker and player[0] == "K" and player[1] in printed:
        return "other_king9"
    return None


def multi_level_line(mine: str, player: Royal | None, banker: Royal | None) -> str | None:
    """Decide what a chair's own three combinations win in the Multi-Level edition."""
    if player and banker and player[1] == mine == banker[1]:
        return "exact_match" if player == banker else "any_two"
    if banker == ("K", mine):
        return "spade"
    if player == ("K", mine):
        return "heart"
    return None


@lru_cache(maxsize=1 << 14)
def line_of(
    paytable: str,
    combinations: tuple[str, ...],
    seat: int,
    player: Royal | None,
    banker: Royal | None,
) -> str:
    """Decide a seat's line, the highest it has."""
    mine = combinations[seat - 1]
    if PAYTABLES[paytable] is KING_9:
        own = king_9_line(mine, combinations, player, banker)
    else:
        own = multi_level_line(mine, player, banker)
    if own:
        return own
    if suited(player) and suited(banker):
        return "suited_both"
    if player and banker:
        return "royal_both"
    if suited(player) or suited(banker):
        return "any_suited"
    return "any_royal" if player or banker else "loss"


def third_cards(player: Sequence[str], banker: Sequence[str], draw: Callable[[], str]) -> list[str]:
    """Draw the third cards that the rules ask for, Player's before Banker's."""
    of_player = (POINTS[player[0]] + POINTS[player[1]]) % 10
    of_banker = (POINTS[banker[0]] + POINTS[banker[1]]) % 10
    if max(of_player, of_banker) >= 8:
        return []
    drawn = []
    if of_player <= 5:
        drawn.append(draw())
        third = POINTS[drawn[0]]
        least, most = ((0, 9), (0, 9), (0, 9), (0, 9), (2, 7), (4, 7), (6, 7), (10, 0))[of_banker]
        banker_draws = least <= third <= most and not (of_banker == 3 and third == 8)
    else:
        banker_draws = of_banker <= 5
    if banker_draws:
        drawn.append(draw())
    return drawn


# ---------------------------------------------------------------------------------------------
# Levels, awards and tables, as the entries make them

PARTS = ("meter", "reserve", "overflow", "pending")
COUNTS = ("in", "hits", "wins", "added", "resets", "moved")
GROWING = ("players", "house", "fixed.pending", "transit")
DISTRIBUTIONS = {("uniform", 1), ("segments", 1)}


def whole(value: Json, least: int = 0, most: int = AMOUNT_MAX) -> int:
    """Insist on a whole number within bounds."""
    if type(value) is not int or not least <= value <= most:
        raise Wrong(f"has {value!r} where a whole number from {least} to {most} belongs")
    return value


def text_of(value: Json) -> str:
    """Insist on a text."""
    if type(value) is not str or not value:
        raise Wrong(f"has {value!r} where a text belongs")
    return value


def only(value: Json, required: str, optional: str = "") -> Entry:
    """Insist on an object with these fields and no others."""
    if type(value) is not dict:
        raise Wrong(f"has {value!r} where an object belongs")
    needed = set(required.split())
    if missing := needed - value.keys():
        raise Wrong(f"has no {', '.join(sorted(missing))}")
    if more := value.keys() - needed - set(optional.split()):
        raise Wrong(f"has fields that nobody knows: {', '.join(sorted(more))}")
    return value


def said(value: Json, required: str, optional: str = "") -> Entry:
    """Insist on an entry with these fields and no others, whose person and reason are texts."""
    entry = only(value, required, optional)
    for name in ("by", "reason"):
        if type(entry.get(name, "")) is not str:
            raise Wrong(f"has {entry[name]!r} where a text belongs: {name}")
    return entry


def list_of(value: Json) -> list[Json]:
    """Insist on a list."""
    if type(value) is not list:
        raise Wrong(f"has {value!r} where a list belongs")
    return value


LEVEL_FIELDS = (
    "name seed_micros reset_micros increment_ppm reserve_ppm limit_micros contribution_max_micros"
)


def read_level(value: Json) -> Entry:
    """Read a level's definition, insisting that it can be kept exactly."""
    level = only(value, LEVEL_FIELDS, "maximum_micros distribution closed")
    level = {"maximum_micros": None, "distribution": None, "closed": False, **level}
    text_of(level["name"])
    for name in ("seed_micros", "reset_micros"):
        if whole(level[name], 1) % CENT:
            raise Wrong(f"opens a level with a {name} that is no whole cent")
    for name, least in (("increment_ppm", 1), ("reserve_ppm", 0)):
        if whole(level[name], least, 1_000_000) * STAKE % 1_000_000:
            raise Wrong(f"takes a part of the wager that is no whole micro-dollar: {name}")
    whole(level["contribution_max_micros"])
    if level["limit_micros"] is not None:
        whole(level["limit_micros"], max(level["seed_micros"], level["reset_micros"]) + 1)
    if level["closed"] is not False:
        raise Wrong("begins with a level that is closed")
    if level["maximum_micros"] is not None:
        read_distribution(level)
    elif level["distribution"] is not None:
        raise Wrong("has a trigger's distribution where there is no maximum")
    return level


def read_distribution(level: Entry) -> None:
    """Insist on segments that ascend in whole cents from the reset to the maximum."""
    how = only(level["distribution"], "name version segments")
    uptos, low = [], level["reset_micros"]
    for part in list_of(how["segments"]):
        upto, weight = list_of(part)
        if whole(upto, low + 1) % CENT or whole(weight, 1) < 1:
            raise Wrong("has a segment that does not end on a whole cent")
        uptos.append(upto)
        low = upto
    known = (how["name"], whole(how["version"], 1))
    if known not in DISTRIBUTIONS or (known[0] == "uniform" and len(uptos) != 1):
        raise Wrong(f"names a distribution that nobody knows: {known[0]} {known[1]}")
    if not uptos or uptos[-1] != whole(level["maximum_micros"], 1):
        raise Wrong("has segments that do not end at the maximum")


def read_terms(value: Json) -> Entry:
    """Read a link's terms, insisting that the paytable is one of the rulebooks'."""
    terms = only(
        value,
        "paytable stake_micros lines hand_pay_above_micros two_person_above_micros",
        "simultaneous_seconds",
    )
    terms = {"simultaneous_seconds": 0, **terms}
    for name in ("hand_pay_above_micros", "two_person_above_micros", "simultaneous_seconds"):
        whole(terms[name])
    if whole(terms["stake_micros"]) != STAKE:
        raise Wrong(
            f"sets a wager of {dollars(terms['stake_micros'])}; Royal 9 is {dollars(STAKE)}"
        )
    if terms["paytable"] not in PAYTABLES:
        raise Wrong(f"names a paytable that no rulebook has: {terms['paytable']!r}")
    if canonical(terms["lines"]) != canonical(PAYTABLES[terms["paytable"]]):
        raise Wrong(f"has lines that are not those of paytable {terms['paytable']}")
    return terms


def read_table(value: Json) -> Entry:
    """Read a table's definition, insisting on a King-9 of two suits for each seat, none twice."""
    table = only(value, "name asset kind seats decks combinations")
    text_of(table["name"])
    if type(table["asset"]) is not str or type(table["kind"]) is not str:
        raise Wrong("has a table without asset number or kind")
    seats, decks = whole(table["seats"], 1, 9), whole(table["decks"], 1, 9)
    own = [suits_of(text) for text in list_of(table["combinations"])]
    if len(own) != seats or len(set(own)) != seats or decks < 1:
        raise Wrong(f"does not give each seat of {table['name']} a combination of its own")
    return table


def suits_of(combination: Json) -> str:
    """Read a seat's King-9, such as KS9H, as the suits of king and nine."""
    cards = (combination[:2], combination[2:]) if type(combination) is str else ("", "")
    royal = ROYALS.get(cards)
    if royal is None or royal[0] != "K" or suited(royal):
        raise Wrong(f"has {combination!r} where a king and a nine of two suits belong")
    return royal[1]


def canonical(value: Json) -> str:
    """Write a value so that equal ones are equal, and true is not 1."""
    return json.dumps(value, sort_keys=True)


class Level:
    """A level: its definition, and the names of its accounts."""

    def __init__(self, definition: Entry) -> None:
        self.name: str = definition["name"]
        self.accounts = {part: f"{self.name}.{part}" for part in PARTS}
        self.meter = self.accounts["meter"]
        self.define(definition)

    def define(self, definition: Entry) -> None:
        """Take a definition that comes into force."""
        self.definition = definition
        self.share: int = definition["increment_ppm"] * STAKE // 1_000_000
        self.reserve_share: int = definition["reserve_ppm"] * STAKE // 1_000_000
        self.reset: int = definition["reset_micros"]
        self.maximum: int | None = definition["maximum_micros"]
        self.top: int = self.maximum or definition["limit_micros"] or AMOUNT_MAX
        self.bound: int = definition["contribution_max_micros"]

    @property
    def closed(self) -> bool:
        """Whether it was decommissioned."""
        return bool(self.definition["closed"])


@dataclass(slots=True)
class Award:
    """A pending award."""

    award: int
    table: str
    round: int
    seat: int
    line: str
    kind: str  # full, share, fixed, must_hit, addition
    amount: int
    entry: int
    time: int
    level: str | None = None
    added: int = 0
    from_reserve: int = 0
    from_house: int = 0
    over: bool = False
    hand: bool = False
    next: int | None = None
    next_at: tuple[str, int, int] | None = None
    of: int | None = None

    def shown(self) -> Entry:
        """Give the award as the entry that won it shows it."""
        parts: Entry = {
            "award": self.award,
            "seat": self.seat,
            "line": self.line,
            "amount": self.amount,
        }
        if self.level is not None:
            parts["level"] = self.level
        for name in ("added", "from_reserve", "from_house"):
            if getattr(self, name):
                parts[name] = getattr(self, name)
        return parts


class Dealt(NamedTuple):
    """A round of an automated shoe, kept until the shoe is revealed."""

    entry: int
    round: int
    lock: str  # hash of the lock's line
    counts: bytes  # how often each card was gone before it
    decks: int
    cards: list[str]
    more: list[str] | None = None  # third cards; None while it is not over, or where it was void
    end: int = 0  # entry


@dataclass(slots=True)
class Shoe:
    """A shoe that was committed to, and what was dealt from it."""

    number: int
    decks: int
    commit: str
    rounds: list[Dealt] = field(default_factory=list)


@dataclass(slots=True)
class Table:
    """A table, and where its round stands."""

    name: str
    definition: Entry
    status: str = "open"
    places: int = 0
    decks: int = 0
    combinations: tuple[str, ...] = ()
    round: int = 1
    phase: str = "open"
    kind: str = ""
    seats: int = 0  # masks, in which seat 1 is bit 0
    late: int = 0
    locked: int = 0
    prev_locked: int = 0
    winners: int = 0
    lock: int = 0  # entry
    lock_hash: str = ""
    cycle: int = 0
    value: int = 0
    corrections: int = 0
    cards: list[str] = field(default_factory=list)
    first: list[str] = field(default_factory=list)
    awards: list[int] = field(default_factory=list)
    counts: bytearray = field(default_factory=lambda: bytearray(52))
    shoe: int = 0
    reader: str = ""  # cards that a shoe reader saw in this round
    sealed_shoe: Shoe | None = None
    devices: dict[str, tuple[int, int]] = field(default_factory=dict)

    def define(self, definition: Entry) -> None:
        """Take a definition that comes into force."""
        self.definition = definition
        self.places, self.decks = definition["seats"], definition["decks"]
        self.combinations = tuple(suits_of(text) for text in definition["combinations"])

    def take(self, cards: Iterable[str]) -> None:
        """Take cards out of the shoe."""
        counts, decks = self.counts, self.decks
        for card in cards:
            place = CARD_PLACE.get(card)
            if place is None:
                raise Wrong(f"has {card!r} where a card belongs")
            counts[place] += 1
            if counts[place] > decks:
                raise Wrong(f"deals {card} once more than {decks} decks hold")

    def next_round(self) -> None:
        """Open the next round."""
        self.round += 1
        self.phase = "open"
        self.prev_locked = self.locked
        self.seats = self.late = self.locked = self.lock = 0
        self.cycle = self.value = self.corrections = 0
        self.kind = self.reader = ""
        self.cards = self.first = []
        self.awards = []


# ---------------------------------------------------------------------------------------------
# The books of a link: what every entry must have brought about


class LockPlan(NamedTuple):
    """What a lock of so many wagers does while no level is near its top."""

    post: dict[str, int]
    moves: list[tuple[str, int]]  # the same, and the counts of what came in
    ceilings: list[tuple[str, int]]  # above these something would go to overflow


class Books:
    """A link's accounts, levels and awards, as its entries lead to them."""

    def __init__(self) -> None:
        self.link = ""
        self.entry = 0
        self.time = 0
        self.config = 1
        self.balance = 0
        self.award_count = 0
        self.proposal_count = 0
        self.cycle = 0
        self.opening = 0
        self.opening_cards: list[str] = []
        self.commits: dict[int, str] = {}
        self.terms: Entry = {}
        self.numbers: dict[str, int] = dict.fromkeys(GROWING, 0)
        self.levels: dict[str, Level] = {}
        self.waiting: dict[str, Entry] = {}  # definitions that come into force at the next reset
        self.must_hit: Level | None = None
        self.tables: dict[str, Table] = {}
        self.open_rounds: dict[str, Table] = {}  # that could win Must Hit, in the order of locks
        self.pending: dict[int, Award] = {}
        self.firsts: dict[str, tuple[int, int, int]] = {}  # level -> time, amount, award
        self.proposals: dict[int, Entry] = {}
        self.sent: dict[str, int] = {}
        self.received: dict[str, int] = {}
        self.transfers: dict[str, Entry] = {}
        self.posted: dict[str, int] = {}
        self.in_force: list[str] = []
        self.plans: dict[int, LockPlan] = {}
        self.line_hash = ""
        self.tally: Counter[str] = Counter()
        self.moved_out: list[
            tuple[int, str, int, str, int]
        ] = []  # entry, link, number, level, amount
        self.moved_in: list[tuple[int, str, int, str, int]] = []

    def post(self, account: str, amount: int) -> None:
        """Move an account."""
        self.numbers[account] += amount
        self.posted[account] = self.posted.get(account, 0) + amount

    def count(self, level: str, name: str, amount: int) -> None:
        """Move one of a level's running counts."""
        self.numbers[f"{level}.{name}"] += amount

    def check_postings(self, entry: Entry) -> None:
        """Compare the entry's postings with those that were worked out, and clear these."""
        expected = {name: amount for name, amount in self.posted.items() if amount}
        self.posted = {}
        self.compare_postings(entry, expected)
        for account in expected:
            if account not in GROWING and not 0 <= self.numbers[account] <= AMOUNT_MAX:
                raise Wrong(f"leaves {account} at {dollars(self.numbers[account])}")

    @staticmethod
    def compare_postings(entry: Entry, expected: dict[str, int]) -> None:
        """Name the first account to which something else was posted."""
        found = entry.get("post", NOTHING)
        if found == expected:
            return
        for account in (*expected, *found):
            is_, should = found.get(account, 0), expected.get(account, 0)
            if is_ != should:
                raise Wrong(f"posts {dollars(is_)} to {account}, where {dollars(should)} is right")
        raise Wrong("has postings of nothing")

    def check_effects(self, entry: Entry, **expected: Json) -> None:
        """Compare what the entry says it brought about with what was worked out."""
        for name, should in expected.items():
            found = entry.get(name, type(should)())
            if found != should:
                raise Wrong(f"has {name} {json.dumps(found)}, where {json.dumps(should)} is right")
        self.check_in_force(entry)
        self.check_postings(entry)

    def check_in_force(self, entry: Entry) -> None:
        """Compare the levels whose new parameters came into force."""
        if entry.get("in_force", []) != self.in_force:
            raise Wrong(
                f"brings {entry.get('in_force', [])} into force, where {self.in_force} is right"
            )
        self.in_force = []

    def changed(self) -> None:
        """Note that the definition has changed with this entry."""
        self.config = self.entry
        self.plans = {}
        self.must_hit = next(
            (one for one in self.levels.values() if one.maximum and not one.closed), None
        )

    def open_level(self, name: Json) -> Level:
        """Find a level that takes money."""
        level = self.levels.get(name) if type(name) is str else None
        if level is None or level.closed:
            raise Wrong(f"concerns {name!r}, which is no open level of this link")
        return level

    # Meters

    def fill(self, level: Level, amount: int) -> None:
        """Put money onto a meter; what would take it over its top waits in overflow."""
        fits = max(0, min(amount, level.top - self.numbers[level.meter]))
        self.post(level.meter, fits)
        self.post(level.accounts["overflow"], amount - fits)

    def plan_lock(self, wagers: int) -> LockPlan:
        """Work out what a lock does while no level is near its top."""
        post, moves, ceilings = {"players": -wagers * STAKE}, [], []
        kept = wagers * STAKE
        for level in self.levels.values():
            if level.closed:
                continue
            amount, reserve = wagers * level.share, wagers * level.reserve_share
            if amount > level.bound:
                raise Wrong(
                    f"puts {dollars(amount)} onto {level.name}, above the bound of one lock"
                )
            post[level.meter], post[level.accounts["reserve"]] = amount, reserve
            moves.append((f"{level.name}.in", amount))
            ceilings.append((level.meter, level.top - amount))
            kept -= amount + reserve
        if kept < 0:
            raise Wrong("takes more for the levels than was wagered")
        post["house"] = kept
        post = {name: amount for name, amount in post.items() if amount}
        self.plans[wagers] = LockPlan(post, [*post.items(), *moves], ceilings)
        return self.plans[wagers]

    def contribute(self, plan: LockPlan) -> dict[str, int]:
        """Move the accounts as a lock does; gives its postings."""
        numbers = self.numbers
        for account, ceiling in plan.ceilings:
            if numbers[account] > ceiling:
                return self.contribute_over(plan)
        for account, amount in plan.moves:
            numbers[account] += amount
        return plan.post

    def contribute_over(self, plan: LockPlan) -> dict[str, int]:
        """Move the accounts where some level's part goes to overflow."""
        meters = {level.meter: level for level in self.levels.values()}
        for account, amount in plan.moves:
            if account in meters:
                self.fill(meters[account], amount)
            elif account.endswith(".in"):
                self.numbers[account] += amount
            else:
                self.post(account, amount)
        posted = {name: amount for name, amount in self.posted.items() if amount}
        self.posted = {}
        return posted

    def take_off(self, level: str, amount: int) -> None:
        """Take an award off a meter, into pending."""
        self.post(f"{level}.meter", -amount)
        self.post(f"{level}.pending", amount)
        self.count(level, "wins", amount)
        self.count(level, "hits", 1)

    def reopen(self, level: Level) -> tuple[int, int]:
        """Reset a meter after all of it was won; gives what reserve and house paid."""
        name, numbers = level.name, self.numbers
        if name in self.waiting:
            level.define(self.waiting.pop(name))
            self.in_force.append(name)
            self.changed()
        from_reserve = min(numbers[f"{name}.reserve"], level.reset)
        from_house = level.reset - from_reserve
        self.post(f"{name}.reserve", -from_reserve)
        self.post("house", -from_house)
        self.post(level.meter, level.reset)
        self.count(name, "resets", level.reset)
        room = level.top - (CENT if level.maximum else 0) - numbers[level.meter]
        from_overflow = min(room, numbers[f"{name}.overflow"])
        self.post(f"{name}.overflow", -from_overflow)
        self.post(level.meter, from_overflow)
        return from_reserve, from_house

    # Awards

    def new_award(
        self, table: str, round_: int, seat: int, line: str, kind: str, **more: Json
    ) -> Award:
        """Make a pending award; its amount is filled in by whoever wins it."""
        self.award_count += 1
        award = Award(
            self.award_count, table, round_, seat, line, kind, 0, self.entry, self.time, **more
        )
        self.pending[award.award] = award
        self.tally[f"award {line}"] += 1
        return award

    def win(self, table: str, round_: int, seat: int, line: str, *, hand: bool = False) -> Award:
        """Win what a line of the paytable pays."""
        pay = self.terms["lines"][line]
        if "level" not in pay:
            award = self.new_award(table, round_, seat, line, "fixed", hand=hand)
            award.amount = pay["amount_micros"]
            self.post("house", -award.amount)
            self.post("fixed.pending", award.amount)
            return award
        level = self.levels[pay["level"]]
        meter = self.numbers[level.meter]
        if pay["percent"] != 100:
            award = self.new_award(table, round_, seat, line, "share", level=level.name, hand=hand)
            part = meter * pay["percent"] // 100
            award.amount = part - part % CENT
            self.take_off(level.name, award.amount)
            return award
        award = self.new_award(table, round_, seat, line, "full", level=level.name, hand=hand)
        award.amount = meter - meter % CENT
        self.take_off(level.name, award.amount)
        self.top_up(level.name, award)
        award.from_reserve, award.from_house = self.reopen(level)
        for earlier in self.pending.values():
            same = earlier.kind == "full" and earlier.level == level.name and earlier is not award
            if same and earlier.next is None:
                earlier.next, earlier.next_at = award.award, (table, round_, seat)
        return award

    def top_up(self, level: str, award: Award) -> None:
        """Let the house add up to the first of simultaneous wins, where the site pays them so."""
        seconds = self.terms["simultaneous_seconds"]
        if not seconds:
            return
        first = self.firsts.get(level)
        if first is None or self.time - first[0] > seconds * 1000:
            self.firsts[level] = (self.time, award.amount, award.award)
            return
        award.added = max(0, first[1] - award.amount)
        award.amount += award.added
        self.post("house", -award.added)
        self.post(f"{level}.pending", award.added)
        self.count(level, "added", award.added)

    def pay(self, award: Award) -> None:
        """Pay a pending award."""
        self.post(f"{award.level}.pending" if award.level else "fixed.pending", -award.amount)
        self.post("players", award.amount)
        del self.pending[award.award]
        self.tally["paid"] += 1
        self.tally["paid micros"] += award.amount

    def payable(self, number: Json) -> Award:
        """Find a pending award whose round is over."""
        award = self.pending.get(number) if type(number) is int else None
        if award is None:
            raise Wrong(f"settles award {number}, which is not pending")
        if not award.over:
            raise Wrong(f"settles award {number} before its round is over")
        return award

    def reverse(self, award: Award) -> Entry:
        """Take a pending award back; gives the reversal as entries show it."""
        del self.pending[award.award]
        self.tally["reversed"] += 1
        shown: Entry = {"award": award.award, "amount": award.amount}
        name = award.level
        if name is None:
            self.post("fixed.pending", -award.amount)
            self.post("house", award.amount)
            return shown
        level = self.levels[name]
        if level.closed:
            raise Wrong(f"takes back an award of {name}, which has been decommissioned")
        self.post(f"{name}.pending", -award.amount)
        self.count(name, "wins", award.added - award.amount)
        if award.kind != "addition":
            self.count(name, "hits", -1)
        if award.kind == "full":
            to = self.reverse_full(level, award)
            if to:
                shown["to"] = to
        elif award.kind == "must_hit":
            self.post(f"{name}.overflow", self.give_back_reset(award, award.amount))
        else:
            self.fill(level, award.amount)
        self.forget_follower(name, award)
        return shown

    def reverse_full(self, level: Level, award: Award) -> int | None:
        """Give the reset back to who paid it, and the rest to the next award or to the meter."""
        name, own = level.name, award.amount - award.added
        self.post("house", award.added)
        self.count(name, "added", -award.added)
        rest = self.give_back_reset(award, own)
        if award.next is None or award.next_at is None:
            self.fill(level, rest)
            return None
        return self.hand_on(name, award, rest)

    def give_back_reset(self, award: Award, own: int) -> int:
        """Give the reset that an award led to back to who paid it; gives what is left of `own`."""
        to_reserve = min(award.from_reserve, own)
        to_house = min(award.from_house, own - to_reserve)
        self.post(f"{award.level}.reserve", to_reserve)
        self.post("house", to_house)
        self.count(award.level or "", "resets", -to_reserve - to_house)
        return own - to_reserve - to_house

    def hand_on(self, name: str, award: Award, rest: int) -> int:
        """Hand what is left to the level's next award: pending, or paid and added to."""
        later = self.pending.get(award.next or 0)
        if later is None and award.next_at:  # paid: what it should have had is an award of its own
            later = self.new_award(
                *award.next_at, award.line, "addition", level=name, over=True, of=award.next
            )
        if later is None:
            raise AssertionError("a next award has a place")
        back = min(later.added, rest)
        self.post("house", back)
        self.count(name, "added", -back)
        self.post(f"{name}.pending", rest - back)
        self.count(name, "wins", rest)
        later.added -= back
        later.amount += rest - back
        first = self.firsts.get(name)
        if first and later.award == award.next and first[2] in {award.award, later.award}:
            self.firsts[name] = (later.time, later.amount, later.award)
        return later.award

    def forget_follower(self, level: str, award: Award) -> None:
        """Let earlier awards that named this one as the next name the one after it."""
        for earlier in self.pending.values():
            if earlier.next == award.award:
                earlier.next, earlier.next_at = award.next, award.next_at
        if level in self.firsts and self.firsts[level][2] == award.award:
            del self.firsts[level]


# ---------------------------------------------------------------------------------------------
# Must Hit: commitments, triggers, who won and who must not have


class Spans:
    """The trigger values that rounds which ended without an award rule out, as (low, high]."""

    def __init__(self, opening: int) -> None:
        self.upto = opening  # everything up to here is ruled out
        self.others: list[tuple[int, int]] = []

    def rule_out(self, low: int, high: int) -> None:
        """Rule out what lies above `low`, up to and with `high`."""
        if high <= self.upto:
            return
        if low > self.upto:
            self.others.append((low, high))
            self.others = merged(self.others)
            return
        self.upto = high
        while self.others and self.others[0][0] <= self.upto:
            self.upto = max(self.upto, self.others.pop(0)[1])

    def has(self, trigger: int) -> bool:
        """Tell whether a trigger is ruled out."""
        return trigger <= self.upto or any(low < trigger <= high for low, high in self.others)


def merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Put spans that touch together."""
    made: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if made and low <= made[-1][1]:
            made[-1] = (made[-1][0], max(high, made[-1][1]))
        else:
            made.append((low, high))
    return made


class Draws(Books):
    """What the draws of a link decide: Must Hit, and the cards of automated shoes."""

    def __init__(self, known_triggers: dict[int, int]) -> None:
        super().__init__()
        self.known_triggers = known_triggers
        self.ruled_out = Spans(0)

    def ahead(self, table: Table) -> int:
        """Give the highest value among earlier-locked rounds of this cycle that are still open."""
        highest = -1
        for other in self.open_rounds.values():
            if other is table:
                break
            if other.cycle == self.cycle and other.value > highest:
                highest = other.value
        return highest

    def end_unawarded(self, table: Table, maximum: int) -> None:
        """Keep what a round that ended without an award says about the hidden trigger."""
        low = self.ahead(table)
        trigger = self.known_triggers.get(self.cycle)
        if trigger is not None and low < trigger <= table.value:
            raise Wrong(
                f"ends a round at {dollars(table.value)} without an award; cycle {self.cycle}'s "
                f"trigger was {dollars(trigger)}, and no earlier round was open that could win it"
            )
        self.ruled_out.rule_out(low, table.value)
        if self.ruled_out.upto >= maximum:
            raise Wrong(
                f"ends a round at {dollars(table.value)} without an award, with no earlier one "
                f"open that could win: no trigger up to {dollars(maximum)} allows that"
            )

    def trigger(self, level: Level, secret: str, salt: str) -> int:
        """Work out the present cycle's trigger from its revealed secret."""
        how = level.definition["distribution"]
        parts = [text for segment in how["segments"] for text in segment]
        parameters = field_bytes(
            "mh-parameters/1", level.reset, level.maximum, level.definition["increment_ppm"],
            level.definition["reserve_ppm"], how["name"], how["version"], *parts,
        )  # fmt: skip
        drbg = Drbg(
            secret, salt, "mh-trigger/1", self.link, level.name, self.cycle,
            sha256(parameters).hexdigest(), self.opening,
            cards_text(self.opening_cards) if self.opening_cards else "",
        )  # fmt: skip
        stretches = self.stretches(level)
        chosen = stretches[0]
        if how["name"] == "segments":
            drawn = drbg.below(sum(weight for _, _, weight in stretches))
            for chosen in stretches:
                if drawn < chosen[2]:
                    break
                drawn -= chosen[2]
        return (chosen[0] + 1 + drbg.below(chosen[1] - chosen[0])) * CENT

    def stretches(self, level: Level) -> list[tuple[int, int, int]]:
        """Cut the segments at the opening value: lower end, upper end (in cents), weight."""
        if not level.reset <= self.opening <= (level.maximum or 0) - CENT:
            raise Wrong(f"belongs to a cycle that opened out of bounds, at {dollars(self.opening)}")
        opening, lower, width = self.opening // CENT, level.reset // CENT, 0
        found = []
        for upto, weight in level.definition["distribution"]["segments"]:
            upper = upto // CENT
            if upper > opening:
                if not width:
                    width = upper - lower
                    found.append((opening, upper, weight * (upper - opening)))
                else:
                    found.append((lower, upper, weight * width))
            lower = upper
        return found

    def reveal(self, level: Level, secret: Json, salt: Json) -> int:
        """Check the present cycle's secret; gives its trigger, which no ended round has met."""
        check_commitment(
            self.commits[self.cycle], secret, salt, "mh-commit/1", self.link, level.name, self.cycle
        )
        trigger = self.trigger(level, secret, salt)
        if self.ruled_out.has(trigger):
            raise Overlooked(
                f"reveals that cycle {self.cycle}'s trigger was {dollars(trigger)}: a round that "
                "reached it had ended without an award",
                self.cycle,
                trigger,
            )
        return trigger

    def end_awarded(self, table: Table, level: Level, win: Json) -> None:
        """Check that this round and this seat take Must Hit, and open the next cycle."""
        only(win, "cycle opening secret salt commit award")
        if win["cycle"] != self.cycle:
            raise Wrong(f"awards cycle {win['cycle']}, where cycle {self.cycle} is open")
        trigger = self.reveal(level, win["secret"], win["salt"])
        low = self.ahead(table)
        if table.value < trigger:
            raise Wrong(
                f"awards Must Hit to a round at {dollars(table.value)}; "
                f"its trigger was {dollars(trigger)}"
            )
        if low >= trigger:
            raise Wrong("awards Must Hit to a round while an earlier one is open that could win it")
        if type(win["award"]) is not dict or win["award"].get("seat") != self.winner(
            table, level, win
        ):
            raise Wrong(
                f"awards Must Hit to seat {win['award'].get('seat')}; "
                f"the draw gives seat {self.winner(table, level, win)}"
            )
        if not HEX_32.fullmatch(text_of(win["commit"])) or win["commit"] in self.commits.values():
            raise Wrong("does not commit to the cycle after the next")
        self.win_must_hit(table, level, win)

    def winner(self, table: Table, level: Level, win: Entry) -> int:
        """Draw the winning seat again."""
        seats = SEATS[table.locked]
        drbg = Drbg(
            win["secret"], win["salt"], "mh-winner/1", self.link, level.name, self.cycle,
            table.name, table.round, cards_text(table.first), " ".join(map(str, seats)),
        )  # fmt: skip
        return seats[drbg.below(len(seats))]

    def win_must_hit(self, table: Table, level: Level, win: Entry) -> None:
        """Move the money of a Must Hit award, and go on to the next cycle."""
        seat = win["award"]["seat"]
        award = self.new_award(
            table.name, table.round, seat, level.name, "must_hit", level=level.name, over=True
        )
        award.amount = table.value - table.value % CENT
        self.take_off(level.name, award.amount)
        award.from_reserve, award.from_house = self.reopen(level)
        if win["award"] != award.shown():
            raise Wrong(
                f"awards {json.dumps(win['award'])}, where {json.dumps(award.shown())} is right"
            )
        self.opening = self.numbers[level.meter]
        if win["opening"] != self.opening:
            raise Wrong(
                f"opens the next cycle at {win['opening']} micro-dollars, not at {self.opening}"
            )
        self.opening_cards = table.first
        del self.commits[self.cycle]
        self.commits[self.cycle + 2] = win["commit"]
        self.cycle += 1
        self.ruled_out = Spans(self.opening)
        table.winners |= 1 << (seat - 1)
        self.tally["cycles checked"] += 1

    def abandon_cycles(self, level: Level, revealed: Json) -> None:
        """Close the open cycle and the next, revealed or not, with a level that is taken away."""
        for cycle in (self.cycle, self.cycle + 1):
            shown = None if revealed is None else revealed.get(str(cycle))
            if shown is None:
                self.tally["cycles abandoned"] += 1
                continue
            only(shown, "secret salt")
            if cycle == self.cycle:
                self.reveal(level, shown["secret"], shown["salt"])
            check_commitment(
                self.commits[cycle], shown["secret"], shown["salt"],
                "mh-commit/1", self.link, level.name, cycle,
            )  # fmt: skip
            self.tally["cycles revealed without an award"] += 1
        if revealed is not None and not revealed.keys() <= {str(self.cycle), str(self.cycle + 1)}:
            raise Wrong("reveals cycles that are not open")
        self.commits = {}

    # Automated shoes

    def end_shoe(self, table: Table, secret: Json, salt: Json) -> None:
        """Deal every round of a revealed shoe again."""
        shoe = table.sealed_shoe
        if shoe is None:
            raise Wrong("reveals the secret of a shoe that was not committed to")
        check_commitment(
            shoe.commit,
            secret,
            salt,
            "shoe-commit/1",
            self.link,
            table.name,
            shoe.number,
            shoe.decks,
        )
        for dealt in shoe.rounds:
            cards, more = self.deal_again(table, shoe, dealt, secret, salt)
            if dealt.cards != cards or (dealt.more is not None and dealt.more != more):
                raise Wrong(
                    f"deals {' '.join(dealt.cards + (dealt.more or []))} to round {dealt.round} of "
                    f"{table.name}; the shoe that entry {self.entry} reveals gives "
                    f"{' '.join(cards + more)}",
                    dealt.end if dealt.cards == cards else dealt.entry,
                )
        table.sealed_shoe = None
        self.tally["shoes checked"] += 1
        self.tally["shoe rounds checked"] += len(shoe.rounds)

    def deal_again(
        self, table: Table, shoe: Shoe, dealt: Dealt, secret: str, salt: str
    ) -> tuple[list[str], list[str]]:
        """Draw a round's cards from what was left of the shoe: the four as recorded, and thirds."""
        drbg = Drbg(
            secret,
            salt,
            "shoe-round/1",
            self.link,
            table.name,
            shoe.number,
            dealt.round,
            dealt.lock,
        )
        left = [dealt.decks - gone for gone in dealt.counts]

        def draw() -> str:
            place = drbg.below(sum(left))
            for card, count in enumerate(left):
                if place < count:
                    left[card] -= 1
                    return CARDS[card]
                place -= count
            raise AssertionError("drawn below the number of cards")

        four = [draw() for _ in range(4)]
        player, banker = four[0::2], four[1::2]
        return player + banker, third_cards(player, banker, draw)


# ---------------------------------------------------------------------------------------------
# Rounds: every step of every table

CARDS_READ_MAX = 6  # a round has no more
LOCK_KINDS = frozenset({"played", "free", "simulated"})


class Link(Draws):
    """A link's journal: each kind of entry has one method that works it out again."""

    def __init__(self, known_triggers: dict[int, int]) -> None:
        super().__init__(known_triggers)
        self.steps: dict[str, Callable[[Entry], None]] = {
            "open": self.open,
            "seats": self.seats,
            "late": self.late,
            "card": self.card,
            "lock": self.lock,
            "deal": self.deal,
            "correct": self.correct,
            "end": self.end,
            "void": self.void,
            "cancel": self.cancel,
            "shoe": self.shoe,
            "close_table": self.close_table,
            "open_table": self.open_table,
            "pay": self.pay_one,
            "propose": self.propose,
            "approve": self.approve,
            "reject": self.reject,
            "receive": self.receive,
            "cleared": self.cleared,
            "balance": self.check_balance,
        }

    def open(self, e: Entry) -> None:
        """Begin a link, its seeds funded by the house."""
        if self.link:
            raise Wrong("opens a link that is open")
        said(e, "n t k by definition", "commits post")
        definition = only(e["definition"], "link terms levels tables")
        self.link = text_of(definition["link"])
        self.terms = read_terms(definition["terms"])
        for one in list_of(definition["levels"]):
            level = Level(read_level(one))
            if level.name in self.levels:
                raise Wrong(f"has two levels of the name {level.name}")
            self.levels[level.name] = level
            self.numbers |= {f"{level.name}.{name}": 0 for name in PARTS + COUNTS}
            self.post(level.meter, level.definition["seed_micros"])
            self.post("house", -level.definition["seed_micros"])
            self.count(level.name, "resets", level.definition["seed_micros"])
        for one in list_of(definition["tables"]):
            self.add_table(read_table(one), "open")
        self.check_levels()
        self.changed()
        self.open_cycles(list_of(e.get("commits", [])))
        self.check_postings(e)

    def add_table(self, definition: Entry, status: str) -> None:
        """Add a table to the link."""
        if definition["name"] in self.tables:
            raise Wrong(f"has two tables of the name {definition['name']}")
        table = Table(definition["name"], definition, status)
        table.define(definition)
        self.tables[table.name] = table

    def check_levels(self) -> None:
        """Insist that the levels take no more than the wager, and that the paytable's are there."""
        if sum(level.share + level.reserve_share for level in self.levels.values()) > STAKE:
            raise Wrong("has levels that take more than the wager")
        if len([level for level in self.levels.values() if level.maximum]) > 1:
            raise Wrong("has two levels that must hit")
        for line, pay in self.terms["lines"].items():
            if "level" in pay and pay["level"] not in self.levels:
                raise Wrong(f"has no level {pay['level']}, which line {line} pays")

    def open_cycles(self, commits: list[Json]) -> None:
        """Take the commitments to Must Hit's first two cycles."""
        if len(commits) != (2 if self.must_hit else 0) or len(set(commits)) != len(commits):
            raise Wrong(f"makes {len(commits)} commitments, where Must Hit has two and others none")
        for cycle, commit in enumerate(commits, start=1):
            if not HEX_32.fullmatch(text_of(commit)):
                raise Wrong("makes a commitment that is no SHA-256 in hex")
            self.commits[cycle] = commit
        if self.must_hit:
            self.cycle, self.opening = 1, self.must_hit.definition["seed_micros"]
            self.ruled_out = Spans(self.opening)

    def at(self, e: Entry, *phases: str) -> Table:
        """Find the table of a step, insisting that its round can take it."""
        table = self.tables.get(e["table"])
        if table is None:
            raise Wrong(f"is of table {e['table']!r}, which is not on this link")
        if e["round"] != table.round:
            raise Wrong(f"is a step of round {e['round']}; {table.name} is at round {table.round}")
        if table.phase not in phases:
            raise Wrong(f"is a {e['k']} of a round that is {table.phase}")
        if table.status != "open":
            raise Wrong(f"is a step at {table.name}, which is closed")
        if type(e["by"]) is not str:
            raise Wrong("does not say by whom")
        return table

    # Sensors

    def heard(self, e: Entry, table: Table) -> int:
        """Check a device's message; gives its seats as a mask."""
        if len(e) != 9:
            only(e, "n t k table round device epoch sequence seats")
        mask = MASKS.get(tuple(e["seats"]))
        if mask is None or mask >> table.places or (not mask and e["seats"] != []):
            raise Wrong(f"names seats {e['seats']}; {table.name} has seats 1 to {table.places}")
        self.in_turn(e, table)
        return mask

    @staticmethod
    def in_turn(e: Entry, table: Table) -> None:
        """Insist that a device's message is one that was not counted before."""
        now = (e["epoch"], e["sequence"])
        if type(e["device"]) is not str or min(now) < 1:
            raise Wrong("does not say which message of which device it is")
        if now <= table.devices.get(e["device"], (0, 0)):
            raise Wrong(f"counts a message of {e['device']} that came before, or twice")
        table.devices[e["device"]] = now

    def seats(self, e: Entry) -> None:
        """Take what a table's sensors report: who has a wager."""
        table = self.tables[e["table"]]
        if e["round"] != table.round or table.phase != "open":
            raise Wrong(f"counts wagers of round {e['round']} after its lock")
        if table.status != "open":
            raise Wrong(f"counts wagers at {table.name}, which is closed")
        mask = self.heard(e, table)
        if mask == table.seats:
            raise Wrong("reports the wagers that were there before")
        table.seats = mask

    def late(self, e: Entry) -> None:
        """Note wagers that came after the lock: they change nothing."""
        table = self.tables[e["table"]]
        mask = self.heard(e, table)
        whole(e["round"])
        if e["round"] == table.round and table.phase == "open":
            raise Wrong("calls wagers late that came in time")
        counted = {table.round: table.locked, table.round - 1: table.prev_locked}.get(e["round"], 0)
        if not mask or mask & counted or table.status != "open":
            raise Wrong("calls wagers late that were counted, or none")
        if e["round"] == table.round:
            table.late |= mask

    def card(self, e: Entry) -> None:
        """Take a card that a shoe reader saw; what is dealt is what the deal says."""
        only(e, "n t k table round device epoch sequence card")
        table = self.tables[e["table"]]
        if e["round"] != table.round or table.phase == "open" or table.status != "open":
            raise Wrong(f"takes a card for round {e['round']}, which is not locked or dealt")
        if e["card"] not in CARD_PLACE:
            raise Wrong(f"has {e['card']!r} where a card belongs")
        if len(table.reader) >= 2 * CARDS_READ_MAX:
            raise Wrong(f"takes more than {CARDS_READ_MAX} cards from a reader in one round")
        self.in_turn(e, table)
        table.reader += e["card"]
        self.tally["cards read"] += 1

    # Steps

    def lock(self, e: Entry) -> None:
        """Lock the bets: every wager contributes."""
        table = self.at(e, "open")
        mask = MASKS.get(tuple(e["seats"]))
        if mask != table.seats or (not mask and e["seats"] != []):
            raise Wrong(f"locks seats {e['seats']}; the sensors report {SEATS[table.seats]}")
        kind = e.get("kind", "played")
        if kind not in LOCK_KINDS or (mask and kind != "played"):
            raise Wrong(f"locks wagers in a round of kind {kind!r}")
        wagers = mask.bit_count()
        expected = self.contribute(self.plans.get(wagers) or self.plan_lock(wagers))
        if e.get("post", NOTHING) != expected:
            self.compare_postings(e, expected)
        fields = 7 + ("kind" in e) + ("post" in e)
        level = self.must_hit
        if level is not None:
            fields += 2
            table.cycle, table.value = self.cycle, self.numbers[level.meter]
            if e["cycle"] != table.cycle or e["value"] != table.value:
                raise Wrong(
                    f"notes cycle {e['cycle']} at {e['value']} micro-dollars; "
                    f"it is cycle {table.cycle} at {table.value}"
                )
            if mask:
                self.open_rounds[table.name] = table
        if len(e) != fields:
            raise Wrong("has fields that do not belong to a lock")
        table.locked, table.kind, table.lock, table.winners = mask, kind, self.entry, 0
        table.lock_hash = self.line_hash
        table.phase = "locked"
        self.tally["wagers"] += wagers

    def four_cards(self, e: Entry, table: Table) -> list[str]:
        """Take the first four cards of a round out of the shoe."""
        if len(e["player"]) != 2 or len(e["banker"]) != 2:
            raise Wrong("does not have two cards for each hand")
        cards: list[str] = e["player"] + e["banker"]
        table.take(cards)
        return cards

    def deal(self, e: Entry) -> None:
        """Take the first four cards: every bettor's line is decided."""
        table = self.at(e, "locked")
        counts = bytes(table.counts)
        cards = self.four_cards(e, table)
        table.first = cards
        won = self.decide(e, table, cards, {})
        if won:
            only(e, "n t k table round by player banker lines awards post", "in_force")
            self.check_effects(e, awards=won)
        elif len(e) != 8 + ("lines" in e):
            raise Wrong("has fields that do not belong to a deal that nobody won")
        table.phase = "dealt"
        shoe = table.sealed_shoe
        if shoe is not None:
            shoe.rounds.append(
                Dealt(self.entry, table.round, table.lock_hash, counts, table.decks, cards)
            )
        elif table.definition["kind"] == "automated":
            raise Wrong(
                f"deals at {table.name}, which is automated, from a shoe nobody committed to"
            )

    def lines(self, table: Table, cards: list[str]) -> dict[str, str]:
        """Give every bettor's line."""
        player, banker = ROYALS.get((cards[0], cards[1])), ROYALS.get((cards[2], cards[3]))
        if player is None and banker is None:
            return LOSSES[table.locked]
        name = self.terms["paytable"]
        return {
            str(seat): line_of(name, table.combinations, seat, player, banker)
            for seat in SEATS[table.locked]
        }

    def decide(
        self, e: Entry, table: Table, cards: list[str], kept: dict[int, Award]
    ) -> list[Entry]:
        """Check every bettor's line; gives the awards newly won, in the order of seats."""
        expected = self.lines(table, cards)
        if e.get("lines", NOTHING) != expected:
            self.name_line(e, expected)
        table.cards, table.awards, table.winners = cards, [], 0
        if expected is LOSSES[table.locked]:
            return []
        won = []
        for seat in SEATS[table.locked]:
            line = expected[str(seat)]
            if line == "loss":
                continue
            award = kept.get(seat)
            if award is None:
                award = self.win(table.name, table.round, seat, line)
                won.append(award.shown())
            table.awards.append(award.award)
            table.winners |= 1 << (seat - 1)
        return won

    @staticmethod
    def name_line(e: Entry, expected: dict[str, str]) -> NoReturn:
        """Name the seat whose line is wrong."""
        found = e.get("lines", NOTHING)
        for seat in (*expected, *found):
            if found.get(seat) != expected.get(seat):
                raise Wrong(
                    f"gives seat {seat} the line {found.get(seat)!r}; "
                    f"the cards and wagers make it {expected.get(seat)!r}"
                )
        raise Wrong("has lines of nobody")

    def correct(self, e: Entry) -> None:
        """Correct a misread card: awards whose line changes are reversed, their seats decided."""
        table = self.at(e, "dealt")
        only(e, "n t k table round by number player banker", "lines awards reversed in_force post")
        table.corrections += 1
        if e["number"] != table.corrections:
            raise Wrong(f"is correction {e['number']}, where {table.corrections} comes next")
        for card in table.cards:
            table.counts[CARD_PLACE[card]] -= 1
        cards = self.four_cards(e, table)
        reversals, kept = self.reverse_all(table, self.lines(table, cards))
        won = self.decide(e, table, cards, kept)
        self.check_effects(e, reversed=reversals, awards=won)
        self.tally["corrections"] += 1

    def reverse_all(
        self, table: Table, lines: dict[str, str]
    ) -> tuple[list[Entry], dict[int, Award]]:
        """Take back a round's awards, last seat first; those that `lines` win again stand."""
        reversals, kept = [], {}
        for number in reversed(table.awards):
            award = self.pending[number]
            if lines.get(str(award.seat)) == award.line:
                kept[award.seat] = award
            else:
                reversals.append(self.reverse(award))
        return reversals, kept

    def end(self, e: Entry) -> None:
        """Pay tray awards, decide Must Hit, open the next round."""
        table = self.at(e, "dealt")
        more = e.get("more", [])
        if more or more != []:
            if len(list_of(more)) > 2:
                raise Wrong("has more than two third cards")
            table.take(more)
        paid = self.pay_tray(table) if table.awards else []
        level, win = self.must_hit, e.get("must_hit")
        if level is not None and level.maximum and table.cycle == self.cycle and table.locked:
            if win is None:
                self.end_unawarded(table, level.maximum)
            else:
                self.end_awarded(table, level, win)
        elif win is not None:
            raise Wrong("awards Must Hit to a round with no bettor, or one of another cycle")
        if paid or win or len(e) != 6 + ("more" in e):
            only(e, "n t k table round by", "more must_hit paid in_force post")
            self.check_effects(e, paid=paid)
        self.close_round(table, more)
        self.tally["rounds ended"] += 1

    def pay_tray(self, table: Table) -> list[int]:
        """Pay a round's small fixed awards; the others may be paid from now on."""
        paid = []
        for number in table.awards:
            award = self.pending[number]
            if award.kind == "fixed" and award.amount <= self.terms["hand_pay_above_micros"]:
                self.pay(award)
                paid.append(number)
            else:
                award.over = True
        return paid

    def close_round(self, table: Table, more: list[str] | None) -> None:
        """Open the next round; where the shoe is sealed, keep the third cards of this one."""
        shoe = table.sealed_shoe
        if shoe is not None and table.first:
            shoe.rounds[-1] = shoe.rounds[-1]._replace(more=more, end=self.entry)
        self.open_rounds.pop(table.name, None)
        table.next_round()

    def void(self, e: Entry) -> None:
        """Void a locked round: wagers go back, contributions stay."""
        table = self.at(e, "locked", "dealt")
        said(e, "n t k table round by reason", "reversed post")
        reversals, _ = self.reverse_all(table, {})
        stakes = table.locked.bit_count() * STAKE
        self.post("house", -stakes)
        self.post("players", stakes)
        self.check_effects(e, reversed=reversals)
        table.winners = 0
        self.close_round(table, None)
        self.tally["rounds void"] += 1

    def cancel(self, e: Entry) -> None:
        """Give a round up before its lock."""
        table = self.at(e, "open")
        said(e, "n t k table round by reason")
        table.winners = 0
        self.close_round(table, None)
        self.tally["rounds cancelled"] += 1

    def shoe(self, e: Entry) -> None:
        """Bring new cards to a table; a committed shoe before them is revealed."""
        said(e, "n t k table shoe by", "commit secret salt")
        table = self.tables[e["table"]]
        if e["shoe"] != table.shoe + 1:
            raise Wrong(f"brings shoe {e['shoe']}, where {table.shoe + 1} comes next")
        if table.status != "open" or table.phase != "open":
            raise Wrong("changes the cards of a table that is closed, or within a round")
        if table.sealed_shoe is not None or "secret" in e or "salt" in e:
            if "secret" not in e:
                raise Wrong("does not reveal the shoe that is over")
            self.end_shoe(table, e["secret"], e.get("salt"))
        table.shoe, table.counts = e["shoe"], bytearray(52)
        if "commit" in e:
            if not HEX_32.fullmatch(text_of(e["commit"])) or table.decks not in {6, 8}:
                raise Wrong("commits to no shoe of six or eight decks")
            table.sealed_shoe = Shoe(table.shoe, table.decks, e["commit"])
        self.tally["shoes"] += 1

    def close_table(self, e: Entry) -> None:
        """Close a table."""
        self.door(e, "open", "closed")

    def open_table(self, e: Entry) -> None:
        """Open a table, unless a card level of the link was taken away."""
        for level in self.levels.values():
            if level.closed and not level.maximum:
                raise Wrong(f"opens a table while {level.name} has been decommissioned")
        self.door(e, "closed", "open")

    def door(self, e: Entry, before: str, after: str) -> None:
        """Open or close a table between rounds."""
        said(e, "n t k table by reason")
        table = self.tables[e["table"]]
        if table.status != before or table.phase != "open":
            raise Wrong(
                f"is a {e['k']} of a table that is {table.status} with its round {table.phase}"
            )
        table.status, table.seats, table.winners = after, 0, 0

    def pay_one(self, e: Entry) -> None:
        """Pay a pending award by one person."""
        said(e, "n t k by award amount post")
        award = self.payable(e["award"])
        if award.amount > self.terms["two_person_above_micros"]:
            raise Wrong(f"pays {dollars(award.amount)} by one person, where two are needed")
        text_of(e["by"])
        self.pay(award)
        self.check_effects(e, amount=award.amount)

    def receive(self, e: Entry) -> None:
        """Take in money that another link sent."""
        said(e, "n t k by from transfer level amount post")
        link, number = text_of(e["from"]), self.received.get(e["from"], 0) + 1
        if e["transfer"] != number:
            raise Wrong(f"takes transfer {e['transfer']} from {link}, where {number} comes next")
        level, amount = self.open_level(e["level"]), whole(e["amount"], 1)
        self.received[link] = number
        self.post("transit", -amount)
        self.fill(level, amount)
        self.count(level.name, "moved", amount)
        self.check_effects(e)
        self.moved_in.append((self.entry, link, number, level.name, amount))

    def cleared(self, e: Entry) -> None:
        """Note that a transfer to another link has arrived."""
        said(e, "n t k by to transfer")
        if self.transfers.pop(f"{e['to']}.{e['transfer']}", None) is None:
            raise Wrong(f"clears transfer {e['transfer']} to {e['to']}, which is not on its way")

    # -----------------------------------------------------------------------------------------
    # Two persons

    def propose(self, e: Entry) -> None:
        """Take what the first of two persons asks for."""
        said(e, "n t k number by what reason body")
        self.proposal_count += 1
        if e["number"] != self.proposal_count:
            raise Wrong(f"is proposal {e['number']}, where {self.proposal_count} comes next")
        for name in ("by", "reason"):
            text_of(e[name])
        if e["what"] not in CARRY_OUT or type(e["body"]) is not dict:
            raise Wrong(f"proposes {e['what']!r}, which cannot be proposed")
        self.proposals[e["number"]] = {
            **{name: e[name] for name in ("number", "by", "what", "reason", "body")},
            "entry": self.entry,
        }

    def settled(self, e: Entry) -> Entry:
        """Take out the proposal that an entry settles."""
        proposal = self.proposals.pop(e["number"], None)
        if proposal is None:
            raise Wrong(f"settles proposal {e['number']}, which is not open")
        text_of(e["by"])
        return proposal

    def reject(self, e: Entry) -> None:
        """Turn a proposal down."""
        said(e, "n t k number by reason")
        self.settled(e)
        self.tally["proposals rejected"] += 1

    def approve(self, e: Entry) -> None:
        """Carry out what the second of two persons agrees to."""
        said(e, "n t k number by", "revealed transfer paid reversed awards in_force post")
        proposal = self.settled(e)
        if proposal["by"] == e["by"]:
            raise Wrong(f"is approved by {e['by']}, who proposed it: two persons are needed")
        what, body = proposal["what"], proposal["body"]
        if "revealed" in e and what != "decommission":
            raise Wrong(f"reveals a secret while carrying out {what!r}")
        effects = CARRY_OUT[what](self, body, e)
        self.check_effects(
            e, **{"transfer": 0, "paid": [], "reversed": [], "awards": [], **effects}
        )
        self.tally["proposals carried out"] += 1

    def carry_adjust(self, body: Entry, _: Entry) -> Entry:
        """Adjust a level's meter, reserve or overflow against the house."""
        level, amount = (
            self.open_level(body.get("level")),
            whole(body.get("amount_micros"), -AMOUNT_MAX),
        )
        part = body.get("part", "meter")
        if part not in {"meter", "reserve", "overflow"} or not amount:
            raise Wrong("adjusts nothing that can be adjusted")
        if part == "meter" and amount > 0:
            self.fill(level, amount)
        else:
            self.post(level.accounts[part], amount)
        self.post("house", -amount)
        if part != "reserve":
            self.count(level.name, "moved", amount)
        return {}

    def carry_transfer(self, body: Entry, _: Entry) -> Entry:
        """Move money to another level, or on its way to another link."""
        level, amount = self.open_level(body.get("level")), whole(body.get("amount_micros"), 1)
        if self.numbers[level.meter] < amount:
            raise Wrong(f"transfers more than {level.name} holds")
        self.post(level.meter, -amount)
        self.count(level.name, "moved", -amount)
        if body.get("to_link") is None:
            to = self.open_level(body.get("to"))
            self.fill(to, amount)
            self.count(to.name, "moved", amount)
            return {}
        link = text_of(body["to_link"])
        number = self.sent.get(link, 0) + 1
        self.sent[link] = number
        self.post("transit", amount)
        to_level = text_of(body.get("to"))
        sent = {"amount_micros": amount, "level": to_level, "time": self.time}
        self.transfers[f"{link}.{number}"] = sent
        self.moved_out.append((self.entry, link, number, to_level, amount))
        return {"transfer": number}

    def carry_limit(self, body: Entry, _: Entry) -> Entry:
        """Set a limit above what the meter shows, at once."""
        level, limit = self.open_level(body.get("level")), whole(body.get("limit_micros"), 1)
        if level.maximum or limit <= self.numbers[level.meter]:
            raise Wrong(f"sets a limit for {level.name} that is not above its meter")
        level.define(level.definition | {"limit_micros": limit})
        if level.name in self.waiting:
            self.waiting[level.name] = self.waiting[level.name] | {"limit_micros": limit}
        self.changed()
        return {}

    def carry_level(self, body: Entry, _: Entry) -> Entry:
        """Change a level's parameters, from its next reset on."""
        level = self.open_level((body.get("definition") or NOTHING).get("name"))
        changed = body["definition"] | {"limit_micros": level.definition["limit_micros"]}
        changed = read_level(changed)
        if (changed["maximum_micros"] is None) != (level.maximum is None):
            raise Wrong(f"turns {level.name} into another kind of level")
        self.waiting[level.name] = changed
        return {}

    def carry_table(self, body: Entry, _: Entry) -> Entry:
        """Add a table, or change one that is closed."""
        definition = read_table(body.get("definition"))
        table = self.tables.get(definition["name"])
        if table is None:
            self.add_table(definition, "closed")
        elif table.status != "closed":
            raise Wrong(f"changes {table.name} while it is open")
        else:
            table.define(definition)
        self.changed()
        return {}

    def carry_terms(self, body: Entry, _: Entry) -> Entry:
        """Change the paytable and its terms while every table is closed."""
        self.insist_on_closed_tables()
        self.terms = read_terms(body.get("terms"))
        self.check_levels()
        self.changed()
        return {}

    def insist_on_closed_tables(self) -> None:
        """Insist that no table plays."""
        for table in self.tables.values():
            if table.status != "closed":
                raise Wrong(f"makes a change for which {table.name} would have to be closed")

    def carry_decommission(self, body: Entry, e: Entry) -> Entry:
        """Take a level away: the reset and reserve to the house, the players' money onward."""
        level, numbers = self.open_level(body.get("level")), self.numbers
        if "revealed" in e and not level.maximum:
            raise Wrong(f"reveals a secret while taking {level.name} away, which has none")
        if level.maximum:
            if self.open_rounds:
                raise Wrong(f"takes {level.name} away while a round is open that could win it")
            self.abandon_cycles(level, e.get("revealed"))
        else:
            self.insist_on_closed_tables()
        name = level.name
        meter, overflow, reserve = (
            numbers[f"{name}.{part}"] for part in ("meter", "overflow", "reserve")
        )
        reset = min(level.reset, meter + overflow)
        for part, amount in (("meter", meter), ("overflow", overflow), ("reserve", reserve)):
            self.post(f"{name}.{part}", -amount)
        self.count(name, "moved", -meter - overflow)
        self.post("house", reserve + reset)
        if body.get("to"):
            to = self.open_level(body["to"])
            self.fill(to, meter + overflow - reset)
            self.count(to.name, "moved", meter + overflow - reset)
        else:
            self.post("house", meter + overflow - reset)
        level.define(level.definition | {"closed": True})
        self.waiting.pop(name, None)
        self.changed()
        return {}

    def carry_pay(self, body: Entry, _: Entry) -> Entry:
        """Pay an award."""
        award = self.payable(body.get("award"))
        self.pay(award)
        return {"paid": [award.award]}

    def carry_void_award(self, body: Entry, _: Entry) -> Entry:
        """Take an award back."""
        return {"reversed": [self.reverse(self.payable(body.get("award")))]}

    def carry_hand_award(self, body: Entry, _: Entry) -> Entry:
        """Award a win that was found after its round had ended."""
        table = self.tables[text_of(body.get("table"))]
        seat = whole(body.get("seat"), 1, table.places)
        round_ = whole(body.get("round"), 1, table.round - 1)
        pay = self.terms["lines"].get(text_of(body.get("line")))
        if pay is None:
            raise Wrong(f"awards {body['line']!r}, which is no line of the paytable")
        if "level" in pay:
            self.open_level(pay["level"])
        award = self.win(table.name, round_, seat, body["line"], hand=True)
        award.over = True
        return {"awards": [award.shown()]}

    # -----------------------------------------------------------------------------------------
    # Sealed balances, and what holds at all times

    def check_balance(self, e: Entry) -> None:
        """Compare the whole state before this entry with what the entries come to."""
        said(e, "n t k by state")
        self.check_identities()
        self.compare_state(e["state"])
        self.balance = self.entry
        self.tally["balances"] += 1

    def check_identities(self) -> None:
        """Insist on zero over all accounts, and on each meter being what came in less what went."""
        numbers = self.numbers
        accounts = [*GROWING, *(f"{level}.{part}" for level in self.levels for part in PARTS)]
        total = sum(numbers[account] for account in accounts)
        if total:
            raise Wrong(f"finds accounts that sum to {dollars(total)}, not to zero")
        for name in self.levels:
            held = numbers[f"{name}.meter"] + numbers[f"{name}.overflow"]
            came = sum(numbers[f"{name}.{count}"] for count in ("resets", "in", "moved"))
            if held != came - numbers[f"{name}.wins"]:
                raise Wrong(f"finds {name} at {dollars(held)}, which its history does not come to")
        owed = numbers["fixed.pending"] + sum(numbers[f"{name}.pending"] for name in self.levels)
        if owed != sum(award.amount for award in self.pending.values()):
            raise Wrong("finds pending awards that do not come to their accounts")

    def compare_state(self, theirs: Json) -> None:
        """Compare a balance's state with ours, part by part."""
        ours = self.state()
        only(theirs, " ".join(ours))
        for name, part in ours.items():
            found = normal_state(name, theirs[name])
            if canonical(found) != canonical(part):
                where = difference(name, part, found)
                raise Wrong(f"holds another state than the entries lead to, in {where}")

    def state(self) -> Entry:
        """Give our state as a balance writes it."""
        texts = {"levels": ",".join(self.levels), "tables": ",".join(self.tables)}
        if self.opening_cards:
            hands = (self.opening_cards[:2], self.opening_cards[2:])
            texts["opening_cards"] = "".join(card for two in hands for card in sorted(two))
        return {
            "numbers": {
                **self.numbers, "head": self.entry - 1, "time": self.last_time,
                "config": self.config, "cycle": self.cycle, "opening": self.opening,
                "awards": self.award_count,
                "proposals": self.proposal_count, "balance": self.balance,
            },
            "texts": texts,
            "terms": self.terms,
            "levels": {name: level.definition for name, level in self.levels.items()},
            "next": self.waiting,
            "firsts": {name: " ".join(map(str, first)) for name, first in self.firsts.items()},
            "commits": {str(cycle): commit for cycle, commit in self.commits.items()},
            "sent": self.sent,
            "received": self.received,
            "transfers": self.transfers,
            "tables": {name: table_state(table) for name, table in self.tables.items()},
            "awards": [award_state(award) for _, award in sorted(self.pending.items())],
            "proposals": [proposal for _, proposal in sorted(self.proposals.items())],
        }  # fmt: skip

    last_time = 0  # of the entry before

    def finish(self) -> None:
        """Check what must hold when the log ends."""
        if not self.link:
            raise Wrong("does not open a link")
        self.check_identities()

    def report(self) -> Entry:
        """Say what was checked, and what the meters show at the end."""
        open_shoes = sum(table.sealed_shoe is not None for table in self.tables.values())
        return {
            "kind": "link",
            "link": self.link,
            "counts": dict(sorted(self.tally.items())),
            "not_yet_checkable": {"cycles": len(self.commits), "shoes": open_shoes},
            "accounts": {name: self.numbers[name] for name in GROWING},
            "levels": {
                name: {part: self.numbers[f"{name}.{part}"] for part in PARTS + COUNTS}
                for name in self.levels
            },
            "pending_awards": len(self.pending),
        }


CARRY_OUT: dict[str, Callable[[Link, Entry, Entry], Entry]] = {
    "adjust": Link.carry_adjust,
    "transfer": Link.carry_transfer,
    "limit": Link.carry_limit,
    "level": Link.carry_level,
    "table": Link.carry_table,
    "terms": Link.carry_terms,
    "decommission": Link.carry_decommission,
    "pay": Link.carry_pay,
    "void_award": Link.carry_void_award,
    "hand_award": Link.carry_hand_award,
}
TABLE_NUMBERS = [
    "places",
    "decks",
    "round",
    "seats",
    "late",
    "locked",
    "lock",
    "cycle",
    "value",
    "corrections",
    "winners",
    "prev_locked",
    "shoe",
]
AWARD_DEFAULTS: Entry = {
    "level": None, "added": 0, "from_reserve": 0, "from_house": 0, "over": False, "hand": False,
    "next": None, "next_at": None, "of": None,
}  # fmt: skip


def table_state(table: Table) -> Entry:
    """Give a table as a balance writes it."""
    return {
        "def": table.definition,
        **{name: getattr(table, name) for name in TABLE_NUMBERS},
        "status": table.status,
        "phase": table.phase,
        "kind": table.kind,
        "cards": "".join(table.cards),
        "first": "".join(table.first),
        "awards": ",".join(map(str, table.awards)),
        "counts": "".join(map(str, table.counts)),
        "commit": table.sealed_shoe.commit if table.sealed_shoe else "",
        "reader": table.reader,
    }


def award_state(award: Award) -> Entry:
    """Give a pending award as a balance writes it."""
    named = {name: getattr(award, name) for name in Award.__slots__}
    return named | {"next_at": list(award.next_at) if award.next_at else None}


def normal_state(name: str, part: Json) -> Json:
    """Fill in what a balance leaves out because it is nothing."""
    if name == "numbers":
        return {**dict.fromkeys((*GROWING, "balance"), 0), **part}
    if name in {"levels", "next"}:
        defaults = {"maximum_micros": None, "distribution": None, "closed": False}
        return {level: {**defaults, **definition} for level, definition in part.items()}
    if name == "terms":
        return {"simultaneous_seconds": 0, **part}
    if name == "awards":
        return sorted(
            ({**AWARD_DEFAULTS, **one} for one in list_of(part)), key=lambda one: one["award"]
        )
    if name == "proposals":
        made = [{**one, "body": strict_json.decode(one["body"])} for one in list_of(part)]
        return sorted(made, key=lambda one: one["number"])
    return part


def difference(name: str, ours: Json, theirs: Json) -> str:
    """Name the first place where two states differ, with both values."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}):
            if canonical(ours.get(key)) != canonical(theirs.get(key)):
                return difference(f"{name}.{key}", ours.get(key), theirs.get(key))
    return f"{name}: {json.dumps(theirs)}, where {json.dumps(ours)} is right"


# ---------------------------------------------------------------------------------------------
# The site's own journal


SITE_NAMES = {  # kind -> what it is about, and the field that names it
    "user": ("user", "user"),
    "user_roles": ("user", "user"),
    "user_password": ("user", "user"),
    "user_retired": ("user", "user"),
    "device": ("device", "device"),
    "device_rotated": ("device", "device"),
    "device_revoked": ("device", "device"),
    "token": ("token", "name"),
    "token_revoked": ("token", "name"),
}
SITE_ENDS = {"user_retired", "device_revoked", "token_revoked"}
SITE_BEGINS = {"user", "device", "token"}


class Site:
    """Users, devices, keys and starts: each by somebody, about what there is, by two if asked."""

    def __init__(self) -> None:
        self.known: set[tuple[str, str]] = set()
        self.proposals: dict[int, Entry] = {}
        self.entry = 0
        self.time = self.last_time = 0
        self.line_hash = ""
        self.tally: Counter[str] = Counter()

    def record(self, e: Entry) -> None:
        """Take an entry of the site's journal."""
        only(e, "n t k by body")
        text_of(e["k"])
        text_of(e["by"])
        only(e["body"], "", " ".join(e["body"]))
        if e["body"].get("second") == e["by"]:
            raise Wrong(f"is agreed to by {e['by']}, who did it: two persons are needed")
        if e["k"] == "propose":
            self.proposals[self.entry] = e
        elif e["k"] in {"approve", "reject"}:
            self.settle(e)
        elif e["k"] in SITE_NAMES:
            self.name(e)
        elif e["k"] != "start":
            unknown(e)
        self.tally[e["k"]] += 1

    def settle(self, e: Entry) -> None:
        """Settle a proposal, which another person must have made if it is approved."""
        number = e["body"].get("number")
        proposal = self.proposals.pop(number, None) if type(number) is int else None
        if proposal is None:
            raise Wrong(f"settles proposal {number!r}, which is not open")
        if e["body"] != {"number": number, **proposal["body"]}:
            raise Wrong(f"settles something else than entry {number} proposed")
        if e["k"] == "approve" and e["by"] == proposal["by"]:
            raise Wrong(f"is approved by {e['by']}, who proposed it: two persons are needed")

    def name(self, e: Entry) -> None:
        """Insist that what is changed or ended had begun."""
        about, part = SITE_NAMES[e["k"]]
        one = (about, text_of(e["body"].get(part)))
        if e["k"] in SITE_BEGINS:
            self.known.add(one)
        elif one not in self.known:
            raise Wrong(f"is a {e['k']} of {one[1]}, which is no {about} of this site")
        if e["k"] in SITE_ENDS:
            self.known.discard(one)

    def finish(self) -> None:
        """Let the log end: a proposal may be open then."""

    def report(self) -> Entry:
        """Say what was in it."""
        return {"kind": "site", "counts": dict(sorted(self.tally.items()))}


# ---------------------------------------------------------------------------------------------
# One log: the folder's checks in a second process, the books in this one

AT_LAST = 2**63  # what is wrong with no entry comes after what is wrong with one
INLINE_ENTRIES = 20_000  # below it, a second process is not worth its start
Progress = Callable[[int, int], None]  # entries done, entries in all
WORKED_OUT_AGAIN = (
    TypeError, ValueError, AttributeError, LookupError, OverflowError, RecursionError,
    AssertionError,
)  # fmt: skip


@dataclass
class LogReport:
    """What the check of one log came to."""

    name: str
    origin: str
    seal: Entry
    problems: list[Problem]
    content: Entry
    moved_out: list[tuple[int, str, int, str, int]] = field(default_factory=list)
    moved_in: list[tuple[int, str, int, str, int]] = field(default_factory=list)


def send_messages(
    folder: str,
    log: str,
    witnesses: list[str],
    seen: list[bytes],
    to: Any,  # noqa: ANN401 - the type of a connection differs between systems
) -> None:
    """Read a folder in a process of its own, and send what comes of it."""
    gc.disable()  # nothing here is ever part of a cycle
    keys = [read_key(one) for one in witnesses]
    reader = SealedFolder(Path(folder), read_key(log), keys, seen)
    for message in reader.messages():
        to.send_bytes(marshal.dumps(message))
    to.close()


def key_text(key: Key) -> str:
    """Write a key as `read_key` reads it."""
    encoded = base64.b64encode(bytes([key.kind]) + key.public).decode()
    return f"{key.name}+{key.id.hex()}+{encoded}"


def read_messages(
    folder: Path, log: Key, witnesses: Sequence[Key], seen: list[bytes]
) -> Iterator[Message]:
    """Read a folder here if it is small, else in a second process."""
    if sealed_size(folder) <= INLINE_ENTRIES:
        yield from SealedFolder(folder, log, witnesses, seen).messages()
        return
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    keys = [key_text(one) for one in witnesses]
    reader = context.Process(
        target=send_messages, args=(str(folder), key_text(log), keys, seen, sender), daemon=True
    )
    reader.start()
    sender.close()
    try:
        while True:
            message = marshal.loads(receiver.recv_bytes())  # noqa: S302 - from our own process
            yield message
            if message[0] == "seal":
                return
    except EOFError:
        raise CallError(f"{folder}: reading stopped before its end") from None
    finally:
        receiver.close()
        reader.join()


def sealed_size(folder: Path) -> int:
    """Guess how many entries there are, before anything is checked."""
    try:
        return int(read_start(folder / "checkpoint", 500).split(b"\n")[1])
    except (Wrong, OSError, ValueError, IndexError):
        return 0


def unknown(e: Entry) -> NoReturn:
    """Refuse an entry of a kind that there is not."""
    raise Wrong(f"is of a kind that nobody knows: {e['k']!r}")


class Follower:
    """Takes the entries of one log in order, up to the first that is wrong."""

    def __init__(self, name: str, known_triggers: dict[int, int]) -> None:
        self.name = name
        self.known_triggers = known_triggers
        self.checker: Link | Site | None = None
        self.done = 0
        self.problem: Problem | None = None
        self.overlooked: Overlooked | None = None

    def take(self, batch: list[Line]) -> None:
        """Work out a batch of entries."""
        if self.problem is not None:
            return
        try:
            self._take(batch)
        except Wrong as wrong:
            self._note(wrong)
        except WORKED_OUT_AGAIN as error:
            self._note(Wrong(f"does not hold together: {type(error).__name__}: {error}"))

    def _note(self, wrong: Wrong) -> None:
        entry = wrong.entry or self.done + 1
        self.problem = Problem(self.name, str(wrong), entry, order=entry)
        if isinstance(wrong, Overlooked):
            self.overlooked = wrong

    def _take(self, batch: list[Line]) -> None:
        checker = self.checker or self._begin(batch[0])
        steps = checker.steps if isinstance(checker, Link) else None
        last = checker.time
        for entry, extra in batch:
            if entry is None:
                raise Wrong(extra)
            number, moment = entry["n"], entry["t"]
            if number != self.done + 1:
                raise Wrong(f"says that it is entry {number!r}")
            if type(moment) is not int or not last <= moment <= AMOUNT_MAX:
                whole(moment)
                raise Wrong(f"goes back in time, from {last} to {moment}")
            checker.entry, checker.last_time, checker.time = number, last, moment
            checker.line_hash = extra
            last = moment
            if steps is None:
                checker.record(entry)  # type: ignore[union-attr]
            else:
                (steps.get(entry["k"]) or unknown)(entry)
            self.done = number

    def _begin(self, first: Line) -> "Link | Site":
        entry, why = first
        if entry is None:
            raise Wrong(why)
        if "body" in entry and entry.get("k") != "propose":
            self.checker = Site()
        elif entry.get("k") == "open":
            self.checker = Link(self.known_triggers)
        else:
            raise Wrong("is neither the opening of a link nor an entry of a site")
        return self.checker

    def finish(self) -> None:
        """Check what must hold after the last entry."""
        if self.problem is None and self.checker is not None:
            try:
                self.checker.finish()
            except Wrong as wrong:
                self.problem = Problem(self.name, str(wrong), self.done, order=self.done)


def follow(
    name: str, messages: Iterable[Message], known: dict[int, int], progress: Progress
) -> tuple[Follower, Entry]:
    """Follow one log through its messages; gives the follower and the seal."""
    follower, size, seen = Follower(name, known), 0, 0
    seal: Entry = {}
    for kind, body in messages:
        if kind == "size":
            size = body
        elif kind == "entries":
            follower.take(body)
            seen += len(body)
            progress(seen, size)
        else:
            seal = body
    follower.finish()
    return follower, seal


def verify_log(
    folder: Path,
    log: Key,
    witnesses: Sequence[Key],
    progress: Progress,
    seen: Sequence[bytes] = (),
) -> LogReport:
    """Check one log, and that it still holds the checkpoints of it that were seen."""
    name = folder.name
    own = [one for one in seen if one.startswith(log.name.encode() + b"\n")]
    follower, seal = follow(name, read_messages(folder, log, witnesses, own), {}, progress)
    wrong, problem = follower.overlooked, follower.problem
    if wrong is not None:  # go through it once more, to name the round that should have won
        again, _ = follow(
            name,
            read_messages(folder, log, witnesses, own),
            {wrong.cycle: wrong.trigger},
            progress,
        )
        problem = again.problem or problem
    problems = [Problem(name, **found) for found in seal["problems"]]
    problems += [
        Problem(name, f"no checkpoint is cosigned by {witness.name}", order=AT_LAST)
        for witness in witnesses
        if witness.name not in seal["witnessed"]
    ]
    checker = follower.checker
    return LogReport(
        name=name,
        origin=log.name,
        seal={part: seal[part] for part in ("size", "checkpoints", "witnessed", "unsealed")},
        problems=in_order(problems, problem),
        content=checker.report() if checker else {"kind": "empty"},
        moved_out=checker.moved_out if isinstance(checker, Link) else [],
        moved_in=checker.moved_in if isinstance(checker, Link) else [],
    )


def in_order(problems: list[Problem], content: Problem | None) -> list[Problem]:
    """Put the problem that names its place best first: the earliest entry, a single one if any."""
    if content is not None:
        problems = [*problems, content]
    problems.sort(key=lambda one: (one.entry or one.order, one.last is not None, one is content))
    exact = [one for one in problems if one.entry is not None and one.last is None]
    if exact and problems[0].last is not None and (exact[0].entry or 0) <= problems[0].last:
        problems.remove(exact[0])
        problems.insert(0, exact[0])
    return problems


# ---------------------------------------------------------------------------------------------
# All logs of a folder, and the report


def find_logs(folder: Path) -> list[Path]:
    """Find the folders of logs: this one, or those in it."""
    try:
        if is_log(folder):
            return [folder]
        found = sorted(path for path in folder.iterdir() if path.is_dir() and is_log(path))
    except OSError as error:
        raise CallError(f"{folder} cannot be read: {error.strerror}") from None
    if not found:
        raise CallError(f"{folder} is not the folder of a log, and holds none")
    return found


def is_log(folder: Path) -> bool:
    """Tell whether a folder holds a log, or what is left of one."""
    return any((folder / name).exists() for name in ("checkpoint", "manifest.jsonl", "segments"))


def read_keys(texts: Iterable[str]) -> list[Key]:
    """Read keys, or files with one a line."""
    keys: list[Key] = []
    for text in texts:
        lines = [text]
        try:
            if Path(text).is_file():
                lines = Path(text).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            pass  # too long for a file's name: then it is a key
        keys += [read_key(line) for line in lines if line.strip() and not line.startswith("#")]
    return keys


def key_of(folder: Path, keys: Sequence[Key]) -> Key | None:
    """Choose the key of a log by the name that its checkpoint and manifest give."""
    if len(keys) == 1:
        return keys[0]
    names = set()
    for file in ("checkpoint", "manifest.jsonl"):
        try:
            start = read_start(folder / file, 2000).split(b"\n")[0].decode()
            names.add(json.loads(start)["log"] if file == "manifest.jsonl" else start)
        except (Wrong, OSError, ValueError, LookupError, TypeError, RecursionError):
            continue
    return next((key for key in keys if key.name in names), None)


def read_seen(paths: Iterable[Path], keys: Sequence[Key]) -> list[bytes]:
    """Read checkpoints that were kept elsewhere, insisting that their logs signed them."""
    found = []
    for path in paths:
        try:
            found.append(read_whole(path, NOTE_BYTES_MAX))
        except Wrong as wrong:
            raise CallError(f"{path} {wrong}") from None
        name = found[-1].split(b"\n")[0].decode(errors="replace")
        log = next((key for key in keys if key.kind == LOG_KEY and key.name == name), None)
        if log is None:
            raise CallError(f"{path} is no checkpoint of a log whose key was given")
        try:
            read_checkpoint(found[-1], log, ())
        except Wrong as wrong:
            raise CallError(f"{path} {wrong}") from None
    return found


def verify_folder(
    folder: Path, given: Sequence[Key], progress: Progress, seen: Sequence[bytes] = ()
) -> list[LogReport]:
    """Check every log of a folder, and the transfers between them."""
    keys = [key for key in given if key.kind == LOG_KEY]
    witnesses = [key for key in given if key.kind == WITNESS_KEY]
    if not keys:
        raise CallError("no key of a log was given")
    reports, logs, used = [], find_logs(folder), set()
    for log in logs:
        key = key_of(log, keys)
        if key is None:
            what = "no key was given for it: its checkpoint and manifest name none that was"
            reports.append(unread(log.name, "unread", what))
            continue
        used.add(key.name)
        reports.append(verify_log(log, key, witnesses, progress, seen))
    if logs != [folder]:
        for key in keys:
            if key.name not in used:
                what = "a key of it was given, but its log is not there"
                reports.append(unread(key.name, "missing", what))
    check_transfers(reports)
    return reports


def unread(name: str, kind: str, what: str) -> LogReport:
    """Report a log that could not even be read."""
    seal: Entry = {"size": 0, "checkpoints": 0, "witnessed": {}, "unsealed": 0}
    return LogReport(name, name, seal, [Problem(name, what)], {"kind": kind})


def check_transfers(reports: list[LogReport]) -> None:
    """Insist that what a link received is what the other link sent, where both logs are here."""
    links = {one.content["link"]: one for one in reports if one.content.get("link")}
    for link, report in links.items():
        for entry, from_, number, level, amount in report.moved_in:
            if from_ not in links:
                continue
            sent = [one for one in links[from_].moved_out if one[1:3] == (link, number)]
            if sent and sent[0][3:] != (level, amount):
                what = f"takes another transfer {number} than entry {sent[0][0]} of {from_} sent"
                report.problems.append(Problem(report.name, what, entry, order=entry))


class Bar:
    """A progress bar on a terminal, and nothing elsewhere."""

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()
        self.started = self.last = time.monotonic()

    def __call__(self, done: int, of: int) -> None:
        """Show how far it is."""
        now = time.monotonic()
        if not self.shown or (now - self.last < 0.1 and done < of):
            return
        self.last = now
        part = done / of if of else 1.0
        rate = done / max(now - self.started, 1e-9)
        sys.stderr.write(
            f"\r[{'#' * int(30 * part):30}] {part:4.0%} {done:,} entries, {rate:,.0f}/s "
        )
        if done >= of:
            sys.stderr.write("\r" + " " * 72 + "\r")
            self.started = now
        sys.stderr.flush()


COUNT_WORDS = (
    "rounds ended", "rounds void", "rounds cancelled", "wagers", "corrections", "paid", "reversed",
    "proposals carried out", "proposals rejected", "shoes", "balances",
)  # fmt: skip


def visible(text: str) -> str:
    """Write out what a terminal would obey or hide: names in a log may hold anything."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def written(report: LogReport) -> list[str]:
    """Write one log's report as lines."""
    seal, content = report.seal, report.content
    size, checkpoints = seal["size"], seal["checkpoints"]
    lines = [f"{report.name} ({report.origin}): {size:,} entries, {checkpoints} checkpoints"]
    lines += [written_witness(name, seen, size) for name, seen in seal["witnessed"].items()]
    if seal["unsealed"]:
        lines.append(f"  {seal['unsealed']:,} entries are not sealed yet, and were not checked")
    if content["kind"] == "link":
        lines += written_link(content)
    elif content["kind"] == "site":
        lines.append(f"  {listed(content['counts'])}")
    return lines


def written_witness(name: str, seen: int, size: int) -> str:
    """Say up to where a witness has seen the log, and what only the log's own key vouches for."""
    if seen >= size:
        return f"  witness {name} has seen all {size:,} entries"
    saw = f"has seen entries 1 to {seen:,}" if seen else "has seen the empty log only"
    return (
        f"  witness {name} {saw}: the last {size - seen:,} of {size:,} entries are not cosigned by "
        "it, and could have been written anew"
    )


def listed(counts: dict[str, int]) -> str:
    """Write counts one after the other."""
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"


def written_link(content: Entry) -> list[str]:
    """Write what a link's journal comes to as lines."""
    counts: Counter[str] = Counter(content["counts"])
    later = content["not_yet_checkable"]
    awards = {name[6:]: count for name, count in counts.items() if name.startswith("award ")}
    cycles = {
        "checked": counts["cycles checked"],
        "revealed without an award": counts["cycles revealed without an award"],
        "abandoned": counts["cycles abandoned"],
        "not yet checkable": later["cycles"],
    }
    shoes = {
        "checked": counts["shoes checked"],
        "their rounds": counts["shoe rounds checked"],
        "not yet checkable": later["shoes"],
    }
    accounts = (f"{name} {dollars(amount)}" for name, amount in content["accounts"].items())
    return [
        f"  link {content['link']}",
        f"  {listed({name: counts[name] for name in COUNT_WORDS})}",
        f"  awards: {listed(awards)}",
        f"  paid {dollars(counts['paid micros'])}, still pending {content['pending_awards']:,}",
        f"  Must Hit cycles: {listed(cycles)}",
        f"  automated shoes: {listed(shoes)}",
        f"  {'level':16}" + "".join(f"{part:>18}" for part in PARTS),
        *(
            f"  {name:16}" + "".join(f"{dollars(level[part]):>18}" for part in PARTS)
            for name, level in content["levels"].items()
        ),
        f"  {', '.join(accounts)}",
    ]


def as_json(reports: Sequence[LogReport], problems: Sequence[Problem]) -> str:
    """Write the reports as JSON."""

    def place(problem: Problem) -> Entry:
        return {
            "log": problem.log, "entry": problem.entry, "last_entry": problem.last,
            "file": problem.file, "what": problem.what,
        }  # fmt: skip

    return json.dumps(
        {
            "ok": not problems,
            "first_problem": place(problems[0]) if problems else None,
            "logs": [
                {
                    "name": one.name, "origin": one.origin, **one.seal, **one.content,
                    "problems": [place(problem) for problem in one.problems],
                }
                for one in reports
            ],
        },
        indent=1,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a folder as the command line says; gives the exit code."""
    parser = argparse.ArgumentParser(
        description="Checks the logs of a linked progressive, offline."
    )
    parser.add_argument(
        "folder", type=Path, help="the folder of one log, or one that holds several"
    )
    parser.add_argument(
        "--key", action="append", required=True, help="a log's public key, or a file of them"
    )
    parser.add_argument(
        "--witness", action="append", default=[], help="a witness's public key, or a file"
    )
    parser.add_argument(
        "--seen", action="append", default=[], type=Path, metavar="CHECKPOINT",
        help="a checkpoint kept elsewhere, which the log must still hold",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="write the report as JSON")
    asked = parser.parse_args(arguments)
    try:
        keys = read_keys([*asked.key, *asked.witness])
        seen = read_seen(asked.seen, keys)
        reports = verify_folder(asked.folder, keys, Bar(), seen)
    except CallError as error:
        sys.stderr.write(visible(str(error)) + "\n")
        return 2
    problems = [problem for report in reports for problem in report.problems]
    if asked.json:
        sys.stdout.write(as_json(reports, problems) + "\n")
        return 1 if problems else 0
    for report in reports:
        sys.stdout.write("\n".join(map(visible, written(report))) + "\n")
    for problem in problems[:20]:
        sys.stdout.write(f"WRONG: {visible(str(problem))}\n")
    sys.stdout.write("All of it is right.\n" if not problems else "This log is NOT right.\n")
    return 1 if problems else 0


if __name__ == "__main__":
    for _stream in (sys.stdout, sys.stderr):
        _stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # a file's name may be any bytes
    gc.disable()  # nothing here is ever part of a cycle: memory stays flat without it
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the report has seen enough, but not the verdict
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)
