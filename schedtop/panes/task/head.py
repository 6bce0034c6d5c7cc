"""The lines on top of the task view: which task it is, how it may run, and what it does now."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

from schedtop.base.units import format_clock, format_count, format_counted, format_ns, format_round_ns
from schedtop.model.weights import ORDINARY_WEIGHT
from schedtop.panes.task.scene import Scene, Status
from schedtop.panes.task.syscalls import ongoing_text
from schedtop.panes.verdict_band import SEPARATOR, Parts
from schedtop.task import Attributes, Quota, TaskFrame, TaskLoss
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import Span, clip, clip_left, spans_width, steady, whole_parts

STATUS_WORDS = {
    Status.ATTACHING: ("◌ ATTACHING", "frozen"),
    Status.COUNTING: ("● TASK", "live"),
    Status.ENDED: (" ENDED ", "frozen"),
    Status.FAILED: (" NOT ATTACHED ", "alarm"),
    Status.RECORDED: (" FROM THE RECORDING ", "frozen"),
}
LEAST_PATH = 14
"""Cells of a cgroup's path; with fewer it goes."""

PRIORITY_POLICIES = ("fifo", "rr")

_OWN_CLASS = (*PRIORITY_POLICIES, "deadline")
"""Policies with a class of their own; with another one a task was lifted by a lock with priority inheritance."""


