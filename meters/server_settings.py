"""The settings that the embedded server runs with, as a table and as its configuration file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from meters.binary import Release, Version

EVERY: Final[Version] = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, and since which version each server knows it; a server not named does not."""

    name: str
    value: str
    valkey: Version | None = EVERY
    redis: Version | None = EVERY

    def known_to(self, release: Release) -> bool:
        """Tell whether this server would take the setting."""
        since = {"valkey": self.valkey, "redis": self.redis}.get(release.name)
        return since is not None and release.version >= since


SETTINGS: Final = (
    # A reply means that it is on disk, also while the file is being rewritten.
    Setting("appendonly", "yes"),
    Setting("appendfsync", "always"),
    Setting("no-appendfsync-on-rewrite", "no"),
    Setting("save", '""'),  # the append-only file is the one truth
    # A torn last call was never acknowledged and is dropped as a whole. Servers that could bring
    # half of it back have the file rewritten at every start.
    Setting("aof-load-truncated", "yes"),
    # Money is never evicted.
    Setting("maxmemory", "0"),
    Setting("maxmemory-policy", "noeviction"),
    # Nobody but this user, and no way around the functions.
    Setting("protected-mode", "yes"),
    Setting("bind", "127.0.0.1"),
    Setting("unixsocketperm", "700"),
    Setting("enable-debug-command", "no"),
    Setting("enable-module-command", "no"),
    Setting("enable-protected-configs", "no"),
    Setting("lua-enable-insecure-api", "no", valkey=(9, 0, 0), redis=None),
    # The owner starts, stops and watches it.
    Setting("daemonize", "no"),
    Setting("supervised", "no"),
    Setting("logfile", '""'),
    Setting("loglevel", "notice"),
    Setting("crash-log-enabled", "yes"),
    # An end that is refused has named the secret of a cycle that stays open: no record of calls.
    Setting("slowlog-log-slower-than", "-1"),
    Setting("commandlog-request-larger-than", "-1", valkey=(8, 1, 0), redis=None),
    Setting("commandlog-reply-larger-than", "-1", valkey=(8, 1, 0), redis=None),
    Setting("hide-user-data-from-log", "yes", valkey=(8, 0, 0), redis=(7, 4, 0)),
    Setting("busy-reply-threshold", "5000"),
)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def config_text(
    release: Release, folder: Path, socket: Path, *, port: int | None, password: str | None
) -> str:
    """Write the configuration file, leaving out what this server does not know."""
    lines = [
        "# Written anew at every start: changes made here are lost.",
        f"dir {_quoted(str(folder))}",
        f"unixsocket {_quoted(str(socket))}",
        f"port {port or 0}",
        *([f"requirepass {_quoted(password)}"] if password else []),
        *(f"{each.name} {each.value}" for each in SETTINGS if each.known_to(release)),
    ]
    return "\n".join(lines) + "\n"
