"""The task view in short: what the scheduler did with the task, and the first line of every other section."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from schedtop.base.units import format_count, format_counted, format_ns, format_rate, format_ratio, format_whole_s, rate
from schedtop.entitlement.words import beside_words, short_words
from schedtop.model.sched_class import treatment
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.slow_waits.rows import task_text
from schedtop.panes.task.blocks import Block, arranged, block_width
from schedtop.panes.task.past import Past
from schedtop.panes.task.peers import peer_text
from schedtop.panes.task.scene import NOTHING_YET, Scene
from schedtop.panes.task.traffic import bytes_per_s
from schedtop.task import TaskFrame
from schedtop.widgets.strips import Span, Spans, clip, fit, steady, whole_parts

TERM = 14
CALLS = 3
LISTS_WIDTH = 70
"""From here on the facts stand in lists with headings, below it one under another."""

COMMA: Span = (", ", "text")

Fact = tuple[str, Sequence[str]]
"""A term, and what is to be said of it, most important first."""


class OverviewPane(Pane[Scene]):
    """Facts: as lists where there is room, else one under another."""

    WAITING = NOTHING_YET
    NUMBER = 1
    TITLE = "Overview"
    READING = (
        "ran, waited: shares of the span in which the task ran, and waited for a CPU (of a process, of one CPU). "
        "switches: voluntary, because it waited for something, involuntary, because it lost its CPU. Below, the first "
        "lines of the other sections. `history` is what was known before the task view was opened: up to ten minutes, "
        "since the task began. Much waited: 4 and 6 name the tasks, priority (nice, cpu.weight) or another CPU help. "
        "by weight: what nice values and cgroup weights give it, and what it got in the last 10 s; 3 says beside which "
        "tasks. Many involuntary switches: it shares its CPU. Many moves: pin it, if its caches matter. throttled: its "
        "cgroup's quota."
    )

    def view_lines(self, scene: Scene) -> Sequence[Spans]:
        width, height = self.inner
        self.set_title(scene.span_words)
        lists = list(_lists(scene))
        if width >= LISTS_WIDTH:
            cells = block_width(width, 2)
            blocks = [Block(title, [_fact(*fact, cells) for fact in facts], empty) for title, facts, empty in lists]
            return arranged(blocks, width, height, 2)
        facts = [fact for title, found, _ in lists for fact in _headed(found, title)]
        if scene.counts is None:
            return [*self.sentence(scene.missing("states")), *(_fact(*fact, width) for fact in facts)][:height]
        kept = len(facts) if len(facts) <= height else height - 1
        lines = [_fact(*fact, width) for fact in facts[:kept]]
        return [*lines, [(f"… {len(facts) - kept} more: z", "dim")]] if kept < len(facts) else lines


def _headed(facts: Sequence[Fact], title: str) -> Sequence[Fact]:
    """Where there are no headings, each of the history's facts says that it is one."""
    return [(f"{HISTORY}: {term}", parts) for term, parts in facts] if title.startswith(HISTORY) else facts


HISTORY = "history"


def _lists(scene: Scene) -> Iterable[tuple[str, Sequence[Fact], str]]:
    """Headings, facts, and what to say if there are none."""
    counts, past = scene.counts, scene.past
    if counts is not None:
        yield "scheduling", list(_scheduling(scene, counts)), ""
        yield "calls", list(_calls(scene, counts)), scene.missing("syscalls") or "none has ended yet"
        yield "people and data", [*_people(scene), *_data(scene, counts)], "nothing yet"
    else:
        yield "counted by the task view", [], scene.missing("states")
    if past is not None:
        span = format_whole_s(past.span_ns)
        yield f"{HISTORY}, {span}", list(_before(past)), "it did not run or wait in that time"
    if counts is None and past is not None:
        yield "other tasks, in the history", list(_people(scene)), "none"


def _fact(term: str, parts: Sequence[str], cells: int) -> Spans:
    """The term and as much of what is to be said as fits whole."""
    words: list[Spans] = [[(part, "text")] for part in parts]
    room = cells - max(TERM, len(term) + 1)
    return [(fit(term, cells - room), "dim"), *whole_parts([[(clip(parts[0], room), "text")], *words[1:]], room, COMMA)]


