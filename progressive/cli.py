"""The command line: `progressive`, one command a module."""

import errno
from importlib.metadata import version
from typing import Any

import click

from progressive.commands.audit import audit
from progressive.commands.check import check
from progressive.commands.demo import demo
from progressive.commands.device import device
from progressive.commands.evaluate import evaluate
from progressive.commands.meters import meters
from progressive.commands.odds import odds
from progressive.commands.past import awards, rounds
from progressive.commands.rng import rng
from progressive.commands.signature import signature
from progressive.commands.simulate import simulate
from progressive.commands.up import up
from progressive.commands.user import user
from progressive.commands.witness import witness


class Refused(click.ClickException):
    """Something that the operating system would not do, such as writing to a full disk."""

    exit_code = 2


class Commands(click.Group):
    """The commands; what the operating system refuses is said in a sentence."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - whatever the command gives
        """Run a command."""
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # who reads our output has seen enough, which click passes over in silence
            raise Refused(_sentence(error)) from None


def _sentence(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename else what


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(version("linked-progressive"), prog_name="progressive")
def main() -> None:
    """Run and examine a linked-progressive jackpot controller for table games.

    Exit codes: 0 fine, 1 found a problem, 2 wrong call.
    """


for command in (
    audit, awards, check, demo, device, evaluate, meters, odds, rng, rounds, signature, simulate,
    up, user, witness,
):  # fmt: skip
    main.add_command(command)
