"""Which names of this host a request may be for.

A page of the web can have its own name point at us (DNS rebinding); the browser then sends that name in `Host`, and
would let the page read the answer. With an address there it cannot: the page itself would have come from us.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Iterable
from contextlib import suppress

ANY = "*"

_LOCAL = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")


class HostNames:
    """Addresses, names of the host itself, and those that are given; ANY of them lets all pass."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {*_LOCAL, *map(_plain, (socket.gethostname(), *names))} - {""}

    def ask_for_full_name(self) -> None:
        """Adds the host's name with its domain, once the system's files, or a name server, have told it."""
        threading.Thread(target=self._add_full_name, name="schedtop-name", daemon=True).start()

    def has(self, host: str) -> bool:
        """Whether what stands in `Host`, a name or an address and perhaps a port, means this host."""
        name = _plain(host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0])
        return ANY in self._names or name in self._names or name.endswith(".localhost") or _is_address(name)

    def _add_full_name(self) -> None:
        with suppress(OSError, UnicodeError):  # a name that is none
            self._names.add(_plain(socket.getfqdn()))


def _plain(name: str) -> str:
    return name.strip().rstrip(".").lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
