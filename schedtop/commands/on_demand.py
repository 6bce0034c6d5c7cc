"""What keys of the dashboard open in the kernel: captures, off-CPU time, the task view, the path, activity."""

from __future__ import annotations

import os
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedtop.commands.opening import scope_of
from schedtop.run.opening import is_proc
from schedtop.ui.on_demand import OnDemand

if TYPE_CHECKING:
    from schedtop.activity.activity import ActivitySource
    from schedtop.offcpu.measurement import OffCpuSource, Wakers
    from schedtop.path.live import PathSource
    from schedtop.path.subject import PathSubject
    from schedtop.task import TaskSource


def on_demand(options: dict[str, Any]) -> OnDemand:
    """What the keys open, by the options of the dashboard's source."""
    if options["source"] == "synthetic":
        # Late: a demonstration's, which no live dashboard needs.
        from schedtop.sources.synthetic.activity import SyntheticActivity
        from schedtop.sources.synthetic.offcpu import SyntheticOffCpu
        from schedtop.sources.synthetic.path import SyntheticPath
        from schedtop.sources.synthetic.task import synthetic_task

        return OnDemand(
            make_offcpu=SyntheticOffCpu,
            make_task=synthetic_task,
            make_path=SyntheticPath,
            make_activity=SyntheticActivity,
        )
    if is_proc(options["source"]):
        return OnDemand(
            why="needs privileges, run `sudo schedtop`" if os.geteuid() else "needs another --source than proc"
        )
    return OnDemand(
        take_capture=partial(live_capture, options),
        make_offcpu=partial(live_offcpu, options),
        make_task=partial(live_task, options),
        make_path=partial(live_path, options),
        make_activity=partial(live_activity, options),
    )


def live_capture(options: dict[str, Any], directory: Path, stop: threading.Event) -> list[str]:
    """A capture of the live kernel into a directory, and the lines to show."""
    # Late: at the key, which most dashboards never see.
    from schedtop.commands.capture.files import capture_at_key

    return capture_at_key(options["source"], directory, stop)


def live_offcpu(options: dict[str, Any], min_ns: int, wakers: Wakers) -> OffCpuSource:
    """The off-CPU time of the live kernel: of the same tasks as the dashboard."""
    # Late: as above.
    from schedtop.sources.offcpu.source import LiveOffCpu

    return LiveOffCpu(scope_of(options), min_ns=min_ns, wakers=wakers, source=options["source"])


def live_task(options: dict[str, Any], tid: int, whole_process: bool) -> TaskSource:
    """The task view on the live kernel, through the front end that the dashboard has."""
    # Late: as above.
    from schedtop.commands.entitlement import EntitledTask

    filtered = [f"--{name}" for name in ("pid", "tid", "comm", "cgroup", "pidns") if options[name]]
    hidden = f"{' and '.join(filtered)} {'hide' if len(filtered) > 1 else 'hides'} its competitors" if filtered else ""
    return EntitledTask(tid, whole_process, options["source"], hidden)


def live_path(options: dict[str, Any], subject: PathSubject, min_ns: int, *, interrupts: bool) -> PathSource:
    """The path of a task or process of the live kernel, through the front end that the dashboard has."""
    # Late: as above.
    from schedtop.sources.path.source import LivePath

    return LivePath(subject, min_ns, interrupts=interrupts, source=options["source"])


def live_activity(options: dict[str, Any]) -> ActivitySource:
    """What all tasks do that the dashboard is about, through the front end that it has."""
    # Late: as above.
    from schedtop.sources.activity.source import LiveActivity

    return LiveActivity(scope_of(options), source=options["source"])
