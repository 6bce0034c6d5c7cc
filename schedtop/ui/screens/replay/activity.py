"""The activity screen on a recording that has activity: it shows the moment that the player is at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, Self

from textual import events
from textual.screen import Screen

from schedtop.activity.activity import Activity
from schedtop.activity.recorded import activity_of
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.panes.task.past import Subject
from schedtop.path.subject import PathSubject
from schedtop.ui.screens.activity.screen import ActivityScreen
from schedtop.ui.screens.dashboard.task_opener import Clock, TaskOpener
from schedtop.ui.screens.replay.player import Player
from schedtop.ui.screens.replay.shown import RecordedShown
from schedtop.widgets.strips import Span

LOOK_S = 0.1
"""How often it looks where the player is."""

NOT_RECORDED = "the recording has no activity here: it is kept by `schedtop record --activity`"


class Nothing:
    """An ActivitySource that attaches nothing and gives nothing: a recording has all there is."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None

    def select(self, tgid: int) -> None:
        """The system calls of a single process are not recorded."""

    def frames(self, stop: threading.Event) -> Iterator[Activity]:
        """None, until it is to stop."""
        stop.wait()
        yield from ()


class Following(Protocol):
    """What the screen follows: the Frames up to the moment of the player, and its state in words."""

    @property
    def frames(self) -> Sequence[Frame]:
        """The Frames up to the moment, `()` while it is being sought."""
        ...

    def state(self) -> Span:
        """What the player does."""
        ...


class RecordedActivity(ActivityScreen):
    """Time is the player's: space plays and pauses, steps are its own."""

    def __init__(
        self,
        followed: Following,
        host: Host,
        clock: Clock,
        open_task: Callable[[Subject], None],
        open_path: Callable[[PathSubject], None],
        *,
        wanted: Filter,
    ) -> None:
        super().__init__(Nothing, open_task, open_path, wanted=wanted, clock=clock)
        self._followed = followed
        self._host = host

    def on_mount(self, _event: events.Mount) -> None:
        self.follow()
        self.set_interval(LOOK_S, self.follow)

    def follow(self) -> None:
        """Shows the moment of the player, if it is another one."""
        frames = [frame for frame in self._followed.frames if frame.activity is not None]
        shown_ns = self.shown.live.latest_ns
        if not frames:
            self._show_nothing()
            return
        if frames[-1].end_ns == shown_ns:
            self.show_header()
            return
        self.failure = ""
        if frames[-1].end_ns < shown_ns or frames[-1].end_ns - frames[-1].interval_ns > shown_ns:
            self.shown.forget()
            shown_ns = 0
        for frame in frames:
            if frame.end_ns > shown_ns and (activity := activity_of(frame, self._host)) is not None:
                self.shown.live.append(activity)
        self.shown.refresh()
        self.show_state()

    def _show_nothing(self) -> None:
        """There is none at this place, or the place is being sought."""
        if self._followed.frames and not self.failure:
            self.shown.forget()
            self.failure = NOT_RECORDED
            self.show_state()
        else:
            self.show_header()

    def state(self) -> Span:
        return self._followed.state()

    def action_anew(self) -> None:
        """Nothing is counted here."""
        self.notify("a recording has what was counted when it was made", timeout=4)


class ActivityOpener:
    """The key `a` on a recording."""

    def __init__(
        self, screen: Screen[Any], shown: RecordedShown, player: Player, opener: TaskOpener, clock: Clock,
        state: Callable[[], Span],
    ) -> None:  # fmt: skip
        self._screen = screen
        self._shown = shown
        self._player = player
        self._opener = opener
        self._clock = clock
        self.state = state

    @property
    def frames(self) -> Sequence[Frame]:
        """The Frames up to the moment, `()` while it is being sought."""
        return () if self._player.seeking else self._shown.live.frames

    def action_activity(self) -> None:
        """Opens the activity screen, with the filter that holds."""
        if not any(frame.activity is not None for frame in self._shown.live.frames):
            self._screen.notify(NOT_RECORDED, severity="warning", markup=False)
            return
        opener, wanted = self._opener, self._shown.settings.filter
        screen = RecordedActivity(
            self, self._shown.live.host, self._clock, opener.open_task, opener.open_path, wanted=wanted
        )
        self._screen.app.push_screen(screen)
