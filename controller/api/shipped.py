"""Files that belong to an installation, the very text that users apply: roles, permissions, the filter of the sink.

What the simulated world enforces, what doctor holds an installation to and what is applied cannot differ.
"""

from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[2]


def shipped(path: str) -> str:
    """A file by its path in the repository: the copy in the installed package, else the checkout's."""
    packaged = Path(__file__).with_name("shipped") / Path(path).name
    return (packaged if packaged.exists() else _ROOT / path).read_text(encoding="utf-8")
