"""What an off-CPU measurement is of: since when, which tasks, which waits; and what was lost."""

from __future__ import annotations

from schedtop.base.units import (
    format_clock,
    format_count,
    format_counted,
    format_elapsed,
    format_ns,
    format_ratio,
    format_round_ns,
)
from schedtop.offcpu.loss import OffCpuLoss
from schedtop.offcpu.measurement import OffCpu
from schedtop.offcpu.threads import ThreadLine
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import Span, clip, spans_width, steady, whole_parts, width_of

SEPARATOR: Span = ("  ", "text")

LEAST_EXTRA = 12
"""To fewer cells no word of the screen is cut: then it is left out."""


class OffCpuHeader(Canvas, can_focus=False):
    """What is held up most and what to do; two lines on the measurement, as many whole parts of them as fit."""

    DEFAULT_CSS = """
    OffCpuHeader { height: 3; padding: 0 1; background: $panel; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._state: Span = ("", "text")
        self._offcpu: OffCpu | None = None
        self._min_ns = 0
        self._extra: list[Span] = []
        self._worst: ThreadLine | None = None

    def show(
        self, state: Span, offcpu: OffCpu | None, min_ns: int, extra: list[Span], worst: ThreadLine | None = None
    ) -> None:
        """Shows another measurement, if there is one; `min_ns` is asked for, `extra` words say what else holds.

        `worst`: the thread that is held up most, if any is.
        """
        self._state, self._offcpu, self._min_ns, self._extra, self._worst = state, offcpu, min_ns, extra, worst
        self.draw()

    def on_unmount(self) -> None:
        # The framework may keep the widget for a while, but nothing needs the measurement any more.
        self._offcpu = self._worst = None

    def draw(self) -> None:
        width = self.inner.width
        if not width:
            return
        title: list[Span] = [("Off-CPU time", "key")]
        if self._offcpu is None:
            self.put([[], whole_parts([title, [self._state], minimum_words(None, self._min_ns)], width, SEPARATOR)])
            return
        offcpu = self._offcpu
        first: list[list[Span]] = [title, [self._state], _since(offcpu), minimum_words(offcpu, self._min_ns)]
        first += [[(f"only {steady(offcpu.host.scope)}", "key")] if offcpu.host.scope else [("all threads", "text")]]
        second: list[list[Span]] = [[("blocked ", "dim"), (format_ns(offcpu.blocked_ns), "strong")]]
        second.append([("run delay ", "dim"), (format_ns(offcpu.runnable_ns), "strong")])
        lost = bool(offcpu.loss.lost)
        second += lost_and_extra(offcpu.loss, self._extra, width - spans_width(whole_parts(second, width, SEPARATOR)))
        second += [[(steady(note), "notice")] for note in offcpu.notes]
        second += [] if lost else [[("nothing lost", "dim")]]
        second += [[(words, "dim")] for words in _without_names(offcpu.loss)]
        headline = headline_spans(self._worst, offcpu.duration_ns, width)
        self.put([headline, whole_parts(first, width, SEPARATOR), whole_parts(second, width, SEPARATOR)])


def headline_spans(worst: ThreadLine | None, duration_ns: int, width: int) -> list[Span]:
    """Which thread is held up most and where, and the command that follows it; that is whole before the rest is."""
    if worst is None or not duration_ns:
        return [("No thread is held up: each ran, or waited for work to do", "strong")]
    name, share = steady(worst.thread.comm), format_ratio(min(1.0, worst.held_ns / duration_ns))
    number = f" ({worst.thread.tid})" if worst.thread.tid else ""
    where = f", mostly in {steady(worst.place)}" if worst.place else ""
    command = f"   → P, or schedtop path --tid {worst.thread.tid}" if worst.thread.tid else ""
    for words in (f"{name}{number} is held up {share} of the time{where}", f"{name}{number} is held up {share}{where}"):
        if width_of(words) + width_of(command) <= width:
            break
    return [(clip(words, max(0, width - width_of(command))), "strong"), (command, "text")]


def _without_names(loss: OffCpuLoss) -> list[str]:
    """What is there, but has no names."""
    unnamed = loss.unknown_frames + loss.waker_unknown_frames
    words = [f"{format_counted(unnamed, 'place')} without a name"] if unnamed else []
    late = loss.late_processes
    return words + (
        [f"{format_counted(late, 'process', 'processes')} ended before the stacks were looked at"] if late else []
    )


def _since(offcpu: OffCpu) -> list[Span]:
    return [(format_elapsed(offcpu.duration_ns), "strong"), (f" since {format_clock(offcpu.start_time_ns)}", "dim")]


def minimum_words(offcpu: OffCpu | None, min_ns: int) -> list[Span]:
    """Which waits count, and how many did not."""
    if not min_ns:
        return [("every wait", "text")]
    words: list[Span] = [("waits > ", "dim"), (format_round_ns(min_ns), "strong")]
    if offcpu is not None and offcpu.below_count:
        words.append((f" (not {format_count(offcpu.below_count)}: {format_ns(offcpu.below_ns)})", "dim"))
    return words


def lost_and_extra(loss: OffCpuLoss, extra: list[Span], room: int) -> list[list[Span]]:
    """What was lost and what else holds, all of it if short words for the one and a cut last of the others suffice."""
    begun = len(SEPARATOR[0])
    for kinds in (2, 1, 0):
        parts = [*([loss_words(loss, kinds)] if loss.lost else []), *([word] for word in extra)]
        free = room - sum(begun + spans_width(part) for part in parts)
        if free >= 0:
            return parts
    if extra:
        words, style = extra[-1]
        parts[-1] = [(clip(words, max(LEAST_EXTRA, width_of(words) + free)), style)]
    return parts


def loss_words(loss: OffCpuLoss, kinds: int = 2) -> list[Span]:
    """What was lost, of so many kinds, the largest first; 0: of all kinds together, in one number."""
    counts = sorted(((count, name) for name, count in loss.lost.items()), reverse=True)
    words = ", ".join(f"{name.replace('_', ' ')} {format_count(count)}" for count, name in counts[:kinds])
    return [("lost: ", "notice"), (words or format_count(sum(loss.lost.values())), "notice")]
