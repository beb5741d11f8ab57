"""The children of `progressive up`, as a table."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from progressive.data_folder import DataFolder

PYTHON = (sys.executable, "-m")


@dataclass(frozen=True, slots=True)
class Task:
    """What a child runs; only who needs the server is told its address, by the environment."""

    name: str
    command: tuple[str, ...]
    needs_server: bool = True
    told: str = field(default="", repr=False)  # on its standard input: keys are no arguments
    hear: Callable[[dict[str, Any]], None] | None = None  # takes its JSON lines past the log


@dataclass(frozen=True, slots=True)
class Setting:
    """What the children's commands are made of."""

    folder: DataFolder
    listen: tuple[str, int]
    workers: int
    threads: int
    witness_listen: tuple[str, int]
    witness_name: str
    log_keys: Sequence[str]  # public ones
    witnesses: Sequence[str]  # URL=KEY
    behind_tls: bool = False
    has_worker: bool = True  # jobs do not run on a cluster


def children(setting: Setting) -> list[Task]:
    """List the children in the order in which they start; they stop the other way round."""
    data = str(setting.folder.path)
    tasks = [
        Task("witness", _witness(setting), needs_server=False),
        Task("sealer", _sealer(setting)),
    ]
    if setting.has_worker:
        tasks.append(Task("worker", (*PYTHON, "progressive.worker", data)))
    tasks.append(Task("api", _api(setting)))
    return tasks


def _witness(setting: Setting) -> tuple[str, ...]:
    keys = [word for key in setting.log_keys for word in ("--log-key", key)]
    return (
        *(*PYTHON, "progressive", "witness"),
        *("--folder", str(setting.folder.witness)),
        *("--listen", _joined(setting.witness_listen)),
        *("--name", setting.witness_name),
        *keys,
    )


def _sealer(setting: Setting) -> tuple[str, ...]:
    asked = [word for witness in setting.witnesses for word in ("--witness", witness)]
    return (
        *(*PYTHON, "progressive", "audit", "seal"),
        *("--data", str(setting.folder.path)),
        *("--site", str(setting.folder.site_file)),
        *("--key", str(setting.folder.log_key)),
        *asked,
    )


def _api(setting: Setting) -> tuple[str, ...]:
    return (
        *(*PYTHON, "progressive.serve", "--data", str(setting.folder.path)),
        *("--listen", _joined(setting.listen)),
        *("--workers", str(setting.workers), "--threads", str(setting.threads)),
        *(("--behind-tls",) if setting.behind_tls else ()),
    )


def _joined(listen: tuple[str, int]) -> str:
    host = f"[{listen[0]}]" if ":" in listen[0] else listen[0]
    return f"{host}:{listen[1]}"
