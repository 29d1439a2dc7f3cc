"""The tokens that live: shared fairly, forgotten when they end, and never shown."""

import re
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.model import Key, Kind
from controller.core.observed import Instance, TokenView
from controller.runtime.vault import TokenVault
from tests.core.builders import GROUP_KEY, NOW, after, ago, make_instance, make_token, vm

OTHER = Key(Kind.GROUP, "default", "other")
SLOT = timedelta(minutes=10)


def make_vault(limit: int = 4, each: int = 4) -> TokenVault:
    """A vault of so many slots in all, and for each group."""
    return TokenVault(timedelta(hours=1), SLOT, limit, each)


def mint(vault: TokenVault, group: Key = GROUP_KEY, number: int = 1, at: datetime = NOW) -> TokenView:
    """A token for one of the group's VMs."""
    token = vault.mint(group, replace(make_instance(), id=str(number)), at)[0]
    vault.made(token.id)
    return token


def test_a_token_is_made_for_one_incarnation_and_lives_an_hour_of_whole_seconds() -> None:
    vault = make_vault()
    token, secret = vault.mint(GROUP_KEY, make_instance(), NOW.replace(microsecond=500))
    assert replace(token, id="") == TokenView(
        id="",
        namespace="default",
        group="slice",
        instance=vm(),
        instance_id="1001",
        expires=after(hours=1),
        created=NOW.replace(microsecond=500),
    )
    assert re.fullmatch(r"[a-z0-9]{6}", token.id)
    assert re.fullmatch(r"[a-z0-9]{16}", secret.get_secret_value())


def test_a_token_waits_until_it_is_injected() -> None:
    vault = make_vault()
    token, secret = vault.mint(GROUP_KEY, make_instance(), NOW)
    value = vault.value_of(token.id)
    assert value is not None
    assert value.get_secret_value() == f"{token.id}.{secret.get_secret_value()}"
    assert vault.injectable(GROUP_KEY) == {"1001": token.id}
    vault.injected(token.id)
    assert (vault.value_of(token.id), vault.injectable(GROUP_KEY)) == (None, {})
    assert vault.of_group(GROUP_KEY) == (token,)


def test_the_newest_of_two_tokens_of_one_vm_is_injected() -> None:
    vault = make_vault()
    mint(vault, at=ago(minutes=1))
    newest = mint(vault, at=NOW)
    assert vault.injectable(GROUP_KEY) == {"1": newest.id}


def test_a_revoked_token_is_forgotten_with_its_value() -> None:
    vault = make_vault()
    token = mint(vault)
    vault.revoked(token.id)
    vault.revoked("never0")
    assert (vault.live, vault.value_of(token.id), vault.of_group(GROUP_KEY)) == (0, None, ())


def test_a_token_is_forgotten_when_it_expires() -> None:
    vault = make_vault()
    token = mint(vault)
    vault.expire(after(minutes=59, seconds=59))
    assert vault.of_group(GROUP_KEY) == (token,)
    vault.expire(after(hours=1))
    assert (vault.live, vault.value_of(token.id)) == (0, None)


def test_a_list_of_the_secrets_replaces_what_was_known() -> None:
    vault = make_vault()
    gone = mint(vault, at=ago(seconds=2))
    mint(vault, OTHER, at=ago(seconds=2))
    found = [make_token("found0"), *vault.of_group(OTHER)]
    assert vault.replace(found, asked=ago(seconds=1)) == {GROUP_KEY}
    assert vault.of_group(GROUP_KEY) == (make_token("found0"),)
    assert vault.value_of(gone.id) is None


def test_what_was_minted_while_the_list_was_on_its_way_is_kept() -> None:
    vault = make_vault()
    minted = mint(vault, at=NOW)
    vault.replace([], asked=NOW)
    assert vault.of_group(GROUP_KEY) == (minted,)
    assert vault.value_of(minted.id) is not None


def test_one_whose_secret_is_being_created_is_kept_however_long_that_takes() -> None:
    vault = make_vault()
    token, _ = vault.mint(GROUP_KEY, make_instance(), ago(seconds=20))
    assert vault.replace([], asked=NOW) == frozenset()
    assert vault.of_group(GROUP_KEY) == (token,)
    vault.made(token.id)
    assert vault.replace([], asked=NOW) == {GROUP_KEY}
    assert vault.live == 0


