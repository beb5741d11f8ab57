"""The command line: `progressive`, one command a module."""

from importlib.metadata import version

import click

from progressive.commands.check import check
from progressive.commands.demo import demo
from progressive.commands.evaluate import evaluate
from progressive.commands.odds import odds
from progressive.commands.witness import witness


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version("linked-progressive"), prog_name="progressive")
def main() -> None:
    """Run and examine a linked-progressive jackpot controller for table games.

    Exit codes: 0 fine, 1 found a problem, 2 wrong call.
    """


for command in (check, demo, evaluate, odds, witness):
    main.add_command(command)
