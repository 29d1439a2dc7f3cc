"""Checks of Google Cloud beside the event path: credentials, APIs, permissions, and the metadata of VMs."""

from typing import Final

import google.auth
from google.auth.exceptions import GoogleAuthError
from google.auth.transport.requests import Request

from controller.api.base import Json
from controller.core.model import Kind
from controller.doctor.events import unanswered
from controller.doctor.expected import permissions
from controller.doctor.findings import Verdict, failed, ok, skipped, warning
from controller.doctor.installation import Installation
from controller.doctor.left import in_thread
from controller.doctor.unread import UnreadError

#: What the operator calls, and what doctor asks them with.
SERVICES: Final = (
    "compute.googleapis.com",
    "pubsub.googleapis.com",
    "logging.googleapis.com",
    "cloudresourcemanager.googleapis.com",
)
_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"


async def credentials(installation: Installation) -> Verdict:
    """Google gives a token for them."""
    settings = installation.settings
    stand_ins = (settings.compute_endpoint, settings.pubsub_endpoint, settings.logging_endpoint, settings.apis_endpoint)
    if all(stand_ins):
        return skipped("every endpoint is a stand-in, which asks for none")
    try:
        return ok(await in_thread(_refreshed))
    except GoogleAuthError as error:
        return failed(
            f"no token: {error}".splitlines()[0].rstrip("."),
            "attach a service account to the VM, or set GOOGLE_APPLICATION_CREDENTIALS "
            "(Terraform: module controller-identity)",
        )


def _refreshed() -> str:
    found, _ = google.auth.default(scopes=[_SCOPE])
    found.refresh(Request())  # type: ignore[no-untyped-call]
    return f"a token for {getattr(found, 'service_account_email', '') or type(found).__name__}"


async def apis(installation: Installation) -> Verdict:
    """They are enabled in the project of the event path."""
    project = installation.settings.project
    try:
        enabled = await installation.google.services(project, SERVICES)
    except UnreadError as unread:
        member, role = await installation.member(), "roles/serviceusage.serviceUsageViewer"
        grant = f"gcloud projects add-iam-policy-binding {project} --member={member} --role={role}"
        return (
            warning(f"{unread.what} may not be read: {unread.why}", grant) if unread.forbidden else unanswered(unread)
        )
    missing = [name for name, on in enabled.items() if not on]
    if missing:
        names = " ".join(missing)
        return failed(
            f"not enabled in {project}: {names}",
            f"gcloud services enable {names} --project={project} # Terraform: module event-pipeline",
        )
    return ok(f"{len(enabled)} are enabled in {project}")


async def compute_permissions(installation: Installation) -> Verdict:
    """Those of the custom role, in every project in which there are groups. It tests who runs doctor."""
    wanted = permissions()
    projects = {installation.settings.project} | await _projects(installation)
    lacking: list[str] = []
    for project in sorted(projects):
        try:
            held = await installation.google.held(project, wanted)
        except UnreadError as unread:
            return unanswered(unread)
        if missing := sorted(set(wanted) - held):
            lacking.append(f"{', '.join(missing)} on {project}")
    if lacking:
        return failed(
            f"this account lacks {'; '.join(lacking)}",
            "terraform apply the module controller-identity, whose custom role has them "
            "(or: gcloud iam roles update ROLE --project=PROJECT --add-permissions=PERMISSION,...)",
        )
    return ok(f"all {len(wanted)} of the custom role, on {', '.join(sorted(projects))}")


async def _projects(installation: Installation) -> set[str]:
    """The projects of the groups; none where the cluster does not answer, which is another check's matter."""
    try:
        groups = await installation.resources(Kind.GROUP)
    except UnreadError:
        return set()
    return {str(group["spec"]["project"]) for group in groups}


async def metadata_keys(installation: Installation) -> Verdict:
    """Every VM of a group has the keys that its template gives it: without them its startup script cannot join."""
    templates = {
        _key(each): set(each["spec"].get("metadata") or ()) for each in await installation.resources(Kind.TEMPLATE)
    }
    looked, lacking = 0, []
    for mig in await installation.resources(Kind.MIG):
        spec, name = mig["spec"], mig["metadata"]["name"]
        template = str(spec.get("instanceTemplate", "")).rpartition("/")[2]
        wanted = templates.get((mig["metadata"]["namespace"], template), set())
        for vm in await installation.vms(spec["project"], spec["location"], f"{name}-"):
            looked += 1
            if missing := sorted(wanted - set(vm.metadata)):
                lacking.append(f"{vm.name} lacks {', '.join(missing)}")
    if lacking:
        return failed(
            "; ".join(lacking[:3]) + (f", and {len(lacking) - 3} more VMs" if len(lacking) > 3 else ""),
            "somebody replaced its metadata: delete the VM in Compute Engine (its group makes it anew), or write the "
            "keys back with gcloud compute instances add-metadata",
        )
    return ok(f"{looked} VMs have the keys of their templates") if looked else skipped("no VM of a group is there")


def _key(resource: Json) -> tuple[str, str]:
    return resource["metadata"]["namespace"], resource["metadata"]["name"]
