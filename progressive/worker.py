"""The worker as a process: it takes jobs that are not about money from a queue of its own."""

import os
import sys
from pathlib import Path
from typing import Any, Final

from rq import Queue, Worker

from meters.connect import connect
from progressive import logs
from progressive.data_folder import DataFolder

PROCESS: Final = "worker"
QUEUE: Final = "progressive"


def main(data: str) -> None:
    """Work until told to stop; the server is named in the environment."""
    logs.configure(DataFolder(Path(data)).log_file, PROCESS)
    client: Any = connect(os.environ["PROGRESSIVE_ADDRESS"], decode=False).client
    Worker([Queue(QUEUE, connection=client)], connection=client).work(logging_level="WARNING")


if __name__ == "__main__":
    main(*sys.argv[1:])
