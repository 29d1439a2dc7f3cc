"""Where the disks of machines are kept: a temporary folder that its owner holds locked for as long as it lives.

A killed process cannot remove its folder. The kernel lets go of the lock, so the next one knows what is left over.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_PREFIX: Final = "tpu-node-group-machines-"
_LOCK: Final = ".owner"


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder of this process, for root only, removed on leaving."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


def sweep() -> None:
    """Remove the folders whose owners are gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError), (folder / _LOCK).open("r") as lock:
            # Raises BlockingIOError while its owner lives.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if folder.stat().st_uid == os.geteuid():
                shutil.rmtree(folder)
