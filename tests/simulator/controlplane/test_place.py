"""Where a control plane is: addresses of both families, and ports that nobody takes away."""

import socket

import pytest

from simulator.controlplane.place import host_port, reserved_ports


def test_an_ipv6_address_stands_in_brackets() -> None:
    assert [host_port(host, 6443) for host in ("127.0.0.1", "::1", "plane.example")] == [
        "127.0.0.1:6443",
        "[::1]:6443",
        "plane.example:6443",
    ]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_reserved_port_is_shared_with_whom_it_is_for_and_with_nobody_else(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with reserved_ports(address) as (port,), socket.socket(family) as other, socket.socket(family) as program:
        with pytest.raises(OSError, match="Address already in use"):
            other.bind((address, port))
        program.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        program.bind((address, port))
        program.listen()
        with socket.create_connection((address, port), timeout=5) as caller:
            assert caller.getpeername()[1] == port
