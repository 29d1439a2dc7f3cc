"""What could not be read, and why."""

from typing import Final

#: Characters of a reason: it may quote whatever a server sent.
_MOST: Final = 400


class UnreadError(Exception):
    """`what` names it, `why` is what was said; `code` is the HTTP status, 0 where no answer came."""

    def __init__(self, what: str, why: str, code: int = 0) -> None:
        self.what = what
        self.why = _line(why.rstrip("."))
        self.code = code
        super().__init__(f"{what}: {self.why}")

    @property
    def unauthenticated(self) -> bool:
        """Whoever asks could not say who it is: the matter of the check of credentials."""
        return self.code == 401

    @property
    def absent(self) -> bool:
        """It is not there."""
        return self.code == 404

    @property
    def forbidden(self) -> bool:
        """The caller may not read it: that says nothing about how it is."""
        return self.code == 403


def _line(why: str) -> str:
    """One line of what can be printed: a terminal obeys some of the rest."""
    said = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in " ".join(why.split()))
    return said if len(said) <= _MOST else f"{said[:_MOST]} ..."
