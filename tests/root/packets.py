"""Packets that one CPU sends and another one receives, in a network of their own: their softirqs come to any task."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from loads import ended

# RPS hands what comes on the loopback to another CPU, which handles it in a softirq (Documentation/networking/scaling).
_NETWORK = """
mount -t sysfs none /sys && ip link set lo up && echo {mask:x} >/sys/class/net/lo/queues/rx-0/rps_cpus || exit 1
exec "$@"
"""

BREAK_S = 0.01
"""Between floods: within one each softirq raises the next, and what raised the first may be older than the programs."""

SENDER = """
import os, socket, sys, time
to, batch, pause = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
os.sched_setaffinity(0, {0 if to else 1})
def udp(): return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
called, port, them = udp(), 4000, [udp() for _ in range(100)]
called.bind(("127.0.0.1", 0))
for each in them:
    each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    each.bind(("", port))
if not os.fork():
    open("/proc/self/comm", "w").write("called")
    print(os.getpid(), flush=True)
    while True: called.recv(1)
us, caller = udp(), udp()
us.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
us.connect(("127.255.255.255", port))
caller.connect(called.getsockname())
due = 0
while True:
    for _ in range(batch): us.send(b"x")
    if time.monotonic() > due:
        caller.send(b"x")
        due = time.monotonic() + 2e-3
    if pause: time.sleep(pause)
"""
"""Packets in batches for a hundred sockets each, received on one CPU; every 2 ms one that wakes a process `called`."""


@contextmanager
def packets_to(cpu: int, batch: int, pause_s: float = 0) -> Iterator[int]:
    """A sender on another CPU; the number of the process that it wakes."""
    network = ["unshare", "-n", "-m", "sh", "-c", _NETWORK.format(mask=1 << cpu), "sh"]
    command = [*network, sys.executable, "-I", "-S", "-c", SENDER, str(cpu), str(batch), str(pause_s)]
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, process_group=0)
    except OSError as error:
        pytest.skip(f"no network of its own: {error}")
    with ended(process):
        assert process.stdout
        called = process.stdout.readline()
        if not called:
            pytest.skip("the packets of the loopback cannot be handed to another CPU here")
        try:
            yield int(called)
        finally:
            subprocess.run(["kill", "-KILL", called.decode().strip()], check=False)
