"""Cuts a query into tokens. Knows nothing of grammar or of log entries."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

#: Of one query, comments included.
MAX_LENGTH = 20_000

_SPACE = re.compile(r"\s+")
_COMMENT = re.compile(r"--[^\n]*")
_OPERATOR = re.compile(r"=~|!~|!=|<=|>=|[=<>:(),]")
_BARE = re.compile(r"[^\s\"'=~!<>:(),]+")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[0-7]{3}|.)", re.DOTALL)
_SIMPLE_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", '"': '"', "\\": "\\"}


class QueryError(ValueError):
    """The query is wrong, or uses what the simulator does not know. The message says where and what to write."""


@dataclass(frozen=True, slots=True)
class Part:
    """One component of a word: as in `labels."a/b"`, which has two."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Token:
    """An operator (`text` is it, no parts) or a word: a field path, a value, a keyword or a function's name."""

    kind: Literal["operator", "word"]
    text: str
    parts: tuple[Part, ...] = ()

    def keyword(self, name: str) -> bool:
        """Whether this is the bare, upper-case keyword: `and` in lower case is a search term."""
        return self.kind == "word" and self.text == name and not self.parts[0].quoted

    def operator(self, *names: str) -> bool:
        """Whether this is one of these operators."""
        return self.kind == "operator" and self.text in names


def tokenize(query: str) -> list[Token]:
    """All tokens, comments dropped. Raises QueryError."""
    if len(query) > MAX_LENGTH:
        raise QueryError(f"the query has {len(query)} characters; Cloud Logging takes at most {MAX_LENGTH}")
    return list(_tokens(query))


def _tokens(query: str) -> Iterator[Token]:
    at = 0
    while at < len(query):
        if found := _SPACE.match(query, at) or _COMMENT.match(query, at):
            at = found.end()
        elif found := _OPERATOR.match(query, at):
            yield Token("operator", found.group())
            at = found.end()
        elif query[at] == "-" and at + 1 < len(query) and not query[at + 1].isdigit():
            yield Token("operator", "-")
            at += 1
        else:
            token, at = _word(query, at)
            yield token


def _word(query: str, start: int) -> tuple[Token, int]:
    """A run of bare text and quoted strings that dots join."""
    parts: list[Part] = []
    at = start
    while at < len(query):
        if found := _QUOTED.match(query, at):
            parts.append(Part(_ESCAPE.sub(_unescape, found.group(1)), quoted=True))
        elif found := _BARE.match(query, at):
            bare = found.group()
            pieces = bare.split(".") if parts or query[found.end() : found.end() + 1] == '"' else [bare]
            parts += [Part(piece, quoted=False) for piece in pieces if piece]
        else:
            break
        at = found.end()
        # A quoted component goes on only after a dot.
        if parts[-1].quoted and query[at : at + 1] != ".":
            break
        if not parts[-1].quoted and not (query[at - 1] == "." and query[at : at + 1] == '"'):
            break
    if not parts:
        raise QueryError(f"cannot read the query at {query[start : start + 20]!r} (character {start})")
    return Token("word", query[start:at], tuple(parts)), at


def _unescape(found: re.Match[str]) -> str:
    code = found.group(1)
    if code in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[code]
    if code[0] in "ux" and len(code) > 1:
        return chr(int(code[1:], 16))
    if len(code) == 3:
        return chr(int(code, 8))
    raise QueryError(rf"unknown escape sequence \{code} in a string; write \\{code} for a backslash before {code!r}")
