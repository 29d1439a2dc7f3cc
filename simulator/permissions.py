"""What the operator's service account may do in Google Cloud: the custom role that Terraform gives it, editable.

Whoever calls without credentials is the operator, since its clients reach a stand-in so; whoever names a principal of
its own is a user of the project, who may do everything.
"""

import json
from collections.abc import Iterable
from typing import Final

from controller.api.shipped import shipped
from simulator.callers import ANONYMOUS

__all__ = ["ACT_AS", "Role", "UnknownPermissionError", "role_permissions"]

#: Not of the role: it is granted on the nodes' service account alone.
ACT_AS: Final = "iam.serviceAccounts.actAs"


class UnknownPermissionError(ValueError):
    """A permission that the operator never had. The message says which there are."""


def role_permissions() -> tuple[str, ...]:
    """The permissions of the custom role, as terraform/modules/controller-identity has them."""
    return tuple(json.loads(shipped("terraform/modules/controller-identity/permissions.json")))


class Role:
    """The permissions of the operator's account; `set` takes one away or gives it back."""

    def __init__(self, permissions: Iterable[str], *, act_as: bool = True) -> None:
        self._all = frozenset({*permissions, ACT_AS})
        self._held = set(self._all if act_as else self._all - {ACT_AS})

    def allows(self, principal: str, permission: str) -> bool:
        """Whether this caller has it."""
        return principal != ANONYMOUS or permission in self._held

    def set(self, permission: str, *, granted: bool) -> None:
        """Raises UnknownPermissionError for one that is none of the role's."""
        if permission not in self._all:
            raise UnknownPermissionError(f"{permission!r} is none of the operator's: {', '.join(sorted(self._all))}")
        if granted:
            self._held.add(permission)
        else:
            self._held.discard(permission)

    def shown(self) -> dict[str, list[str]]:
        """`granted` and `taken`, sorted."""
        return {"granted": sorted(self._held), "taken": sorted(self._all - self._held)}
