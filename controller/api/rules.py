"""CEL rules of the CRDs: what they are made of. Only functions of Kubernetes 1.30's CEL environment may be used.

Every string, list and map that a rule reads must be bounded in the schema, or an API server refuses the CRD for its
estimated cost.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of x-kubernetes-validations. `field_path` says which field below the rule's place is to blame.

    `message_expression` is CEL for a message with the values in it; `message` is used where it cannot be evaluated.
    """

    rule: str
    message: str
    field_path: str = ""
    message_expression: str = ""
    optional_old_self: bool = False

    def to_openapi(self) -> dict[str, Any]:
        """As the CRD has it."""
        entry: dict[str, Any] = {"rule": self.rule, "message": self.message}
        if self.message_expression:
            entry["messageExpression"] = self.message_expression
        if self.field_path:
            entry["fieldPath"] = self.field_path
        if self.optional_old_self:
            entry["optionalOldSelf"] = True
        return entry


def matches(pattern: str, message: str) -> Rule:
    """The string has this form (RE2). Used in place of `pattern`, whose refusal names no way out."""
    return Rule(f"self.matches({quoted(pattern)})", message)


def immutable(field: str, *, required: bool, nested: bool) -> Rule:
    """The field stays as it was created; an optional one may be neither added nor removed.

    Of a nested object only the presence is compared here: its own schema has rules for its fields.
    """
    present = f"has(self.{field}) == has(oldSelf.{field})"
    same = f"self.{field} == oldSelf.{field}"
    if nested:
        rule = present
    elif required:
        rule = same
    else:
        rule = f"{present} && (!has(self.{field}) || {same})"
    return Rule(rule, f"{field} cannot be changed: delete the object and create it anew", f".{field}")


def name_rule(pattern: str, message: str) -> Rule:
    """The object's name has this form. Binds new objects only: an old one must still take finalizers and status."""
    return Rule(f"oldSelf.hasValue() || self.metadata.name.matches({quoted(pattern)})", message, optional_old_self=True)


def quoted(text: str) -> str:
    """A CEL string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def quoted_list(items: tuple[str, ...]) -> str:
    """A CEL list of string literals."""
    return f"[{', '.join(quoted(item) for item in items)}]"
