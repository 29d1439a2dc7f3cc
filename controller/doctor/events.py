"""Checks of the way of an entry: log sink, topic, subscription, dead letters, and whether events flow.

Most silent failures of such pipelines are here. A grant that a project or folder gives is not in the policy of a topic
(facts: GCE 6.5): one that is missing there is a warning, and whether events flow decides.
"""

import re
from datetime import timedelta
from typing import Final

from controller.api.base import Json
from controller.core.model import Kind
from controller.doctor.expected import is_our_filter
from controller.doctor.findings import Verdict, failed, ok, skipped, warning
from controller.doctor.installation import Installation
from controller.doctor.unread import UnreadError

_MODULE: Final = "terraform apply the module event-pipeline"
_PUBLISHER: Final = "roles/pubsub.publisher"
_SUBSCRIBER: Final = "roles/pubsub.subscriber"
_AGENT: Final = re.compile(r"serviceAccount:service-\d+@gcp-sa-pubsub\.iam\.gserviceaccount\.com")
#: What Pub/Sub shows as the topic of a subscription whose topic was deleted.
_DETACHED: Final = "_deleted-topic_"


async def subscription(installation: Installation) -> Verdict:
    """It is there, and is pulled from."""
    name = installation.settings.subscription
    try:
        found = await installation.subscription()
    except UnreadError as unread:
        if unread.absent:
            return failed(
                f"{name} does not exist",
                f"{_MODULE}, or set TPU_NODE_GROUP_SUBSCRIPTION to one of its output `subscriptions`",
            )
        member, role = await installation.member(), "roles/pubsub.viewer"
        grant = f"gcloud pubsub subscriptions add-iam-policy-binding {name} --member={member} --role={role}"
        return warning(f"{name} may not be read: {unread.why}", grant) if unread.forbidden else unanswered(unread)
    if found.push_config.push_endpoint:
        return failed(
            f"{name} pushes to {found.push_config.push_endpoint}: the operator pulls",
            f"gcloud pubsub subscriptions modify-push-config {name} --push-endpoint=",
        )
    return ok(f"{name}, acknowledged within {found.ack_deadline_seconds} s")


async def subscription_topic(installation: Installation) -> Verdict:
    """It still has its topic."""
    found = await installation.subscription()
    if found.topic == _DETACHED:
        return failed(
            "its topic was deleted: nothing comes through it any more",
            f"gcloud pubsub subscriptions delete {found.name} # then {_MODULE}",
        )
    return ok(f"attached to {found.topic}")


async def subscription_expiry(installation: Installation) -> Verdict:
    """An idle cluster does not lose it."""
    found = await installation.subscription()
    ttl: timedelta = found.expiration_policy.ttl
    if not ttl:
        return ok("it never expires")
    return failed(
        f"it is deleted after {ttl.total_seconds() / 86400:g} days without a subscriber",
        f"gcloud pubsub subscriptions update {found.name} --expiration-period=never"
        ' # Terraform: expiration_policy { ttl = "" }',
    )


async def dead_letter_policy(installation: Installation) -> Verdict:
    """What cannot be read does not come back for ever."""
    found = await installation.subscription()
    policy = found.dead_letter_policy
    if not policy.dead_letter_topic:
        return warning(
            "it has no dead letter topic: a message that cannot be read is dropped, and nobody can look at it",
            f"{_MODULE} (its subscription has a dead_letter_policy)",
        )
    return ok(f"{policy.dead_letter_topic} after {policy.max_delivery_attempts} attempts")


async def dead_letter_publisher(installation: Installation) -> Verdict:
    """Pub/Sub's own agent may publish dead letters."""
    return await _agent_may(installation, _PUBLISHER)


async def dead_letter_subscriber(installation: Installation) -> Verdict:
    """Pub/Sub's own agent may take dead letters from the subscription."""
    return await _agent_may(installation, _SUBSCRIBER)


async def _agent_may(installation: Installation, role: str) -> Verdict:
    found = await installation.subscription()
    topic = found.dead_letter_policy.dead_letter_topic
    if not topic:
        return skipped("there is no dead letter topic")
    publishes = role == _PUBLISHER
    resource, kind = (topic, "topics") if publishes else (found.name, "subscriptions")
    agent = await _agent(installation)
    grant = f"gcloud pubsub {kind} add-iam-policy-binding {resource} --member={agent} --role={role}"
    try:
        members = (await installation.policy(resource)).get(role, set())
    except UnreadError as unread:
        return unseen(unread)
    fitting = [member for member in members if member == agent or ("NUMBER" in agent and _AGENT.fullmatch(member))]
    if fitting:
        return ok(f"{fitting[0].removeprefix('serviceAccount:')} has {role}")
    message = f"the Pub/Sub service agent has no {role} on {resource}: dead letters come back for ever"
    return warning(f"{message}, unless the project grants it, which is not seen from here", grant)


