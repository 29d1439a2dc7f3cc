"""Parses a query into a tree. NOT binds tightest, then OR, then AND; two comparisons side by side are ANDed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from simulator.logging.query.tokens import Part, QueryError, Token, tokenize

_COMPARISONS = ("=", "!=", ":", "=~", "!~", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Value:
    """The right-hand side of a comparison. A bare `*` after `:` asks whether the field is there."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """`field operator value`; the field as its path."""

    field: tuple[str, ...]
    operator: str
    value: Value


@dataclass(frozen=True, slots=True)
class LogId:
    """`log_id("cloudaudit.googleapis.com/activity")`; the id is not URL-encoded."""

    text: str


@dataclass(frozen=True, slots=True)
class Anywhere:
    """A value on its own: some field of the entry contains it."""

    text: str


@dataclass(frozen=True, slots=True)
class Not:
    """Holds where the item does not."""

    item: "Node"


@dataclass(frozen=True, slots=True)
class AllOf:
    """AND."""

    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """OR."""

    items: tuple["Node", ...]


Node: TypeAlias = Comparison | LogId | Anywhere | Not | AllOf | AnyOf


def parse(query: str) -> Node:
    """The tree of a query; an empty query is an empty AND. Raises QueryError."""
    parser = _Parser(tokenize(query))
    if parser.done():
        return AllOf(())
    tree = parser.conjunction(parser.term)
    if not parser.done():
        raise QueryError(f"unexpected {parser.peek().text!r}: a parenthesis has no partner, or a value needs quotes")
    return tree


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def done(self) -> bool:
        return self._at == len(self._tokens)

    def peek(self) -> Token:
        if self.done():
            raise QueryError("the query ends where a comparison or a value was expected")
        return self._tokens[self._at]

    def _next_is(self, *operators: str) -> bool:
        return not self.done() and self.peek().operator(*operators)

    def _next_is_keyword(self, name: str) -> bool:
        return not self.done() and self.peek().keyword(name)

    def _take(self) -> Token:
        token = self.peek()
        self._at += 1
        return token

    def conjunction(self, term: Callable[[], Node]) -> Node:
        items = [self._disjunction(term)]
        while not self.done() and not self._next_is(")", ","):
            if self._next_is_keyword("AND"):
                self._take()
            items.append(self._disjunction(term))
        return items[0] if len(items) == 1 else AllOf(tuple(items))

    def _disjunction(self, term: Callable[[], Node]) -> Node:
        items = [self._negation(term)]
        while self._next_is_keyword("OR"):
            self._take()
            items.append(self._negation(term))
        return items[0] if len(items) == 1 else AnyOf(tuple(items))

    def _negation(self, term: Callable[[], Node]) -> Node:
        if self._next_is_keyword("NOT") or self._next_is("-"):
            self._take()
            return Not(self._negation(term))
        if self._next_is_keyword("AND") or self._next_is_keyword("OR"):
            raise QueryError(f"{self.peek().text} stands where a comparison was expected")
        if self._next_is("("):
            return self._group(term)
        return term()

    def _group(self, term: Callable[[], Node]) -> Node:
        self._take()
        tree = self.conjunction(term)
        if not self._next_is(")"):
            raise QueryError("a parenthesis is not closed")
        self._take()
        return tree

    def term(self) -> Node:
        """A comparison, a function, or a value on its own."""
        token = self._word("a field, a value or log_id(...)")
        if self._next_is("("):
            return self._function(token)
        if not self._next_is(*_COMPARISONS):
            return Anywhere(_value(token).text)
        return self._comparison(_path(token), self._take().text)

    def _comparison(self, field: tuple[str, ...], operator: str) -> Node:
        def one_value() -> Node:
            return Comparison(field, operator, _value(self._word("a value")))

        return self._group(one_value) if self._next_is("(") else one_value()

    def _function(self, name: Token) -> Node:
        if name.text.lower() != "log_id":
            raise QueryError(f"the function {name.text} is not known here; known is log_id")
        self._take()
        argument = _value(self._word("the log id"))
        if not self._next_is(")"):
            raise QueryError("log_id takes one argument in quotes")
        self._take()
        return LogId(argument.text)

    def _word(self, expected: str) -> Token:
        token = self._take()
        if token.kind != "word":
            raise QueryError(f"{token.text!r} stands where {expected} was expected")
        return token


def _path(token: Token) -> tuple[str, ...]:
    def components(part: Part) -> list[str]:
        return [part.text] if part.quoted else part.text.split(".")

    path = tuple(piece for part in token.parts for piece in components(part))
    if not all(path):
        raise QueryError(f"the field {token.text} has an empty component")
    return path


def _value(token: Token) -> Value:
    if len(token.parts) != 1:
        raise QueryError(f"the value {token.text} must be in double quotes")
    part = token.parts[0]
    # Dots are special characters of text, but not of numbers.
    if not part.quoted and ("." in part.text or part.text[0] in "+-") and not _is_number(part.text):
        raise QueryError(f"the value {part.text} has a special character: write it in double quotes")
    if not part.quoted and part.text == "NULL_VALUE":
        raise QueryError("NULL_VALUE is not known here")
    return Value(part.text, part.quoted)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
