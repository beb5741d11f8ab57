"""Who calls: devices by signature, people by session, programs by token; nobody else gets in."""

import re
import threading
import time
from dataclasses import dataclass, field

from werkzeug.wrappers import Request

from progressive.api.problems import ProblemError
from progressive.api.routes import OF_DEVICES, Route
from progressive.api.services import Caller, Services
from progressive.api.signing import same, sign_request
from progressive.devices import Device, Kind
from progressive.people.roles import Deed

DEVICE_HEADER = "Progressive-Device"
TIME_HEADER = "Progressive-Time"
SIGNATURE_HEADER = "Progressive-Signature"
CSRF_HEADER = "X-CSRF-Token"
SESSION_COOKIE = "progressive_session"
TIME = re.compile(r"0|[1-9][0-9]{0,15}")  # as it is signed, so without leading zeros
PASSWORD_ROUTES = frozenset({"login", "change_password"})
BUCKETS_MAX = 10_000
REALM = "progressive"
SAFE = frozenset({"GET", "HEAD"})


NOBODY = Caller()


@dataclass(frozen=True, slots=True)
class Signed:
    """A caller with the key that its answer is signed with; people have none."""

    caller: Caller = NOBODY
    key: bytes = b""
    signature: str = ""


def identify(request: Request, route: Route, services: Services) -> Signed:
    """Find out who calls."""
    if route.is_open:
        return Signed()
    if route.for_devices:
        return _device(request, services)
    return Signed(_person(request, services))


def admit(
    signed: Signed, request: Request, route: Route, services: Services, rates: "Rates"
) -> None:
    """Refuse whom the route does not allow; a device that is known gets even that signed."""
    caller = signed.caller
    if caller.device is not None:
        _admit_device(caller.device, int(request.headers[TIME_HEADER]), route, services, rates)
        return
    deeds = [who for who in route.who if isinstance(who, Deed)]
    if deeds and not any(caller.may(deed) for deed in deeds):
        raise ProblemError("not_allowed", f"{caller.name} may not do this")
    if route.for_persons and not caller.session:
        raise ProblemError("person_needed", f"{caller.name} is a program: two persons must agree")


def challenge(code: str) -> str:
    """Say how one would be let in, as RFC 9110 has it for every 401."""
    scheme = SIGNATURE_HEADER if code in OF_DEVICES else "Bearer"
    return f'{scheme} realm="{REALM}"'


def count_login(request: Request, route: Route, services: Services, rates: "Rates") -> None:
    """Let an address try a few passwords: a hash is slow to work out, and names can be guessed."""
    if route.name in PASSWORD_ROUTES:
        limits = services.limits
        rates.count(f"@{request.remote_addr}", limits.logins_a_second, limits.login_burst)


def _admit_device(
    device: Device, time_ms: int, route: Route, services: Services, rates: "Rates"
) -> None:
    now = services.now_ms()
    if abs(now - time_ms) > services.limits.clock_skew_ms_max:
        raise ProblemError("clock_skew", "the request's time is too far off", server_time_ms=now)
    if Kind(device.kind) not in route.who:
        raise ProblemError("not_allowed", f"a {device.kind} may not do this")
    rates.count(device.device, services.limits.requests_a_second, services.limits.burst)


def _device(request: Request, services: Services) -> Signed:
    name = request.headers.get(DEVICE_HEADER, "")
    told_time = request.headers.get(TIME_HEADER, "")
    signature = request.headers.get(SIGNATURE_HEADER, "")
    if not name or not signature or not TIME.fullmatch(told_time):
        raise ProblemError("unsigned", "a device signs its requests")
    sent = _Sent(request, int(told_time), signature)
    found = sent.signer(services.devices.trusted(name)) or sent.signer(
        services.devices.looked_up(name)  # its key may be younger than what is kept
    )
    if found is None:
        raise ProblemError("wrong_signature", "the signature does not fit the request")
    return Signed(Caller(name=name, device=found[0]), found[1], signature)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A device's request and the signature that came with it."""

    request: Request
    time_ms: int
    signature: str

    def signer(self, found: tuple[Device, list[bytes]] | None) -> tuple[Device, bytes] | None:
        """Give the device with the key that signed, or None if none of its keys did."""
        if found is None:
            raise ProblemError("unknown_device", "this device is not known here")
        device, keys = found
        if not device.active:
            raise ProblemError("revoked_device", "this device was revoked")
        request = self.request
        path = request.full_path.rstrip("?") if request.query_string else request.path
        body = request.get_data()
        for key in keys:
            expected = sign_request(key, request.method, path, self.time_ms, body)
            if same(expected, self.signature):
                return device, key
        return None


def _person(request: Request, services: Services) -> Caller:
    scheme, _, told = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and told:
        token = services.sessions.find_token(told)
        if token is not None:
            return Caller(name=token.name, roles=tuple(token.roles))
    session = request.cookies.get(SESSION_COOKIE, "")
    found = services.sessions.find(session) if session else None
    if found is None:
        raise ProblemError("not_logged_in", "log in, or send a token")
    if request.method not in SAFE and not same(found[0].csrf, request.headers.get(CSRF_HEADER, "")):
        raise ProblemError("csrf", f"a change needs the session's {CSRF_HEADER} header")
    return Caller(name=found[0].user, roles=tuple(found[1]), session=session)


@dataclass
class Rates:
    """How fast each device may post, and each address log in: buckets that fill at a steady rate.

    Every process has its own.
    """

    buckets: dict[str, tuple[float, float]] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def count(self, name: str, a_second: float, burst: int) -> None:
        """Take one out of somebody's bucket, or refuse."""
        now = time.monotonic()
        with self.guard:
            if len(self.buckets) >= BUCKETS_MAX:
                self.buckets.clear()
            left, since = self.buckets.get(name, (float(burst), now))
            left = min(float(burst), left + (now - since) * a_second)
            if left < 1:
                raise ProblemError("too_many_requests", "more than are taken from one in a second")
            self.buckets[name] = (left - 1, now)
