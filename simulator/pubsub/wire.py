"""Between the messages of google.pubsub.v1 and what the broker works with. Pure."""

from datetime import timedelta
from typing import Any

from google.pubsub_v1 import types

from simulator.pubsub.subscription import DeadLetterPolicy, Delivery, RetryPolicy, SubscriptionConfig
from simulator.rpc import RpcError

__all__ = ["config_of", "received", "shown"]

_ReceivedMessage = types.ReceivedMessage.pb()
_Subscription = types.Subscription.pb()


def received(delivery: Delivery) -> Any:
    """A ReceivedMessage."""
    answer = _ReceivedMessage(ack_id=delivery.ack_id, delivery_attempt=delivery.attempt)
    message = answer.message
    message.data = delivery.message.data
    message.attributes.update(delivery.message.attributes)
    message.message_id = delivery.message.id
    message.publish_time.FromDatetime(delivery.message.published)
    return answer


def config_of(request: Any) -> SubscriptionConfig:
    """What the broker keeps of a Subscription. What it could not honour is refused, not dropped: RpcError."""
    for name in ("push_config", "bigquery_config", "cloud_storage_config"):
        if request.HasField(name) and getattr(request, name).ByteSize():
            raise RpcError("UNIMPLEMENTED", f"{name} is not simulated: only pull subscriptions are")
    for name in ("enable_message_ordering", "enable_exactly_once_delivery", "filter"):
        if getattr(request, name):
            raise RpcError("UNIMPLEMENTED", f"{name} is not simulated")
    retry = request.retry_policy
    policy = request.dead_letter_policy
    return SubscriptionConfig(
        name=request.name,
        topic=request.topic,
        ack_deadline=request.ack_deadline_seconds or 10,
        retry=RetryPolicy(
            _seconds(retry.minimum_backoff) if retry.HasField("minimum_backoff") else 10.0,
            _seconds(retry.maximum_backoff) if retry.HasField("maximum_backoff") else 600.0,
        )
        if request.HasField("retry_policy")
        else None,
        dead_letter=DeadLetterPolicy(policy.dead_letter_topic, policy.max_delivery_attempts or 5)
        if request.HasField("dead_letter_policy")
        else None,
        labels=dict(request.labels),
        **_expiry(request),
    )


def _expiry(request: Any) -> dict[str, float | None]:
    """A policy without a TTL is never; without a policy the API's default of 31 days holds."""
    if not request.HasField("expiration_policy"):
        return {}
    policy = request.expiration_policy
    return {"expires": _seconds(policy.ttl) if policy.HasField("ttl") else None}


def _seconds(duration: Any) -> float:
    return float(duration.ToTimedelta().total_seconds())


def shown(config: SubscriptionConfig) -> Any:
    """A Subscription, with the API's defaults."""
    answer = _Subscription(
        name=config.name, topic=config.topic, ack_deadline_seconds=config.ack_deadline, labels=config.labels
    )
    answer.message_retention_duration.FromTimedelta(timedelta(days=7))
    answer.state = types.Subscription.State.ACTIVE
    answer.expiration_policy.SetInParent()
    if config.expires is not None:
        answer.expiration_policy.ttl.FromTimedelta(timedelta(seconds=config.expires))
    if config.retry:
        answer.retry_policy.minimum_backoff.FromTimedelta(timedelta(seconds=config.retry.minimum))
        answer.retry_policy.maximum_backoff.FromTimedelta(timedelta(seconds=config.retry.maximum))
    if config.dead_letter:
        answer.dead_letter_policy.dead_letter_topic = config.dead_letter.topic
        answer.dead_letter_policy.max_delivery_attempts = config.dead_letter.attempts
    return answer
