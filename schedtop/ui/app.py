"""The application: it takes Frames from a Source in a thread, and ends with the right status whatever happens."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from rich.console import RenderableType
from textual import events, on
from textual.binding import BindingType
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.filter import ANSIToTruecolor, LineFilter
from textual.notifications import SeverityLevel

from schedtop.base import session_nice
from schedtop.base.breathing_imports import breathing_imports
from schedtop.base.units import printable
from schedtop.history.view import ViewSettings
from schedtop.model.source import Source
from schedtop.ui.changes import Changes
from schedtop.ui.feed import Feed, FeedEnded, FrameArrived, stop_feeds
from schedtop.ui.keys.app_keys import APP_KEYS
from schedtop.ui.keys.order import KeyOrder
from schedtop.ui.memory import Collector, return_large_arrays
from schedtop.ui.on_demand import NOTHING, OnDemand
from schedtop.ui.preferences import NO_PREFERENCES, Choices, Preferences
from schedtop.ui.problems import problems_of
from schedtop.ui.screens.dashboard.screen import Dashboard
from schedtop.ui.terminal.appearance import FULL, Appearance
from schedtop.ui.terminal.keyboard import QuietDriver, end_keyboard
from schedtop.ui.terminal.painter import Difference, Painter
from schedtop.ui.terminal.surface import Surface
from schedtop.ui.terminal.terminal import (
    drawing_on_output,
    ending_with_terminal,
    give_back_when_stopped,
    off_signals,
    on_signals,
)
from schedtop.ui.terminal.textual_private import CompositorUpdate, OpenApp, PartialUpdate
from schedtop.ui.terminal.themes import DARK, PREFIX, THEMES
from schedtop.ui.toasts import clear_of_selection, clear_when_laid_out
from schedtop.widgets.ascii_filter import AsciiFilter
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.parts import made_of

STOP_TIMEOUT_S = 3.0
"""How long the end waits for the source's thread: a source stops within an interval, but not for ever."""

RECORDING_TIMEOUT_S = 10.0
"""How long the end waits until the disk has what was recorded."""


