"""What can go wrong around a server: one error, told apart by stable codes."""

from enum import StrEnum


class Fault(StrEnum):
    """The stable codes; a person reads the message, a program reads these."""

    BINARY_MISSING = "binary_missing"
    BINARY_UNSUITABLE = "binary_unsuitable"
    FOLDER_UNUSABLE = "folder_unusable"
    FOLDER_LOCKED = "folder_locked"
    ALREADY_STARTED = "already_started"
    NOT_RUNNING = "not_running"
    NOT_UP = "not_up"
    ADDRESS_INVALID = "address_invalid"
    UNREACHABLE = "unreachable"
    UNSAFE = "unsafe"


class ServerError(RuntimeError):
    """A server that cannot be had; the message says what happened and what to do."""

    def __init__(self, code: Fault, message: str) -> None:
        super().__init__(message)
        self.code = code
