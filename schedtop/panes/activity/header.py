"""What activity is of: since when, which tasks; its sums, and what was lost."""

from __future__ import annotations

from dataclasses import asdict

from schedtop.activity.activity import Activity
from schedtop.activity.standing_out import standing_out
from schedtop.activity.view import ActivityView
from schedtop.base.units import (
    format_bytes,
    format_clock,
    format_count,
    format_elapsed,
    format_rate,
    format_round_ns,
    rate,
)
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import Span, Spans, clip, steady, whole_parts

SEPARATOR: Span = ("  ", "text")


class ActivityHeader(Canvas, can_focus=False):
    """Three lines, as many whole parts of them as fit: the state, the sums, what stands out."""

    DEFAULT_CSS = """
    ActivityHeader { height: 3; padding: 0 1; background: $panel; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._state: Span = ("", "text")
        self._view: ActivityView | None = None
        self._extra: list[Span] = []

    def show(self, state: Span, view: ActivityView | None, extra: list[Span]) -> None:
        """Shows another moment; `extra` words say what else holds."""
        self._state, self._view, self._extra = state, view, extra
        self.draw()

    def draw(self) -> None:
        width = self.inner.width
        if not width:
            return
        title: list[list[Span]] = [[("Activity", "key")], [self._state]]
        extra: list[Spans] = [[word] for word in self._extra]
        if self._view is None:
            self.put([whole_parts(title, width, SEPARATOR), whole_parts(extra, width, SEPARATOR)])
            return
        activity, behind_ns = self._view.activity, self._view.behind_ns
        scope = activity.host.scope
        first: list[Spans] = [*title, [(format_clock(activity.start_time_ns + activity.interval_ns), "strong")]]
        first += [[(f"{format_elapsed(behind_ns)} behind", "notice")]] if behind_ns else []
        first.append([("window ", "dim"), (format_round_ns(self._view.settings.window_ns), "strong")])
        first.append([(f"only {steady(scope)}", "key") if scope else ("all tasks", "text")])
        first += [[(part, "notice")] for part in (_untold(activity),) if part]
        lost = loss_words(activity)
        second = [*extra, *([[("lost: ", "notice"), (lost, "notice")]] if lost else []), *_sums(self._view)]
        second += [] if lost else [[("nothing lost", "dim")]]
        third = standing_out_words(activity, width)
        self.put([whole_parts(line, width, SEPARATOR) for line in (first, second, third)])


def standing_out_words(activity: Activity, width: int) -> list[Spans]:
    """What stands out, a part of the line each; the first one is cut where it does not fit."""
    facts = standing_out(activity)
    if not facts:
        return [[("nothing stands out", "dim")]]
    title = "stands out "
    words = [clip(steady(fact.words), width - len(title)) for fact in facts]
    return [[(title, "dim"), (words[0], "notice")], *([(word, "notice")] for word in words[1:])]


def loss_words(activity: Activity) -> str:
    """What was lost, the largest first, at most two kinds; empty: nothing."""
    counts = sorted(((count, name) for name, count in asdict(activity.loss).items() if count), reverse=True)
    return ", ".join(f"{name.replace('_', ' ')} {format_count(count)}" for count, name in counts[:2])


def _untold(activity: Activity) -> str:
    """What this kernel cannot tell; the help says why."""
    names = [*activity.unavailable]
    return f"not available: {', '.join(names)} (?)" if names else ""


def _sums(view: ActivityView) -> list[Spans]:
    """What all tasks did, a part of the line each."""
    activity = view.activity
    rows, interval_ns = activity.rows, activity.interval_ns

    def total(field: str) -> int:
        return int(rows[field].sum())

    def per_s(count: int) -> str:
        return format_rate(rate(count, interval_ns))

    def bytes_per_s(size: int) -> str:
        return f"{format_bytes(rate(size, interval_ns))}/s"

    io = rows["io_bytes"].sum(axis=0)
    half = len(io) // 2
    parts: list[tuple[str, str, str]] = [
        ("syscalls", "calls ", f"{per_s(total('syscalls'))}/s"),
        ("syscall_errors", "errors ", f"{per_s(total('syscall_errors'))}/s"),
        ("read_bytes", "read ", bytes_per_s(int(io[:half].sum()))),
        ("write_bytes", "written ", bytes_per_s(int(io[half:].sum()))),
        ("minor_faults", "faults ", f"{per_s(total('minor_faults') + total('major_faults'))}/s"),
        ("tcp_rx_bytes", "tcp in ", bytes_per_s(total("tcp_rx_bytes"))),
        ("tcp_tx_bytes", "out ", bytes_per_s(total("tcp_tx_bytes"))),
        ("tcp_retransmits", "retransmits ", f"{per_s(total('tcp_retransmits'))}/s"),
    ]
    return [[(name, "dim"), (value, "strong")] for field, name, value in parts if field not in view.absent]
