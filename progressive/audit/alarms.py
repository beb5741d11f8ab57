"""Alarms: what somebody has to look into, for as long as it is so, and a log line at each turn."""

import logging
import threading

import msgspec

log = logging.getLogger(__name__)


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong: a stable code, the log and perhaps the witness, and a sentence."""

    code: str
    log: str
    message: str
    about: str = ""


class Alarms:
    """The alarms of a process; raising one twice, or clearing one that is not, changes nothing."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._current: dict[tuple[str, str, str], Alarm] = {}

    @property
    def current(self) -> tuple[Alarm, ...]:
        """Give the alarms that stand now, the oldest first."""
        with self._guard:
            return tuple(self._current.values())

    def raise_(self, alarm: Alarm) -> None:
        """Raise an alarm until it is cleared; it is logged once, and again if its words change."""
        place = (alarm.code, alarm.log, alarm.about)
        with self._guard:
            if self._current.get(place) == alarm:
                return
            self._current[place] = alarm
        log.error("%s", _line("raised", alarm))

    def clear(self, code: str, log_name: str, about: str = "") -> None:
        """Say that it is over."""
        with self._guard:
            alarm = self._current.pop((code, log_name, about), None)
        if alarm:
            log.warning("%s", _line("cleared", alarm))


def _line(turn: str, alarm: Alarm) -> str:
    return msgspec.json.encode({"alarm": turn, **msgspec.structs.asdict(alarm)}).decode()
