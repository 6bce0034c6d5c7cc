"""Ten minutes of the dashboard under changing load: its memory must not grow after the first minute. `make soak`.

Exits 1 if it does. SCHEDTOP_SOAK_S sets another length in seconds.
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
    try:
        while (now := time.monotonic() - start) < DURATION_S:
            if load is None or load.poll() is not None:
                load = subprocess.Popen(next(loads), stdout=subprocess.DEVNULL)
            # A third of the time frozen, sometimes stepping back.
            if int(now) % 60 == 40 or int(now) % 60 == 0:
                terminal.type(" ")
                terminal.type(",,,,")
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
    first_minute = max(own for now, own in samples if now <= max(60, DURATION_S / 10))
    last = max(own for now, own in samples if now > DURATION_S * 0.8)
    print(f"own memory: at most {first_minute / 2**20:.1f} MiB in the first minute, {last / 2**20:.1f} MiB at the end")
    return int(status != 0 or last > first_minute + GROWTH_BYTES)


if __name__ == "__main__":
    sys.exit(main())
