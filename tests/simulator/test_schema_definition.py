"""A CRD that an API server would refuse is refused when it is created, with its place and the reason."""

from typing import Any

import pytest

from simulator.kube.schema import SchemaError, StructuralSchema

Json = dict[str, Any]


def _root(spec: Json) -> Json:
    return {"type": "object", "properties": {"spec": {"type": "object", **spec}}}


def _with_rule(**rule: Any) -> Json:
    fields = {"a": {"type": "string"}, "m": {"type": "object", "additionalProperties": {"type": "string"}}}
    return _root({"properties": fields, "x-kubernetes-validations": [{"message": "no", **rule}]})


_RULE = "openAPIV3Schema.properties[spec].x-kubernetes-validations[0]"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"rule": "self.b == 'x'"}, f"{_RULE}.rule: compilation failed: undefined field 'b'"),
        ({"rule": "self.a == oldSelf.c"}, f"{_RULE}.rule: compilation failed: undefined field 'c'"),
        ({"rule": "selv.a == 'x'"}, f"{_RULE}.rule: compilation failed: undeclared reference to 'selv'"),
        ({"rule": "self.a.shout() == 'X'"}, f"{_RULE}.rule: compilation failed: undeclared reference to 'shout'"),
        ({"rule": " "}, f"{_RULE}.rule: Required value: rule is not specified"),
        ({"rule": "self.a ==\n'x'", "message": ""}, f"{_RULE}.message: must be specified if rule contains line breaks"),
        (
            {"rule": "self.a == 'x'", "optionalOldSelf": True},
            f"{_RULE}.optionalOldSelf: may not be set if oldSelf is not used in rule",
        ),
        (
            {"rule": "self.a == 'x'", "fieldPath": ".b"},
            f"{_RULE}.fieldPath: '.b' does not refer to a valid field",
        ),
        (
            {"rule": "self.a == 'x'", "reason": "Because"},
            (
                f"{_RULE}.reason: 'Because' is not one of FieldValueInvalid, FieldValueForbidden, FieldValueRequired, "
                "FieldValueDuplicate"
            ),
        ),
        ({"rule": "self.a == 'x'", "severity": 1}, f"{_RULE}: unknown field 'severity'"),
        (
            {"rule": "self.a == 'x'", "messageExpression": "self.z"},
            f"{_RULE}.messageExpression: compilation failed: undefined field 'z'",
        ),
    ],
)
def test_a_rule_that_is_wrong(rule: Json, message: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        StructuralSchema(_with_rule(**rule))
    assert str(refusal.value) == message


def test_a_rule_that_is_no_cel() -> None:
    with pytest.raises(SchemaError, match="compilation failed: Failed to parse expression"):
        StructuralSchema(_with_rule(rule="self.a == "))


@pytest.mark.parametrize(
    "rule",
    [
        "self.a == 'self.b'",
        "self.m.all(key, self.m[key].size() > 0)",
        "!has(self.m) || !('x' in self.m)",
        "self.a.split('x').exists(side, int(side) > 1)",
        "self.a.matches('^[a-z]+$') && self.m.size() < 3",
    ],
)
def test_a_rule_that_is_right(rule: str) -> None:
    StructuralSchema(_with_rule(rule=rule))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"properties": {"a": {}}}, ".properties[a].type: None is not one of"),
        ({"properties": {"a": {"type": "text"}}}, ".properties[a].type: 'text' is not one of"),
        ({"oneOf": []}, ".oneOf: this API server does not know the keyword"),
        ({"properties": {"a": {"type": "array"}}}, ".properties[a].items: Required value"),
        (
            {"properties": {"a": {"type": "string", "format": "ipv9"}}},
            ".properties[a].format: this API server does not",
        ),
        ({"properties": {"a": {"type": "string", "pattern": "("}}}, ".properties[a].pattern: '(' is not a regular"),
        (
            {"properties": {}, "additionalProperties": {"type": "string"}},
            ".additionalProperties: must not be used together with properties",
        ),
    ],
)
def test_a_schema_that_is_wrong(spec: Json, message: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        StructuralSchema(_root(spec))
    assert message in str(refusal.value)
