"""The path of a task or process, live. Its programs are in the kernel only while it is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from schedtop.base.units import NS_PER_MS, NS_PER_S, format_round_ns
from schedtop.panes.path.header import PathHeader
from schedtop.path.live import PathFrame
from schedtop.path.subject import PathSubject
from schedtop.path.words import sentence
from schedtop.ui.bars.keys import KeyBar
from schedtop.ui.bars.too_small import TooSmall, is_tiny
from schedtop.ui.feed import ItemSource
from schedtop.ui.keys.bindings import in_bar_order, key, together
from schedtop.ui.on_demand import MakePath
from schedtop.ui.screens.action_list import ActionList
from schedtop.ui.screens.attached import AttachedScreen
from schedtop.ui.screens.closing import close
from schedtop.ui.screens.dashboard.verdict_text import verdict_lines, verdict_title
from schedtop.ui.screens.help.screen import HelpScreen
from schedtop.ui.screens.help.topics import topics_of
from schedtop.ui.screens.path.two_panes import PathPanes
from schedtop.ui.screens.search import Search
from schedtop.ui.screens.text import TextScreen
from schedtop.verdict.path import RULE as INVERSION
from schedtop.verdict.path import with_path
from schedtop.verdict.verdict import Verdict
from schedtop.widgets.parts import keys_of, made_of
from schedtop.widgets.strips import Span, steady

MINIMA_NS = (0, NS_PER_MS // 10, NS_PER_MS, 10 * NS_PER_MS, 100 * NS_PER_MS, NS_PER_S)
"""The shortest episodes that + and - choose from."""

Judge = Callable[[PathSubject], Verdict | None]
"""What the dashboard says of a task or process alone; `None` while it cannot."""

PARTS = {"panes": PathPanes, "search": Search, "action_list": ActionList}

ORDER = (
    *("back", "quit", "freeze", "sort", "idle", "process", "verdict", "minimum-up", "minimum-down", "interrupts"),
    *("anew", "help"),
    *("zoom", "open", "next-pane", "pane-before", "pane-1", "pane-2"),
)
"""The first keys of the help, by their names; those of the last parts follow."""

KEYS: Sequence[BindingType] = (
    key(
        "escape",
        "back",
        "Close",
        "Leaves the zoom, else closes the screen and detaches from the kernel",
        name="back",
        shown=True,
    ),
    key("question_mark,f1", "help", "Help", "This help", shown=True),
    key("space", "freeze", "Freeze", "Freezes and thaws the screen; recording goes on", shown=True),
    key("p", "process", "Process", "From the thread to its whole process, and back: starts over", shown=True),
    key(
        "v",
        "verdict",
        "Why",
        "The verdict on it in full, with what its path shows",
        name="verdict",
        shown=True,
    ),
    key("x", "anew", "Reset", "Starts over: forgets what was recorded", shown=True),
    key("plus,equals_sign", "minimum(1)", "Minimum up", "Leaves out shorter episodes: starts over"),
    key("minus,underscore", "minimum(-1)", "Minimum down", "Down to every episode: starts over"),
    key("I", "interrupts", "Interrupts", "Names interrupts, and what they took, or no longer: starts over"),
    key("q,f10,P", "close", "Close at once", "Closes the screen", name="quit"),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is recorded: episodes of so many nanoseconds and more, with interrupts or without."""

    min_ns: int = NS_PER_MS
    interrupts: bool = False


