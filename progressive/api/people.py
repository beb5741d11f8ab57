"""Users, tokens and devices."""

from progressive.api import wire_people as wire
from progressive.api.problems import ProblemError
from progressive.api.routes import Call, Route
from progressive.devices import Device, Kind
from progressive.people.approvals import Wish
from progressive.people.roles import Deed


def users(call: Call) -> wire.Users:
    """List users, programs with tokens, and what is proposed about them."""
    wishes = call.services.approvals.open_ones()
    return wire.Users(
        users=[
            wire.UserAnswer(user=user.user, roles=[*user.roles], active=user.active)
            for user in call.services.users.all()
        ],
        proposals=[
            wire.WishAnswer(
                number=number,
                what=wish.what,
                name=wish.name,
                roles=[*wish.roles],
                reason=wish.reason,
                by=wish.by,
            )
            for number, wish in wishes.items()
        ],
        programs=[
            wire.ProgramAnswer(name=name, roles=[*roles])
            for name, roles in call.services.sessions.programs().items()
        ],
    )


def propose(call: Call) -> wire.WishSettled:
    """Propose a change of users or tokens."""
    body: wire.WishBody = call.body
    wish = Wish(
        what=body.what, name=body.name, roles=body.roles, reason=body.reason, by=call.caller.name
    )
    return wire.WishSettled(number=call.services.approvals.propose(wish), result="proposed")


def approve(call: Call) -> wire.WishSettled:
    """Approve another person's proposal."""
    number = call.params["number"]
    told = call.services.approvals.approve(number, call.caller.name)
    return wire.WishSettled(number=number, result="approved", told=told)


def reject(call: Call) -> wire.WishSettled:
    """Turn a proposal down, or withdraw one's own."""
    number = call.params["number"]
    call.services.approvals.reject(number, call.caller.name)
    return wire.WishSettled(number=number, result="rejected")


def _device(
    device: Device, key: bytes = b"", seen_ms: dict[str, int] | None = None
) -> wire.DeviceAnswer:
    return wire.DeviceAnswer(
        device=device.device,
        kind=device.kind,
        tables=device.tables,
        active=device.active,
        key=key.hex(),
        seen_ms=seen_ms or {},
    )


def devices(call: Call) -> wire.DevicesAnswer:
    """List the devices, and when each was last heard."""
    seen = call.services.devices.last_seen()
    found = call.services.devices.all()
    return wire.DevicesAnswer(
        devices=[_device(each, seen_ms=seen.get(each.device)) for each in found]
    )


def add_device(call: Call) -> wire.DeviceAnswer:
    """Add a device; its key is shown once."""
    body: wire.DeviceBody = call.body
    if body.kind is not Kind.GATEWAY and len(body.tables) != 1:
        raise ProblemError("one_table", f"a {body.kind} belongs to one table")
    for table in body.tables:
        call.services.controller_of(table)
    key = call.services.devices.add(body.device, body.kind, body.tables, call.caller.name)
    return _known(call, body.device, key)


def rotate_device(call: Call) -> wire.DeviceAnswer:
    """Give a device a new key, shown once; the last one stays good until the next rotation."""
    name = call.params["device"]
    key = call.services.devices.rotate(name, call.caller.name)
    return _known(call, name, key)


def revoke_device(call: Call) -> wire.DeviceAnswer:
    """Revoke a device."""
    name = call.params["device"]
    call.services.devices.revoke(name, call.caller.name)
    return _known(call, name)


def _known(call: Call, name: str, key: bytes = b"") -> wire.DeviceAnswer:
    device = call.services.devices.find(name)
    if device is None:
        raise ProblemError("no_such_device", f"there is no device {name}")
    return _device(device, key)


PEOPLE, DEVICES = (Deed.PEOPLE,), (Deed.DEVICES,)
ROUTES = (
    Route("GET", "/v1/users", "users", "Users, programs, and what is proposed about them", PEOPLE,
          users, wire.Users, tag="people"),
    Route("POST", "/v1/users/proposals", "propose_user", "Propose a change of users or tokens",
          PEOPLE, propose, wire.WishSettled, wire.WishBody, tag="people", for_persons=True,
          problems=("bad_call", "unknown_user", "not_audited")),
    Route("POST", "/v1/users/proposals/{number:int}/approve", "approve_user",
          "Approve another person's proposal; a new password or token is shown once", PEOPLE,
          approve, wire.WishSettled, tag="people", for_persons=True,
          problems=("unknown_proposal", "same_person", "bad_call", "unknown_user",
                    "not_audited")),
    Route("POST", "/v1/users/proposals/{number:int}/reject", "reject_user",
          "Turn a proposal down, or withdraw one's own", PEOPLE, reject, wire.WishSettled,
          tag="people", problems=("unknown_proposal", "not_audited")),
    Route("GET", "/v1/devices", "devices", "The devices, and when each last posted", DEVICES,
          devices, wire.DevicesAnswer, tag="people"),
    Route("POST", "/v1/devices", "add_device", "Add a device; its key is shown once", DEVICES,
          add_device, wire.DeviceAnswer, wire.DeviceBody, tag="people",
          problems=("unknown_table", "device_exists", "one_table", "not_audited")),
    Route("POST", "/v1/devices/{device}/rotate", "rotate_device",
          "Give a device a new key, shown once", DEVICES, rotate_device, wire.DeviceAnswer,
          tag="people", problems=("no_such_device", "not_audited")),
    Route("POST", "/v1/devices/{device}/revoke", "revoke_device", "Revoke a device", DEVICES,
          revoke_device, wire.DeviceAnswer, tag="people",
          problems=("no_such_device", "not_audited")),
)  # fmt: skip
