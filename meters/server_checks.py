"""What a server must be before money is trusted to it: facts asked of it, judged by one table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from redis import Redis, ResponseError

from meters.address import Mode
from meters.binary import SUPPORTED, Release

SLOTS: Final = 16_384
BUSY_MS_MIN: Final = 1_000  # our longest calls take a few milliseconds
BUSY_MS_MAX: Final = 60_000


@dataclass(frozen=True, slots=True)
class Facts:
    """What one server says of itself; a configuration of None was not to be had."""

    node: str
    release: Release
    redis_mode: str
    role: str
    file_written: bool
    functions: bool
    config: Mapping[str, str] | None
    slots_ok: int | None  # of a cluster's slots, how many are served


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is unsafe; what is not acceptable would not even work."""

    code: str
    node: str
    what: str
    remedy: str
    acceptable: bool = True

    def __str__(self) -> str:
        """Write it as one line."""
        return f"{self.node}: {self.what}. Remedy: {self.remedy}."


@dataclass(frozen=True, slots=True)
class _Rule:
    setting: str
    is_safe: Callable[[str], bool]
    code: str
    what: str
    remedy: str


def _is(*values: str) -> Callable[[str], bool]:
    return lambda value: value in values


def _is_sane_threshold(value: str) -> bool:
    return value.isascii() and value.isdigit() and BUSY_MS_MIN <= int(value) <= BUSY_MS_MAX


RULES: Final = (
    _Rule(
        "appendonly", _is("yes"), "append_only_off",
        "it keeps no append-only file, so a restart loses what was acknowledged",
        "set `appendonly yes`",
    ),
    _Rule(
        "appendfsync", _is("always"), "fsync_not_always",
        "it acknowledges before the data is on disk, so a power cut loses money",
        "set `appendfsync always`",
    ),
    _Rule(
        "no-appendfsync-on-rewrite", _is("no"), "fsync_off_on_rewrite",
        "it does not wait for the disk while it rewrites its file",
        "set `no-appendfsync-on-rewrite no`",
    ),
    _Rule(
        "maxmemory-policy", _is("noeviction"), "eviction",
        "it may throw keys away when memory is short, and meters are keys",
        "set `maxmemory-policy noeviction`",
    ),
    _Rule(
        "busy-reply-threshold", _is_sane_threshold, "busy_threshold",
        "its time limit for functions would cut ours short, or never tell of one that hangs",
        f"set `busy-reply-threshold` to {BUSY_MS_MIN} to {BUSY_MS_MAX} milliseconds",
    ),
)  # fmt: skip
SETTINGS_ASKED: Final = tuple(rule.setting for rule in RULES)


def ask_facts(client: Redis, node: str) -> Facts:
    """Ask one server all that is judged."""
    info = _info(client)
    in_cluster = bool(info.get("cluster_enabled"))
    return Facts(
        node=node,
        release=_release(info),
        redis_mode=str(info.get("redis_mode") or info.get("server_mode")),
        role=str(info.get("role")),
        file_written=info.get("aof_last_write_status", "ok") == "ok",
        functions=_has_functions(client),
        config=_config(client),
        slots_ok=_slots_ok(client) if in_cluster else None,
    )


def judge(facts: Facts, mode: Mode) -> list[Problem]:
    """List everything that is wrong with one server, for an address of this mode."""
    if facts.redis_mode == "sentinel":
        return [
            Problem(
                "is_sentinel", facts.node, "it is a Sentinel, which holds no data",
                "write the address as sentinel://host:port/service", acceptable=False,
            )
        ]  # fmt: skip
    return [*_judge_kind(facts, mode), *_judge_settings(facts)]


def _judge_kind(facts: Facts, mode: Mode) -> list[Problem]:
    in_cluster = facts.slots_ok is not None
    lost_slots = in_cluster and facts.slots_ok != SLOTS
    table = (
        (
            not facts.release.supported, "version", f"it is {facts.release}",
            f"use at least {SUPPORTED}", True,
        ),
        (
            facts.role != "master", "replica", "it is a replica and takes no writes",
            "give the primary's address, or let Sentinel name it", False,
        ),
        (
            not facts.functions, "functions_unavailable",
            "functions are missing or forbidden to this user",
            f"use at least {SUPPORTED}, and allow the user FUNCTION and FCALL", False,
        ),
        (
            not facts.file_written, "append_file_broken",
            "it could not write its append-only file the last time it tried",
            "see its log; the disk may be full or failing", True,
        ),
        (
            in_cluster and mode is not Mode.CLUSTER, "is_cluster_node",
            "it is one node of a cluster", "write the address as cluster://host:port", False,
        ),
        (
            lost_slots, "slots_uncovered",
            f"the cluster serves {facts.slots_ok} of its {SLOTS} slots, so some links have no home",
            "assign the missing slots, or bring their primary back", True,
        ),
    )  # fmt: skip
    return [
        Problem(code, facts.node, what, remedy, acceptable)
        for wrong, code, what, remedy, acceptable in table
        if wrong
    ]


def _judge_settings(facts: Facts) -> list[Problem]:
    if facts.config is None:
        return [
            Problem(
                "settings_unknown", facts.node,
                "its settings could not be checked, because CONFIG is forbidden here",
                f"allow the user `CONFIG GET`, or make sure of {', '.join(SETTINGS_ASKED)} by hand "
                "and accept the risk explicitly",
            )
        ]  # fmt: skip
    return [
        Problem(rule.code, facts.node, f"{rule.what} (`{rule.setting} {value}`)", rule.remedy)
        for rule in RULES
        if not rule.is_safe(value := facts.config.get(rule.setting, "unknown"))
    ]


def _info(client: Redis) -> dict[str, Any]:
    info: dict[str, Any] = client.info()
    return info


def _release(info: Mapping[str, Any]) -> Release:
    name = str(info.get("server_name", "redis"))
    if "dragonfly_version" in info:  # it calls itself a Redis, and is none
        name = "dragonfly"
    digits = str(info.get(f"{name}_version", "0")).split("-")[0].split(".")
    major, minor, patch = ([int(each) for each in digits if each.isdigit()] + [0, 0, 0])[:3]
    return Release(name, (major, minor, patch))


def _has_functions(client: Redis) -> bool:
    try:
        client.function_stats()
    except ResponseError:
        return False
    return True


def _config(client: Redis) -> Mapping[str, str] | None:
    try:
        told = client.config_get(*SETTINGS_ASKED)
    except ResponseError:
        return None
    return {str(name): str(value) for name, value in told.items()}


def _slots_ok(client: Redis) -> int:
    told: dict[str, Any] = client.cluster("INFO")
    return int(told["cluster_slots_ok"])
