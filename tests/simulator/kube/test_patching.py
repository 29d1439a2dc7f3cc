"""The four kinds of patch, as pure functions."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.kube import media, patching, strategic
from simulator.kube.errors import ApiError

Json = dict[str, Any]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        # The examples of RFC 7386, appendix A.
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_merges(target: Json, patch: Json, result: Json) -> None:
    assert patching.merge(target, patch) == result


@pytest.mark.parametrize(
    ("target", "operations", "result"),
    [
        ({"a": 1}, [{"op": "add", "path": "/b", "value": 2}], {"a": 1, "b": 2}),
        ({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2, 3]}),
        ({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]}),
        ({"a": 1, "b": 2}, [{"op": "remove", "path": "/a"}], {"b": 2}),
        ({"a": [1, 2]}, [{"op": "remove", "path": "/a/0"}], {"a": [2]}),
        ({"a": 1}, [{"op": "replace", "path": "/a", "value": 2}], {"a": 2}),
        ({"a": 1}, [{"op": "move", "from": "/a", "path": "/b"}], {"b": 1}),
        ({"a": 1}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": 1, "b": 1}),
        ({"a/b": {"c~d": 1}}, [{"op": "replace", "path": "/a~1b/c~0d", "value": 2}], {"a/b": {"c~d": 2}}),
        ({"a": 1}, [{"op": "test", "path": "/a", "value": 1}], {"a": 1}),
        ({"a": 1}, [{"op": "test", "path": "/b", "value": None}], {"a": 1}),
    ],
)
def test_a_json_patch_does_what_it_says(target: Json, operations: list[Json], result: Json) -> None:
    assert patching.json_patch(target, operations) == result


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        ([{"op": "test", "path": "/a", "value": 2}], 422),
        ([{"op": "test", "path": "/a", "value": True}], 422),
        ([{"op": "remove", "path": "/none"}], 422),
        ([{"op": "replace", "path": "/none", "value": 1}], 422),
        ([{"op": "add", "path": "/none/b", "value": 1}], 422),
        ([{"op": "add", "path": "/list/7", "value": 1}], 422),
        ([{"op": "add", "path": "/list/x", "value": 1}], 422),
        ([{"op": "add", "path": "/a/b", "value": 1}], 422),
        ([{"op": "jump", "path": "/a"}], 400),
        ([{"op": "add", "path": "/a"}], 400),
        ([{"op": "add", "path": "a", "value": 1}], 400),
        ({"op": "add"}, 400),
    ],
)
def test_a_json_patch_that_does_not_fit_is_refused(operations: Any, code: int) -> None:
    target = {"a": 1, "list": [1]}
    with pytest.raises(ApiError) as refused:
        patching.json_patch(target, operations)
    assert (refused.value.code, target) == (code, {"a": 1, "list": [1]})


@given(VALUES, VALUES)
def test_no_patch_mutates_its_target(target: Any, patch: Any) -> None:
    before = copy.deepcopy(target)
    merged = patching.merge(target, patch)
    strategic.merge(target, patch)
    patching.json_patch({"a": target}, [{"op": "add", "path": "/b", "value": patch}])
    assert target == before
    assert patching.merge(merged, {}) == (merged if isinstance(merged, dict) else {})


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        (
            {"containers": [{"name": "a", "image": "1"}, {"name": "b"}]},
            {
                "$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
                "containers": [{"name": "a", "image": "2"}],
            },
            {"containers": [{"name": "a", "image": "2"}, {"name": "b"}]},
        ),
        (
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {"containers": [{"name": "a", "$patch": "delete"}]},
            {"containers": [{"name": "b"}]},
        ),
        ({"taints": [{"key": "a"}]}, {"taints": [{"key": "b"}]}, {"taints": [{"key": "b"}]}),
        ({"env": [{"name": "a"}]}, {"env": [{"$patch": "replace"}, {"name": "b"}]}, {"env": [{"name": "b"}]}),
        (
            {"finalizers": ["a", "b"]},
            {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]},
            {"finalizers": ["b", "c"]},
        ),
        ({"a": {"b": 1, "c": 2}}, {"a": {"$patch": "replace", "d": 3}}, {"a": {"d": 3}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"$retainKeys": ["c", "d"], "d": 3}}, {"a": {"c": 2, "d": 3}}),
        ({"command": ["a"], "b": 1}, {"command": ["b"], "b": None}, {"command": ["b"]}),
    ],
)
def test_a_strategic_patch_merges_lists_by_their_keys(target: Json, patch: Json, result: Json) -> None:
    assert strategic.merge(target, patch) == result


def test_a_body_in_yaml_has_the_types_of_json() -> None:
    body = media.read_body(b"spec: {since: 2026-01-01T00:00:00Z, size: 1}", "application/apply-patch+yaml")
    assert body == {"spec": {"since": "2026-01-01T00:00:00Z", "size": 1}}


@pytest.mark.parametrize("media_type", ["application/json", "application/yaml"])
def test_a_body_that_cannot_be_read_is_refused(media_type: str) -> None:
    with pytest.raises(ApiError) as refused:
        media.read_body(b"{a: [", media_type)
    assert refused.value.code == 400
