"""Sends over a link that loses and delays packets, and says what the kernel counted meanwhile, as JSON.

Two processes, each in a network namespace of its own, with a tun device between them: this one carries the packets,
10 ms late, and drops some. So it takes no queueing discipline of the kernel. Exit status 77: it cannot be done here.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BYTES = 600_000
DELAY_S = 0.01
DROP_EVERY = 17  # of the packets with data
LARGE = 500
_NEW_NET = 0x40000000
_TUNSETIFF, _TUN, _NO_PI = 0x400454CA, 1, 0x1000
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> int:
    """Gives the exit status."""
    signal.alarm(50)
    try:
        sender, receiver = _child(_send), _child(_receive)
    except OSError as error:
        return _impossible(error)
    try:
        tunnels = [_tunnel(child[0], address) for child, address in ((sender, "10.9.0.1"), (receiver, "10.9.0.2"))]
    except (OSError, subprocess.SubprocessError) as error:
        for pid, *_ in (sender, receiver):
            os.kill(pid, signal.SIGKILL)
        return _impossible(error)
    for _, to, _ in (receiver, sender):
        os.write(to, b"g")
    dropped = _carry(tunnels, (sender[2], receiver[2]))
    said = [json.loads(os.read(child[2], 4096)) for child in (sender, receiver)]
    for pid, *_ in (sender, receiver):
        os.waitpid(pid, 0)
    print(json.dumps({
        "sender": sender[0],
        "receiver": receiver[0],
        "bytes": BYTES,
        "dropped": dropped,
        "retransmits": {"sender": said[0]["retransmits"], "receiver": said[1]["retransmits"]},
        "rtt_us": said[0]["rtt_us"],
        "total_retransmits": said[0]["total_retransmits"],
    }))  # fmt: skip
    return 0


def _impossible(error: Exception) -> int:
    print(f"no lossy link: {error}", file=sys.stderr)
    return 77


def _child(act: Callable[[], dict[str, Any]]) -> tuple[int, int, int]:
    """Starts one in a new namespace: pid, where it waits for a byte, where it says what it counted."""
    go, said, ready = os.pipe(), os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        signal.alarm(50)
        status = 1
        try:
            if _libc.unshare(_NEW_NET):
                raise OSError(ctypes.get_errno(), "unshare")
            os.write(ready[1], b"r")
            os.read(go[0], 1)
            os.write(said[1], json.dumps(act()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(ready[1])
    if not os.read(ready[0], 1):
        raise OSError("no new network namespace")
    return pid, go[1], said[0]


def _tunnel(pid: int, address: str) -> int:
    """A tun device in the namespace of a process, with its address."""
    with open(f"/proc/{pid}/ns/net", "rb") as space:
        if _libc.setns(space.fileno(), _NEW_NET):
            raise OSError(ctypes.get_errno(), "setns")
    tunnel = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tunnel, _TUNSETIFF, struct.pack("16sH14x", b"lossy", _TUN | _NO_PI))
    for words in (["addr", "add", f"{address}/24", "dev", "lossy"], ["link", "set", "lossy", "up"]):
        subprocess.run(["ip", *words], check=True, capture_output=True)
    return tunnel


def _carry(tunnels: list[int], said: tuple[int, int]) -> int:
    """Carries packets until both have said what they counted; how many were dropped."""
    late: list[tuple[float, int, int, bytes]] = []
    large = dropped = number = 0
    while len(select.select(said, [], [], 0)[0]) < 2:
        wait = max(0.0, late[0][0] - time.monotonic()) if late else 0.02
        for tunnel in select.select(tunnels, [], [], min(wait, 0.02))[0]:
            packet = os.read(tunnel, 2048)
            large += len(packet) > LARGE
            if len(packet) > LARGE and large % DROP_EVERY == 0:
                dropped += 1
                continue
            number += 1
            other = tunnels[1 - tunnels.index(tunnel)]
            heapq.heappush(late, (time.monotonic() + DELAY_S, number, other, packet))
        while late and late[0][0] <= time.monotonic():
            _, _, other, packet = heapq.heappop(late)
            os.write(other, packet)
    return dropped


def _send() -> dict[str, Any]:
    near = socket.create_connection(("10.9.0.2", 9999), timeout=20)
    near.settimeout(None)
    piece = b"x" * 10_000
    for _ in range(BYTES // len(piece)):
        near.sendall(piece)
    near.shutdown(socket.SHUT_WR)
    near.recv(1)  # the other one has it all
    info = near.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    rtt_us, total = (int.from_bytes(info[at : at + 4], "little") for at in (68, 100))
    near.close()
    time.sleep(0.3)
    return {"retransmits": _retransmits(), "rtt_us": rtt_us, "total_retransmits": total}


def _receive() -> dict[str, Any]:
    with socket.create_server(("10.9.0.2", 9999)) as listener:
        far, _ = listener.accept()
        while far.recv(65536):
            pass
        far.sendall(b"!")
        far.close()
    time.sleep(0.3)
    return {"retransmits": _retransmits()}


def _retransmits() -> int:
    """RetransSegs of this namespace."""
    names, values = (line.split() for line in Path("/proc/self/net/snmp").read_text().splitlines() if "Tcp: " in line)
    return int(values[names.index("RetransSegs")])


if __name__ == "__main__":
    sys.exit(main())
