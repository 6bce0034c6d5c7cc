"""Activity as a part of a Frame, and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from schedtop.activity.activity import Activity
from schedtop.model.activity_rows import ID_FIELDS, ROW_DTYPE, merge_threads
from schedtop.model.activity_table import ActivityTable, bounded, by_process
from schedtop.model.frame import Frame
from schedtop.model.host import Host

BY_PROCESS = "recorded by process: threads are not told apart"
"""A note of what comes from a Frame."""


def table_of(activity: Activity) -> ActivityTable:
    """What a Frame holds of an interval: by process, bounded."""
    table = ActivityTable(
        interval_ns=activity.interval_ns,
        only=activity.only,
        rows=by_process(merge_threads([activity.rows, activity.connections])),
        syscalls=activity.syscalls,
        transitions=activity.transitions,
        latest=activity.latest,
        devices=activity.devices,
        device_names=activity.device_names,
        unavailable=activity.unavailable,
        loss=activity.loss,
    )
    return bounded(table)


def activity_of(frame: Frame, host: Host) -> Activity | None:
    """The activity that a Frame holds, `None` without."""
    table = frame.activity
    if table is None:
        return None
    rows = table.rows.copy()
    rows["tcp_connections"] = 0
    open_ones = table.rows[table.rows["tcp_connections"] > 0]
    connections = np.zeros(len(open_ones), ROW_DTYPE)
    for name in (*ID_FIELDS, "tcp_connections"):
        connections[name] = open_ones[name]
    return Activity(
        host=replace(host, notes=(BY_PROCESS, *host.notes)),
        start_time_ns=frame.start_time_ns,
        end_ns=frame.end_ns,
        interval_ns=table.interval_ns,
        rows=rows,
        only=table.only,
        connections=connections,
        syscalls=table.syscalls,
        transitions=table.transitions,
        latest=table.latest,
        devices=table.devices,
        device_names=table.device_names,
        cgroups=frame.cgroups,
        unavailable=table.unavailable,
        loss=table.loss,
    )
