"""How every client is made: bounded waits, and no command repeated behind the caller's back."""

from typing import Any, Final

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

SOCKET_TIMEOUT_S: Final = 5.0
CONNECT_TIMEOUT_S: Final = 2.0


def no_retry() -> Retry:
    """Give the policy that hands every failure to the caller, who knows what may be repeated."""
    return Retry(NoBackoff(), 0)


def client_options(*, decode: bool = True, timeout_s: float = SOCKET_TIMEOUT_S) -> dict[str, Any]:
    """Give the options that hold for every connection; redis-py would otherwise retry ten times."""
    return {
        "decode_responses": decode,
        "driver_info": None,
        "protocol": 2,
        "socket_connect_timeout": min(CONNECT_TIMEOUT_S, timeout_s),
        "socket_timeout": timeout_s,
    }


def open_url(url: str, *, decode: bool = True, timeout_s: float = SOCKET_TIMEOUT_S) -> Redis:
    """Open a `redis://`, `rediss://` or `unix://` address."""
    options = client_options(decode=decode, timeout_s=timeout_s)
    return Redis.from_url(url, retry=no_retry(), **options)
