"""`progressive user`: the people of a running controller; a change needs two of them."""

import sys
from pathlib import Path

import click
import msgspec

from meters.errors import Refused
from progressive.commands.running import Running, address_option, by_option, data_option, running
from progressive.people.roles import Role
from progressive.people.users import User

ROLE = click.Choice([role.value for role in Role])
second_option = click.option(
    "--second",
    required=True,
    metavar="USER",
    help="The administrator who agrees; the password is asked for, or read from stdin.",
)
roles_option = click.option(
    "--role", "roles", multiple=True, required=True, type=ROLE, help="May be given many times."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group()
def user() -> None:
    """Add, list and retire people, and give them roles and passwords.

    The first administrator is made by the first start of `progressive up`. After that every change
    needs two persons: whoever sits here, and an administrator who proves it with a password.
    Passwords are never arguments. Exit codes: 0 done, 1 refused, 2 wrong call.
    """


@user.command()
@click.argument("name")
@roles_option
@second_option
@by_option
@data_option
@address_option
@json_option
def add(  # noqa: PLR0913 - one parameter an option
    *,
    name: str,
    roles: tuple[str, ...],
    second: str,
    by: str,
    data: Path,
    address: str | None,
    as_json: bool,
) -> None:
    """Add a user; the password is shown once."""
    with running(data, address) as controller:
        if controller.users.find(name):
            raise Refused("user_exists", f"there is, or was, a user {name}: choose another name")
        _agree(controller, second, by, name)
        told = controller.users.put(name, _roles(roles), by, second=second)
    _show_password(name, told, as_json=as_json)


@user.command(name="list")
@data_option
@address_option
@json_option
def list_(*, data: Path, address: str | None, as_json: bool) -> None:
    """List the users with their roles."""
    with running(data, address) as controller:
        found = controller.users.all()
    if as_json:
        click.echo(msgspec.json.encode({"users": [_shown(each) for each in found]}))
        return
    for each in found:
        state = "" if each.active else "  (retired)"
        click.echo(f"{each.user:<32}  {', '.join(each.roles)}{state}")


@user.command()
@click.argument("name")
@roles_option
@second_option
@by_option
@data_option
@address_option
def roles(  # noqa: PLR0913 - one parameter an option
    *, name: str, roles: tuple[str, ...], second: str, by: str, data: Path, address: str | None
) -> None:
    """Give a user these roles in place of the present ones."""
    with running(data, address) as controller:
        if Role.ADMINISTRATOR not in roles:
            _insist_on_another_administrator(controller, name)
        _agree(controller, second, by, name)
        controller.users.give_roles(name, _roles(roles), by, second=second)
    click.echo(f"{name}: {', '.join(sorted(set(roles)))}")


@user.command()
@click.argument("name")
@second_option
@by_option
@data_option
@address_option
def retire(*, name: str, second: str, by: str, data: Path, address: str | None) -> None:
    """Take a user's access away for good; the name stays taken."""
    with running(data, address) as controller:
        _insist_on_another_administrator(controller, name)
        _agree(controller, second, by, name)
        controller.users.retire(name, by, second=second)
    click.echo(f"{name} is retired")


@user.command()
@click.argument("name")
@click.option(
    "--second", metavar="USER", help="The administrator who resets it; else NAME changes it."
)
@by_option
@data_option
@address_option
@json_option
def password(  # noqa: PLR0913 - one parameter an option
    *, name: str, second: str | None, by: str, data: Path, address: str | None, as_json: bool
) -> None:
    """Change one's own password, or reset somebody's.

    Without --second it asks for the present password and for the new one (on stdin: two lines).
    With it, the administrator's password is asked for, and a new password for NAME is shown once.
    """
    with running(data, address) as controller:
        if second:
            _agree(controller, second, by, name)
            told = controller.users.give_password(name, by, second=second)
        else:
            old = _ask(f"Present password of {name}")
            controller.users.check(name, old)
            controller.users.change_password(name, old, _ask("New password", confirm=True))
            click.echo(f"{name} has a new password")
            return
    _show_password(name, told, as_json=as_json)


def _roles(names: tuple[str, ...]) -> list[Role]:
    return [Role(name) for name in names]


def _shown(each: User) -> dict[str, object]:
    return {"user": each.user, "roles": each.roles, "active": each.active}


def _show_password(name: str, told: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode({"user": name, "password": told}))
    else:
        click.echo(f"{name}, password {told} (shown this once)")


def _agree(controller: Running, second: str, by: str, name: str) -> None:
    """Have another person prove by password that an administrator agrees."""
    if second in {by, name}:
        raise Refused("same_person", f"{second} cannot be both persons: somebody else must agree")
    found = controller.users.check(second, _ask(f"Password of {second}"))
    if Role.ADMINISTRATOR not in found.roles:
        raise Refused("not_allowed", f"{second} is no administrator")


def _ask(what: str, *, confirm: bool = False) -> str:
    """Read a password from the terminal, unseen, or a line from stdin."""
    if sys.stdin is None:
        raise click.UsageError("standard input is closed: nobody can be asked for a password")
    if sys.stdin.isatty():
        told: str = click.prompt(what, hide_input=True, confirmation_prompt=confirm, err=True)
        return told
    return sys.stdin.readline().rstrip("\r\n")


def _insist_on_another_administrator(controller: Running, name: str) -> None:
    """Refuse to leave nobody who could agree to anything."""
    left = [
        each.user
        for each in controller.users.all()
        if each.active and Role.ADMINISTRATOR in each.roles and each.user != name
    ]
    if not left:
        raise Refused("last_administrator", f"{name} is the last administrator: add another first")
