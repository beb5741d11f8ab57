"""HOST:PORT on the command line."""

import click


class ListenAddress(click.ParamType[tuple[str, int]]):
    """An address to listen on."""

    name = "host:port"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Read the address, or say why it is none."""
        host, _, port = str(value).rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            self.fail(
                f"{value} is not an address; write HOST:PORT, such as 127.0.0.1:8080", param, ctx
            )
        return host.strip("[]"), int(port)
