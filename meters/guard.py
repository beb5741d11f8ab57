"""Becomes the server, or another program, after asking the kernel to stop it when its starter dies.

A program of its own between starter and server, because the usual place for this (code that runs
in the forked child) can deadlock in a process that has threads. Uses the standard library only.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>


def main(starter: str, binary: str, *arguments: str) -> None:
    """Ask for SIGTERM at the starter's death, make sure it still lives, and become the program."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # a mask is inherited and would hide SIGTERM
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0):
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != int(starter):
        sys.exit("the starter is gone")
    os.execv(binary, [binary, *arguments])  # noqa: S606  it is the program that the starter named


if __name__ == "__main__":
    main(*sys.argv[1:])