def test_a_token_lives_until_it_is_revoked_or_expires() -> None:
    vault = make_vault()
    token = mint(vault)
    assert (vault.lives(token.id, NOW), vault.lives(token.id, token.expires), vault.lives("other0", NOW)) == (
        True,
        False,
        False,
    )
    vault.revoked(token.id)
    assert not vault.lives(token.id, NOW)


def test_a_token_that_a_list_shows_keeps_its_waiting_value() -> None:
    vault = make_vault()
    minted = mint(vault, at=ago(seconds=5))
    vault.replace([minted], asked=NOW)
    assert vault.value_of(minted.id) is not None


def test_tokens_come_with_their_group_the_oldest_first() -> None:
    vault = make_vault()
    second, first, others = mint(vault, at=NOW), mint(vault, at=ago(minutes=1)), mint(vault, OTHER)
    assert vault.of_group(GROUP_KEY) == (first, second)
    assert vault.of_group(OTHER) == (others,)


def test_tokens_of_groups_that_are_gone_are_strays() -> None:
    vault = make_vault()
    mint(vault)
    stray = mint(vault, OTHER)
    assert vault.strays({GROUP_KEY}) == (stray,)


def fill(vault: TokenVault, group: Key, count: int, at: datetime = NOW) -> None:
    """So many live tokens."""
    for number in range(count):
        mint(vault, group, number, at)


@pytest.mark.parametrize(
    ("mine", "others", "free"),
    [
        pytest.param(0, 0, 4, id="all is free"),
        pytest.param(1, 1, 2, id="what others have left"),
        pytest.param(4, 0, 0, id="all is mine already"),
        pytest.param(0, 4, 2, id="nothing is left, but half of it is mine by right"),
        pytest.param(1, 4, 1, id="the rest of my half"),
        pytest.param(2, 2, 0, id="both have their halves"),
    ],
)
def test_slots_are_shared_evenly(mine: int, others: int, free: int) -> None:
    vault = make_vault(limit=4, each=4)
    fill(vault, GROUP_KEY, mine)
    fill(vault, OTHER, others)
    assert vault.slots(GROUP_KEY, NOW) == free


def test_a_group_has_no_more_than_its_own_limit() -> None:
    vault = make_vault(limit=100, each=3)
    fill(vault, GROUP_KEY, 2)
    assert vault.slots(GROUP_KEY, NOW) == 1


def test_a_vm_that_does_not_join_gives_its_slot_back_in_time() -> None:
    vault = make_vault(limit=4, each=4)
    fill(vault, GROUP_KEY, 4)
    assert (vault.slots(GROUP_KEY, NOW + SLOT - timedelta(seconds=1)), vault.slots(GROUP_KEY, NOW + SLOT)) == (0, 4)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(1, 12), st.integers(1, 6))
def test_nobody_starves_and_nobody_gets_more_than_the_limits(held: list[int], limit: int, each: int) -> None:
    vault = make_vault(limit, each)
    groups = [Key(Kind.GROUP, "default", str(i)) for i in range(len(held))]
    for group, count in zip(groups, held, strict=True):
        fill(vault, group, count)
    active = sum(count > 0 for count in held)
    for group, count in zip(groups, held, strict=True):
        slots = vault.slots(group, NOW)
        share = limit // max(1, active + (count == 0))
        assert 0 <= slots <= max(0, each - count)
        assert slots >= min(each, share) - count
        assert slots <= max(0, limit - sum(held), share - count)


def test_no_value_shows_however_the_vault_is_printed() -> None:
    vault = make_vault()
    token, secret = vault.mint(GROUP_KEY, make_instance(), NOW)
    value = vault.value_of(token.id)
    shown = f"{vault!r} {vault} {vars(vault)!r} {token!r} {secret!r} {secret} {value!r} {value}"
    assert secret.get_secret_value() not in shown


def test_ids_are_not_drawn_twice() -> None:
    vault = make_vault()
    instance: Instance = make_instance()
    assert len({vault.mint(GROUP_KEY, instance, NOW)[0].id for _ in range(50)}) == 50
