"""What could not be read, and why."""


class UnreadError(Exception):
    """`what` names it, `why` is what was said; `code` is the HTTP status, 0 where no answer came."""

    def __init__(self, what: str, why: str, code: int = 0) -> None:
        self.what = what
        self.why = why.rstrip(".")
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
