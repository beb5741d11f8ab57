"""Requests are read whole before they take part: who sends slowly holds up nobody else.

The server in front gives a request a thread as soon as its head is there, and that thread waits for
the body. A hub that lost its power in mid-sentence, or somebody who means it, would keep one of a
few threads for good. So there are many that may wait, and only a few at a time that work.
"""

import io
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

WAITING_MAX: Final = 252  # threads that may wait for bodies, beside those that work

Environment = dict[str, Any]
Application = Callable[[Environment, Any], Iterable[bytes]]


class WholeRequests:
    """Reads a request's body, up to one byte too many, and then waits for its turn to be served."""

    def __init__(self, served: Application, workers: int, body_bytes_max: int) -> None:
        self._served = served
        self._turns = threading.BoundedSemaphore(workers)
        self._bytes_max = body_bytes_max

    def __call__(self, environ: Environment, start_response: Any) -> Iterable[bytes]:  # noqa: ANN401 - as WSGI has it
        """Serve a request that is here from end to end."""
        told = environ.get("CONTENT_LENGTH") or ""
        too_long = told.isdecimal() and int(told[:20]) > self._bytes_max
        if not too_long and (told or environ.get("HTTP_TRANSFER_ENCODING")):
            body = environ["wsgi.input"].read(self._bytes_max + 1)
            environ["wsgi.input"] = io.BytesIO(body)
            environ["CONTENT_LENGTH"] = str(len(body))  # of a chunked one nobody has told it
            environ.pop("HTTP_TRANSFER_ENCODING", None)
        with self._turns:
            return self._served(environ, start_response)
