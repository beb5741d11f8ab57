"""Where a server is: an address as an operator writes it, read strictly, its secrets never shown.

redis://[user:password@]host[:6379][/db]      rediss:// the same with TLS
unix://[user:password@]/path/to/socket[?db=1]
sentinel://[user:password@]host[:26379],host.../service[?db=1]      sentinels:// with TLS
cluster://[user:password@]host[:6379],host...                       clusters:// with TLS
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qsl, unquote

from meters.server_error import Fault, ServerError


class Mode(StrEnum):
    """How a server is found, and whether it is one or many."""

    SINGLE = "single"
    SENTINEL = "sentinel"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class _Scheme:
    mode: Mode
    tls: bool = False
    port: int | None = 6379  # none: a socket on this machine


SCHEMES: Final[Mapping[str, _Scheme]] = {
    "redis": _Scheme(Mode.SINGLE),
    "rediss": _Scheme(Mode.SINGLE, tls=True),
    "unix": _Scheme(Mode.SINGLE, port=None),
    "sentinel": _Scheme(Mode.SENTINEL, port=26379),
    "sentinels": _Scheme(Mode.SENTINEL, tls=True, port=26379),
    "cluster": _Scheme(Mode.CLUSTER),
    "clusters": _Scheme(Mode.CLUSTER, tls=True),
}
TLS_OPTIONS: Final = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
SENTINEL_OPTIONS: Final = ("sentinel_username", "sentinel_password")
PORT_MAX: Final = 65_535
DB_MAX: Final = 999
_PARTS = re.compile(r"([a-z]+)://(?:(.*)@)?([^@/?#]*)([^@?#]*)(?:\?([^@#]*))?", re.DOTALL)
_NODE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::([0-9]{1,5}))?")
_NUMBER = re.compile(r"[0-9]{1,3}")

Node = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Address:
    """An address taken apart; what is secret is in no representation of it."""

    scheme: str
    nodes: tuple[Node, ...] = ()
    path: str = ""  # of the socket
    service: str = ""
    db: int = 0
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def mode(self) -> Mode:
        """Tell what kind of server it leads to."""
        return SCHEMES[self.scheme].mode

    @property
    def tls(self) -> bool:
        """Tell whether the connection is encrypted and the server's certificate checked."""
        return SCHEMES[self.scheme].tls

    def __str__(self) -> str:
        """Write it without user, password and options, for messages and logs."""
        nodes = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
                         for host, port in self.nodes)  # fmt: skip
        tail = {Mode.SENTINEL: f"/{self.service}", Mode.CLUSTER: ""}.get(self.mode, self.path)
        return f"{self.scheme}://{nodes}{tail}" + (f" (db {self.db})" if self.db else "")


def _invalid(why: str) -> ServerError:
    return ServerError(
        Fault.ADDRESS_INVALID,
        f"The server's address cannot be used: {why}. Write it as redis://host:6379/0, "
        "rediss://host:6379, unix:///path/to/socket, sentinel://host:26379,host:26379/service or "
        "cluster://host:6379,host:6379; user and password go before the host as user:password@.",
    )


def parse_address(text: str) -> Address:
    """Read an address; a part that nobody would use is refused, not ignored."""
    match = _PARTS.fullmatch(text.strip())
    if match is None or match[1] not in SCHEMES:
        raise _invalid(f"it does not begin with {', '.join(f'{name}://' for name in SCHEMES)}")
    name, login, hosts, path, query = match.groups()
    scheme = SCHEMES[name]
    options = _options(scheme, query or "")
    db = options.pop("db", None)
    service = ""
    if scheme.mode is Mode.SENTINEL:
        service = unquote(path.removeprefix("/"))
        if not service or "/" in service:
            raise _invalid("after the hosts it has to name the service that Sentinel watches")
    elif scheme.port is not None and path not in {"", "/"}:
        if db is not None or scheme.mode is Mode.CLUSTER:
            raise _invalid("its path means nothing here")
        db = path[1:]
    username, password = _login(login)
    return Address(
        scheme=name,
        nodes=_nodes(hosts, scheme),
        path=_socket(path) if scheme.port is None else "",
        service=service,
        db=_db(db),
        username=username,
        password=password,
        options=options,
    )


def _options(scheme: _Scheme, query: str) -> dict[str, str]:
    allowed = (
        *(("db",) if scheme.mode is not Mode.CLUSTER else ()),
        *(SENTINEL_OPTIONS if scheme.mode is Mode.SENTINEL else ()),
        *(TLS_OPTIONS if scheme.tls else ()),
    )
    options: dict[str, str] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key not in allowed or key in options:
            known = ", ".join(allowed) or "none"
            raise _invalid(f"it has an option that is unknown or given twice (allowed: {known})")
        options[key] = value
    return options


def _login(login: str | None) -> tuple[str | None, str | None]:
    if login is None:
        return None, None
    username, colon, password = login.partition(":")
    if not colon or not password:
        raise _invalid("before the host it has to have user:password@ or :password@")
    return unquote(username) or None, unquote(password)


def _nodes(hosts: str, scheme: _Scheme) -> tuple[Node, ...]:
    if scheme.port is None:
        if hosts:
            raise _invalid("a unix:// address has three slashes and no host")
        return ()
    nodes: list[Node] = []
    for host in hosts.split(","):
        match = _NODE.fullmatch(host)
        port = int(match[2] or scheme.port) if match else 0
        if match is None or not 0 < port <= PORT_MAX:
            raise _invalid("each host is a name or number, then a colon and a port")
        nodes.append((match[1].strip("[]"), port))
    if scheme.mode is Mode.SINGLE and len(nodes) > 1:
        raise _invalid("many hosts are for sentinel:// and cluster:// only")
    return tuple(nodes)


def _socket(path: str) -> str:
    if len(path) <= 1:
        raise _invalid("a unix:// address names the socket")
    return unquote(path)


def _db(text: str | None) -> int:
    if text is None:
        return 0
    if not _NUMBER.fullmatch(text):
        raise _invalid(f"the database is a number from 0 to {DB_MAX}")
    return int(text)
