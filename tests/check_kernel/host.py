"""What a mix does to the host: quotas of the cgroup v1 controller `cpu`, and CPUs that go and come."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

PERIOD_US = 20_000
NO_QUOTA = -1
_CPUS = Path("/sys/devices/system/cpu")


def cpu_controller() -> Path | None:
    """Where the v1 controller `cpu` is mounted, if it is."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, options = line.split()[:4]
        if kind == "cgroup" and "cpu" in options.split(","):
            return Path(place)
    return None


class Quotas:
    """Two cgroups, one within the other, that may have a quota each; gone at the end of the block."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.groups = [root / f"schedtop-check-{os.getpid()}", root / f"schedtop-check-{os.getpid()}/inner"]

    def __enter__(self) -> Quotas:
        for group in self.groups:
            group.mkdir()
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        return self

    def __exit__(self, *exc: object) -> None:
        for group in reversed(self.groups):
            for _ in range(100):
                with suppress(OSError):
                    group.rmdir()
                    break
                time.sleep(0.05)

    def put(self, pid: int, number: int | None) -> None:
        """Puts a process into one of the groups, or into none."""
        group = self._root if number is None else self.groups[number]
        with suppress(OSError):  # it has ended
            (group / "cgroup.procs").write_text(str(pid))

    def allow(self, number: int, share: float) -> None:
        """Gives a group this share of one CPU; NO_QUOTA: as much as there is."""
        quota = NO_QUOTA if share == NO_QUOTA else max(1000, round(PERIOD_US * share))
        with suppress(OSError):  # the outer one may not have less than the inner one
            (self.groups[number] / "cpu.cfs_quota_us").write_text(str(quota))

    @property
    def throttled_ns(self) -> int:
        """For how long their quotas have stopped the groups' queues, summed over CPUs."""
        stats = "".join((group / "cpu.stat").read_text() for group in self.groups).split()
        return sum(int(value) for name, value in zip(stats[::2], stats[1::2], strict=True) if name == "throttled_time")

    def lift(self) -> None:
        """No quota any more."""
        for number in range(len(self.groups)):
            self.allow(number, NO_QUOTA)


def removable_cpus() -> list[Path]:
    """The switches of CPUs that can be taken away: all but the first."""
    return [switch for switch in sorted(_CPUS.glob("cpu[0-9]*/online")) if switch.parent.name != "cpu0"]


def all_online(switches: list[Path]) -> None:
    """Brings back what was taken away."""
    for switch in switches:
        if switch.read_text().strip() == "0":
            switch.write_text("1")
