"""Join tokens: one live one for each incarnation that may have it, none for anybody else."""

import pytest

from controller.api.reasons import Reason
from controller.core.actions import Action, InjectToken, MintToken, RevokeToken, ScrubMetadata
from controller.core.join import Host
from controller.core.model import Scope
from controller.core.plan import Recheck
from controller.core.tokens import Endpoint, revoke_orphans, token_actions, token_rechecks
from tests.core.builders import (
    NOW,
    POLICY,
    after,
    ago,
    make_host,
    make_instance,
    make_node,
    make_state,
    make_token,
    ready_host,
    vm,
)

ENDPOINT = Endpoint("10.128.0.2", "10.128.0.2:6443")
UNUSED, EARLIER = "not in use any more", "made for an earlier VM of this name"


def actions(*hosts: Host, slots: int = 10, endpoint: Endpoint | None = ENDPOINT) -> tuple[Action, ...]:
    """The token work of these hosts at NOW."""
    states = [make_state(host) for host in hosts]
    return token_actions(states, endpoint, slots=slots, policy=POLICY, now=NOW)


def inject(host: Host) -> InjectToken:
    """The injection into a host's VM."""
    assert host.instance is not None
    return InjectToken(host.instance, "10.128.0.2", "10.128.0.2:6443")


def mint(host: Host) -> MintToken:
    """A token for a host's VM."""
    assert host.instance is not None
    return MintToken(host.instance)


def test_a_running_member_that_has_not_joined_is_given_a_token() -> None:
    host = make_host("aaaa", make_instance())
    assert actions(host) == (mint(host), inject(host))


@pytest.mark.parametrize(
    "host",
    [
        pytest.param(make_host(), id="there is no VM"),
        pytest.param(make_host("aaaa", make_instance(), member=False), id="our MIG does not list it by this id"),
        pytest.param(make_host("aaaa", make_instance(status="STAGING")), id="it does not run yet"),
        pytest.param(make_host("aaaa", make_instance(status="STOPPING")), id="it stops"),
        pytest.param(make_host("aaaa", make_instance(status="TERMINATED")), id="it does not run any more"),
        pytest.param(ready_host(), id="it has joined"),
        pytest.param(ready_host(ready=False), id="it has joined and its Node is not Ready"),
        pytest.param(
            make_host("aaaa", make_instance(id="2002"), make_node(instance_id="1001", heartbeat=ago(hours=1))),
            id="a stale Node of its name is still there",
        ),
    ],
)
def test_no_token_is_made_when(host: Host) -> None:
    assert actions(host) == ()


def test_nobody_is_given_a_token_where_the_vms_join_by_themselves() -> None:
    assert actions(make_host("aaaa", make_instance()), endpoint=None) == ()


def test_a_live_token_in_place_asks_for_nothing() -> None:
    assert actions(make_host("aaaa", make_instance(token="tok001"), None, make_token())) == ()


def test_a_token_that_was_minted_and_not_injected_is_injected_and_none_is_minted() -> None:
    host = make_host("aaaa", make_instance(), None, make_token("tok002"), injectable="tok002")
    assert actions(host) == (inject(host),)


def test_a_secret_that_nothing_points_at_is_revoked_before_the_next_is_minted() -> None:
    host = make_host("aaaa", make_instance(), None, make_token("orphan"))
    assert actions(host) == (RevokeToken("orphan", vm(), UNUSED), mint(host), inject(host))


def test_a_token_id_in_metadata_without_its_secret_is_minted_anew() -> None:
    host = make_host("aaaa", make_instance(token="gone00"))
    assert actions(host) == (mint(host), inject(host))


def test_the_token_of_an_earlier_incarnation_is_revoked_whatever_its_id_in_metadata_says() -> None:
    host = make_host("aaaa", make_instance(id="2002", token="tok001"), None, make_token(instance_id="1001"))
    assert actions(host) == (RevokeToken("tok001", vm(), EARLIER), mint(host), inject(host))


def test_renewal_mints_a_second_token_and_keeps_the_old_one() -> None:
    host = make_host("aaaa", make_instance(token="tok001"), None, make_token(expires=after(minutes=9)))
    assert actions(host) == (mint(host), inject(host))


def test_a_renewal_whose_injection_failed_is_injected_and_not_minted_again() -> None:
    old, new = make_token(expires=after(minutes=9)), make_token("tok002", created=NOW)
    host = make_host("aaaa", make_instance(token="tok001"), None, old, new, injectable="tok002")
    assert actions(host) == (inject(host),)


def test_the_old_token_of_a_renewal_lives_until_it_expires() -> None:
    old, new = make_token(expires=after(minutes=9)), make_token("tok002", created=NOW)
    assert actions(make_host("aaaa", make_instance(token="tok002"), None, old, new)) == ()


def test_a_second_token_of_a_crashed_renewal_is_revoked_before_the_next_is_minted() -> None:
    old, lost = make_token(expires=after(minutes=9)), make_token("lost00", created=ago(minutes=1))
    host = make_host("aaaa", make_instance(token="tok001"), None, old, lost)
    assert actions(host) == (RevokeToken("lost00", vm(), UNUSED), mint(host), inject(host))


def test_an_expired_token_in_metadata_is_replaced() -> None:
    host = make_host("aaaa", make_instance(token="tok001"), None, make_token(expires=NOW))
    assert actions(host) == (RevokeToken("tok001", vm(), UNUSED), mint(host), inject(host))


def test_after_the_join_the_token_is_revoked_and_scrubbed() -> None:
    instance = make_instance(token="tok001")
    host = make_host("aaaa", instance, make_node(), make_token())
    assert actions(host) == (RevokeToken("tok001", vm(), UNUSED), ScrubMetadata(instance))