@made_of({"key_order": KeyOrder})
class SchedtopApp(OpenApp[int]):
    """The dashboard over an open Source. `return_code` is the exit status, `failure` says why it failed."""

    TITLE = "schedtop"
    CSS_PATH = "schedtop.tcss"
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    """The framework's marking of text fails on a click at what was removed meanwhile; terminals have their own."""

    BINDINGS: ClassVar[list[BindingType]] = APP_KEYS

    def __init__(
        self,
        source: Source,
        *,
        settings: ViewSettings | None = None,
        export_dir: Path = Path("."),
        own_pid: int | None = None,
        make_screen: Callable[..., Dashboard] = Dashboard,
        on_demand: OnDemand = NOTHING,
        preferences: Preferences = NO_PREFERENCES,
        appearance: Appearance = FULL,
    ) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.appearance = appearance
        self._painter = Painter()
        self.collector: Collector | None = None
        """Set where the whole process is the app's."""
        self._ascii = (AsciiFilter(),) if appearance.ascii else ()
        self.surface = Surface(self, self._painter, self.keys_wait, ascii_only=appearance.ascii)
        self.theme = appearance.theme
        self.animation_level = "none"
        self.failure = ""
        self._errors_until = 0.0
        self._feed = Feed(source.frames, self.post_message, FrameArrived)
        # The place of a file is told in full: it does not depend on where schedtop was started.
        self.dashboard = make_screen(
            source, settings or ViewSettings(), export_dir.absolute(), own_pid, on_demand=on_demand
        )
        by_id, key_problems = _keymap_of(preferences)
        self.set_keymap(by_id)
        self.problems = problems_of(preferences, key_problems)
        self._changes = Changes(self.dashboard, preferences, self.theme.removeprefix(PREFIX))
        self.key_order = KeyOrder(self, super().on_event)

    @property
    def changes(self) -> Choices:
        """What is to be remembered, by the config's keys, when the app has ended."""
        return self._changes.kept

    def get_driver_class(self) -> type[Driver]:
        found = super().get_driver_class()
        return QuietDriver if found is LinuxDriver else found

    def keys_wait(self, of_any: bool) -> bool:
        """Whether a key or a click has come that is not looked at yet; `of_any`: or with an effect still to come."""
        return (isinstance(self.driver, QuietDriver) and self.driver.has_input) or (
            of_any and not self.key_order.is_settled
        )

    def get_theme_variable_defaults(self) -> dict[str, str]:
        # The panes' style sheets name them, so they must exist whatever theme is active.
        return dict(DARK.variables)

    def get_default_screen(self) -> Dashboard:
        return self.dashboard

    def on_mount(self, _event: events.Mount) -> None:
        on_signals(self.stop)
        give_back_when_stopped()
        # The shell has written over the screen; what did not change would stay away otherwise.
        self.app_resume_signal.subscribe(self, lambda _app: self.action_redraw())
        self._feed.start()
        if self.problems.every:
            self.notify(self.problems.words, title=self.problems.file, severity="warning", timeout=12, markup=False)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(self.driver, QuietDriver):
            self.driver.has_input = False
        if isinstance(event, events.Key | events.MouseDown):
            self.surface.slices.begin()
            self._changes.drop_hint()
        await self.key_order.take(event)

    def on_unmount(self, _event: events.Unmount) -> None:
        off_signals()
        self._feed.stop(0)

    def watch_theme(self, theme: str) -> None:
        """Sends as many colours as the theme has."""
        self._painter.depth = self.appearance.depth_of(theme)
        self._painter.forget()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """No grey instead of colours where NO_COLOR is set: the theme and the painter see to that."""
        return (*(one for one in self.colour_filters if isinstance(one, ANSIToTruecolor)), *self._ascii)

    def wait_for_source(self, timeout_s: float = STOP_TIMEOUT_S) -> bool:
        """Waits until the source's thread and those of the screens have ended; false if one has not in time."""
        return stop_feeds(timeout_s)

    @on(FrameArrived)
    def _frame_arrived(self, event: FrameArrived) -> None:
        self.surface.slices.begin()
        self.dashboard.add(event.frame)
        self.call_later(self._frame_drawn, event.frame.overhead.rss_bytes)

    def _frame_drawn(self, held_bytes: int) -> None:
        self.surface.flush()
        self.surface.breathe()  # the Frame has been taken in before
        if self.collector is not None:
            self.collector.frame_drawn(held_bytes)
        self.surface.breathe()

    @on(FeedEnded)
    def _feed_ended(self, event: FeedEnded) -> None:
        if event.error:
            self.failure = event.error
            self.stop(1)
        else:
            self.dashboard.end()

    def stop(self, status: int) -> None:
        """Restores the terminal and ends with an exit status; 0 is the user's wish to leave."""
        if status == 0:
            self._changes.keep(self.theme.removeprefix(PREFIX))
        self.exit(status, return_code=status)

    def notify(self, message: str, *, severity: SeverityLevel = "information", **options: Any) -> None:
        """Shows a message instead of those before, errors aside: a stack of them would hide what is going on."""
        now = asyncio.get_running_loop().time()
        if now >= self._errors_until:
            self.clear_notifications()
        if severity == "error":
            self._errors_until = now + (options.get("timeout") or self.NOTIFICATION_TIMEOUT)
        super().notify(message, severity=severity, **options)
        self.call_after_refresh(clear_when_laid_out, self)

    @on(KeyedTable.Selected)
    def _selection_moved(self) -> None:
        clear_of_selection(self.screen)

    def action_suspend_process(self) -> None:
        """Suspends the whole job: under `make run` or a script the shell waits for what started us."""
        if self.can_suspend:
            # Textual would also answer the signal that brings us back, perhaps late, and so begin twice.
            with self.suspend(), _unanswered(signal.SIGCONT), session_nice.OWN.given_back():
                os.killpg(os.getpgrp(), signal.SIGSTOP)
            # The shell has written over the screen.
            self.action_redraw()

    def action_redraw(self) -> None:
        """Writes the whole screen again."""
        self._painter.forget()
        self.screen.refresh()

    def on_resize(self, _event: events.Resize) -> None:
        # Terminals move what they show, and that they had another size in between may be seen too late.
        self._painter.forget()
        for screen in self.screen_stack:
            screen.set_class(screen.is_modal, "-resized")

    def replaced(self, renderable: RenderableType | None) -> RenderableType | CompositorUpdate | None:
        """Only what differs from what the terminal shows."""
        self.surface.flush()
        if isinstance(renderable, PartialUpdate):
            return Difference(self._painter, renderable, (self.size.width, self.size.height), self.surface.breathe)
        if renderable is not None:
            self._painter.forget()
        return renderable

    def action_leave(self) -> None:
        """Ends as asked."""
        self.stop(0)

    def action_interrupt(self) -> None:
        """Ends as by ctrl-c."""
        self.stop(130)

    def action_next_theme(self) -> None:
        """The next of the themes that the terminal has the colours for."""
        names = self.appearance.themes()
        self.theme = names[(names.index(self.theme) + 1) % len(names)] if self.theme in names else names[0]


