"""Which exceptions may stay behind a Failure: a logged traceback prints the whole chain, and no token may be in it."""

from controller.core.redaction import redacted


def cause_of(error: BaseException) -> BaseException | None:
    """The error, to raise a Failure from; None where it, or what it came from, quotes what looks like a token."""
    link: BaseException | None = error
    while link is not None:
        text = str(link)
        if redacted(text) != text:
            return None
        link = link.__cause__ or link.__context__
    return error
