"""What processes read from and wrote to which device, as it is kept in a recording: bounded, with names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from schedtop.model.activity_rows import merge_devices
from schedtop.model.rows import Integers, Rows

MOST_DEVICES = 64
"""So many pairs of process and device of an interval are told apart, and then as many devices."""

OTHER_DEVICES = 0xFFFF_FFFF
"""The number of what all other devices are added up in: no device has it."""


def bounded_devices(rows: Rows) -> Rows:
    """The pairs with most time; the others by device, as of no process (`tgid` 0). All sums stay exact."""
    if len(rows) <= MOST_DEVICES:
        return rows
    order = _longest_first(rows)
    others = rows[order[MOST_DEVICES:]]
    others["tgid"] = 0
    others = merge_devices([others])
    if len(others) > MOST_DEVICES:
        others["device"][_longest_first(others)[MOST_DEVICES:]] = OTHER_DEVICES
    return merge_devices([rows[order[:MOST_DEVICES]], others])


def names_of(rows: Rows, names: Mapping[int, str], others: str) -> Mapping[int, str]:
    """The names of the devices that are in the rows."""
    known = {**names, OTHER_DEVICES: others}
    return MappingProxyType({number: known[number] for number in np.unique(rows["device"]).tolist() if number in known})


def _longest_first(rows: Rows) -> Integers:
    order: Integers = np.argsort(-(rows["read_ns"] + rows["write_ns"]), kind="stable")
    return order
