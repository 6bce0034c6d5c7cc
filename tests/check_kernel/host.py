"""What a mix does to the host: quotas of the controller `cpu`, and CPUs that go and come."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

PERIOD_US = 20_000
NO_QUOTA = -1
_CPUS = Path("/sys/devices/system/cpu")


class Quotas:
    """Two cgroups, one within the other, that may have a quota each; gone at the end of the block.

    Of cgroup v1 or v2, which wants processes in the leaves alone: the outer one's are in `outer/own`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        outer = root / f"schedtop-check-{os.getpid()}"
        self.groups = [outer, outer / "inner"]
        self._places = [outer / "own", outer / "inner"]
        self._unified = not (root / "cpu.shares").exists() and (root / "cgroup.controllers").exists()

    def __enter__(self) -> Quotas:
        for group in (self.groups[0], *self._places):
            if self._unified:
                (group.parent / "cgroup.subtree_control").write_text("+cpu")
            group.mkdir()
        self.lift()
        return self

    def __exit__(self, *exc: object) -> None:
        for group in (*self._places, self.groups[0]):
            for _ in range(100):
                with suppress(OSError):
                    group.rmdir()
                    break
                time.sleep(0.05)

    def put(self, pid: int, number: int | None) -> None:
        """Puts a process into one of the groups, or into none."""
        group = self._root if number is None else self._places[number]
        with suppress(OSError):  # it has ended
            (group / "cgroup.procs").write_text(str(pid))

    def allow(self, number: int, share: float) -> None:
        """Gives a group this share of one CPU; NO_QUOTA: as much as there is."""
        quota = NO_QUOTA if share == NO_QUOTA else max(1000, round(PERIOD_US * share))
        group = self.groups[number]
        if self._unified:
            (group / "cpu.max").write_text(f"{'max' if quota == NO_QUOTA else quota} {PERIOD_US}")
            return
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        with suppress(OSError):  # of v1 the outer one may not have less than the inner one
            (group / "cpu.cfs_quota_us").write_text(str(quota))

    @property
    def throttled_ns(self) -> int:
        """For how long their quotas have stopped the groups' queues, summed over CPUs."""
        stats = "".join((group / "cpu.stat").read_text() for group in self.groups).split()
        units = {"throttled_time": 1, "throttled_usec": 1000}
        return sum(int(value) * units.get(name, 0) for name, value in zip(stats[::2], stats[1::2], strict=True))

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
