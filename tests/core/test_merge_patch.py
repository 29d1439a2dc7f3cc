"""A status write sends what changed and nothing else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.merge_patch import merge_patch

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        pytest.param({"a": 1}, {"a": 1}, {}, id="nothing changed"),
        pytest.param({}, {"a": 1}, {"a": 1}, id="a field came"),
        pytest.param({"a": 1}, {}, {"a": None}, id="a field went"),
        pytest.param({"a": 1, "b": 2}, {"a": 3, "b": 2}, {"a": 3}, id="a field changed"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": 2}}, {"a": {"b": 3}}, id="a field inside changed"),
        pytest.param({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}, id="a field inside went"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, {"a": [1]}, id="a list is replaced as a whole"),
        pytest.param({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="a value became an object"),
        pytest.param({"a": {"b": 1}}, {"a": 1}, {"a": 1}, id="an object became a value"),
    ],
)
def test_a_patch_is_the_difference(old: Json, new: Json, patch: Json) -> None:
    assert merge_patch(old, new) == patch


def apply(target: object, patch: object) -> object:
    """The algorithm of RFC 7386, section 2."""
    if not isinstance(patch, dict):
        return patch
    result: Json = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply(result.get(key), value)
    return result


#: JSON without null (a manifest has none) and without numbers that equal a boolean in Python.
_leaves = st.booleans() | st.integers(min_value=2) | st.text(max_size=3)
_values = st.recursive(
    _leaves | st.lists(_leaves, max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(st.sampled_from("abcd"), _values, max_size=4)


@given(documents, documents)
def test_a_patch_makes_the_new_document_out_of_the_old_one(old: Json, new: Json) -> None:
    assert apply(old, merge_patch(old, new)) == new


@given(documents)
def test_equal_documents_need_no_patch(document: Json) -> None:
    assert merge_patch(document, document) == {}
