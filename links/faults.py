"""A bad network, by chance: what is lost, repeated, delayed, or comes out of order."""

import random
import time
from dataclasses import dataclass

from links.http import Answer, Line, LostError, Request

KEPT = 4  # old requests of which one may turn up again


@dataclass(frozen=True, slots=True)
class Faults:
    """How often each fault happens, as parts of one."""

    loss: float = 0.0  # half of them lose the request, half the answer
    repeat: float = 0.0
    reorder: float = 0.0  # an old request arrives again, after newer ones
    delay: float = 0.0
    delay_s: float = 0.02


class FaultyLine:
    """A line that does to requests what a bad network does; one seed, one course of faults."""

    def __init__(self, line: Line, faults: Faults, rng: random.Random) -> None:
        self._line = line
        self._faults = faults
        self._rng = rng
        self._old: list[Request] = []
        self.lost = self.repeated = self.reordered = 0

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    def send(self, request: Request) -> Answer:
        """Send a request, if nothing happens to it."""
        chances = [self._rng.random() for _ in range(5)]  # as many each time: faults stay apart
        if chances[0] < self._faults.delay:
            time.sleep(self._faults.delay_s)
        if chances[1] < self._faults.loss / 2:
            self.lost += 1
            raise LostError(f"{request.path}: the request was lost")
        answer = self._line.send(request)
        if chances[2] < self._faults.repeat:
            self.repeated += 1
            answer = self._line.send(request)
        if chances[3] < self._faults.reorder and self._old:
            self.reordered += 1
            self._line.send(self._rng.choice(self._old))
        self._old = [*self._old[1 - KEPT :], request]
        if chances[4] < self._faults.loss / 2:
            self.lost += 1
            raise LostError(f"{request.path}: the answer was lost")
        return answer
