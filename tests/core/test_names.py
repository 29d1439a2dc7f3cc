"""Names that a crash cannot forget, within the limits of Compute Engine."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.model import Key, Kind
from controller.core.names import (
    base_name_of,
    bears_mark,
    child_name,
    last_segment,
    owner_hash,
    ownership_mark,
    region_of,
)

#: Names that admission lets in (45 characters).
group_names = st.from_regex(r"[a-z]([-a-z0-9]{0,43}[a-z0-9])?", fullmatch=True)
_GCE_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
CHILDREN = (Kind.POLICY, Kind.TEMPLATE, Kind.MIG)


def test_the_hash_of_an_owner_is_the_first_eight_digits_of_its_uids_sha256() -> None:
    assert owner_hash("abc") == "ba7816bf"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Kind.POLICY, "slice-policy-ba7816bf"),
        (Kind.TEMPLATE, "slice-template-ba7816bf"),
        (Kind.MIG, "slice-mig-ba7816bf"),
    ],
)
def test_a_child_is_named_after_its_group_and_the_uid(kind: Kind, name: str) -> None:
    assert child_name(kind, "slice", "abc") == name


@given(group_names, st.uuids())
def test_every_name_fits_compute_engine(group: str, uid: object) -> None:
    names = {kind: child_name(kind, group, str(uid)) for kind in CHILDREN}
    assert all(_GCE_NAME.fullmatch(name) for name in names.values())
    assert len(names[Kind.MIG]) <= 58
    assert len(set(names.values())) == 3


@given(group_names, st.uuids(), st.from_regex(r"[a-z0-9]{4}", fullmatch=True))
def test_a_vm_leads_back_to_its_mig(group: str, uid: object, suffix: str) -> None:
    mig = child_name(Kind.MIG, group, str(uid))
    name = f"{mig}-{suffix}"
    assert len(name) <= 63
    assert base_name_of(name) == mig


@given(group_names, group_names, st.uuids(), st.uuids())
def test_two_groups_never_share_a_name(one: str, other: str, first: object, second: object) -> None:
    if first != second and owner_hash(str(first)) != owner_hash(str(second)):
        assert not {child_name(kind, one, str(first)) for kind in CHILDREN} & {
            child_name(kind, other, str(second)) for kind in CHILDREN
        }


@pytest.mark.parametrize("name", ["", "abcd", "-abcd", "mig-abc", "mig-abcde", "mig-ABCD", "mig_abcd"])
def test_a_name_that_no_mig_makes_has_no_base(name: str) -> None:
    assert base_name_of(name) is None


def test_the_mark_names_the_very_object() -> None:
    key = Key(Kind.MIG, "default", "slice-mig-1")
    mark = ownership_mark(key, "u1")
    assert mark == "tpu-node-group-controller ManagedInstanceGroup default/slice-mig-1 uid=u1"
    assert bears_mark(mark, key, "u1")


@pytest.mark.parametrize(
    ("key", "uid"),
    [
        pytest.param(Key(Kind.MIG, "default", "slice-mig-1"), "u2", id="an object of another UID"),
        pytest.param(Key(Kind.MIG, "other", "slice-mig-1"), "u1", id="of another namespace"),
        pytest.param(Key(Kind.TEMPLATE, "default", "slice-mig-1"), "u1", id="of another kind"),
        pytest.param(Key(Kind.MIG, "default", "slice-mig-2"), "u1", id="of another name"),
    ],
)
def test_a_mark_is_not_that_of(key: Key, uid: str) -> None:
    assert not bears_mark(ownership_mark(Key(Kind.MIG, "default", "slice-mig-1"), "u1"), key, uid)


@pytest.mark.parametrize(("zone", "region"), [("us-central1-c", "us-central1"), ("europe-west4-a", "europe-west4")])
def test_the_region_of_a_zone(zone: str, region: str) -> None:
    assert region_of(zone) == region


@pytest.mark.parametrize(
    "url", ["n", "things/n", "projects/p/zones/z/things/n", "https://x/compute/v1/projects/p/zones/z/things/n/"]
)
def test_the_last_segment_of_a_url(url: str) -> None:
    assert last_segment(url) == "n"
