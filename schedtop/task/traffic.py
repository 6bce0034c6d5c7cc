"""What a task read and wrote, sent and received."""

from __future__ import annotations

from dataclasses import dataclass, replace

IO_KINDS = ("file", "pipe", "socket", "tty", "device", "other", "unknown")
"""What a file descriptor stands for: regular file or directory, pipe or FIFO, socket, character or block device, what
has no kind (eventfd, epoll, timerfd ...), and what could not be looked up."""


@dataclass(frozen=True, slots=True)
class Io:
    """Reads or writes (`direction`) by system calls on one of IO_KINDS; `count` with the `errors` among them."""

    kind: str
    direction: str
    count: int
    bytes: int
    time_ns: int
    errors: int = 0

    def __add__(self, later: Io) -> Io:
        sums = ("count", "bytes", "time_ns", "errors")
        return replace(later, **{name: getattr(self, name) + getattr(later, name) for name in sums})


@dataclass(frozen=True, slots=True)
class Traffic:
    """Payload sent and received over `tcp` or `udp`, of `ipv4` or `ipv6`; a message is one call of the socket layer."""

    protocol: str
    family: str
    sent_bytes: int = 0
    sent_messages: int = 0
    received_bytes: int = 0
    received_messages: int = 0

    def __add__(self, later: Traffic) -> Traffic:
        sums = ("sent_bytes", "sent_messages", "received_bytes", "received_messages")
        return replace(later, **{name: getattr(self, name) + getattr(later, name) for name in sums})


def io_order(one: Io) -> tuple[int, str, str]:
    """The most bytes first."""
    return (-one.bytes, one.kind, one.direction)


def traffic_key(one: Traffic) -> tuple[str, str]:
    """What a Traffic is of."""
    return (one.protocol, one.family)
