"""The one log: a JSON object a line, from every process, never with anything secret in it."""

import datetime as dt
import json
import logging
import os
import traceback
from pathlib import Path
from typing import Any, Final

# What a line may say besides its message; whatever else a record carries stays out of the log.
FIELDS: Final = (
    "request",
    "route",
    "status",
    "code",
    "device",
    "person",
    "table",
    "round",
    "took_ms",
    "error",
)
SIZE_MAX: Final = 64 * 1024 * 1024
KEPT: Final = 9  # older files beside the present one
MODE: Final = 0o600


def line(process: str, level: str, message: str, **fields: Any) -> str:  # noqa: ANN401 - JSON values
    """Write one line of the log."""
    now = dt.datetime.now(dt.UTC)
    return _joined(now, level, process, message, fields)


def _joined(
    when: dt.datetime, level: str, process: str, message: str, fields: dict[str, Any]
) -> str:
    time = when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    said = {"time": time, "level": level.lower(), "process": process, "message": message}
    said |= {name: value for name, value in fields.items() if value not in (None, "")}
    return json.dumps(said, ensure_ascii=False, default=str, separators=(",", ":"))


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object; of an exception its type and place, not its words.

    An exception's words may quote what was being read: a body, a key, a password.
    """

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        """Write the line."""
        when = dt.datetime.fromtimestamp(record.created, dt.UTC)
        fields = {name: getattr(record, name, None) for name in FIELDS}
        if record.exc_info and record.exc_info[0]:
            fields["error"] = fields["error"] or record.exc_info[0].__name__
            fields["at"] = [
                f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
                for frame in traceback.extract_tb(record.exc_info[2])
            ]
        return _joined(when, record.levelname, self._process, record.getMessage(), fields)


class LogFile(logging.Handler):
    """Appends whole lines to a file that many processes share, and follows it when it is rotated.

    A line is one write at the file's end, so lines of two processes never mix.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file = -1
        self._inode = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record's line."""
        try:
            self.write(self.format(record))
        except Exception:  # noqa: BLE001 - a full disk must not stop a wager
            self.handleError(record)

    def write(self, text: str) -> None:
        """Write a line."""
        self.acquire()
        try:
            self._follow()
            os.write(self._file, f"{text}\n".encode(errors="replace"))
        finally:
            self.release()

    def _follow(self) -> None:
        try:
            if self._file >= 0 and self._path.stat().st_ino == self._inode:
                return
        except FileNotFoundError:
            pass
        self._drop()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._file = os.open(self._path, flags, MODE)
        self._inode = os.fstat(self._file).st_ino

    def _drop(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def close(self) -> None:
        """Let go of the file."""
        self._drop()
        super().close()


def configure(path: Path, process: str) -> LogFile:
    """Send what this process logs to the one log, and nowhere else."""
    handler = LogFile(path)
    handler.setFormatter(JsonLines(process))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.captureWarnings(capture=True)
    return handler


def rotate(path: Path, size_max: int = SIZE_MAX, kept: int = KEPT) -> bool:
    """Put a full file aside; one process alone may do this, the others follow."""
    try:
        if path.stat().st_size < size_max:
            return False
    except FileNotFoundError:
        return False
    for number in range(kept, 0, -1):
        older = _numbered(path, number - 1)
        if older.exists():
            older.replace(_numbered(path, number))
    return True


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}") if number else path
