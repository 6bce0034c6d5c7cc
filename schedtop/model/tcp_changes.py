"""Changes of TCP connections' states, with both ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

MOST_LATEST = 64
"""How many changes of TCP connections are kept of an interval."""

MOST_RECORDED = 16
"""And how many in a recording."""

_MOST_PORT = 65_535
_MOST_TIME_NS = 1 << 62  # the year 2116


@dataclass(frozen=True, slots=True)
class TcpChange:
    """A TCP connection of the host that went from the state `old` to `new`, at `time_ns` (wall clock).

    Addresses as text; a port is 0 where there is none.
    """

    time_ns: int
    old: str
    new: str
    local: str
    local_port: int
    remote: str
    remote_port: int


def end_text(address: str, port: int) -> str:
    """An end of a connection as people write it."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def encode_changes(changes: Sequence[TcpChange]) -> list[Any]:
    """Plain values of JSON: a list for each."""
    return [list(astuple(change)) for change in changes]


def decode_changes(
    data: Sequence[Any], name: Callable[[Any], str], count: Callable[[Any], int]
) -> tuple[TcpChange, ...]:
    """What `encode_changes` gave; `name` and `count` refuse what is no text and no number. Raises ValueError."""
    if len(data) > MOST_LATEST:
        raise ValueError("more changes of connections than there can be")
    return tuple(_change(name, count, *row) for row in data)


def _change(
    name: Callable[[Any], str], count: Callable[[Any], int], time_ns: Any, old: Any, new: Any, local: Any,
    local_port: Any, remote: Any, remote_port: Any,
) -> TcpChange:  # fmt: skip
    ports = count(local_port), count(remote_port)
    if max(ports) > _MOST_PORT:
        raise ValueError("a port that cannot be")
    if isinstance(time_ns, bool) or not isinstance(time_ns, int) or not 0 <= time_ns < _MOST_TIME_NS:
        raise ValueError("a time that cannot be")
    return TcpChange(time_ns, name(old), name(new), name(local), ports[0], name(remote), ports[1])
