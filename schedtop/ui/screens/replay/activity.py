"""The activity screen on a recording that has activity: it shows the moment that the player is at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Self

from textual.screen import Screen

from schedtop.activity.activity import Activity
from schedtop.activity.recorded import activity_of
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.ui.screens.activity.screen import ActivityScreen
from schedtop.ui.screens.clock import Clock
from schedtop.ui.screens.dashboard.task_opener import TaskOpener
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


class PlayedActivity:
    """The moment of the player on an activity screen. Time is the player's: space plays and pauses, and it steps."""

    def __init__(
        self, frames: Callable[[], Sequence[Frame]], host: Host, clock: Clock, state: Callable[[], Span]
    ) -> None:
        """`frames`: those up to the moment, none while it is being sought."""
        self.clock = clock
        self.state = state
        self._frames = frames
        self._host = host

    def begin(self, screen: ActivityScreen) -> None:
        """Shows the moment of the player from now on."""
        self._follow(screen)
        screen.set_interval(LOOK_S, partial(self._follow, screen))

    def _follow(self, screen: ActivityScreen) -> None:
        """Shows the moment, if it is another one."""
        every = self._frames()
        frames = [frame for frame in every if frame.activity is not None]
        shown_ns = screen.shown.live.latest_ns
        if every and not frames and not screen.failure:
            screen.shown.forget()
            screen.failure = NOT_RECORDED
            screen.show_state()
        elif not frames or frames[-1].end_ns == shown_ns:
            screen.show_header()
        else:
            if frames[-1].end_ns < shown_ns or frames[-1].end_ns - frames[-1].interval_ns > shown_ns:
                screen.shown.forget()
                shown_ns = 0
            for frame in frames:
                if frame.end_ns > shown_ns and (activity := activity_of(frame, self._host)) is not None:
                    screen.shown.live.append(activity)
            screen.failure = ""
            screen.shown.refresh()
            screen.show_state()


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
        self._state = state

    def _frames(self) -> Sequence[Frame]:
        return () if self._player.seeking else self._shown.live.frames

    def action_activity(self) -> None:
        """Opens the activity screen, with the filter that holds."""
        if not any(frame.activity is not None for frame in self._shown.live.frames):
            self._screen.notify(NOT_RECORDED, severity="warning", markup=False)
            return
        opener, wanted = self._opener, self._shown.settings.filter
        past = PlayedActivity(self._frames, self._shown.live.host, self._clock, self._state)
        self._screen.app.push_screen(
            ActivityScreen(Nothing, opener.open_task, opener.open_path, wanted=wanted, past=past)
        )
