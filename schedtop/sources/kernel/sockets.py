"""Words for what the kernel tells of sockets in numbers."""

from __future__ import annotations

import socket

_TCP_STATES = (
    "", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT_1", "FIN_WAIT_2", "TIME_WAIT", "CLOSED", "CLOSE_WAIT",
    "LAST_ACK", "LISTEN", "CLOSING", "NEW_SYN_RECV", "BOUND_INACTIVE",
)  # fmt: skip
"""By number, include/net/tcp_states.h."""


def tcp_state(number: int) -> str:
    """What a state of a connection is called."""
    return _TCP_STATES[number] if 0 < number < len(_TCP_STATES) else f"state {number}"


def ip_address(family: int, packed: bytes) -> str:
    """An address as people write it."""
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, packed[:4])
    return socket.inet_ntop(socket.AF_INET6, packed[:16])


def address(family: int, packed: bytes, port: int) -> str:
    """An address and port as people write them."""
    words = ip_address(family, packed)
    return f"{words}:{port}" if family == socket.AF_INET else f"[{words}]:{port}"
