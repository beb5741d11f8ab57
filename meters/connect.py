"""Connecting to a server that somebody else runs: only to one that is fit for money."""

import time
from dataclasses import dataclass, field
from typing import Any, Final

from redis import AuthenticationError, Redis, RedisError
from redis.exceptions import (
    AuthorizationError,
    ClusterDownError,
    NoPermissionError,
    RedisClusterException,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.sentinel import MasterNotFoundError

from meters.address import Address, Mode, parse_address
from meters.append_file import rewrite_append_file
from meters.binary import Release
from meters.client import SOCKET_TIMEOUT_S, Client, open_client
from meters.server_checks import Facts, Problem, ask_facts, judge
from meters.server_error import Fault, ServerError

CONNECT_WAIT_S: Final = 5.0
PAUSE_S: Final = 0.1
# IndexError: how the cluster client reports that nobody serves a slot.
FAILURES: Final = (RedisError, RedisClusterException, OSError, IndexError)


class UnsafeServerError(ServerError):
    """A server that money must not be trusted to, with all that is wrong with it."""

    def __init__(self, address: Address, problems: tuple[Problem, ...]) -> None:
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(
            Fault.UNSAFE,
            f"The server at {address} is not safe for money; nothing was written to it.{lines}",
        )
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Connection:
    """A client of a checked server, and what was found out about it."""

    client: Client = field(repr=False)
    address: str  # without its secrets
    mode: Mode
    release: Release  # the oldest, where there are many
    problems: tuple[Problem, ...]  # accepted with the explicit flag

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say what was accepted although it is unsafe."""
        return tuple(map(str, self.problems))

    @property
    def torn_file_fix(self) -> bool:
        """Tell whether the append-only file needs no rewriting before the first write."""
        return self.release.torn_file_fix

    def primaries(self) -> tuple[tuple[str, Redis], ...]:
        """Give every server that takes writes, by name."""
        return _primaries(self.client, self.address)

    def rewrite_append_files(self) -> None:
        """Rewrite the append-only file of every primary, and wait until that is done."""
        for _, client in self.primaries():
            rewrite_append_file(client)

    def close(self) -> None:
        """Close the client."""
        self.client.close()


def connect(
    address: str,
    *,
    allow_unsafe: bool = False,
    decode: bool = True,
    timeout_s: float = SOCKET_TIMEOUT_S,
    wait_s: float = CONNECT_WAIT_S,
) -> Connection:
    """Connect and check; what is unsafe is refused, or becomes a warning if that is allowed.

    Reaching the server is tried for `wait_s`; after that nothing is ever retried.
    """
    parsed = parse_address(address)
    client, facts = _reach(parsed, decode=decode, timeout_s=timeout_s, wait_s=wait_s)
    problems = tuple(problem for each in facts for problem in judge(each, parsed.mode))
    if any(not (allow_unsafe and problem.acceptable) for problem in problems):
        client.close()
        raise UnsafeServerError(parsed, problems)
    oldest = min((each.release for each in facts), key=lambda release: release.version)
    return Connection(client, str(parsed), parsed.mode, oldest, problems)


def _primaries(client: Client, name: str) -> tuple[tuple[str, Redis], ...]:
    if isinstance(client, Redis):
        return ((name, client),)
    cluster: Any = client  # redis-py leaves its nodes untyped
    return tuple(
        (node.name, cluster.get_redis_connection(node)) for node in cluster.get_primaries()
    )


def _reach(
    address: Address, *, decode: bool, timeout_s: float, wait_s: float
) -> tuple[Client, list[Facts]]:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            client = open_client(address, decode=decode, timeout_s=timeout_s)
            try:
                return client, _ask(client, address)
            except BaseException:
                client.close()
                raise
        except FAILURES as error:
            if not _may_pass(error) or time.monotonic() >= deadline:
                raise _unreachable(address, error) from error
            time.sleep(PAUSE_S)


def _ask(client: Client, address: Address) -> list[Facts]:
    facts = []
    for name, primary in _primaries(client, str(address)):
        primary.ping()  # unlike INFO, it is refused while the server is still loading
        facts.append(ask_facts(primary, name))
    return facts


def _root(error: BaseException) -> BaseException:
    while isinstance(error, RedisClusterException) and error.__cause__ is not None:
        error = error.__cause__  # the cluster client wraps what one of its nodes said
    return error


def _may_pass(error: BaseException) -> bool:
    root = _root(error)
    if isinstance(root, (AuthenticationError, AuthorizationError, RedisClusterException)):
        return False
    return isinstance(root, (RedisConnectionError, RedisTimeoutError, ClusterDownError, OSError))


def _unreachable(address: Address, error: BaseException) -> ServerError:
    root = _root(error)
    if isinstance(root, (AuthenticationError, AuthorizationError, NoPermissionError)):
        why = "it did not accept user and password, or allows that user too little"
        remedy = "Put the right ones into the address; the user needs PING, INFO and FUNCTION"
    elif isinstance(root, RedisClusterException) and "mode is not enabled" in str(root):
        why = "it is no cluster"
        remedy = "Write the address as redis://host:port"
    elif isinstance(root, MasterNotFoundError):
        why = f"no Sentinel names a primary for the service {address.service!r}"
        remedy = "Check the name of the service, and that Sentinels and primary run"
    elif isinstance(root, IndexError):
        why = "the cluster serves none of its slots"
        remedy = "Assign the slots to its primaries"
    else:
        why = f"{root}".rstrip(".") or type(root).__name__
        remedy = "Check that it runs, and the address"
    return ServerError(
        Fault.UNREACHABLE,
        f"The server at {address} cannot be used: {why}. Nothing was written. {remedy}.",
    )
