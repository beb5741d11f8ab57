"""How long the disk takes until data is safe: every acknowledged step waits for it once."""

import math
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BLOCK_BYTES: Final = 4096
SAMPLES_MAX: Final = 48
SPENT_MAX_S: Final = 2.0  # a very slow disk is known as such after fewer samples
MEDIAN_MS_MAX: Final = 10.0


@dataclass(frozen=True, slots=True)
class FsyncMeasure:
    """What one 4 KiB append and its fsync cost."""

    samples: int
    median_ms: float
    p99_ms: float

    @property
    def warning(self) -> str | None:
        """Say that the disk is slow, and what to do, when it is."""
        if self.median_ms <= MEDIAN_MS_MAX:
            return None
        return (
            f"The disk is slow: it takes {self.median_ms:.1f} ms until data is safe "
            f"(99th percentile {self.p99_ms:.1f} ms), and more than {MEDIAN_MS_MAX:.0f} ms is felt "
            "at the tables. Nothing is lost by it. Put the data folder on a local SSD."
        )


def measure_fsync(folder: Path, samples: int = SAMPLES_MAX) -> FsyncMeasure:
    """Append and sync in the folder as the server will, leaving nothing behind."""
    path = folder / "fsync.measure"
    block = os.urandom(BLOCK_BYTES)
    took_ms: list[float] = []
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    try:
        began = time.perf_counter()
        while len(took_ms) < samples and (not took_ms or time.perf_counter() - began < SPENT_MAX_S):
            start = time.perf_counter()
            os.write(handle, block)
            os.fdatasync(handle)
            took_ms.append((time.perf_counter() - start) * 1000)
    finally:
        os.close(handle)
        path.unlink()
    took_ms.sort()
    rank = math.ceil(0.99 * len(took_ms)) - 1
    return FsyncMeasure(len(took_ms), statistics.median(took_ms), took_ms[rank])