class TaskHeader(Canvas, can_focus=False):
    """Three lines; parts that do not fit are left out whole, least important first."""

    DEFAULT_CSS = """
    TaskHeader { height: 3; padding: 0 1; background: $panel; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.scene: Scene | None = None

    def take(self, scene: Scene) -> None:
        """Shows another Scene."""
        self.scene = scene
        self.draw()

    def draw(self) -> None:
        width = self.inner.width
        if not width or self.scene is None or not self.display:
            return
        scene = self.scene
        clock = _clock(scene)
        first = whole_parts([_status(scene), *_who(scene, width)], width - spans_width(clock) - 1, SEPARATOR)
        gap = " " * (width - spans_width(first) - spans_width(clock))
        rights = whole_parts(_attributes(scene, width), width, SEPARATOR)
        now = whole_parts(_now(scene, width), width, SEPARATOR)
        self.put([[*first, (gap, "text"), *clock], rights, now])


def _status(scene: Scene) -> list[Span]:
    if scene.frozen and scene.status is Status.COUNTING:
        return [(" FROZEN ", "frozen")]
    return [STATUS_WORDS[scene.status]]


def _clock(scene: Scene) -> list[Span]:
    if scene.past is None or not scene.past.intervals:
        return []
    frame = scene.past.intervals[-1].frame
    return [(format_clock(frame.start_time_ns + frame.interval_ns), "strong")]


def _who(scene: Scene, width: int) -> Parts:
    counts, subject = scene.counts, scene.subject
    name = steady(counts.process if subject.is_process else counts.comm) if counts else subject.name
    if subject.is_process:
        parts: Parts = [[("process ", "dim"), (clip(f"{name} ({subject.tgid})", width // 2), "strong")]]
    else:
        parts = [[(clip(f"{name} ({subject.tid})", width // 2), "strong")]]
        process = steady(counts.process) if counts else _past_process(scene)
        if subject.tgid and subject.tgid != subject.tid:
            parts.append([("of process ", "dim"), (clip(f"{process} ({subject.tgid})", 30), "text")])
        if counts is not None and (words := _others(counts)):
            parts.append([(words, "notice")])
    if scene.counts is not None:
        parts.append([(scene.counted_words, "text")])
    if counts is not None and counts.loss.any:
        parts.append([(f" lost: {loss_words(counts.loss)} ", "alarm")])
    if counts is not None and counts.command_line:
        parts.append([(clip(steady(counts.command_line), max(20, width // 3)), "dim")])
    return parts


def _others(counts: TaskFrame) -> str:
    """Of how many threads it is one, so that it is not taken for the process; nothing if it is alone there."""
    if counts.process_threads <= 1 and not counts.threads_started:
        return ""
    started = f", {format_count(counts.threads_started)} started" if counts.threads_started else ""
    return f"1 thread of {max(1, counts.process_threads)}{started}, p: all"


def _past_process(scene: Scene) -> str:
    threads = scene.past.threads if scene.past else None
    if threads is None or not len(threads):
        return ""
    return steady(bytes(threads["process"][-1]).decode("utf-8", "replace"))


def loss_words(loss: TaskLoss) -> str:
    """What was not seen, counted by kind."""
    known = [(getattr(loss, one.name), one.name.replace("_", " ")) for one in fields(TaskLoss)]
    return ", ".join(f"{words} {format_count(count)}" for count, words in known if count)


def _attributes(scene: Scene, width: int) -> Parts:
    """How it may run."""
    counts, past = scene.counts, scene.past
    attributes = counts.attributes if counts else None
    cgroup = (attributes.cgroup if attributes else "") or (past.cgroup if past else "")
    how = _how(attributes, past.cpus if past else 0) if attributes is not None else []
    used = sum(map(spans_width, how)) + len(SEPARATOR[0]) * len(how)
    room = max(LEAST_PATH, width - used - len("cgroup "))
    group: Parts = [[("cgroup ", "dim"), (clip_left(steady(cgroup), room), "text")]] if cgroup else []
    if attributes is not None:
        return [*how, *group]
    allowed = int(past.threads["allowed_cpus"].max(initial=0)) if past else 0
    parts: Parts = (
        [[("may run on ", "dim"), (f"{allowed} of {format_counted(past.cpus, 'CPU')}", "text")]]
        if past and allowed
        else []
    )
    reason = scene.missing("attributes")
    unknown = "policy, priority" if parts else "policy, priority, affinity"
    return [*parts, *group, [(clip(f"{unknown}: {reason}", width), "dim")]]


def _how(attributes: Attributes, cpus: int) -> Parts:
    lifted = attributes.sched_class in ("rt", "deadline") and attributes.policy not in _OWN_CLASS
    of_ext = attributes.sched_class == "ext" != attributes.policy
    parts: Parts = [[("class ", "dim"), (attributes.sched_class, "notice")]] if lifted or of_ext else []
    parts.append([("policy ", "dim"), (steady(attributes.policy), "text")])
    if attributes.policy in PRIORITY_POLICIES:
        parts.append([("priority ", "dim"), (str(attributes.rt_priority), "text")])
    else:
        parts.append([("nice ", "dim"), (str(attributes.nice), "text")])
    if attributes.weight is not None and attributes.weight != ORDINARY_WEIGHT:
        parts.append([("weight ", "dim"), (f"{attributes.weight} of {ORDINARY_WEIGHT}", "notice")])
    if attributes.cgroup_weight is not None and attributes.cgroup_weight != ORDINARY_WEIGHT:
        parts.append([("of its cgroup ", "dim"), (f"{attributes.cgroup_weight} of {ORDINARY_WEIGHT}", "notice")])
    of = f" ({attributes.allowed_cpus} of {cpus})" if cpus else ""
    style = "notice" if cpus and attributes.allowed_cpus < cpus else "text"
    parts.append([("CPUs ", "dim"), (f"{clip(steady(attributes.affinity), 24)}{of}", style)])
    words = _quota_text(attributes.quota) if attributes.quota else "none"
    throttled = attributes.quota is not None and attributes.quota.throttled_periods
    parts.append([("quota ", "dim"), (words, "notice" if throttled else "text")])
    if attributes.slice_ns is not None:
        parts.append([("time slice ", "dim"), (format_round_ns(attributes.slice_ns), "text")])
    return parts


def _quota_text(quota: Quota) -> str:
    """What its group may take of a CPU, and in how many periods it could not take more."""
    words = f"{quota.quota_ns / quota.period_ns * 100:.0f} %" if quota.period_ns else "none"
    return f"{words}, throttled {quota.throttled_periods}/{quota.periods}" if quota.throttled_periods else words


def _now(scene: Scene, width: int) -> Parts:
    """What it does now, or why that is not known."""
    counts = scene.counts
    if scene.status is Status.FAILED:
        return [[(clip(f"{scene.reason}; what the history knows is shown", width), "notice")]]
    if scene.status is Status.RECORDED:
        words = "what the recording holds; states, calls, faults, I/O and network: available live only"
        return [[(clip(words, width), "dim")]]
    if counts is None:
        return [[("attaching kernel programs to it, a second or two; until then what the history knows", "dim")]]
    if counts.ended:
        code = "" if counts.exit_code is None else f", {exit_text(counts.exit_code)}"
        what = "process" if scene.subject.is_process else "task"
        return [[(f"the {what} has ended{code}; these are its last numbers", "notice")]]
    return _state_now(counts)


def _state_now(counts: TaskFrame) -> Parts:
    if counts.whole_process:
        many = Counter(thread.state for thread in counts.threads)
        gone = many.pop("ended", 0) + counts.loss.threads_forgotten
        words = ", ".join(f"{count} {state}" for state, count in many.most_common())
        parts: Parts = [[("threads ", "dim"), (f"{many.total()}: {words}", "text")]]
        if gone:
            parts.append([(f"{format_count(gone)} ended", "text"), (" since", "dim")])
    else:
        thread = next((one for one in counts.threads if one.tid == counts.tid), None)
        if thread is None:
            return []
        parts = [[("now ", "dim"), (thread.state, "strong"), (f" for {format_ns(thread.state_ns)}", "text")]]
        if thread.cpu >= 0:
            parts.append([("CPU ", "dim"), (str(thread.cpu), "text")])
    return [*parts, *([(ongoing_text(call), "text")] for call in counts.ongoing[:1])]


def exit_text(code: int) -> str:
    """An exit code: a status, or minus the number of the signal that ended it."""
    return f"killed by signal {-code}" if code < 0 else f"exit status {code}"
