"""The slow waits: every single wait over the threshold, who had the CPU, and who was there before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedtop.history import SLOW_WAIT_SORTS, View
from schedtop.panes.pane import Pane
from schedtop.rows import CAUSES, Rows, text
from schedtop.units import format_clock_ms, format_count, format_ns, format_round_ns
from schedtop.widgets.columns import Column
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.strips import Spans, steady


@dataclass(frozen=True, slots=True, eq=False)
class WaitRows:
    """The visible rows."""

    rows: Rows

    def task(self, which: str) -> list[str]:
        """`preemptor`, `previous` or `waker` as `name (tid)`; a dot where there is none."""
        pairs = zip(self.rows[f"{which}_tid"].tolist(), self.rows[f"{which}_comm"].tolist(), strict=True)
        return [_task_text(tid, comm) for tid, comm in pairs]


def _task_text(tid: int, comm: bytes) -> str:
    name = steady(text(comm))
    if tid:
        return f"{name} ({tid})"
    # The idle task has tid 0 and a name; no task at all has neither.
    return "idle" if name else "·"


def _cpus(context: WaitRows) -> list[str]:
    pairs = zip(context.rows["enqueue_cpu"].tolist(), context.rows["cpu"].tolist(), strict=True)
    return [str(cpu) if queued == cpu or queued < 0 else f"{queued}→{cpu}" for queued, cpu in pairs]


def _causes(context: WaitRows) -> list[str]:
    return [CAUSES[kind] if 0 <= kind < len(CAUSES) else "?" for kind in context.rows["kind"].tolist()]


COLUMNS: tuple[Column[WaitRows], ...] = (
    Column(
        "time",
        12,
        lambda context: list(map(format_clock_ms, context.rows["time_ns"].tolist())),
        right=False,
        rank=1,
        sort="time_ns",
        style="dim",
    ),
    Column("wait", 8, lambda context: list(map(format_ns, context.rows["wait_ns"].tolist())), sort="wait_ns"),
    Column(
        "task",
        12,
        lambda context: [steady(text(name)) for name in context.rows["comm"].tolist()],
        right=False,
        grow=5,
        style="strong",
    ),
    Column("tid", 7, lambda context: list(map(str, context.rows["tid"].tolist())), style="dim"),
    Column("CPU", 4, _cpus, rank=1, grow=3),
    Column("cause", 10, _causes, right=False),
    Column("preempted by", 17, lambda context: context.task("preemptor"), right=False, grow=9, style="preemption"),
    Column("previous on CPU", 16, lambda context: context.task("previous"), right=False, rank=2, grow=10),
    Column("woken by", 16, lambda context: context.task("waker"), right=False, rank=3, grow=10, style="wakeup"),
)


class SlowWaitsPane(Pane, KeyedTable[WaitRows]):
    """Single waits over the threshold, slowest or newest first."""

    NUMBER = 4
    TITLE = "Slow waits"
    PARTS = ("slow_waits",)
    KEY = ("time_ns", "tid")
    READING = (
        "One line for each wait over the threshold (`+` and `-` change it). cause says how the task came to be queued: "
        "wakeup (it had slept and was woken, `woken by` names the waker) or preemption (it was running and had to "
        "leave, `preempted by` names who took the CPU from it). previous is who ran last before the task got the "
        "CPU; on its own it misleads, it may be the last of many. `3→1`: queued on CPU 3, ran on CPU 1."
    )

    def table_columns(self) -> Sequence[Column[WaitRows]]:
        return COLUMNS

    def context(self, rows: Rows) -> WaitRows:
        return WaitRows(rows)

    def show(self, view: View) -> None:
        self.view = view
        self.set_rows(view.slow_waits, view.settings.slow_wait_sort)
        self.draw()

    def view_lines(self, view: View) -> Sequence[Spans]:
        words = SLOW_WAIT_SORTS[view.settings.slow_wait_sort]
        suppressed = view.frame.loss.slow_waits_suppressed
        more = f" · {format_count(suppressed)} more not kept" if suppressed else ""
        over = format_round_ns(view.frame.threshold_ns)
        self.set_title(f"{len(view.slow_waits)} over {over} · {words}{more}", self.position_text())
        if not len(view.slow_waits):
            return self.sentence(_empty_text(view))
        return list(self.table_lines())


def _empty_text(view: View) -> str:
    if view.settings.filter and len(view.frame.slow_waits):
        return f"none of {len(view.frame.slow_waits)} slow waits passes the filter {view.settings.filter}"
    return (
        f"no task waited longer than {format_round_ns(view.frame.threshold_ns)} for a CPU in the last "
        f"{format_round_ns(view.frame.interval_ns)} (press - for a lower threshold)"
    )
