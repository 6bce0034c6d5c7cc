"""Waits that are in no group, because the kernel dropped theirs."""

from __future__ import annotations

from typing import cast

import numpy as np

from schedtop.sources.scheduler.group_reader import GroupReader
from schedtop.sources.scheduler.programs import Programs

ROW = np.dtype([("id", "<u8"), ("grouping", "<u4"), ("kind", "<u4"), ("wait_sum_ns", "<u8"), ("latency", "<u4", 4)])


class Kernel:
    """All waits of two CPUs, and the groups that the map holds now."""

    def __init__(self) -> None:
        self.cpus = np.zeros(2, [("latency", "<u8", 4)])
        self.groups: dict[tuple[int, int], int] = {}
        self.late = 0

    def wait(self, kind: int, group: int, count: int = 1) -> None:
        self.cpus["latency"][group % 2, 1] += count
        self.groups[kind, group] = self.groups.get((kind, group), 0) + count

    def group_latency(self) -> np.ndarray:
        rows = np.zeros(len(self.groups), ROW)
        for row, ((kind, group), count) in zip(rows, self.groups.items(), strict=True):
            row["id"], row["grouping"], row["latency"][1] = group, kind, count
        if self.late:  # waits end while this is read
            self.wait(2, 1, self.late)
        return rows


def read(reader: GroupReader, kernel: Kernel, kind: int = 2) -> int:
    reader.read(cast("Programs", kernel), "tgid", kind)
    return reader.waits_ungrouped


def test_nothing_is_missing_while_every_group_stays() -> None:
    reader, kernel = GroupReader(), Kernel()
    for step in range(4):
        kernel.wait(2, 1, 5)
        kernel.wait(2, 10 + step)
        assert read(reader, kernel) == 0


def test_waits_that_went_with_a_group_are_counted_once() -> None:
    reader, kernel = GroupReader(), Kernel()
    kernel.wait(2, 1, 5)
    assert read(reader, kernel) == 0
    kernel.wait(2, 1, 3)
    kernel.wait(2, 7, 2)
    del kernel.groups[2, 7]
    assert read(reader, kernel) == 2
    assert read(reader, kernel) == 2


def test_a_group_that_came_again_lost_what_it_had_since_the_last_reading() -> None:
    reader, kernel = GroupReader(), Kernel()
    kernel.wait(2, 1, 50)
    read(reader, kernel)
    kernel.wait(2, 1, 4)
    del kernel.groups[2, 1]
    kernel.wait(2, 1, 6)
    assert read(reader, kernel) == 4


def test_a_group_without_waits_may_go() -> None:
    reader, kernel = GroupReader(), Kernel()
    kernel.wait(2, 1, 50)
    read(reader, kernel)
    del kernel.groups[2, 1]
    assert read(reader, kernel) == 0


def test_waits_that_end_while_groups_are_read_are_not_missing() -> None:
    reader, kernel = GroupReader(), Kernel()
    for late in (3, 0, 9, 0):
        kernel.late = late
        kernel.wait(2, 4)
        assert read(reader, kernel) == 0


def test_another_kind_of_groups_begins_anew() -> None:
    reader, kernel = GroupReader(), Kernel()
    kernel.wait(2, 1, 5)
    read(reader, kernel)
    kernel.wait(3, 1, 5)
    assert read(reader, kernel, 3) == 0
    kernel.wait(3, 2, 5)
    del kernel.groups[3, 2]
    assert read(reader, kernel, 3) == 5


def test_kinds_of_wait_of_a_group_are_entries_of_their_own() -> None:
    """In order of group and kind, and one that went is missed beside the one that stays."""
    rows = np.zeros(3, ROW)
    rows["id"], rows["kind"], rows["grouping"] = [7, 1, 7], [1, 0, 0], 2
    rows["latency"][:, 1] = [5, 6, 8]
    kernel = Kernel()
    kernel.cpus["latency"][0, 1] = 19
    kernel.group_latency = lambda: rows  # type: ignore[method-assign]
    reader = GroupReader()
    groups = reader.read(cast("Programs", kernel), "tgid", 2)
    assert (groups.ids.tolist(), groups.wait_kinds.tolist()) == ([1, 7, 7], [0, 0, 1])
    assert groups.counts[:, 1].tolist() == [6, 8, 5]
    kernel.cpus["latency"][0, 1] += 4
    kernel.group_latency = lambda: rows[1:]  # type: ignore[method-assign]
    reader.read(cast("Programs", kernel), "tgid", 2)
    assert reader.waits_ungrouped == 4, "those of the entry that went"
