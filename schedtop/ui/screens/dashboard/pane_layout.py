"""The arrangement of the panes on the screen: which preset, which has the focus, which is zoomed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen

from schedtop.history.view import View
from schedtop.panes.levels import NORMAL
from schedtop.panes.pane import Command, Pane
from schedtop.ui.layout.arrangement import Arrangement, arrange
from schedtop.ui.layout.grid import PaneGrid
from schedtop.ui.layout.presets import PRESETS, QUEUE, Preset
from schedtop.ui.layout.strip import PaneStrip
from schedtop.ui.screens.dashboard.empty_panes import EmptyPanes
from schedtop.ui.screens.dashboard.flags import flagged
from schedtop.ui.screens.dashboard.hint import Hint
from schedtop.ui.slices import Step
from schedtop.verdict.verdict import Verdict


class PaneLayout:
    """Which panes are seen, in a grid, and the strip of those that are not.

    A preset says which panes are seen at which size. A pane that is not takes the place of the preset's main pane when
    it gets the focus. What is not seen is not drawn. `zoomed` is a pane that is alone at any size.
    """

    class Arranged(Message):
        """Other panes may be seen now than before."""

    def __init__(
        self, screen: Screen[Any], panes: Sequence[Pane[View]], hint: Hint, other_lines: Callable[[], int]
    ) -> None:
        """`other_lines`: how many lines of the screen neither a pane nor the hint has."""
        self.panes = tuple(panes)
        self.preset: Preset = PRESETS[0]
        self.arrangement = Arrangement((), (), 0)
        self.grid = PaneGrid(*panes, least=self._least, id="panes")
        self.strip = PaneStrip(id="strip")
        self.hint = hint
        self._screen = screen
        self._other_lines = other_lines
        self._empty = EmptyPanes()
        self._guest: Pane[View] | None = None
        self._zoomed: Pane[View] | None = None
        self._current = self.pane_named(self.preset.main)

    @property
    def current(self) -> Pane[View]:
        """The pane that had the focus last."""
        return self._current

    @property
    def is_zoomed(self) -> bool:
        """Whether one pane is alone on the screen."""
        return self._zoomed is not None

    def pane_named(self, name: str) -> Pane[View]:
        """The pane with this id. Raises KeyError."""
        return {pane.id: pane for pane in self.panes}[name]

    def show_preset(self, preset: Preset) -> None:
        """Shows the panes of a preset; its main one gets the focus."""
        self.preset, self._guest, self._zoomed = preset, None, None
        self._current = self.pane_named(self._filled_preset.main)
        self.arrange()
        if preset.focus in self.arrangement.seen:
            self._current = self.pane_named(preset.focus)
        self._current.focus(scroll_visible=False)

    def focus_pane(self, pane: Pane[View]) -> None:
        """Gives a pane the focus; one that is not seen takes the place of the main one, or the zoom."""
        self._current = pane
        if self._zoomed is not None:
            self._zoomed = pane
        if pane.id == self._filled_preset.main:
            self._guest = None
        elif pane.id not in self.arrangement.seen or self.arrangement.seen == (pane.id,):
            self._guest = pane
        self.arrange()
        pane.focus(scroll_visible=False)

    def zoom(self) -> None:
        """Shows the current pane alone, or all again."""
        self._zoomed = None if self._zoomed else self._current
        self.focus_pane(self._current)

    def arrange(self) -> None:
        """Shows the panes that the preset has at this size."""
        if not self._screen.size.area:
            return
        self.hint.set_class(self.hint.shown, "shown")
        taken = self._other_lines() + self.hint.lines_taken
        size = Size(self._screen.size.width, max(1, self._screen.size.height - taken))
        guest, zoomed, least = self._guest, self._zoomed, self._least
        preset = self._filled_preset
        self.arrangement = arrange(preset, size, least, guest.id if guest else None, zoomed.id if zoomed else None)
        if self._current.id not in self.arrangement.seen:
            # The room became too small for the pane with the focus: it stays, another one goes.
            self._guest = self._current
            self.arrangement = arrange(preset, size, least, self._current.id)
        for pane in self.panes:
            pane.set_class(pane is zoomed, "zoomed")
        self.grid.show_plan(self.arrangement.plan)
        self._screen.call_after_refresh(self._arranged)

    @property
    def _least(self) -> Mapping[str, Size]:
        return {pane.id or "": pane.LEAST for pane in self.panes}

    @property
    def _filled_preset(self) -> Preset:
        """The preset, without the panes that have nothing to show; its main pane and the current one stay if idle."""
        idle = self._empty.idle - {self.preset.main, self._current.id}
        return self.preset.for_cpus(self.grid.cpus).without(self._empty.absent | idle)

    def _set_absent(self, absent: frozenset[str]) -> None:
        """Which panes the source has nothing for. They are in the strip, and come if they are asked for."""
        if absent == self._empty.absent:
            return
        self._empty.absent = absent
        if self._screen.is_mounted:
            if self._current.id in absent and self._guest is None and self._zoomed is None:
                self.show_preset(self.preset)
            else:
                self.arrange()

    def show_hint(self, wanted: bool) -> None:
        """Shows what to press first, or no longer."""
        if wanted != self.hint.wanted:
            self.hint.wanted = wanted
            if self._screen.is_mounted:
                self.arrange()

    def steps(self, view: View, verdict: Verdict | None = None, commands: tuple[Command, ...] = ()) -> Iterator[Step]:
        """Hands the View to every pane: to each that is seen in a step of its own, the one with the focus first.

        `verdict`: what is thought of it; the pane that it is about is marked. `commands`: when some were typed.
        """
        # What is seen around a text stays where it is.
        may_move = self._screen.is_current
        cpus = len(view.frame.cpus.ids)
        if may_move:
            others = cpus != self.grid.cpus
            self.grid.set_cpus(cpus)
            if (self._empty.changed_by(self.panes, view) or others) and self._screen.is_mounted:
                self.arrange()
        lacks = view.frame.unavailable.keys()
        absent = frozenset(pane.id or "" for pane in self.panes if not lacks.isdisjoint(pane.PARTS))
        if view.host.recorded_source and view.frame.queue is None:
            absent |= {QUEUE}
        if may_move:
            self._set_absent(absent)
        self.flag(verdict)
        for pane in self.panes:
            pane.commands = commands
        for pane in sorted(self.panes, key=lambda pane: pane is not self._current):
            if pane.hidden:
                pane.show(view)
            else:
                yield partial(pane.show, view)
        yield self._show_strip
        if may_move:
            self.grid.fit(self.panes, view)

    def flag(self, verdict: Verdict | None) -> None:
        """Marks the pane that the verdict is about, in the strip if it is not seen."""
        name, level = flagged(verdict, self.arrangement.seen)
        for pane in self.panes:
            pane.is_calm = verdict is not None and verdict.level == "ok"
            pane.set_flag(level if pane.id == name else NORMAL)
            pane.look_at(verdict.victim if verdict is not None else 0)

    def _show_strip(self) -> None:
        """Tells of the panes that are not seen."""
        self.strip.show([self.pane_named(name) for name in self.arrangement.strip], self.arrangement.strip_lines)

    def _arranged(self) -> None:
        """Draws what is seen now, and gives the focus back that hiding took."""
        self._show_strip()
        self.hint.draw()
        for pane in self.panes:
            pane.draw()
        self._screen.post_message(self.Arranged())
        if self._screen.focused is None:
            self._current.focus(scroll_visible=False)
