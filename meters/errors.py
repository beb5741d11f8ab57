"""Refusals: the caller's fault, nothing was written; defects: ours."""

from collections.abc import Mapping
from typing import Any

import msgspec


class Refused(Exception):  # noqa: N818 - a refusal is an answer, not a fault of the program
    """A step that was refused and changed nothing; `code` is stable, `detail` is for programs."""

    def __init__(self, code: str, message: str, detail: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.detail = dict(detail or {})


class Defect(Exception):  # noqa: N818 - named for what it is
    """The function library itself failed; the link is closed until it has been audited."""


class _Refusal(msgspec.Struct):
    code: str
    message: str
    detail: dict[str, Any] = {}


def from_reply(text: str) -> Exception | None:
    """Turn an error reply of the function library into its exception, or None if it is not one."""
    kind, _, rest = text.partition(" ")
    if kind == "REFUSED":
        return from_refusal(rest)
    if kind == "DEFECT":
        return Defect(rest)
    return None


def from_refusal(body: str) -> Refused:
    """Read a refusal as the function library writes it."""
    refusal = msgspec.json.decode(body, type=_Refusal)
    return Refused(refusal.code, refusal.message, refusal.detail)
