"""Files that belong to an installation and that the simulated world goes by: the very text that users apply."""

from pathlib import Path

__all__ = ["shipped"]

_ROOT = Path(__file__).parents[1]


def shipped(path: str) -> str:
    """A file by its path in the repository: the copy in the installed package, else the checkout's."""
    packaged = Path(__file__).with_name("shipped") / Path(path).name
    return (packaged if packaged.exists() else _ROOT / path).read_text(encoding="utf-8")
