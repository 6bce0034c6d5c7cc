"""`schedtop task --cgroup`: what the weight of a cgroup entitles it to, and what it got."""

from __future__ import annotations

import threading
from typing import Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.commands.program import duration_ns
from schedtop.entitlement.report import EntitlementReport, report_on_group
from schedtop.entitlement.times import Times
from schedtop.model.source import SourceError
from schedtop.outputs.task.group import GroupReport, to_json, to_text
from schedtop.sources.host.cgroups import cpu_hierarchy, find_group, read_mounts
from schedtop.sources.host.competition import CompetitionReader
from schedtop.sources.scheduler.source import LiveSource

FORMATS = {"text": to_text, "json": to_json}


def named_group(text: str) -> str:
    """The path of the cgroup that is asked for. Raises click.UsageError."""
    root = cpu_hierarchy(read_mounts())
    if root is None:
        raise click.UsageError("--cgroup: no cpu controller is mounted here")
    try:
        return find_group(root, text)[0]
    except ValueError as error:
        raise click.UsageError(f"--cgroup: {error}") from error


def look_at_group(path: str, options: dict[str, Any], stop: threading.Event) -> str:
    """The report on a cgroup as text, after its time, or when `stop` is set. Raises SourceError."""
    times, start_time_ns, wanted_ns = Times(), 0, duration_ns(options)
    interval_ns = min(wanted_ns, NS_PER_S)
    with LiveSource(interval_ns, options["threshold"], options["source"]) as source:
        for frame in source.frames(stop):
            start_time_ns = start_time_ns or frame.start_time_ns
            times.add(frame)
            if times.interval_ns + interval_ns / 2 > wanted_ns:
                break
        host = source.host
    try:
        report = entitlement_of_group(path, times)
    except ValueError as error:
        raise SourceError(str(error)) from error
    return FORMATS[options["format_name"]](GroupReport(host, path, start_time_ns, report))


def entitlement_of_group(path: str, times: Times) -> EntitlementReport:
    """Of the tasks in a cgroup and below. Raises ValueError with why there is no answer."""
    if times.unavailable:
        raise ValueError(times.unavailable)
    reader = CompetitionReader()
    competition = reader.read(times, ())
    report = report_on_group(competition, reader.key_of(path))
    if report is None:
        raise ValueError(f"no task in {path} ran or waited for a CPU in that time")
    return report
