"""Proxy execution (kernel 6.17): a task that waits for a mutex stays queued, for the owner to run in its place.

CONFIG_SCHED_PROXY_EXEC shows in struct rq: without it `donor` and `curr` are one field (kernel/sched/sched.h). It is on
unless the command line has `sched_proxy_exec=0` (setup_proxy_exec() in kernel/sched/core.c).
"""

from __future__ import annotations

from pathlib import Path

from schedtop.sources.kernel.btf import Btf

COMMAND_LINE = Path("/proc/cmdline")

NO_LENGTHS = "tasks that wait for a mutex stay queued (proxy execution), and the kernel counts them with the others"
NOTE = "proxy execution is on: of a task that was waiting for a mutex, the wait for a CPU after it may not be seen"

_OFF = ("0", "n", "f", "of")
"""What kstrtobool() in lib/kstrtox.c takes for false begins with this."""


def proxies(btf: Btf, command_line: Path = COMMAND_LINE) -> bool:
    """Whether this kernel lets owners of mutexes run in place of those that wait for them."""
    if not btf.has_field("rq", "donor") or btf.offset("rq", "donor") == btf.offset("rq", "curr"):
        return False
    try:
        words = command_line.read_text().split()
    except OSError:
        return True
    told = [word.partition("=")[2].lower() for word in words if word.startswith("sched_proxy_exec=")]
    return not told or not told[-1].startswith(_OFF)
