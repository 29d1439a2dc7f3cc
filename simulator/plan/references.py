"""What an argument leads to: the resources that its value comes from, through variables and outputs of modules.

A value that is unknown until apply (the id of a topic, the writer of a sink) is in the plan as references alone. They
are followed here. Locals are not in a plan: a value that goes through one leads nowhere, unless it is known.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, TypeVar

from simulator.plan.resources import Module, Plan, Resource
from simulator.seams import Json

__all__ = ["sources"]

_T = TypeVar("_T", Module, Resource)

_VARIABLE: Final = re.compile(r"var\.([\w-]+)")
_OUTPUT: Final = re.compile(r'module\.([\w-]+)(?:\[("[^"]*"|\d+)\])?(?:\.([\w-]+))?')
_RESOURCE: Final = re.compile(r'(\w+)\.([\w-]+)(?:\[("[^"]*"|\d+)\])?')


def sources(plan: Plan, resource: Resource, *path: str | int) -> list[Resource]:
    """The resources that the argument at `path` refers to, as in `("dead_letter_policy", 0, "dead_letter_topic")`."""
    expression: Any = resource.expressions
    for step in path:
        try:
            expression = expression[step]
        except (KeyError, IndexError, TypeError):
            return []
    found = list(_Trail(plan, resource).follow(expression, resource.module, resource.key))
    return list({each.address: each for each in found}.values())


class _Trail:
    """Follows the references of one argument of one instance."""

    def __init__(self, plan: Plan, resource: Resource) -> None:
        self._plan = plan
        self._resource = resource

    def follow(self, expression: Json, module: Module, key: str | int | None) -> Iterator[Resource]:
        """`key` is each.key (or count.index) where the expression stands."""
        for reference in _longest(expression.get("references", [])):
            if reference.startswith("each.value"):
                yield from self.follow(self._resource.repeated, module, key)
            elif found := _VARIABLE.match(reference):
                yield from self._variable(found[1], module)
            elif found := _OUTPUT.match(reference):
                yield from self._output(found, module, key)
            elif not reference.startswith(("local.", "each.", "count.", "path.", "data.")):
                yield from self._instances(reference, module, key)

    def _variable(self, name: str, module: Module) -> Iterator[Resource]:
        if module.parent is not None:
            expression = module.call.get("expressions", {}).get(name, {})
            yield from self.follow(expression, module.parent, module.key)

    def _output(self, found: re.Match[str], module: Module, key: str | int | None) -> Iterator[Resource]:
        name, index, output = found.groups()
        called = module.configuration.get("module_calls", {}).get(name)
        children = [each for each in self._plan.modules() if each.parent is module and each.call is called]
        for child in _meant(children, index, key):
            outputs = child.configuration.get("outputs", {})
            # Of `module.m[each.key].o` a plan has but `module.m`: which output is meant, it does not say.
            for each in [outputs.get(output, {})] if output else outputs.values():
                yield from self.follow(each.get("expression", {}), child, child.key)

    def _instances(self, reference: str, module: Module, key: str | int | None) -> Iterator[Resource]:
        if found := _RESOURCE.match(reference):
            kind, name, index = found.groups()
            there = [each for each in self._plan.of_type(kind) if each.name == name and each.module is module]
            yield from _meant(there, index, key)


def _meant(there: list[_T], index: str | None, key: str | int | None) -> list[_T]:
    """Of several instances those that a reference means: at its index, else at the key of where it stands, else all."""
    if index is not None:
        return [each for each in there if each.key == json.loads(index)]
    return [each for each in there if key is not None and each.key == key] or there


def _longest(references: list[str]) -> list[str]:
    """A reference comes with all its beginnings: `a.b.id` and `a.b`."""
    return [
        each
        for each in dict.fromkeys(references)
        if not any(other != each and other.startswith((f"{each}.", f"{each}[")) for other in references)
    ]
