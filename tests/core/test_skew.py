"""A version that the control plane does not take is refused before any VM is made, with those that it does take."""

import pytest

from controller.core.skew import skew_rejection


@pytest.mark.parametrize(
    ("version", "control_plane"),
    [
        pytest.param("1.36", "v1.36.3", id="the same"),
        pytest.param("1.33", "v1.36.3", id="three behind"),
        pytest.param("1.36", "v1.36.0-gke.1234", id="a vendor's build"),
        pytest.param("1.31", "", id="a control plane of which nothing is known"),
        pytest.param("1.31", "unreleased", id="a version that says nothing"),
    ],
)
def test_a_version_that_is_taken(version: str, control_plane: str) -> None:
    assert skew_rejection(version, control_plane) is None


def test_a_version_too_old_is_answered_with_those_that_are_not() -> None:
    assert skew_rejection("1.32", "v1.36.3") == (
        "bootstrapKubernetes.version 1.32: the control plane runs Kubernetes v1.36.3 and takes nodes of 1.33 to 1.36; "
        "the field cannot be changed, so delete the group and apply it again with one of these (1.36 if nothing "
        "speaks against it)"
    )


def test_a_version_newer_than_the_control_plane_is_refused() -> None:
    assert "takes nodes of 1.31 to 1.34" in (skew_rejection("1.35", "v1.34.0") or "")
