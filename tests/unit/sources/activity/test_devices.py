"""Reads and writes by device, and what devices are called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from schedtop.model.rows import Rows
from schedtop.sources.activity.devices import DeviceCounts, DeviceNames

DEVICE = np.dtype(
    [("tgid", "<u4"), ("device", "<u4"), ("count", "<u8", (2,)), ("bytes", "<u8", (2,)), ("ns", "<u8", (2,))]
)

MOUNTS = """\
22 1 254:0 / / rw - ext4 /dev/root rw
23 22 0:21 / /proc rw,nosuid shared:1 - proc proc rw
24 22 0:40 / /srv/my\\040disk rw - btrfs /dev/vdb rw
25 22 0:40 /sub /mnt rw - btrfs /dev/vdb rw
broken
"""


class Kernel:
    def __init__(self, room: int) -> None:
        self.rows: Rows = np.zeros(0, DEVICE)
        self._room = room

    def values(self, _name: str) -> Rows:
        return self.rows.copy()

    def room(self, _name: str) -> int:
        return self._room

    def take(self, _name: str, rows: Rows) -> Rows:
        self.rows = self.rows[~np.isin(self.rows["device"], rows["device"])]
        return rows


def one(device: int, *numbers: tuple[int, int]) -> Rows:
    return np.array([(5, device, *numbers)], DEVICE)


def test_reads_and_writes_are_those_since_the_last_look_and_again_after_room_was_made() -> None:
    kernel: Any = Kernel(room=1)
    counts = DeviceCounts(kernel)
    kernel.rows = one(8, (3, 1), (300, 10), (7, 9))
    first, names = counts.take()
    assert first.tolist() == [(5, 8, 3, 1, 300, 10, 7, 9)]
    assert names[8]
    assert not len(counts.take()[0])
    assert not len(kernel.rows), "it was quiet, and there was no room"
    kernel.rows = one(8, (1, 0), (50, 0), (2, 0))
    assert counts.take()[0].tolist() == [(5, 8, 1, 0, 50, 0, 2, 0)]


def test_a_device_is_called_as_its_disk_or_as_the_file_system(tmp_path: Path) -> None:
    mounts, sysfs = tmp_path / "mountinfo", tmp_path / "block"
    mounts.write_text(MOUNTS)
    sysfs.mkdir()
    (sysfs / "254:1").symlink_to("../../devices/virtio1/block/vda/vda1")
    names = DeviceNames(sysfs, mounts)
    numbers = [254 << 20 | 1, 21, 40, 99, 254 << 20]
    found = names.resolve(numbers)
    assert [found[number] for number in numbers] == ["vda1", "proc /proc", "vdb", "0:99", "root"]
    mounts.unlink()
    assert names.resolve([21, 7]) == {**found, 7: "0:7"}