def _scheduling(scene: Scene, counts: TaskFrame) -> Iterable[Fact]:
    span = counts.interval_ns
    states = counts.states
    yield "ran", [f"{format_ratio(states.running_ns / span if span else None)} of a CPU", format_ns(states.running_ns)]
    longest = [f"longest {format_ns(counts.waits.max_ns)}"] if counts.waits.count else []
    share = format_ratio(states.runnable_ns / span if span else None)
    yield "waited", [f"{share} for a CPU", *longest, format_ns(states.runnable_ns)]
    if reason := counts.unavailable.get("throttled", ""):
        yield "throttled", [reason]
    elif states.throttled_ns:
        yield "throttled", [format_ns(states.throttled_ns)]
    report = counts.entitlement
    if report is not None:
        yield "by weight", short_words(report.found)
    per_s = [scene.per_s(count) for count in (counts.voluntary_switches, counts.involuntary_switches)]
    yield "switches", [f"{per_s[0]}/s vol.", f"{per_s[1]}/s inv."]
    yield "CPUs", _cpus(counts)
    if report is not None and report.advice is not None:
        # A command is too long for here, and half of one is of no use.
        expected = report.advice.expected
        yield "to change it", [f"see 3, then {beside_words(expected, expected)}"]


def _cpus(counts: TaskFrame) -> Sequence[str]:
    """How often it moved, and its CPUs by run time."""
    whole = sum(one.run_ns for one in counts.cpus)
    used = sorted((one for one in counts.cpus if one.run_ns), key=lambda one: -one.run_ns)
    reason = counts.unavailable.get("migrations", "")
    moves = f"moves {reason}" if reason else format_counted(counts.migrations, "move")
    first = [f"{one.cpu}: {one.run_ns / whole * 100:.0f} %" for one in used[:4]]
    return [*first[:1], moves, *first[1:], *([f"+{len(used) - 4}"] if len(used) > 4 else [])]


def _calls(scene: Scene, counts: TaskFrame) -> Iterable[Fact]:
    for call in counts.syscalls[:CALLS]:
        failed = [f"{format_count(call.error_count)} failed"] if call.error_count else []
        yield steady(call.name), [f"{scene.per_s(call.count)}/s", format_ns(call.total_ns), *failed]


def _people(scene: Scene) -> Iterable[Fact]:
    """The first of each list of people."""
    counts, past = scene.counts, scene.past
    if counts is not None:
        lists = (("woken by", counts.wakers), ("preempted by", counts.preemptors), ("wakes", counts.wakees))
        for title, peers in lists:
            if peers:
                yield title, [peer_text(peers[0]), f"{format_count(peers[0].count)}×"]
    if past is not None:
        for title, rows, role in (("had its CPU", past.suffered, "other"), ("waited for it", past.caused, "victim")):
            if len(rows) and rows[0]["blocked_ns"]:
                name = task_text(
                    int(rows[0][f"{role}_tid"]), rows[0][f"{role}_comm"], treatment(rows[0], f"{role}_").words
                )
                yield title, [name, format_ns(int(rows[0]["blocked_ns"]))]


def _data(scene: Scene, counts: TaskFrame) -> Iterable[Fact]:
    span = counts.interval_ns
    if counts.faults is not None:
        minor, major = scene.per_s(counts.faults.minor), scene.per_s(counts.faults.major)
        yield "page faults", [f"{minor}/s minor", f"{major}/s major"]
    for direction in ("read", "write"):
        size = sum(one.bytes for one in counts.io if one.direction == direction)
        if size:
            yield f"{direction}s", [bytes_per_s(size, span)]
    sent, received = (sum(getattr(one, name) for one in counts.traffic) for name in ("sent_bytes", "received_bytes"))
    if sent or received:
        yield "network", [f"out {bytes_per_s(sent, span)}", f"in {bytes_per_s(received, span)}"]


def _before(past: Past) -> Iterable[Fact]:
    """The row of the task over time, summed."""
    if not len(past.threads):
        return
    span = past.span_ns
    run, delay = past.sum("run_ns"), past.sum("run_delay_ns")
    yield "ran", [f"{format_ratio(run / span)} of a CPU", format_ns(run)]
    longest = int(past.threads["max_wait_ns"].max(initial=0))
    yield "waited", [f"{format_ratio(delay / span)} for a CPU", f"longest {format_ns(longest)}", format_ns(delay)]
    numbers = [format_rate(rate(past.sum(name), span)) for name in ("voluntary_switches", "involuntary_switches")]
    yield "switches", [f"{numbers[0]}/s vol.", f"{numbers[1]}/s inv."]
    if len(past.slow_waits):
        worst = format_ns(int(past.slow_waits["wait_ns"].max()))
        yield "slow waits", [str(len(past.slow_waits)), f"longest {worst}"]
    for row in past.throttling:
        words = f"{int(row['throttled_periods'])} of {format_counted(int(row['periods']), 'period')}"
        yield "throttled", [words, format_ns(int(row["throttled_ns"])), "its cgroup"]
    cpus = ", ".join(map(str, sorted({int(cpu) for cpu in past.threads["last_cpu"]})[:8]))
    yield "CPUs", [f"last on {cpus}", format_counted(past.sum("migrations"), "move")]
    allowed = int(past.threads["allowed_cpus"].max(initial=0))
    if allowed:
        yield "may run on", [f"{allowed} of {format_counted(past.cpus, 'CPU')}"]
