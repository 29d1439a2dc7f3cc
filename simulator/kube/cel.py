"""CEL rules of a CustomResourceDefinition (`x-kubernetes-validations`): compiled once, evaluated on each write.

An API server checks rules by type when the CRD is created; the library does not. So names are checked here: a rule
that reads an unknown variable, field or function is refused with the CRD, not found wrong by the first user.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import cel

from simulator.kube.cel_functions import EXTENSIONS, STANDARD
from simulator.kube.schema_errors import FieldError, SchemaError, invalid
from simulator.seams import Json

#: How an API server prints the path of the whole object.
ROOT: Final = "<nil>"
#: Tells whether a path of field names exists in the schema that `self` has.
KnowsField = Callable[[list[str]], bool]

_BOUND: Final = re.compile(r"\.(?:all|exists|exists_one|map|filter)\(\s*(\w+)\s*,")
_FIELD: Final = re.compile(r"\b(?:self|oldSelf)((?:\.\w+)+)(\()?")
_STRING: Final = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"")
_KEYS: Final = frozenset({"rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf"})
_REASONS: Final = {
    "FieldValueInvalid": "Invalid value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `transition` means that it reads oldSelf; `optional` that it also runs where there is none."""

    program: cel.Program
    message: str
    message_program: cel.Program | None
    field_path: str
    reason: str
    transition: bool
    optional: bool


def compile_rules(raw: Iterable[Json], path: str, knows: KnowsField) -> tuple[Rule, ...]:
    """Compile the rules of one schema; raises SchemaError naming the rule's place in the CRD."""
    return tuple(_compile_rule(rule, f"{path}.x-kubernetes-validations[{i}]", knows) for i, rule in enumerate(raw))


def _compile_rule(raw: Json, path: str, knows: KnowsField) -> Rule:
    if unknown := sorted(set(raw) - _KEYS):
        raise SchemaError(f"{path}: unknown field {unknown[0]!r}")
    reason = raw.get("reason", "FieldValueInvalid")
    if reason not in _REASONS:
        raise SchemaError(f"{path}.reason: {reason!r} is not one of {', '.join(_REASONS)}")
    text = str(raw.get("rule", ""))
    program = _compile(text, f"{path}.rule", knows)
    expression = raw.get("messageExpression")
    if "\n" in text and not raw.get("message"):
        raise SchemaError(f"{path}.message: must be specified if rule contains line breaks")
    transition = "oldSelf" in program.variables()
    optional = bool(raw.get("optionalOldSelf", False))
    if optional and not transition:
        raise SchemaError(f"{path}.optionalOldSelf: may not be set if oldSelf is not used in rule")
    field_path = str(raw.get("fieldPath", ""))
    if field_path and not knows(field_path.strip(".").split(".")):
        raise SchemaError(f"{path}.fieldPath: {field_path!r} does not refer to a valid field")
    return Rule(
        program=program,
        message=str(raw.get("message", f"failed rule: {text}")),
        message_program=_compile(expression, f"{path}.messageExpression", knows) if expression else None,
        field_path=field_path if field_path.startswith(".") or not field_path else f".{field_path}",
        reason=reason,
        transition=transition,
        optional=optional,
    )


def _compile(text: str, path: str, knows: KnowsField) -> cel.Program:
    if not text.strip():
        raise SchemaError(f"{path}: Required value: rule is not specified")
    try:
        program = cel.compile(text)
    except ValueError as error:
        raise SchemaError(f"{path}: compilation failed: {error}") from error
    bare = _STRING.sub("''", text)
    if strange := set(program.variables()) - {"self", "oldSelf"} - set(_BOUND.findall(bare)):
        raise SchemaError(f"{path}: compilation failed: undeclared reference to {min(strange)!r}")
    called = {name for name in program.functions() if name.isidentifier()}
    if strange := called - STANDARD - set(EXTENSIONS):
        raise SchemaError(f"{path}: compilation failed: undeclared reference to {min(strange)!r}")
    for names, call in _FIELD.findall(bare):
        fields = names.strip(".").split(".")
        if not knows(fields[:-1] if call else fields):
            raise SchemaError(f"{path}: compilation failed: undefined field '{names.strip('.')}'")
    return program


class Scope:
    """One value (and its old one, if there is one) under the rules of its schema; converted for CEL only once."""

    __slots__ = ("_has_old", "_optional", "_plain", "_values")

    def __init__(self, new: Any, old: Any | None) -> None:
        self._has_old = old is not None
        self._values = (new, old)
        self._plain: cel.Context | None = None
        self._optional: cel.Context | None = None

    def failures(self, rules: Iterable[Rule], path: str, type_: str, *, unchanged: bool) -> Iterable[FieldError]:
        """The rules that do not hold. A rule without oldSelf is not asked again of an unchanged value (ratcheting)."""
        for rule in rules:
            if rule.transition and not self._has_old and not rule.optional:
                continue
            if unchanged and not rule.transition:
                continue
            error = self._failure(rule, path, type_)
            if error is not None:
                yield error

    def _failure(self, rule: Rule, path: str, type_: str) -> FieldError | None:
        context = self._optional_context() if rule.optional else self._context()
        try:
            if rule.program.execute(context) is True:
                return None
        except KeyError as error:
            return invalid(path or ROOT, type_, f"no such key: {error.args[0]} evaluating rule: {rule.message}")
        except Exception as error:  # noqa: BLE001 - whatever the library raises, the rule did not hold
            return invalid(path or ROOT, type_, f"{error} evaluating rule: {rule.message}")
        message = self._message(rule)
        value = "" if rule.reason in {"FieldValueForbidden", "FieldValueRequired"} else f': "{type_}"'
        place = (path + rule.field_path).lstrip(".") or ROOT
        return FieldError(place, f"{_REASONS[rule.reason]}{value}: {message}", rule.reason)

    def _message(self, rule: Rule) -> str:
        if rule.message_program is None:
            return rule.message
        try:
            text = rule.message_program.execute(self._context())
        except Exception:  # noqa: BLE001 - an API server falls back to the fixed message too
            return rule.message
        return text if isinstance(text, str) and text.strip() and "\n" not in text else rule.message

    def _context(self) -> cel.Context:
        if self._plain is None:
            new, old = self._values
            variables = {"self": new, "oldSelf": old} if self._has_old else {"self": new}
            self._plain = cel.Context(variables=variables, functions=EXTENSIONS)
        return self._plain

    def _optional_context(self) -> cel.Context:
        if self._optional is None:
            new, old = self._values
            wrapped = cel.OptionalValue.of(old) if self._has_old else cel.OptionalValue.none()
            self._optional = cel.Context(variables={"self": new, "oldSelf": wrapped}, functions=EXTENSIONS)
        return self._optional
