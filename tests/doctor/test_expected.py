"""What an installation is held to: the files that users apply."""

import pytest

from controller.doctor.expected import grants, is_our_filter, permissions
from simulator.logging.sink_filter import sink_filter

NARROWED = sink_filter(zones="us-central1-a|us-central1-c", regions="us-central1", names="train-|eval-")


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        (sink_filter(), True),
        (NARROWED, True),
        # As a console or another tool may lay it out.
        (" ".join(line for line in NARROWED.splitlines() if not line.lstrip().startswith("--")), True),
        ("", False),
        ('log_id("tpu-node-group-canary")', False),
        (sink_filter().replace('log_id("cloudaudit.googleapis.com/system_event")', 'log_id("x")'), False),
        (sink_filter() + ' OR log_id("stdout")', False),
        (sink_filter(names='x" OR log_id("stdout'), False),
    ],
)
def test_the_filter_of_this_version_is_known_however_narrowed(text: str, *, ours: bool) -> None:
    assert is_our_filter(text) is ours


def test_the_roles_are_asked_for_grant_by_grant_in_the_operators_namespace() -> None:
    asked = grants("elsewhere")
    assert {"verb": "patch", "group": "tpu.google.com", "resource": "tpunodegroups", "subresource": "status"} in asked
    assert {"namespace": "kube-system", "verb": "delete", "resource": "secrets"} in asked
    lease = {"namespace": "elsewhere", "group": "coordination.k8s.io", "resource": "leases"}
    assert {**lease, "verb": "get", "name": "tpu-node-group-controller"} in asked
    assert {**lease, "verb": "create"} in asked
    assert len(asked) == len({str(each) for each in asked}) == 37


def test_the_permissions_are_those_of_the_custom_role() -> None:
    assert "compute.instances.setMetadata" in permissions()
    assert list(permissions()) == sorted(permissions())
