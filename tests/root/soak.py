"""Ten minutes of the dashboard under changing load: its memory must not grow once the history is full. `make soak`.

What counts is the least it holds in a while. The most depends on the moment: a frozen history is a second one, and the
C library keeps 15 MiB of free pages after a second of 400 tasks until the collector returns them.
Exits 1 if it grows. SCHEDTOP_SOAK_S sets another length in seconds.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

from test_commands import SCHEDTOP, Terminal

DURATION_S = float(os.environ.get("SCHEDTOP_SOAK_S", "600"))
SAMPLE_S = 5
FULL, PART = 0.1, 0.3
"""Shares of it: when the history is full, and how much is looked at from there and at the end: three minutes, so that
each load and the frozen screen are in both."""

GROWTH_BYTES = 8 << 20
"""What the allocator may wander."""

LOADS = (["hackbench", "-l", "1500"], ["stress", "-c", "6", "-t", "5"], ["sleep", "3"])


def memory(pid: int) -> tuple[int, int]:
    """Own (anonymous) and resident memory in bytes, of /proc/<pid>/status."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return int(fields["RssAnon"].split()[0]) << 10, int(fields["VmRSS"].split()[0]) << 10


def main() -> int:
    """Runs it, prints a line a sample."""
    terminal = Terminal([*SCHEDTOP, "--interval", "0.2", "--threshold", "100us"], columns=160, lines=50)
    samples: list[tuple[float, int]] = []
    start = time.monotonic()
    load = None
    loads = itertools.cycle(LOADS)
    # A third of the time frozen, sometimes stepping back: by turns, however late a sample is, or it stays frozen.
    turns = (minute + second for minute in itertools.count(0, 60) for second in (40, 60))
    turn = next(turns)
    try:
        while (now := time.monotonic() - start) < DURATION_S:
            if load is None or load.poll() is not None:
                load = subprocess.Popen(next(loads), stdout=subprocess.DEVNULL)
            if now >= turn:
                terminal.type(" ")
                terminal.type(",,,,")
                turn = next(turns)
            time.sleep(SAMPLE_S)
            own, resident = memory(terminal.process.pid)
            samples.append((now, own))
            print(f"{now:6.0f} s  own {own / 2**20:6.1f} MiB  resident {resident / 2**20:6.1f} MiB", flush=True)
            terminal.drawn = b""
        terminal.type("q")
        status = terminal.process.wait(20)
    finally:
        terminal.process.kill()
        if load:
            load.kill()
    full = [own for now, own in samples if FULL <= now / DURATION_S < FULL + PART]
    last = [own for now, own in samples if now / DURATION_S >= 1 - PART]
    for when, held in (("once the history is full", full), ("at the end", last)):
        print(f"own memory {when}: {min(held) / 2**20:.1f} to {max(held) / 2**20:.1f} MiB")
    return int(status != 0 or min(last) > min(full) + GROWTH_BYTES)


if __name__ == "__main__":
    sys.exit(main())
