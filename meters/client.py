"""How every client is made: bounded waits, and no command repeated behind the caller's back."""

from typing import Any, Final, TypeAlias

from redis import Redis, RedisCluster, UsernamePasswordCredentialProvider
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.retry import Retry
from redis.sentinel import Sentinel

from meters.address import TLS_OPTIONS, Address, Mode

SOCKET_TIMEOUT_S: Final = 5.0
CONNECT_TIMEOUT_S: Final = 2.0

_Sentinel: Any = Sentinel  # redis-py leaves these two untyped
_ClusterNode: Any = ClusterNode
Client: TypeAlias = Redis | RedisCluster


def no_retry() -> Retry:
    """Give the policy that hands every failure to the caller, who knows what may be repeated.

    Left to itself, redis-py sends a command up to ten times more.
    """
    return Retry(NoBackoff(), 0)


def open_client(
    address: Address, *, decode: bool = True, timeout_s: float = SOCKET_TIMEOUT_S
) -> Client:
    """Open a client of any kind; only a cluster is spoken to at once."""
    if address.mode is Mode.CLUSTER:
        return _open_cluster(address, decode=decode, timeout_s=timeout_s)
    if address.mode is Mode.SENTINEL:
        return _open_sentinel(address, decode=decode, timeout_s=timeout_s)
    return open_single(address, decode=decode, timeout_s=timeout_s)


def open_single(
    address: Address, *, decode: bool = True, timeout_s: float = SOCKET_TIMEOUT_S
) -> Redis:
    """Open a client of one server."""
    options = _options(address, decode=decode, timeout_s=timeout_s)
    if address.path:
        return Redis(unix_socket_path=address.path, db=address.db, retry=no_retry(), **options)
    [(host, port)] = address.nodes
    return Redis(host, port, db=address.db, retry=no_retry(), **options)


def _open_sentinel(address: Address, *, decode: bool, timeout_s: float) -> Redis:
    options = _options(address, decode=decode, timeout_s=timeout_s)
    own = options | {
        "credential_provider": _credentials(
            address.options.get("sentinel_username"), address.options.get("sentinel_password")
        ),
        "retry": no_retry(),
    }
    sentinel: Any = _Sentinel(address.nodes, sentinel_kwargs=own)
    client: Redis = sentinel.master_for(address.service, db=address.db, retry=no_retry(), **options)
    return client


def _open_cluster(address: Address, *, decode: bool, timeout_s: float) -> RedisCluster:
    return RedisCluster(
        startup_nodes=[_ClusterNode(host, port) for host, port in address.nodes],
        require_full_coverage=False,  # it is checked when connecting, and told with the rest
        retry=no_retry(),
        **_options(address, decode=decode, timeout_s=timeout_s),
    )


def _credentials(
    username: str | None, password: str | None
) -> UsernamePasswordCredentialProvider | None:
    return UsernamePasswordCredentialProvider(username, password) if password else None


def _options(address: Address, *, decode: bool, timeout_s: float) -> dict[str, Any]:
    tls = {name: address.options[name] for name in TLS_OPTIONS if name in address.options}
    return {
        # Not as plain options, which would be shown wherever the client is.
        "credential_provider": _credentials(address.username, address.password),
        "decode_responses": decode,
        "driver_info": None,
        "protocol": 2,
        "socket_connect_timeout": min(CONNECT_TIMEOUT_S, timeout_s),
        "socket_timeout": timeout_s,
        **({"ssl": True, "ssl_cert_reqs": "required", "ssl_check_hostname": True} | tls
           if address.tls else {}),
    }  # fmt: skip
