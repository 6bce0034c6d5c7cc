"""Tasks that come and go on the made-up host: a web server's shell scripts, a backup, a pool of threads."""

from __future__ import annotations

import numpy as np

from schedtop.base.units import NS_PER_S
from schedtop.model.rows import Rows
from schedtop.model.short_lived import EXIT_UNKNOWN, SHORT_LIVED_DTYPE

_FAILED, _KILLED = 1 << 8, 9

_KINDS = (
    (b"sh", b"nginx", 4248, 2102, 0, 0, 60, 700_000, 90_000),
    (b"sh", b"nginx", 4248, 2102, _FAILED, 0, 2, 700_000, 120_000),
    (b"curl", b"sh", 0, 2102, 0, 0, 58, 1_900_000, 260_000),
    (b"curl", b"sh", 0, 2102, _KILLED, 0, 1, 2_400_000, 800_000),
    (b"gzip", b"backup", 5120, 2107, 0, 0, 3, 9_000_000, 400_000),
    (b"java", b"java", 4256, 2105, EXIT_UNKNOWN, 1, 25, 120_000, 60_000),
)
# comm, parent, its tgid, cgroup, exit code, is a thread; how many a second, what each of them ran and waited.


def short_lived(number: int, interval_ns: int) -> Rows:
    """Rows of SHORT_LIVED_DTYPE of the Frame `number`."""
    rows = np.zeros(len(_KINDS), SHORT_LIVED_DTYPE)
    names = ("comm", "parent", "parent_tgid", "cgroup_id", "exit_code", "is_thread")
    wave = 1 + 0.5 * np.sin(number / 7)
    for row, (*values, per_second, run_ns, delay_ns) in zip(rows, _KINDS, strict=True):
        for name, value in zip(names, values, strict=True):
            row[name] = value  # type: ignore[assignment]
        count = max(1, round(per_second * wave * interval_ns / NS_PER_S))
        row["count"], row["run_ns"], row["run_delay_ns"] = count, count * run_ns, round(count * delay_ns * wave)
        row["lived_ns"] = 2 * (row["run_ns"] + row["run_delay_ns"])
        row["max_wait_ns"], row["switches"] = 9 * delay_ns, 3 * count
    rows["pid_namespace"] = 4026531836
    return rows
