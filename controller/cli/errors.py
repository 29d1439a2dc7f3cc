"""How a command fails: one line for people on stderr, and an exit code."""

import sys
from typing import Final

#: Something that was asked for could not be done.
FAILED: Final = 1
#: The question itself was wrong: usage, settings, a file that cannot be read.
WRONG_INPUT: Final = 2
#: Ended by Ctrl-C, as shells count it.
INTERRUPTED: Final = 130


class CommandError(Exception):
    """Ends a command. Each of `lines` says what happened, to what, and what to do next."""

    def __init__(self, *lines: str, code: int = WRONG_INPUT) -> None:
        self.lines = lines
        self.code = code
        super().__init__(*lines)


def complain(line: str) -> None:
    """One line on stderr, with the program's name before it, as Unix tools do."""
    print(f"tpu-node-group: {line}", file=sys.stderr)  # noqa: T201 - the command line's own voice
