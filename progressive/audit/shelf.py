"""The sealed logs of a data folder, as those who answer questions about the past open them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from progressive.audit import log_key
from progressive.audit.folder import LogFolder
from progressive.audit.history import History
from progressive.audit.index_file import index_file


class NotSealed(Exception):  # noqa: N818 - it is the log that is not sealed
    """There is no such log, or nothing of it is sealed yet."""


class Shelf:
    """Finds the logs by the names of their journals; each is opened for one question."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self) -> list[str]:
        """List the logs that hold something."""
        return sorted(found.parent.name for found in self._path.glob("*/checkpoint"))

    @contextmanager
    def log(self, name: str) -> Iterator[LogFolder]:
        """Open a log at its latest checkpoint."""
        if name not in self.names():
            raise NotSealed(f"nothing of {name} is sealed yet")
        folder = self._path / name
        with LogFolder(folder, log_key.published(folder)) as found:
            yield found

    @contextmanager
    def history(self, link: str) -> Iterator[History]:
        """Open what the index tells of a link."""
        path = index_file(self._path / link)
        if not path.exists():
            raise NotSealed(f"there is no index of {link} yet")
        found = History.open(path)
        try:
            yield found
        finally:
            found.close()