async def _agent(installation: Installation) -> str:
    """The Pub/Sub service agent of the subscription's project."""
    project = installation.settings.subscription.split("/")[1]
    try:
        number = await installation.google.project_number(project)
    except UnreadError:
        number = "PROJECT_NUMBER"
    return f"serviceAccount:service-{number}@gcp-sa-pubsub.iam.gserviceaccount.com"


async def sink(installation: Installation) -> Verdict:
    """It is there."""
    try:
        found = await installation.sink()
    except UnreadError as unread:
        if unread.absent:
            return failed(f"{unread.what}: {unread.why}", f"{_MODULE}, or name it in TPU_NODE_GROUP_SINK")
        if not unread.forbidden:
            return unanswered(unread)
        project, member = installation.settings.project, await installation.member()
        grant = f"gcloud projects add-iam-policy-binding {project} --member={member} --role=roles/logging.viewer"
        return warning(f"{unread.what} may not be read: {unread.why}", grant)
    return ok(found.name)


async def sink_enabled(installation: Installation) -> Verdict:
    """It is on."""
    found = await installation.sink()
    if found.disabled:
        return failed(
            f"{found.name} is disabled: it exports nothing", f"gcloud logging sinks update {found.name} --no-disabled"
        )
    return ok("it is enabled")


async def sink_filter(installation: Installation) -> Verdict:
    """It takes what this version of the operator reacts to."""
    found = await installation.sink()
    if is_our_filter(found.filter):
        return ok("it is the filter of this version")
    return failed(
        f"the filter of {found.name} is not the one of this version: events that the operator waits for may be dropped",
        f"{_MODULE} of this version (terraform/modules/event-pipeline/filter.tftpl)",
    )


async def sink_destination(installation: Installation) -> Verdict:
    """It leads to the topic of the subscription."""
    found = await installation.sink()
    topic = (await installation.subscription()).topic
    wanted = f"pubsub.googleapis.com/{topic}"
    if topic == _DETACHED:
        return skipped("the subscription has no topic")
    if found.destination == wanted:
        return ok(f"it leads to {topic}")
    return failed(
        f"{found.name} leads to {found.destination}, the subscription is on {topic}",
        f"gcloud logging sinks update {found.name} {wanted}",
    )


async def sink_writer(installation: Installation) -> Verdict:
    """Its writer may publish to its topic (B38, hashicorp/terraform-provider-google#4320)."""
    found = await installation.sink()
    topic = found.destination.removeprefix("pubsub.googleapis.com/")
    grant = (
        f"gcloud pubsub topics add-iam-policy-binding {topic} --member={found.writer_identity} --role={_PUBLISHER}"
        " # Terraform: google_pubsub_topic_iam_member in the module event-pipeline"
    )
    try:
        members = (await installation.policy(topic)).get(_PUBLISHER, set())
    except UnreadError as unread:
        if unread.absent:
            return skipped(f"{topic} does not exist")
        return unseen(unread)
    if found.writer_identity in members:
        return ok(f"{found.writer_identity.removeprefix('serviceAccount:')} has {_PUBLISHER}")
    message = f"{found.writer_identity} has no {_PUBLISHER} on {topic}: nothing is exported"
    return warning(f"{message}, unless the project grants it, which is not seen from here", grant)


async def events_flow(installation: Installation) -> Verdict:
    """The running operator hears its own canary, as it says in every group's condition."""
    groups = await installation.resources(Kind.GROUP)
    said = {_name(group): _flowing(group) for group in groups}
    if not said:
        return skipped("no TPUNodeGroup is there to say so; each has a condition EventsFlowing")
    for name, condition in said.items():
        if condition.get("status") == "False":
            message = f"{name} says {condition.get('reason')}: {condition.get('message')}"
            return failed(message, "mend what the checks of sink and subscription name, or wait for the next canary")
    unheard = [name for name, condition in said.items() if condition.get("status") != "True"]
    if unheard:
        return warning(
            f"{unheard[0]} has heard of no event yet",
            "run doctor again in a few minutes (the setting canary_interval); then look at the operator's log",
        )
    return ok(
        f"the operator hears its canary, say {len(said)} groups" if len(said) > 1 else "the operator hears its canary"
    )


def _name(group: Json) -> str:
    return f"{group['metadata']['namespace']}/{group['metadata']['name']}"


def _flowing(group: Json) -> Json:
    conditions = (group.get("status") or {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == "EventsFlowing"), {})


def unanswered(unread: UnreadError) -> Verdict:
    """A service gave no answer, or one that says nothing of what was asked."""
    if unread.unauthenticated:
        return skipped(f"{unread.what} could not be read without credentials")
    return failed(f"{unread.what} could not be read: {unread.why}", "see the checks of credentials, APIs and network")


def unseen(unread: UnreadError) -> Verdict:
    """A policy may not be read: that says nothing of what is in it."""
    return warning(
        f"{unread.what} could not be read: {unread.why}",
        "grant roles/iam.securityReviewer to who runs doctor while it runs, or run it as somebody who has it",
    )
