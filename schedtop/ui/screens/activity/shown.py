"""What is shown of what was counted: the Timeline over the history, and the view that is made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from schedtop.activity.activity import Activity
from schedtop.activity.history import ActivityHistory
from schedtop.activity.view import ActivitySettings, ActivityView
from schedtop.ui.screens.dashboard.timeline import Timeline

ActivityTimeline = Timeline[ActivitySettings, ActivityView]


class ActivityShown:
    """The history `live`, the `timeline`, and the `view` of the moment, `None` while there is no interval.

    Parts of the screen read the view, and change the moment or its settings; `changed` is called then.
    """

    def __init__(self, settings: ActivitySettings, changed: Callable[[], None]) -> None:
        self.live = ActivityHistory()
        self.timeline: ActivityTimeline = Timeline(settings)
        self.view: ActivityView | None = None
        self._changed = changed

    @property
    def settings(self) -> ActivitySettings:
        """What is let through, in which groups and order."""
        return self.timeline.settings

    def add(self, interval: Activity) -> None:
        """Takes the next interval: the view is another one, but while it stands still."""
        self.live.append(interval)
        if not self.timeline.is_frozen:
            self._make()
        elif self.view is not None:
            self.view = replace(self.view, behind_ns=self.live.latest_ns - self.timeline.end_ns)

    def refresh(self) -> None:
        """Makes the view of the moment anew: the history has changed."""
        self._make()

    def forget(self) -> None:
        """Drops all: it is counted anew."""
        self.live = ActivityHistory()
        self.timeline, self.view = self.timeline.thaw(), None

    def set_timeline(self, timeline: ActivityTimeline) -> None:
        """Shows another moment, or the same with other settings."""
        if timeline is not self.timeline:
            self.timeline = timeline
            self._make()
            self._changed()

    def change(self, **settings: Any) -> None:
        """Shows the same moment with other settings."""
        self.set_timeline(self.timeline.with_settings(replace(self.settings, **settings)))

    def _make(self) -> None:
        self.view = self.timeline.view(self.live)
