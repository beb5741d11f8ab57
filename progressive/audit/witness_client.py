"""What the sealer asks a witness with: one checkpoint in, one cosignature out."""

import http.client
from collections.abc import Callable, Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

from progressive.audit import checkpoint, note
from progressive.audit.add_checkpoint import PATH, AddCheckpoint
from progressive.audit.checkpoint import Checkpoint, CheckpointError, CosignatureVerifier
from progressive.audit.note import NoteError, Signature

TIMEOUT_S = 5.0
ANSWER_BYTES_MAX = 1 << 16
ATTEMPTS = 3

Prove = Callable[[int, int], Sequence[bytes]]
"""Proves that the log of the second size begins with the log of the first."""


class WitnessError(Exception):
    """A witness did not cosign."""


class WitnessAway(WitnessError):  # noqa: N818 - it is the witness that is away
    """The witness cannot be reached or is in trouble itself; ask again later."""


class WitnessRefused(WitnessError):  # noqa: N818 - it is the witness that refused
    """The witness answered and will not cosign; somebody must look into it."""


class WitnessConflict(WitnessRefused):
    """The witness cosigned something else before: the log was rolled back or rewritten."""


class WitnessClient:
    """Asks one witness, and remembers which size it knows."""

    def __init__(self, url: str, key: CosignatureVerifier, *, timeout_s: float = TIMEOUT_S) -> None:
        split = urlsplit(url)
        if split.scheme not in {"http", "https"} or not split.hostname:
            raise ValueError(f"{url} is not the address of a witness: http://host:port")
        self.url = url
        self.key = key
        self._secure = split.scheme == "https"
        self._host, self._port = split.hostname, split.port
        self._path = split.path.rstrip("/") + PATH
        self._timeout_s = timeout_s
        self._known = 0

    def cosign(self, signed: bytes, prove: Prove) -> Signature:
        """Get the witness's signature on a checkpoint, from whatever size it knows."""
        asked = Checkpoint.parse(note.parse(signed).text)
        old = min(self._known, asked.size)
        for _ in range(ATTEMPTS):
            status, answer = self._post(AddCheckpoint(old, tuple(prove(old, asked.size)), signed))
            if status == HTTPStatus.OK:
                found = self._accept(asked, answer)
                self._known = asked.size
                return found
            if status != HTTPStatus.CONFLICT:
                self._raise(status, answer)
            old = self._conflict(asked, old, answer)
        raise WitnessAway(f"{self.url}: others move this log on faster than it can be asked for")

    def _conflict(self, asked: Checkpoint, old: int, answer: bytes) -> int:
        try:
            known = checkpoint.parse_size(answer.decode().removesuffix("\n"))
        except (CheckpointError, UnicodeDecodeError):
            raise WitnessRefused(f"{self.url}: a conflict without a size") from None
        if known > asked.size:
            raise WitnessConflict(
                f"{self.url} has cosigned this log at {known}, but it now ends at {asked.size}"
            )
        if known == old:
            raise WitnessConflict(f"{self.url} has cosigned another root for size {known}")
        return known

    def _accept(self, asked: Checkpoint, answer: bytes) -> Signature:
        try:
            whole = f"{asked.text}\n".encode() + answer
            (found,) = note.verify(whole, [self.key]).signatures
        except NoteError as error:
            raise WitnessRefused(
                f"{self.url}: its answer is not its cosignature: {error}"
            ) from None
        return found

    def _raise(self, status: int, answer: bytes) -> None:
        said = answer[:200].decode(errors="replace").strip()
        kind = WitnessAway if status >= HTTPStatus.INTERNAL_SERVER_ERROR else WitnessRefused
        raise kind(f"{self.url} answered {status}: {said}")

    def _post(self, asked: AddCheckpoint) -> tuple[int, bytes]:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=self._timeout_s)
        try:
            connection.request("POST", self._path, bytes(asked), {"Content-Type": "text/plain"})
            answer = connection.getresponse()
            return answer.status, answer.read(ANSWER_BYTES_MAX)
        except (OSError, http.client.HTTPException) as error:
            raise WitnessAway(f"{self.url}: {type(error).__name__}: {error}") from None
        finally:
            connection.close()
