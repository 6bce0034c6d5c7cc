"""What a cgroup is entitled to, as text and as JSON: `schedtop.entitlement/1`, see docs/entitlement.md."""

from __future__ import annotations

from dataclasses import dataclass

from schedtop import __version__
from schedtop.base.units import format_ns, iso_time, plural, printable
from schedtop.entitlement.report import EntitlementReport
from schedtop.model.host import Host
from schedtop.outputs.plain import blocks_text, json_text
from schedtop.outputs.task.entitlement import entitlement_fields, report_text

SCHEMA = "schedtop.entitlement/1"


@dataclass(frozen=True, slots=True)
class GroupReport:
    """`path` of the cgroup, as below the mount of the cpu controller; when the window began; the answer."""

    host: Host
    path: str
    start_time_ns: int
    report: EntitlementReport

    @property
    def tasks(self) -> int:
        """How many of its tasks wanted a CPU."""
        return len(self.report.found.subject)


def to_text(group: GroupReport) -> str:
    """The report."""
    host = group.host
    facts = [f"schedtop {__version__}", f"host {host.name}", f"kernel {host.kernel}", f"source {host.source}"]
    facts += [iso_time(group.start_time_ns), f"over {format_ns(group.report.found.interval_ns)}"]
    subject = f"Cgroup {printable(group.path)}, {group.tasks} {plural(group.tasks, 'task')} that wanted a CPU"
    return blocks_text(["  ".join(facts) + f"\n{subject}", report_text(group.report)])


def to_json(group: GroupReport) -> str:
    """The same as a document."""
    return json_text(
        {
            "schema": SCHEMA,
            "tool_version": __version__,
            "host": group.host.name,
            "kernel": group.host.kernel,
            "source": group.host.source,
            "start_time": iso_time(group.start_time_ns),
            "interval_ns": group.report.found.interval_ns,
            "cgroup": group.path,
            "tasks": group.tasks,
            "entitlement": entitlement_fields(group.report),
        }
    )
