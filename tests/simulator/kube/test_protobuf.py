"""The protobuf bodies of kubectl's typed commands. The writer here is the test's own, from the wire format."""

import base64
from typing import Any

import pytest

from simulator.kube import protobuf
from simulator.kube.errors import ApiError


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def envelope(kind: str, raw: bytes, api_version: str = "v1") -> bytes:
    return b"k8s\x00" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw) + field(3, "") + field(4, "")


METADATA = field(
    1, field(1, "one") + field(2, "") + field(3, "default") + field(8, b"") + field(11, field(1, "a") + field(2, "b"))
)


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (
            envelope("Namespace", METADATA + field(2, b"") + field(3, b"")),
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "one", "namespace": "default", "labels": {"a": "b"}},
            },
        ),
        (
            envelope(
                "Secret", field(1, field(1, "x")) + field(2, field(1, "k") + field(2, b"\x00\xff")) + field(3, "Opaque")
            ),
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "x"},
                "data": {"k": base64.b64encode(b"\x00\xff").decode()},
                "type": "Opaque",
            },
        ),
        (
            envelope("ConfigMap", field(1, field(1, "x")) + field(2, field(1, "long") + field(2, "v" * 300))),
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"long": "v" * 300}},
        ),
        (
            envelope("DeleteOptions", field(1, 0) + field(4, "Foreground") + field(2, field(1, "uid"))),
            {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "gracePeriodSeconds": 0,
                "propagationPolicy": "Foreground",
                "preconditions": {"uid": "uid"},
            },
        ),
    ],
)
def test_known_kinds_are_read(data: bytes, body: dict[str, Any]) -> None:
    assert protobuf.decode(data) == body


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (envelope("Pod", b""), 415),
        (b"{}", 400),
        (b"k8s\x00", 400),
        (b"k8s\x00\x0a\xff", 400),
        (envelope("Namespace", b"\x0a\x7f"), 400),
        (b"k8s\x00\x0b", 400),
    ],
)
def test_what_is_unknown_or_broken_is_refused(data: bytes, code: int) -> None:
    with pytest.raises(ApiError) as refused:
        protobuf.decode(data)
    assert refused.value.code == code