def test_a_join_ends_every_token_of_the_vm() -> None:
    instance = make_instance(token="tok002")
    host = make_host("aaaa", instance, make_node(), make_token("tok001"), make_token("tok002"))
    assert actions(host) == (
        RevokeToken("tok001", vm(), UNUSED),
        RevokeToken("tok002", vm(), UNUSED),
        ScrubMetadata(instance),
    )


@pytest.mark.parametrize("status", ["STOPPING", "TERMINATED"])
def test_a_vm_that_does_not_run_loses_its_token_but_is_not_written_to(status: str) -> None:
    host = make_host("aaaa", make_instance(status=status, token="tok001"), make_node(), make_token())
    assert actions(host) == (RevokeToken("tok001", vm(), UNUSED),)


def test_a_stranger_of_our_name_loses_the_token_and_is_not_written_to() -> None:
    host = make_host("aaaa", make_instance(token="tok001"), None, make_token(), member=False)
    assert actions(host) == (RevokeToken("tok001", vm(), UNUSED),)


def test_a_vm_that_says_it_cannot_join_keeps_its_token_for_its_next_try() -> None:
    host = make_host(
        "aaaa", make_instance(token="tok001"), None, make_token(), hint=(Reason.BOOTSTRAP_FAILED, "kubeadm: no")
    )
    assert actions(host) == ()


def test_tokens_are_minted_only_as_far_as_there_is_room() -> None:
    first, second = make_host("aaaa", make_instance()), make_host("bbbb", make_instance("bbbb", id="1002"))
    assert actions(first, second, slots=1) == (mint(first), inject(first))


def test_a_token_that_was_minted_needs_no_more_room() -> None:
    host = make_host("aaaa", make_instance(), None, make_token("tok002"), injectable="tok002")
    assert actions(host, slots=0) == (inject(host),)


def test_orphans_are_revoked_although_there_is_no_room_since_that_makes_room() -> None:
    host = make_host("aaaa", make_instance(), None, make_token("orphan"))
    assert actions(host, slots=0) == (RevokeToken("orphan", vm(), UNUSED),)


def test_tokens_of_vms_that_are_gone_are_revoked() -> None:
    orphans = [make_token("tok001"), make_token("tok002", "bbbb")]
    assert revoke_orphans(orphans) == (
        RevokeToken("tok001", vm("aaaa"), "its VM is gone"),
        RevokeToken("tok002", vm("bbbb"), "its VM is gone"),
    )


def rechecks(*hosts: Host, slots: int = 10) -> tuple[Recheck, ...]:
    """When token work must be looked at again."""
    return token_rechecks([make_state(host) for host in hosts], (), slots=slots, policy=POLICY, now=NOW)


def test_a_live_token_is_renewed_ten_minutes_before_its_end() -> None:
    hosts = [
        make_host("aaaa", make_instance(token="tok001"), None, make_token(expires=after(minutes=50))),
        make_host(
            "bbbb",
            make_instance("bbbb", id="1002", token="tok002"),
            None,
            make_token("tok002", "bbbb", instance_id="1002", expires=after(minutes=30)),
        ),
    ]
    assert rechecks(*hosts) == (Recheck(after(minutes=20), "renewal", Scope.NONE),)


@pytest.mark.parametrize(
    ("seconds", "due"),
    [(0, 5), (4.9, 0.1), (5, 10), (15, 15), (29, 1), (30, 30), (61, 29)],
    ids=lambda value: f"{value}s",
)
def test_unconfirmed_injections_are_read_again_at_5_15_and_30_seconds(seconds: float, due: float) -> None:
    host = make_host("aaaa", make_instance(), injected_at=ago(seconds=seconds))
    assert rechecks(host) == (Recheck(after(seconds=due), "unconfirmed", Scope.INSTANCES, (vm(),)),)


def test_all_unconfirmed_injections_are_read_together_when_the_first_is_due() -> None:
    hosts = [
        make_host("aaaa", make_instance(), injected_at=ago(seconds=1)),
        make_host("bbbb", make_instance("bbbb", id="1002"), injected_at=ago(seconds=3)),
    ]
    assert rechecks(*hosts) == (Recheck(after(seconds=2), "unconfirmed", Scope.INSTANCES, (vm("aaaa"), vm("bbbb"))),)


def test_a_host_that_found_no_room_for_its_token_is_looked_at_again_soon() -> None:
    hosts = [make_host("aaaa", make_instance()), make_host("bbbb", make_instance("bbbb", id="1002"))]
    assert rechecks(*hosts, slots=1) == (Recheck(after(seconds=1), "slot", Scope.NONE),)


def test_a_host_that_is_ready_needs_no_look_for_its_token() -> None:
    assert rechecks(ready_host(), slots=0) == ()


def test_vms_that_join_by_themselves_seek_no_room() -> None:
    state = make_state(make_host("aaaa", make_instance()), bootstraps=False)
    assert token_rechecks([state], (), slots=0, policy=POLICY, now=NOW) == ()


def test_what_is_being_injected_is_looked_at_again_though_no_event_comes_of_it() -> None:
    # Else a token that is renewed would be the last one: this look knows of no live token to renew.
    ending = make_token(expires=after(seconds=30))
    state = make_state(make_host("aaaa", make_instance(token="tok001"), None, ending))
    actions = token_actions([state], ENDPOINT, slots=10, policy=POLICY, now=NOW)
    assert [type(action) for action in actions] == [MintToken, InjectToken]
    assert token_rechecks([state], actions, slots=10, policy=POLICY, now=NOW) == (
        Recheck(after(seconds=5), "unconfirmed", Scope.INSTANCES, (vm(),)),
    )
