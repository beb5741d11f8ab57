"""Writing the append-only file anew, from what the server holds in memory."""

import time
from typing import Any, Final

from redis import Redis, RedisError, ResponseError

from meters.server_error import Fault, ServerError

POLL_S: Final = 0.01
REWRITE_WAIT_S: Final = 60.0


def _persistence(client: Redis) -> dict[str, Any]:
    info: dict[str, Any] = client.info("persistence")
    return info


def rewrite_append_file(client: Redis, wait_s: float = REWRITE_WAIT_S) -> None:
    """Rewrite it and wait until that is done, so that nothing of a torn call is left in it.

    Servers without the torn-file fix need this after every start, before anything is written.
    """
    deadline = time.monotonic() + wait_s
    try:
        _rewrite(client, deadline)
    except RedisError as error:
        raise ServerError(
            Fault.NOT_UP, f"The append-only file could not be rewritten: {error}."
        ) from error


def _ask(client: Redis) -> bool:
    try:
        client.bgrewriteaof()
    except ResponseError as error:
        if "in progress" not in str(error):
            raise
        return False  # the server began one by itself in between: wait, and ask again
    return True


def _rewrite(client: Redis, deadline: float) -> None:
    asked = False
    while time.monotonic() < deadline:
        state = _persistence(client)
        busy = state["aof_rewrite_in_progress"] or state["aof_rewrite_scheduled"]
        if asked and not busy:
            if state["aof_last_bgrewrite_status"] == "ok":
                return
            break
        if not busy:
            asked = _ask(client)
        time.sleep(POLL_S)
    raise ServerError(
        Fault.NOT_UP,
        "The server could not rewrite its append-only file, so half of a torn call might come "
        "back later. Nothing was written. See the server's log for the reason (often a full "
        "disk), and start again.",
    )