@made_of(PARTS)
class PathScreen(AttachedScreen[PathFrame]):
    """Sentence, profile and episodes, since it was opened or since `x`."""

    AUTO_FOCUS = None
    ESCAPE_TO_MINIMIZE = False

    DEFAULT_CSS = """
    PathScreen { layout: vertical; }
    PathScreen > #path {
        height: 1fr;
        & > #profile { width: 100%; height: 2fr; min-height: 6; }
        & > #episodes { width: 100%; height: 3fr; }
        &.zoomed > Pane { display: none; }
        &.zoomed > .current { display: block; height: 1fr; max-height: 100%; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = keys_of(PARTS, KEYS, ORDER)

    def __init__(self, make_source: MakePath, subject: PathSubject, judge: Judge, *, interrupts: bool = False) -> None:
        """`judge`: the verdict on a subject alone; `interrupts`: they are part of the path from the start."""
        self.wanted = Wanted(interrupts=interrupts)
        super().__init__(make_source(subject, self.wanted.min_ns, interrupts=interrupts))
        self.subject = self._chosen = subject
        self.panes = PathPanes(self)
        self.search = Search(self)
        self.action_list = ActionList(self, self.search.target)
        self.shown: PathFrame | None = None
        self._latest: PathFrame | None = None
        self._frozen = False
        self._make_source = make_source
        self._judge = judge
        self._judged: tuple[PathFrame | None, Verdict | None] = (None, None)

    def compose(self) -> ComposeResult:
        yield PathHeader(id="path-header")
        yield self.panes.box
        yield KeyBar(id="key-bar")
        yield TooSmall(id="too-small")

    def on_mount(self, _event: events.Mount) -> None:
        self.panes.focus(self.panes.profile)
        self._show_keys()
        self.show_state()
        self.set_interval(1, self._show_header)

    def on_resize(self, event: events.Resize) -> None:
        tiny = is_tiny(event.size)
        self.set_class(tiny, "-tiny")
        self.panes.box.display = not tiny
        self.query_one(PathHeader).display = not tiny
        self.query_one(TooSmall).tell(event.size)
        self._show_header()

    def on_unmount(self, _event: events.Unmount) -> None:
        self.shown = self._latest = None
        self._judged = (None, None)

    # What arrives.

    def arrived(self, item: PathFrame) -> None:
        self._latest = item
        if not self._frozen:
            self.shown = item
            self.show_state()

    def failed(self) -> None:
        self.show_state()

    def _attach_anew(self) -> None:
        self.shown = self._latest = None
        self._frozen = False
        source: AbstractContextManager[ItemSource[PathFrame]] = self._make_source(
            self.subject, self.wanted.min_ns, interrupts=self.wanted.interrupts
        )
        self.attach(source)
        self.panes.forget()
        self._show_keys()
        self.show_state()

    # What is shown.

    def show_state(self) -> None:
        """Shows the path there is, or why there is none."""
        if self.shown is not None:
            self.panes.show(self.shown)
        self.panes.profile.failure = steady(self.failure) if self.shown is None else ""
        self.panes.profile.draw()
        self._show_header()

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the subject, with its path; `None` while there is none."""
        verdict, frame = self._judge(self.subject), self.shown
        if verdict is None or frame is None:
            return verdict
        verdict = with_path(verdict, frame.inversion, frame.duration_ns)
        if verdict.rule == INVERSION or not frame.summary.episodes:
            return verdict
        # Its own waits for a CPU alone may be none at all, where what it waits for waits for one.
        return replace(verdict, evidence=(f"its path: {sentence(frame.summary)}", *verdict.evidence))

    def _show_header(self) -> None:
        frame = self.shown
        if self._judged[0] is not frame:
            # It takes milliseconds: once for what has arrived, and only where it says more.
            self._judged = (frame, self.verdict if frame is not None and frame.inversion else None)
        verdict = self._judged[1]
        ended = frame is not None and frame.ended
        state = self.state_words(None if frame is None else frame.end_ns, frozen=self._frozen, ended=ended)
        self.query_one(PathHeader).show(state, self.subject, frame, verdict, self._extra_words())

    def _extra_words(self) -> list[Span]:
        if self.failure and self.shown:
            return [(steady(self.failure), "notice")]
        found: list[Span] = [("with interrupts", "strong")] if self.wanted.interrupts else []
        if self.shown is None:
            return [(f"episodes ≥ {format_round_ns(self.wanted.min_ns)}", "dim"), *found]
        gone: Span = ("it is gone: nothing is attached any more", "notice")
        return [gone, *found] if self.shown.ended else found

    def _show_keys(self) -> None:
        words = {"freeze": "Thaw" if self._frozen else "Freeze"}
        words |= {"process": "Thread" if self.subject.is_process else "Process"}
        useless = set() if self._can_switch else {"process"}
        rows = in_bar_order(row for row in self.action_list.of_screen() if row.action not in useless)
        keys = [(row.first_key, words.get(row.action, row.word), row.action) for row in rows]
        pair = together(self.app, {"minimum-up": "+", "minimum-down": "-"})
        self.query_one(KeyBar).show((*keys, (pair, "Minimum", "minimum(1)")))

    @property
    def _can_switch(self) -> bool:
        """Whether there is a thread and a process to switch between."""
        return bool(self._chosen.tid and self._chosen.tgid)

    # Keys.

    def action_freeze(self) -> None:
        """Freezes what is shown, or follows again."""
        if self.shown is None:
            return
        self._frozen = not self._frozen
        if not self._frozen:
            self.shown = self._latest
        self._show_keys()
        self.show_state()

    def action_process(self) -> None:
        """To the whole process, or back to the thread."""
        if self._can_switch:
            chosen = self._chosen
            self.subject = chosen if self.subject.is_process else PathSubject(0, chosen.tgid, chosen.name)
            self._attach_anew()

    def action_anew(self) -> None:
        """Begins anew."""
        self._attach_anew()

    def action_interrupts(self) -> None:
        """With interrupts, or no longer."""
        self.wanted = replace(self.wanted, interrupts=not self.wanted.interrupts)
        self._attach_anew()

    def action_minimum(self, direction: int) -> None:
        """Another shortest episode; recording begins anew."""
        steps = [ns for ns in MINIMA_NS if (ns > self.wanted.min_ns if direction > 0 else ns < self.wanted.min_ns)]
        if not steps:
            self.notify("every episode counts" if direction < 0 else "this is the largest", timeout=2)
            return
        self.wanted = replace(self.wanted, min_ns=steps[0] if direction > 0 else steps[-1])
        self._attach_anew()

    def action_verdict(self) -> None:
        """The verdict in full."""
        if (verdict := self.verdict) is not None:
            self.app.push_screen(TextScreen(verdict_title(verdict), partial(verdict_lines, verdict)))
        else:
            self.notify("there is no verdict yet", timeout=2)

    def action_back(self) -> None:
        """Drops messages, else ends the search, else leaves the zoom, else closes."""
        if self.query("Toast"):
            self.app.clear_notifications()
        elif self.search.end():
            pass
        elif self.panes.is_zoomed:
            self.panes.action_zoom()
        else:
            close(self)

    def action_close(self) -> None:
        """Closes the screen."""
        close(self)

    def action_help(self) -> None:
        """The help, beginning with the pane that has the focus."""
        notes = self.shown.host.notes if self.shown else ()
        topics = topics_of(self.panes.both, self.action_list.for_help(), self.action_list.of_pane, notes)
        self.app.push_screen(HelpScreen(topics, self.panes.focused.TITLE))
