"""The last resort of a process that was told to stop: it ends in time, whatever does not answer."""

import os
import sys
import threading


def end_within(seconds: float) -> None:
    """From now on the process has so long to end by itself; then it ends with one line and exit code 1."""
    timer = threading.Timer(seconds, _end, [seconds])
    timer.daemon = True
    timer.start()


def _end(seconds: float) -> None:
    # No exception can end a process whose other threads hang, and none may: what is left is a crash like any other.
    sys.stderr.write(f"tpu-node-group: not everything had ended after {seconds:g} s; the process ends all the same\n")
    sys.stderr.flush()
    os._exit(1)
