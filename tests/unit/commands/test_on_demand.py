"""What the keys of a dashboard open is about the same tasks as the dashboard."""

from __future__ import annotations

import os

from schedtop.commands.on_demand import on_demand
from schedtop.offcpu.measurement import Wakers
from schedtop.sources.activity.source import LiveActivity
from schedtop.sources.offcpu.source import LiveOffCpu

EVERYTHING = {"source": "btf", "pid": (), "tid": (), "comm": (), "cgroup": None, "pidns": None}


def test_offcpu_and_activity_keep_the_filter_by_pid_namespace() -> None:
    """Off-CPU measured all tasks under the label "only pidns:N"."""
    number = os.stat("/proc/self/ns/pid").st_ino
    for namespace, expected in ((str(number), number), (None, 0)):
        keys = on_demand(EVERYTHING | {"pidns": namespace})
        assert keys.make_offcpu and keys.make_activity
        offcpu, activity = keys.make_offcpu(0, Wakers.INTERRUPTS), keys.make_activity()
        assert isinstance(offcpu, LiveOffCpu) and isinstance(activity, LiveActivity)
        assert offcpu._scope.pid_namespace == expected
        assert activity._scope.pid_namespace == expected
