"""What was read from and written to each device: of all processes, of one, and which one most."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from schedtop.activity.activity import Activity
from schedtop.model.activity_rows import DEVICE_COUNTS
from schedtop.model.rows import Rows

Counts = Mapping[str, int]
"""By the names of DEVICE_COUNTS."""


def are_known(activity: Activity) -> bool:
    """Whether it can be told which device files lie on."""
    return "files" in activity.only and "devices" not in activity.unavailable


def by_device(activity: Activity) -> dict[str, Counts]:
    """Of all processes, by the name of the device, most time first."""
    return _summed(activity.devices, activity.device_names)


def by_process(activity: Activity) -> dict[int, dict[str, Counts]]:
    """The same of each process."""
    rows = activity.devices
    return {
        tgid: _summed(rows[rows["tgid"] == tgid], activity.device_names) for tgid in np.unique(rows["tgid"]).tolist()
    }


def mostly(activity: Activity) -> dict[int, tuple[str, float]]:
    """By process: the device with most of its bytes, and its share of them; of processes that moved any."""
    most: dict[int, tuple[str, int]] = {}
    sums: dict[int, int] = {}
    rows = activity.devices
    sizes = (rows["read_bytes"] + rows["write_bytes"]).tolist()
    for tgid, number, size in zip(rows["tgid"].tolist(), rows["device"].tolist(), sizes, strict=True):
        sums[tgid] = sums.get(tgid, 0) + size
        if size > most.get(tgid, ("", 0))[1]:
            most[tgid] = (name_of(number, activity.device_names), size)
    return {tgid: (name, size / sums[tgid]) for tgid, (name, size) in most.items()}


def name_of(number: int, names: Mapping[int, str]) -> str:
    """What a device is called; its number, if it has no name."""
    return names.get(number) or f"{number >> 20}:{number & 0xFFFFF}"


def _summed(rows: Rows, names: Mapping[int, str]) -> dict[str, Counts]:
    sums: dict[str, dict[str, int]] = {}
    for row in rows:
        counts = sums.setdefault(name_of(int(row["device"]), names), dict.fromkeys(DEVICE_COUNTS, 0))
        for field in DEVICE_COUNTS:
            counts[field] += int(row[field])
    return dict(sorted(sums.items(), key=lambda item: (-item[1]["read_ns"] - item[1]["write_ns"], item[0])))
