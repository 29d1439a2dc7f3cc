"""Who this process is when nobody says so: a name that no other process bears, and that tells whether it still lives.

Two replicas that share a name would both lead. So the default is the host, its PID namespace and the PID; in a Pod,
name it after the Pod, and a restarted container has its Lease back at once.
"""

import os
import re
import socket
from pathlib import Path
from typing import Final

_FORM: Final = re.compile(r"(?P<home>.+_\d+)_(?P<pid>\d+)")


def default_identity() -> str:
    """`<host>_<PID namespace>_<PID>`."""
    return f"{_home()}_{os.getpid()}"


def is_dead(identity: str) -> bool:
    """Whether an identity is the default one of a process of this host and namespace that has ended.

    False whenever that cannot be told: then its Lease must run out.
    """
    match = _FORM.fullmatch(identity)
    if match is None or match["home"] != _home():
        return False
    return not Path("/proc", match["pid"]).exists()


def _home() -> str:
    """The host, and which of its PID namespaces this is (0 where the system does not tell)."""
    try:
        namespace = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        namespace = ""
    return f"{socket.gethostname()}_{re.sub('[^0-9]', '', namespace) or 0}"