def _keymap_of(preferences: Preferences) -> tuple[dict[str, str], Sequence[str]]:
    """The user's keys by the ids of bindings, and what of them does not hold."""
    if not preferences.bindings:
        return {}, ()
    # It knows all screens: 40 modules (60 ms at the start) that only keys of one's own need.
    from schedtop.ui.keys.own_keys import make_keymap

    keymap = make_keymap(preferences.bindings)
    return dict(keymap.by_id), keymap.problems


@contextmanager
def _unanswered(number: signal.Signals) -> Iterator[None]:
    """While it lasts, the signal has only its effect: its handler is not called, not even afterwards."""
    handler = signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(number, handler)


def run(
    source: Source,
    *,
    settings: ViewSettings | None = None,
    export_dir: Path = Path("."),
    own_pid: int | None = None,
    make_screen: Callable[..., Dashboard] = Dashboard,
    on_demand: OnDemand = NOTHING,
    preferences: Preferences = NO_PREFERENCES,
    appearance: Appearance = FULL,
) -> int:
    """Shows the dashboard over an open Source until the user leaves; gives the exit status.

    0 quit, 1 the source failed (said on standard error), 130 ctrl-c, 143 SIGTERM, 129 SIGHUP. The caller closes the
    source. `own_pid` is the process to mark as schedtop's own in the task table, `make_screen` another dashboard.
    `on_demand`: what keys open, if there is a live kernel; `preferences`: how it begins; `appearance`: colours and
    characters. Raises what went wrong in the app itself.
    """
    # What is loaded by now stays until the end: the collector need not look at it again and again.
    gc.freeze()
    return_large_arrays()
    app = SchedtopApp(
        source,
        settings=settings,
        export_dir=export_dir,
        own_pid=own_pid,
        make_screen=make_screen,
        on_demand=on_demand,
        preferences=preferences,
        appearance=appearance,
    )
    app.collector = Collector()
    for problem in app.problems.of_keys:
        print(f"schedtop: {printable(problem)}", file=sys.stderr)
    with drawing_on_output(), ending_with_terminal(), breathing_imports(app.surface.breathe):
        try:
            app.run()
        finally:
            end_keyboard(app.driver)
    if not app.wait_for_source():
        print("schedtop: the source did not stop in time", file=sys.stderr)
    for line in app.dashboard.close_recordings(RECORDING_TIMEOUT_S):
        print(f"schedtop: {line}", file=sys.stderr)
    if app.changes and (problem := preferences.keep(app.changes)):
        print(f"schedtop: {printable(problem)}", file=sys.stderr)
    if app.crash is not None:
        raise app.crash
    if app.failure:
        print(f"schedtop: {app.failure}", file=sys.stderr)
    return app.return_code or 0
