"""What a path is of, and what it comes to in a sentence; what was lost."""

from __future__ import annotations

from schedtop.base.units import NS_PER_S, format_clock, format_elapsed, format_ns, format_round_ns
from schedtop.panes.verdict_band import VERDICT_LINES, verdict_band
from schedtop.path.live import PathFrame
from schedtop.path.subject import PathSubject
from schedtop.path.words import sentence
from schedtop.verdict.verdict import Verdict
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import Span, Spans, clip, steady, whole_parts, wrapped

SEPARATOR: Span = ("  ", "text")

LEAST_LINES, MOST_LINES = 4, 8
"""How high it is: the verdict if there is one, two lines and the sentences."""

LONG_NS = NS_PER_S
"""A task that is held up for longer and still is stands out."""

LOW, ROOM = 20, 3
"""A screen has so many times the lines that the header takes; on a lower one it takes the least."""


class PathHeader(Canvas, can_focus=False):
    """The verdict in its band, if the path makes one; two lines, as many whole parts of them as fit; the sentence."""

    DEFAULT_CSS = """
    PathHeader { height: 4; padding: 0 1; background: $panel; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._state: Span = ("", "text")
        self._subject: PathSubject | None = None
        self._frame: PathFrame | None = None
        self._verdict: Verdict | None = None
        self._extra: list[Span] = []

    def show(
        self, state: Span, subject: PathSubject, frame: PathFrame | None, verdict: Verdict | None, extra: list[Span]
    ) -> None:
        """Shows another moment; `verdict`: of the path, if it makes one."""
        self._state, self._subject, self._frame, self._verdict, self._extra = state, subject, frame, verdict, extra
        self._fit()
        self.draw()

    def on_unmount(self) -> None:
        # The framework may keep the widget for a while, but nothing needs the measurement any more.
        self._frame = None

    def _fit(self) -> None:
        """As high as the sentences need: they seldom change their number of lines."""
        height = self.app.size.height
        most = LEAST_LINES if height < LOW else min(MOST_LINES, height // ROOM)
        wanted = min(
            most, max(LEAST_LINES, 2 + self._band_lines + len(self._sentences(max(20, self.app.size.width - 2))))
        )
        now = self.styles.height
        if now is None or now.value != wanted:
            self.styles.height = wanted

    def draw(self) -> None:
        width, height = self.inner
        if not width or self._subject is None:
            return
        frame = self._frame
        first: list[list[Span]] = [[("Path", "key")], [self._state], [(steady(self._subject.words), "strong")]]
        second: list[list[Span]] = []
        if frame is not None:
            first.append([(format_elapsed(frame.duration_ns), "strong"), (_since(frame), "dim")])
            first.append([("episodes ≥ ", "dim"), (format_round_ns(frame.min_ns), "strong")])
            second = _second(frame)
        second += [[word] for word in self._extra]
        band = verdict_band(self._verdict, width) if self._band_lines else []
        lines: list[Spans] = [*band, whole_parts(first, width, SEPARATOR), whole_parts(second, width, SEPARATOR)]
        self.put([*lines, *self._sentences(width)][:height])

    @property
    def _band_lines(self) -> int:
        return VERDICT_LINES if self._verdict is not None and self._frame is not None else 0

    def _sentences(self, width: int) -> list[Spans]:
        frame = self._frame
        if frame is None:
            return []
        words = sentence(frame.summary) if frame.summary.episodes else _nothing(frame)
        style = "text" if self._verdict is not None else "strong"
        if frame.inversion is not None and (
            self._verdict is None or self._verdict.headline != frame.inversion.headline
        ):
            words = f"{frame.inversion.headline}. {words}"
        return [[(clip(line, width), style)] for line in wrapped(steady(words), width)]


def _since(frame: PathFrame) -> str:
    return f" since {format_clock(frame.start_time_ns)}"


def _nothing(frame: PathFrame) -> str:
    """Why there is no episode."""
    if frame.ended:
        return "It has ended, and was not late before"
    if not frame.seen:
        return "It has not come to a CPU since the recording began: what it waits for is known once it is woken"
    held_up = [one for one in frame.under_way if not one.for_work]
    if held_up:
        return f"It is {held_up[0].words} for {format_ns(held_up[0].time_ns)} now: what ends that is not known yet"
    return "It was not late so far: no episode has ended"


def _second(frame: PathFrame) -> list[list[Span]]:
    lost, summary = frame.loss.words, frame.summary
    parts: list[list[Span]] = [[("lost: ", "notice"), (", ".join(lost[:2]), "notice")]] if lost else []
    for one in frame.under_way[:1]:
        style = "notice" if one.time_ns >= LONG_NS and not one.for_work else "text"
        who = f"{one.comm} ({one.tid}) " if len(frame.summary.tids) > 1 else ""
        parts.append([("now ", "dim"), (steady(f"{who}{one.words}, {format_ns(one.time_ns)} so far"), style)])
    parts += [[(steady(note), "notice")] for note in frame.notes]
    if summary.woken:
        parts.append([("woken by tasks ", "dim"), (str(summary.woken), "strong"), (" times", "dim")])
        if summary.same_chain:
            parts[-1] += [(", it had asked for ", "dim"), (str(summary.same_chain), "strong")]
    parts += [] if lost else [[("nothing lost", "dim")]]
    return parts
