"""Functions of a Kubernetes API server's CEL environment that the CEL library lacks.

Only those that our rules use: a rule that calls anything else is refused when its CRD is created. Each works as the
one of the same name in k8s.io/apiserver/pkg/cel (Kubernetes >= 1.30).
"""

from collections.abc import Callable
from typing import Any, Final


def _split(text: str, separator: str) -> list[str]:
    return text.split(separator)


def _replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new)


EXTENSIONS: Final[dict[str, Callable[..., Any]]] = {"split": _split, "replace": _replace}

#: The standard functions and macros, as the library names them, that both it and an API server have.
STANDARD: Final = frozenset(
    {
        "all", "contains", "double", "endsWith", "exists", "exists_one", "filter", "has", "hasValue", "int", "map",
        "matches", "orValue", "size", "startsWith", "string", "value",
    }
)  # fmt: skip
