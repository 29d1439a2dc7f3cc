"""Who may do what on topics and subscriptions: google.iam.v1.IAMPolicy on the Pub/Sub endpoint, read only."""

from collections.abc import Callable, Mapping
from typing import Any

from google.iam.v1 import iam_policy_pb2, policy_pb2

from simulator.pubsub.broker import Broker, PubSubError
from simulator.rpc import RpcError, RpcFace, Unary
from simulator.seams import CallFaults, CallLog

__all__ = ["PolicyFace"]


class PolicyFace:
    """Shows the policy of each topic and subscription that is there; inherited grants are not in it, as in reality."""

    def __init__(
        self, broker: Broker, policy: Callable[[str], Mapping[str, set[str]]], calls: CallLog, faults: CallFaults
    ) -> None:
        self._broker = broker
        self._policy = policy
        self._calls = calls
        self._faults = faults

    def handlers(self) -> Any:
        """The generic handler of IAMPolicy."""
        asked, policy = iam_policy_pb2.GetIamPolicyRequest, policy_pb2.Policy
        return RpcFace("pubsub", "google.iam.v1.IAMPolicy", self._calls, self._faults).handlers(
            {"GetIamPolicy": Unary(asked, policy, self._get)}
        )

    async def _get(self, request: Any, _context: Any) -> Any:
        try:
            find = self._broker.topic if "/topics/" in request.resource else self._broker.subscription
            find(request.resource)
        except PubSubError as error:
            raise RpcError(error.code, error.message) from error
        roles = self._policy(request.resource)
        bindings = [policy_pb2.Binding(role=role, members=sorted(members)) for role, members in sorted(roles.items())]
        return policy_pb2.Policy(version=1, bindings=bindings)
