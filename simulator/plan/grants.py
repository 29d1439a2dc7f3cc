"""Who has which role on what, in a plan. Members are known by what they are: a sink's writer, a service account."""

import re
from typing import Final

from simulator.plan.references import sources
from simulator.plan.resources import Plan, Resource

__all__ = ["AGENT", "Grants"]

#: The member that is Pub/Sub's own service agent.
AGENT: Final = "Pub/Sub's service agent"
_AGENT: Final = re.compile(r"serviceAccount:service-\d+@gcp-sa-pubsub\.iam\.gserviceaccount\.com")
_TAKING: Final = ("google_logging_project_sink", "google_logging_folder_sink", "google_logging_organization_sink")


class Grants:
    """The roles of a plan. A member is the address of a resource, AGENT, or the text that the plan has."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def on(self, kind: str, path: str, role: str) -> frozenset[str]:
        """Who has a role on a topic or subscription of this full path."""
        attribute = kind.removeprefix("google_pubsub_")
        return frozenset(
            member
            for grant in self._granting(kind)
            if grant.values.get("role") == role and self._names(grant, attribute, path)
            for member in self._members(grant)
        )

    def in_projects(self, role: str) -> frozenset[str]:
        """Who has a role in a project, whichever."""
        return frozenset(
            member
            for grant in self._plan.of_type("google_project_iam_member")
            if grant.values.get("role") == role
            for member in self._members(grant)
        )

    def with_custom_role(self) -> frozenset[str]:
        """Who has a custom role of the plan."""
        return frozenset(member for grant, _ in self._custom() for member in self._members(grant))

    def permissions(self, member: str) -> frozenset[str]:
        """Of all custom roles of a member."""
        return frozenset(
            permission
            for grant, role in self._custom()
            if member in self._members(grant)
            for permission in role.values.get("permissions", ())
        )

    def acting(self) -> frozenset[str]:
        """Who may attach some service account to VMs."""
        return frozenset(member for grant in self._acting() for member in self._members(grant))

    def attached(self, member: str) -> frozenset[str]:
        """The service accounts that a member may attach."""
        return frozenset(
            account.address
            for grant in self._acting()
            if member in self._members(grant)
            for account in sources(self._plan, grant, "service_account_id")
        )

    def _acting(self) -> list[Resource]:
        grants = self._plan.of_type("google_service_account_iam_member")
        return [grant for grant in grants if grant.values.get("role") == "roles/iam.serviceAccountUser"]

    def _custom(self) -> list[tuple[Resource, Resource]]:
        return [
            (grant, role)
            for grant in self._plan.of_type("google_project_iam_member")
            for role in sources(self._plan, grant, "role")
            if role.type == "google_project_iam_custom_role"
        ]

    def _granting(self, kind: str) -> list[Resource]:
        return self._plan.of_type(f"{kind}_iam_member", f"{kind}_iam_binding")

    def _names(self, grant: Resource, attribute: str, path: str) -> bool:
        """Whether the grant is on this topic or subscription: by its name and project, or by reference."""
        written = grant.values.get(attribute)
        if written is not None:
            return path in {written, f"projects/{grant.values.get('project')}/{attribute}s/{written}"}
        pointed = sources(self._plan, grant, attribute)
        return any(each.values.get("name") == path.rpartition("/")[2] for each in pointed)

    def _members(self, grant: Resource) -> frozenset[str]:
        known = [*(grant.values.get("members") or ()), grant.values.get("member")]
        found = {AGENT if _AGENT.fullmatch(each) else self._account(each) for each in known if each}
        for attribute in ("member", "members"):
            if grant.values.get(attribute) is None:
                pointed = sources(self._plan, grant, attribute)
                found |= {each.address for each in pointed if each.type in {*_TAKING, "google_service_account"}}
        return frozenset(found)

    def _account(self, member: str) -> str:
        """The address of a service account of the plan that is written by its email; else the text itself."""
        for account in self._plan.of_type("google_service_account"):
            values = account.values
            email = f"{values.get('account_id')}@{values.get('project')}.iam.gserviceaccount.com"
            if member == f"serviceAccount:{email}":
                return account.address
        return member
