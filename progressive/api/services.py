"""What the handlers work with: the site, its links, its people and devices, and the limits."""

from collections.abc import Callable
from dataclasses import dataclass, field

from progressive.api.problems import ProblemError
from progressive.audit.shelf import Shelf
from progressive.config.values import Site
from progressive.controller import Controller
from progressive.devices import Device, Devices
from progressive.people.approvals import Approvals
from progressive.people.roles import Deed, Role, may
from progressive.people.sessions import Sessions
from progressive.people.users import Users


@dataclass(frozen=True, slots=True)
class Limits:
    """A limit on everything."""

    body_bytes_max: int = 256 * 1024
    clock_skew_ms_max: int = 30_000
    requests_a_second: float = 200.0  # of one device
    burst: int = 400
    logins_a_second: float = 1.0  # from one address
    login_burst: int = 60
    page_max: int = 500


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: a device, a person, a program, or nobody."""

    name: str = ""
    device: Device | None = None
    roles: tuple[Role, ...] = ()
    session: str = ""

    def may(self, deed: Deed) -> bool:
        """Tell whether the caller's roles allow something."""
        return may(self.roles, deed)


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that a handler may use."""

    site: Site
    controllers: dict[str, Controller]
    users: Users
    sessions: Sessions
    approvals: Approvals
    devices: Devices
    shelf: Shelf
    now_ms: Callable[[], int]
    limits: Limits = field(default_factory=Limits)
    behind_tls: bool = False  # a proxy in front speaks TLS: cookies are for TLS only

    def controller(self, link: str) -> Controller:
        """Find a link by its name."""
        found = self.controllers.get(link)
        if found is None:
            raise ProblemError("unknown_link", f"there is no link {link}")
        return found

    def controller_of(self, table: str) -> Controller:
        """Find the link that a table belongs to; the store is asked only for one not known yet."""
        for tables_of in (Controller.last_known, Controller.known):
            for controller in self.controllers.values():
                if table in tables_of(controller).tables:
                    return controller
        raise ProblemError("unknown_table", f"there is no table {table}")
