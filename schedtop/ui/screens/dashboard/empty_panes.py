"""Which panes have nothing to show: their places go to others until they have."""

from __future__ import annotations

from collections.abc import Sequence

from schedtop.base.units import NS_PER_S
from schedtop.history.view import View
from schedtop.panes.pane import Pane
from schedtop.panes.time_columns import is_moment

IDLE_NS = 60 * NS_PER_S
"""A pane that has had something keeps its place for so long: one that comes and goes would move all others."""

FIRST_NS = 2 * NS_PER_S
GOES_NS = 4 * NS_PER_S
"""What only the first seconds have, schedtop's own start among it, keeps a place until so long after."""


class EmptyPanes:
    """The ids of the panes that are `absent`, because the source has nothing for them, and of those that are `idle`."""

    def __init__(self) -> None:
        self.absent: frozenset[str] = frozenset()
        self.idle: frozenset[str] = frozenset()
        self._busy_ns: dict[str, int] = {}
        self._is_known = False
        self._first_ns: int | None = None

    def changed_by(self, panes: Sequence[Pane[View]], view: View) -> bool:
        """Takes a View; whether other panes are idle now. While one moves through time nothing leaves its place.

        In a recording a pane comes at the first moment that has something for it, and stays.
        """
        if view.host.recorded_source:
            return self._come(panes, view)
        if is_moment(view):
            return False
        now = view.frame.end_ns
        if self._first_ns is None:
            self._first_ns = now
        busy_ns = now if now - self._first_ns >= FIRST_NS else self._first_ns + GOES_NS - IDLE_NS
        for pane in panes:
            if not pane.is_idle(view):
                self._busy_ns[pane.id or ""] = busy_ns
        idle = frozenset(
            pane.id or "" for pane in panes if now - self._busy_ns.get(pane.id or "", now - IDLE_NS) >= IDLE_NS
        )
        changed, self.idle = idle != self.idle, idle
        return changed

    def _come(self, panes: Sequence[Pane[View]], view: View) -> bool:
        before = self.idle
        idle = frozenset(pane.id or "" for pane in panes if pane.is_idle(view))
        self.idle = idle & before if self._is_known else idle
        self._is_known = True
        return self.idle != before
