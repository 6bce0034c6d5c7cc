"""Which devices files lie on, and what these are called."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from schedtop.model.activity_rows import DEVICE_COUNTS, DEVICE_DTYPE, merge_devices
from schedtop.model.rows import Rows, text
from schedtop.sources.activity.connections import FULL
from schedtop.sources.activity.growing import Growing
from schedtop.sources.activity.programs import ActivityPrograms
from schedtop.sources.host.cgroups import mount_fields, read_mounts

_MINOR_BITS = 20  # include/linux/kdev_t.h


class DeviceCounts:
    """Reads and writes since the last look, by process and device."""

    def __init__(self, programs: ActivityPrograms) -> None:
        self._programs = programs
        self._growing = Growing(merge_devices, ("tgid", "device"), DEVICE_COUNTS)
        self._names = DeviceNames()

    def take(self) -> tuple[Rows, Mapping[int, str]]:
        """Rows of DEVICE_DTYPE, and what the devices are called."""
        counted = self._programs.values("devices")
        rows = _rows_of(counted)
        change = self._growing.take(rows)
        if len(counted) > FULL * self._programs.room("devices"):
            self._growing.forget(_rows_of(self._programs.take("devices", counted[self._growing.quiet(rows, change)])))
        return change, self._names.resolve(np.unique(change["device"]).tolist())


def _rows_of(counted: Rows) -> Rows:
    rows = np.zeros(len(counted), DEVICE_DTYPE)
    rows["tgid"], rows["device"] = counted["tgid"], counted["device"]
    for ours, theirs in (("{}s", "count"), ("{}_bytes", "bytes"), ("{}_ns", "ns")):
        for place, direction in enumerate(("read", "write")):
            rows[ours.format(direction)] = counted[theirs][:, place]
    return rows


class DeviceNames:
    """What devices are called, as far as they were asked for; the kernel's own numbers are used again, but seldom."""

    def __init__(self, sysfs: Path = Path("/sys/dev/block"), mounts: Path = Path("/proc/self/mountinfo")) -> None:
        self._sysfs, self._mounts = sysfs, mounts
        self._names: Mapping[int, str] = MappingProxyType({})

    def resolve(self, numbers: Iterable[int]) -> Mapping[int, str]:
        """Names by number, of these and of all from before."""
        unknown = [number for number in numbers if number not in self._names]
        if unknown:
            mounted = self._mounted()
            found = {number: self._name(number, mounted) for number in unknown}
            self._names = MappingProxyType({**self._names, **found})
        return self._names

    def _name(self, number: int, mounted: Mapping[str, str]) -> str:
        words = f"{number >> _MINOR_BITS}:{number & ((1 << _MINOR_BITS) - 1)}"
        try:
            return os.path.basename(os.readlink(self._sysfs / words))
        except OSError:
            return mounted.get(words, words)

    def _mounted(self) -> dict[str, str]:
        """By `major:minor`: the disk of a file system without a number of its own, or its kind and where it is."""
        try:
            lines = mount_fields(read_mounts(self._mounts))
        except OSError:
            return {}
        found: dict[str, str] = {}
        for fields in lines:
            if len(fields) < 10 or "-" not in fields[6:]:
                continue
            kind, source = fields[fields.index("-", 6) + 1 :][:2]
            name = os.path.basename(source) if source.startswith("/dev/") else f"{kind} {fields[4]}"
            found.setdefault(fields[2], text(name.encode(errors="surrogateescape")))
        return found
