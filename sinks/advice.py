"""What went wrong with a call of Google's APIs, in one line for whoever has to mend it."""

from collections.abc import Mapping

from google.api_core import exceptions

#: Types of errors -> what to say. The first row whose types fit is the one; {said} is what the error says.
Advice = Mapping[tuple[type[BaseException], ...], str]


def advise(error: BaseException, advice: Advice, otherwise: str, **names: str) -> str:
    """What failed, on what, what to do. `names` fill the braces of the row besides {said}."""
    template = next((text for types, text in advice.items() if isinstance(error, types)), otherwise)
    text = error.message if isinstance(error, exceptions.GoogleAPICallError) else str(error)
    return template.format(said=" ".join(str(text).split())[:300] or type(error).__name__, **names)
