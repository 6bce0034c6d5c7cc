"""The three lines on top: what to make of it and what to do; and a dim one on what is shown, what was lost, where."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from textual import events
from textual.message import Message

from schedtop.base.time_slice import LONG_NS
from schedtop.base.units import (
    NS_PER_MS,
    NS_PER_S,
    format_bytes,
    format_clock,
    format_count,
    format_counted,
    format_day_and_clock,
    format_ns,
    format_ratio,
    format_round_ns,
    format_whole_s,
)
from schedtop.history.view import View
from schedtop.model.counts import Loss, Overhead
from schedtop.panes.levels import steal_level
from schedtop.panes.verdict_band import (
    BANDS,
    SEPARATOR,
    VERDICT_LINES,
    Parts,
    tall_band,
    verdict_band,
)
from schedtop.verdict.verdict import MEASURING, Verdict
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import Span, clip, spans_width, steady, whole_parts

ORIGINS = ("recorded by ", "recorded with ")
"""How notes begin that only tell where a recording comes from."""


class LossWords(NamedTuple):
    """A kind of loss: the noun for one and for many, what became of it, and where there is little room one and many."""

    one: str
    many: str
    fate: str
    short_one: str
    short_many: str

    def counted(self, count: int, *, short: bool) -> str:
        """`1 wait unseen`, `2 waits unseen`; `short`: `1 wait`."""
        if short:
            return format_counted(count, self.short_one, self.short_many)
        return " ".join(filter(None, (format_counted(count, self.one, self.many), self.fate)))


LOSS_WORDS = {
    "ring_dropped": LossWords("event", "events", "dropped", "event", "events"),
    "slow_waits_suppressed": LossWords("slow wait", "slow waits", "not kept", "slow wait", "slow waits"),
    "tasks_untracked": LossWords("task", "tasks", "untracked", "untracked", "untracked"),
    "tasks_evicted": LossWords("task", "tasks", "evicted", "evicted", "evicted"),
    "short_lived_dropped": LossWords("short-lived task", "short-lived tasks", "without a name", "name", "names"),
    "negative_waits": LossWords("negative wait", "negative waits", "", "negative", "negative"),
    "switches_unseen": LossWords("switch", "switches", "unseen", "unseen", "unseen"),
    "waits_unseen": LossWords("wait", "waits", "unseen", "wait", "waits"),
    "waits_ungrouped": LossWords("wait", "waits", "in no group", "ungrouped", "ungrouped"),
    "late_ticks": LossWords("late tick", "late ticks", "", "late", "late"),
    "events_missed": LossWords("event", "events", "missed", "missed", "missed"),
    "tasks_late": LossWords("task", "tasks", "read late", "late task", "late tasks"),
    "ends_unseen": LossWords("end", "ends", "unseen", "end", "ends"),
    "lives_unseen": LossWords("short-lived task", "short-lived tasks", "unseen", "life", "lives"),
    "tasks_forgotten": LossWords("task", "tasks", "forgotten", "forgotten", "forgotten"),
    "slow_waits_forgotten": LossWords("slow wait", "slow waits", "forgotten", "forgotten", "forgotten"),
}

NARROW, LEAST_TALL = 130, 24
"""In fewer cells two lines often have no room for what a command is for; from so many lines on there is another one."""

STARTING_NS = 3 * NS_PER_S
"""Less history than this has the start of schedtop itself in it."""

CAUSED_STEP_NS = NS_PER_MS // 10
"""To the next multiple of which the longest wait that we caused is rounded up: it is an upper bound."""

CAUSED_OF = 10
"""Of so many intervals the longest wait that we caused is told, or of the window if that is longer."""

LITTLE_CAUSED_NS = 2 * NS_PER_MS
"""An upper bound that is above this tells about the host and not about us."""


class HeaderPane(Canvas, can_focus=False):
    """The verdict in two lines, or three on a narrow screen, and a line of state, of which whole parts are left out."""

    DEFAULT_CSS = """
    HeaderPane { height: 3; padding: 0 1; background: $panel; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.view: View | None = None
        self.ended = False
        self.wanted_threshold_ns: int | None = None
        self.verdict: Verdict | None = None
        self.recording = ""
        self.player: Span | None = None
        self.why_key = ""
        """What shows all of the verdict."""
        self._is_tall = False
        self.triggers: list[Span] = []
        """What is watched for, or what has fired last."""

    class VerdictClicked(Message):
        """All of the verdict is wanted."""

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and offset.y < VERDICT_LINES + self._is_tall and self.verdict is not None:
            self.post_message(self.VerdictClicked())

    def show(
        self,
        view: View | None,
        *,
        ended: bool = False,
        wanted_threshold_ns: int | None = None,
        verdict: Verdict | None = None,
        recording: str = "",
        player: Span | None = None,
    ) -> None:
        """Shows another View, and what is thought of it.

        `ended`: the source gives no more. `wanted_threshold_ns`: asked for, but perhaps not in force yet. `recording`:
        what is being written. `player`: the View is of a recording, and this is what its player does.
        """
        self.view, self.ended, self.wanted_threshold_ns, self.verdict = view, ended, wanted_threshold_ns, verdict
        self.recording, self.player = recording, player
        self._grow()
        self.draw()

    def on_resize(self, _event: events.Resize) -> None:
        self._grow()

    def draw(self) -> None:
        width = self.inner.width
        if not width or not self.display:
            return
        if self.view is None:
            self.put([[("schedtop", "key"), ("  waiting for the first interval", "dim")]])
            return
        if self._is_tall and self.verdict is not None:
            band = tall_band(self.verdict, width, self.why_key)
        else:
            band = verdict_band(self.verdict, width, self.why_key)
        self.put([*band, self._state_line(self.view, width)])

    def _grow(self) -> None:
        """Takes a third line for the verdict on a narrow screen, while it has a band.

        Not behind a text: what is seen around that stays where it was.
        """
        if self.view is None or not self.inner.width or self.app.screen is not self.screen:
            return
        is_banded = self.verdict is not None and self.verdict.level in BANDS
        is_tall = is_banded and self.inner.width < NARROW and self.app.size.height >= LEAST_TALL
        if is_tall != self._is_tall:
            self._is_tall = is_tall
            self.styles.height = VERDICT_LINES + is_tall + 1

    def _state_line(self, view: View, width: int) -> list[Span]:
        state, clock = self._state(view), self._clock(view)
        recording: Parts = [[(self.recording, "frozen")]] if self.recording else []
        ext = view.frame.sched_ext
        # Which scheduler it is matters more than all that follows.
        other: Parts = [[("sched_ext ", "dim"), (clip(steady(ext.words), 30), "key")]] if ext else []
        first, room = [state, *recording, *other], width - spans_width(clock) - 1
        shown = self._shown(view, room - parts_width([*first, []]))
        line = whole_parts([*first, *shown, *self._host(view)], room, SEPARATOR)
        return [*line, (" " * (width - spans_width(line) - spans_width(clock)), "text"), *clock]

    def _state(self, view: View) -> list[Span]:
        if self.player:
            return [self.player]
        if view.frozen:
            behind = f" {format_whole_s(view.age_ns)} behind" if view.age_ns else ""
            return [(f" FROZEN{behind} ", "frozen")]
        if self.ended:
            return [(" ENDED ", "frozen")]
        return [("● LIVE", "live")]

    def _clock(self, view: View) -> list[Span]:
        end_ns = view.end_time_ns
        # A reader of a recording must see that it is not today's.
        return [(format_day_and_clock(end_ns) if self.player else format_clock(end_ns), "strong")]

    def _host(self, view: View) -> Parts:
        cpus, recorded = len(view.frame.cpus.ids), view.host.recorded_source
        kernel: list[Span] = [("Linux " + steady(view.host.kernel), "dim")]
        parts: Parts = [
            *([[(steady(note), "dim" if note.startswith(ORIGINS) else "notice")] for note in view.host.notes]),
            [("host ", "dim"), (steady(view.host.name), "dim")],
            [("recorded " if recorded else "source ", "dim"), (steady(recorded or view.host.source), "dim")],
            [(format_counted(cpus, "CPU"), "dim")],
            kernel,
        ]
        return parts

    def _shown(self, view: View, width: int) -> Parts:
        """What is shown, what was lost and what schedtop costs: in fewer words where there is less room."""
        for loss_level, self_level in ((0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (2, 3)):
            parts = self._worded(view, loss_level, self_level)
            if parts_width(parts) <= width:
                return parts
        # Not all of it fits: of what the line has room for, a loss is told.
        return self._worded(view, loss_level, self_level, loss_first=True)

    def _worded(self, view: View, loss_level: int, self_level: int, *, loss_first: bool = False) -> Parts:
        """What is not serious comes last: it comes and goes, and nothing else moves for it."""
        frame, settings = view.frame, view.settings
        window = "" if self_level > 2 else "window "
        parts: Parts = [[(window, "dim"), (format_round_ns(settings.window_ns), "strong")]]
        threshold: list[Span] = [("slow > ", "dim"), (format_round_ns(frame.threshold_ns), "strong")]
        changing = self.wanted_threshold_ns not in (None, frame.threshold_ns) and not view.frozen
        if changing:
            threshold.append((f" → {format_round_ns(self.wanted_threshold_ns or 0)}", "notice"))
            parts.append(threshold)
        lost = _loss_parts(frame.loss, loss_level)
        loss_first = loss_first or frame.loss.serious.any
        parts += lost if loss_first else []
        if view.host.scope:
            parts.append([("only ", "dim"), (clip(steady(view.host.scope), 30), "key")])
        if settings.selects:
            offline = "" if view.cpu_ids else ", offline"
            parts.append([("selected ", "dim"), (clip(view.cpus_words, 34) + offline, "key")])
        if settings.filter:
            parts.append([("filter ", "dim"), (clip(steady(str(settings.filter)), 30), "key")])
        if self.triggers:
            parts.append(self.triggers)
        steal = frame.ratio("steal_ns", view.cpu_ids)
        level = steal_level(steal)
        if level.sign:
            parts.append([(f" steal {format_ratio(steal)} {level.sign} {level.word} ", level.style)])
        if self.verdict is MEASURING or _has_just_begun(view):
            parts.append([("self ", "dim"), (f"starting, {format_bytes(frame.overhead.rss_bytes)}", "text")])
        else:
            parts.append(_own_cost(view, self_level))
        if old := _old_rows(frame.loss):
            parts.append([(f"{format_counted(old, 'old row')}{'' if loss_level else ' forgotten'}", "dim")])
        if "slow_waits" not in frame.unavailable and not changing:
            parts.append(threshold)
        if not frame.loss.any:
            parts.append([("nothing lost", "dim")])
        elif not loss_first:
            parts += lost
        return parts


def _has_just_begun(view: View) -> bool:
    """Whether what schedtop took to start is most of what it has taken."""
    first = view.series[0]
    return not view.host.recorded_source and view.frame.end_ns - first.end_ns + first.interval_ns < STARTING_NS


def parts_width(parts: Parts) -> int:
    """How many cells the parts take side by side."""
    return sum(map(spans_width, parts)) + len(SEPARATOR[0]) * (len(parts) - 1)


def _own_cost(view: View, level: int) -> list[Span]:
    """What schedtop itself takes, or the recorder took, and what it does to others.

    At level 1 without the word CPU and with its own nice value alone, at 2 in fewer words, at 3 without others; but
    where these have waited for it as long as is slow, without its memory.
    """
    frame, who = view.frame, "recorder" if view.host.recorded_source else "self"
    share = frame.overhead.cpu_ns / frame.interval_ns if frame.interval_ns else None
    caused = _caused(view, short=level >= 2)
    is_felt = any(style == "notice" for _, style in caused)
    words = [format_ratio(share), *([] if level else ["CPU"])]
    if level < 3 or not is_felt:
        words.append(format_bytes(frame.overhead.rss_bytes))
    spans: list[Span] = [(f"{who} ", "dim"), (" ".join(words), "text")]
    if (per_switch := frame.overhead.bpf_ns_per_switch) is not None:
        spans.append((f" {per_switch:.0f} ns/switch", "text"))
    if level < 2:
        spans += _priority(frame.overhead, whole=not level)
    return spans + (caused if level < 3 or is_felt else [])


def _caused(view: View, *, short: bool) -> list[Span]:
    """For how long it delayed others: at most; or at least, where so little is known that the bound says nothing.

    Of the last seconds as well, without those of our start: each second has another number, and now and then the other
    sign.
    """
    lately = [frame for frame in view.series[-CAUSED_OF:] if frame.end_ns - view.series[0].end_ns >= STARTING_NS]
    overheads = [frame.overhead for frame in (view.frame, *lately)]
    known = [one for one in overheads if one.longest_caused_wait_ns is not None]
    if not known:
        return []
    most_ns = max(one.longest_caused_wait_ns or 0 for one in known)
    certain_ns = max(
        (one.certain_caused_wait_ns for one in known if one.certain_caused_wait_ns is not None), default=None
    )
    words = " others " if short else " · delayed others "
    if certain_ns is not None and most_ns > LITTLE_CAUSED_NS:
        if not certain_ns:
            return [(f"{words.rstrip()}: ", "dim"), ("none seen", "text")]
        seen_ns = certain_ns // CAUSED_STEP_NS * CAUSED_STEP_NS or certain_ns
        is_slow = seen_ns >= view.frame.threshold_ns > 0
        return [(f"{words}≥ ", "dim"), (format_ns(seen_ns), "notice" if is_slow else "text")]
    return [(f"{words}≤ ", "dim"), (format_ns(-(-most_ns // CAUSED_STEP_NS) * CAUSED_STEP_NS), "text")]


def _priority(overhead: Overhead, *, whole: bool) -> list[Span]:
    """Its own nice value; `whole`: also that of its session, and the slice that it has asked for."""
    words = [f" nice {overhead.nice}"] if overhead.nice else []
    if whole:
        words += [f" session {overhead.session_nice}"] if overhead.session_nice else []
        words += [f" slice {format_round_ns(LONG_NS)}"] if overhead.slice_ns == LONG_NS else []
    return [(",".join(words), "text")] if words else []


def _loss_parts(loss: Loss, level: int) -> Parts:
    """What was lost. Rows that the past keeps no longer are no loss of what happened then."""
    if not loss.any:
        return []
    lost = replace(loss, tasks_forgotten=0, slow_waits_forgotten=0)
    parts: Parts = []
    if lost.serious.any:
        parts.append([(f" lost: {loss_text(lost, level)} ", "alarm")])
    elif lost.any:
        unseen = f"{format_count(sum(getattr(lost, name) for name in LOSS_WORDS))} unseen"
        parts.append([(unseen if level else loss_text(lost), "dim")])
    return parts


def _old_rows(loss: Loss) -> int:
    """How many tasks and slow waits old parts of the history have without their rows."""
    return loss.tasks_forgotten + loss.slow_waits_forgotten


def loss_text(loss: Loss, level: int = 0) -> str:
    """What was lost. Level 0: each kind counted and named; 1: the largest one, and how many more; 2: in short words."""
    counts = [
        (count, words.counted(count, short=level >= 2))
        for name, words in LOSS_WORDS.items()
        if (count := getattr(loss, name))
    ]
    if level and len(counts) > 1:
        return f"{max(counts)[1]}, +{len(counts) - 1}"
    return ", ".join(words for _, words in counts)
