"""Regular expressions of a query: RE2's syntax, run by Python's `re`, refusing where the two differ."""

import re

from simulator.logging.query.tokens import QueryError

#: Escapes that mean the same in both (with re.ASCII, as RE2's classes are).
_SAME_ESCAPES = frozenset("dDsSwWbBAtnrfv")
_PUNCTUATION = frozenset(r"\.+*?()|[]{}^$/-_:=\"'@%!<>~,;&# ")


def compile_pattern(text: str) -> re.Pattern[str]:
    """The pattern, case-sensitive and not anchored. Raises QueryError where RE2 and `re` may disagree."""
    try:
        return re.compile(_translated(text), re.ASCII)
    except re.error as error:
        raise QueryError(f"the regular expression {text!r} is wrong: {error}") from error


def _translated(text: str) -> str:
    out: list[str] = []
    at, in_class, multiline = 0, False, "(?m" in text
    while at < len(text):
        char = text[at]
        if char == "\\":
            out.append(_escape(text, at))
            at += 2
            continue
        if text.startswith("(?", at) and not in_class:
            _check_group(text, at)
        if char in "*+?}" and text[at + 1 : at + 2] == "+" and not in_class:
            raise QueryError(f"RE2 has no possessive quantifier: {text!r}")
        if char == "[" and not in_class:
            in_class = True
        elif char == "]":
            in_class = False
        # In `re` a dollar also matches before a last newline; in RE2 it does not.
        out.append(r"\Z" if char == "$" and not in_class and not multiline else char)
        at += 1
    return "".join(out)


def _escape(text: str, at: int) -> str:
    code = text[at + 1 : at + 2]
    if code == "z":
        return r"\Z"
    if code in _SAME_ESCAPES or code in _PUNCTUATION:
        return f"\\{code}"
    raise QueryError(f"the escape \\{code} in the regular expression {text!r} is not known here")


def _check_group(text: str, at: int) -> None:
    if not re.match(r"\(\?(:|P<\w+>|[ims]+[:)])", text[at:]):
        raise QueryError(f"{text[at : at + 4]!r} in the regular expression {text!r} is not known here, or not in RE2")
