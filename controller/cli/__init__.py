"""The command line: `tpu-node-group`, and `kubectl-tpu`, which is the same program.

Parses, hands over, and turns every failure into one line and an exit code: 0 done, 1 failed, 2 wrong usage or input,
130 interrupted. A command imports its machinery when it is called: help and errors answer at once. Next to nothing is
imported here, so that Ctrl-C in the first moments is met by `main` and not by a traceback.
"""

import os
import sys
import threading


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    code = execute(sys.argv[1:] if arguments is None else arguments)
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        # A call that gets no answer holds its thread, and Python would wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def execute(arguments: list[str]) -> int:
    """Run a command; its exit code. Without arguments: the help."""
    try:
        from controller.cli import program  # noqa: PLC0415 - takes long enough to be interrupted

        return program.execute(arguments)
    except KeyboardInterrupt:
        from controller.cli.errors import INTERRUPTED  # noqa: PLC0415 - its imports can be interrupted too

        return INTERRUPTED
