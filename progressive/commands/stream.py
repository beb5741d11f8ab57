"""A file named on the command line, where `-` is a standard stream, which may be closed."""

from typing import IO, Any

import click

CLOSED = "standard input or output is closed, and no file is named instead"


class Stream(click.File):
    """A file as an option or argument; a closed standard stream is a wrong call."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> IO[Any]:
        """Open it."""
        try:
            return super().convert(value, param, ctx)
        except RuntimeError:  # what click says of a stream that the caller closed
            self.fail(CLOSED, param, ctx)
