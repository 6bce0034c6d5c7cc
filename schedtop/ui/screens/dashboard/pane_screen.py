"""The arrangement of the panes on the screen: which preset, which has the focus, which is zoomed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.geometry import Size
from textual.widgets import Static

from schedtop.panes.header import HeaderPane
from schedtop.panes.pane import Pane
from schedtop.ui.bars.filter import FilterBar
from schedtop.ui.bars.keys import KeyBar
from schedtop.ui.keys.bindings import KeyRow, key, together
from schedtop.ui.layout.arrangement import Arrangement, arrange
from schedtop.ui.layout.grid import PaneGrid
from schedtop.ui.layout.presets import PRESETS, Preset
from schedtop.ui.layout.strip import PaneStrip
from schedtop.ui.screens.chooser import DIGITS, Choice, Chooser
from schedtop.ui.screens.dashboard.hint import LEAST_LINES as HINT_LEAST_LINES
from schedtop.ui.screens.dashboard.hint import Hint
from schedtop.ui.screens.search import SearchScreen
from schedtop.ui.terminal.terminal import LEAST_COLUMNS, LEAST_LINES
from schedtop.widgets.canvas import Canvas

COMPACT = Size(80, 20)
"""Below this, what can take fewer lines does."""


class PaneScreen(SearchScreen):
    """Header, panes, the strip of those that are not seen, filter line and key bar.

    A preset says which panes are seen at which size. A pane that is not takes the place of the preset's main pane when
    it gets the focus. What is not seen is not drawn. `zoomed` is a pane that is alone at any size.
    """

    AUTO_FOCUS = None
    ESCAPE_TO_MINIMIZE = False

    BINDINGS: ClassVar[list[BindingType]] = [
        key("z", "zoom", "Zoom", "The focused pane alone, and back", shown=True),
        *(
            key(
                str(preset.number),
                f"preset({preset.number})",
                preset.word,
                f"Preset {preset.word}: {preset.meaning}",
                name=f"preset-{preset.number}",
            )
            for preset in PRESETS
        ),
        key("p", "choose_pane", "Panes", "All panes with what they say now: a digit or Enter goes there"),
        key("tab", "focus_pane(1)", "Next pane", "To the next pane, seen or not"),
        key("shift+tab", "focus_pane(-1)", "Pane before", "To the pane before"),
    ]

    def __init__(self, panes: Sequence[Pane]) -> None:
        super().__init__()
        self.panes = tuple(panes)
        self.preset: Preset = PRESETS[0]
        self._absent: frozenset[str] = frozenset()
        self._guest: Pane | None = None
        self._zoomed: Pane | None = None
        self._current = self.pane_named(self.preset.main)
        self._least = {pane.id or "": pane.LEAST for pane in panes}
        self.arrangement = Arrangement((), (), 0)
        self._grid = PaneGrid(*panes, least=self._least, id="panes")
        self._strip = PaneStrip(id="strip")
        self._hint = Hint(id="hint")
        self._hint_wanted = False
        self._too_small = Static(id="too-small", markup=False)

    def compose(self) -> ComposeResult:
        yield HeaderPane(id="header")
        yield self._grid
        yield self._strip
        yield self._hint
        yield FilterBar(id="filter-bar")
        yield KeyBar(id="key-bar")
        yield self._too_small

    @property
    def fixed_lines(self) -> int:
        """The lines of the screen that no pane has: header and key bar, and the hint while it is there."""
        return 4 + (self._hint.lines if self.hint_shown else 0)

    @property
    def hint_shown(self) -> bool:
        """Whether the hint is on the screen."""
        return self._hint_wanted and self.size.height >= HINT_LEAST_LINES

    def show_hint(self, wanted: bool) -> None:
        """Shows what to press first, or no longer."""
        if wanted != self._hint_wanted:
            self._hint_wanted = wanted
            if self.is_mounted:
                self._arrange()

    @property
    def current(self) -> Pane:
        """The pane that had the focus last."""
        return self._current

    @property
    def is_zoomed(self) -> bool:
        """Whether one pane is alone on the screen."""
        return self._zoomed is not None

    def pane_named(self, name: str) -> Pane:
        """The pane with this id. Raises KeyError."""
        return {pane.id: pane for pane in self.panes}[name]

    @property
    def pane_keys(self) -> tuple[tuple[str, str, str], ...]:
        """What stands in the key bar for the keys of all presets and panes."""
        numbers = {f"preset-{preset.number}": str(preset.number) for preset in PRESETS}
        presets = together(self.app, numbers, f"1-{PRESETS[-1].number}")
        return ((presets, "Preset", "preset(0)"), (together(self.app, {"next-pane": "Tab"}), "Pane", "focus_pane(1)"))

    def on_mount(self, _event: events.Mount) -> None:
        self.show_preset(self.preset)

    def on_resize(self, event: events.Resize) -> None:
        columns, lines = event.size
        tiny = columns < LEAST_COLUMNS or lines < LEAST_LINES
        self.set_class(tiny, "-tiny")
        self.set_class(not tiny and (columns < COMPACT.width or lines < COMPACT.height), "-compact")
        self._too_small.update(
            f"the terminal is too small: {columns}x{lines}\nschedtop needs {LEAST_COLUMNS}x{LEAST_LINES}"
        )
        self._arrange()

    def show_preset(self, preset: Preset) -> None:
        """Shows the panes of a preset; its main one gets the focus."""
        self.preset, self._guest, self._zoomed = preset, None, None
        self._current = self.pane_named(self._filled_preset.main)
        self._arrange()
        if preset.focus in self.arrangement.seen:
            self._current = self.pane_named(preset.focus)
        self._current.focus(scroll_visible=False)

    def focus_pane(self, pane: Pane) -> None:
        """Gives a pane the focus; one that is not seen takes the place of the main one, or the zoom."""
        self._current = pane
        if self._zoomed is not None:
            self._zoomed = pane
        if pane.id == self._filled_preset.main:
            self._guest = None
        elif pane.id not in self.arrangement.seen or self.arrangement.seen == (pane.id,):
            self._guest = pane
        self._arrange()
        pane.focus(scroll_visible=False)

    def _arrange(self) -> None:
        """Shows the panes that the preset has at this size."""
        if not self.size.area:
            return
        self._hint.set_class(self.hint_shown, "shown")
        size = Size(self.size.width, max(1, self.size.height - self.fixed_lines))
        guest, zoomed = self._guest, self._zoomed
        preset = self._filled_preset
        self.arrangement = arrange(
            preset, size, self._least, guest.id if guest else None, zoomed.id if zoomed else None
        )
        if self._current.id not in self.arrangement.seen:
            # The room became too small for the pane with the focus: it stays, another one goes.
            self._guest = self._current
            self.arrangement = arrange(preset, size, self._least, self._current.id)
        for pane in self.panes:
            pane.set_class(pane is zoomed, "zoomed")
        self._grid.show_plan(self.arrangement.plan)
        self.call_after_refresh(self._arranged)

    @property
    def _filled_preset(self) -> Preset:
        """The preset, without the panes that have nothing to show."""
        return self.preset.without(self._absent)

    def set_absent(self, absent: frozenset[str]) -> None:
        """Which panes the source has nothing for. They are in the strip, and come if they are asked for."""
        if absent == self._absent:
            return
        self._absent = absent
        if self.is_mounted:
            if self._current.id in absent and self._guest is None and self._zoomed is None:
                self.show_preset(self.preset)
            else:
                self._arrange()

    def set_cpus(self, cpus: int) -> None:
        """How many CPUs the host has."""
        self._grid.set_cpus(cpus)

    def show_strip(self) -> None:
        """Tells of the panes that are not seen."""
        self._strip.show([self.pane_named(name) for name in self.arrangement.strip], self.arrangement.strip_lines)

    def action_preset(self, number: int) -> None:
        """The preset with this number; 0: the one after this."""
        place = number - 1 if number else PRESETS.index(self.preset) + 1
        self.show_preset(PRESETS[place % len(PRESETS)])

    def action_focus_pane(self, step: int) -> None:
        """To the pane after (or before) the current one."""
        self.focus_pane(self.panes[(self.panes.index(self._current) + step) % len(self.panes)])

    def action_choose_pane(self) -> None:
        """Opens the list of all panes."""
        seen = {*self.arrangement.seen}
        choices = [
            Choice(pane.TITLE, [*pane.glance(), ("" if pane.id in seen else "  (not seen now)", "dim")], pane, digit)
            for pane, digit in zip_longest(self.panes, DIGITS[: len(self.panes)], fillvalue="")
            if isinstance(pane, Pane)
        ]
        self.app.push_screen(Chooser("Panes", choices, self.panes.index(self._current)), self._pane_chosen)

    def more_actions(self) -> list[tuple[DOMNode, KeyRow]]:
        named = ((pane, f"To {pane.SHORT or pane.TITLE}") for pane in self.panes)
        rows = (KeyRow("", word, f"The pane {pane.TITLE}", f"go_to_pane({pane.id!r})", False) for pane, word in named)
        return [(self, row) for row in rows]

    def action_go_to_pane(self, name: str) -> None:
        """To the pane with this id."""
        self.focus_pane(self.pane_named(name))

    def _pane_chosen(self, pane: Pane | None) -> None:
        if pane is not None:
            self.focus_pane(pane)

    @property
    def search_target(self) -> Canvas | None:
        return super().search_target or self._current

    def action_zoom(self) -> None:
        """Shows the current pane alone, or all again."""
        self._zoomed = None if self._zoomed else self._current
        self.focus_pane(self._current)

    @on(PaneStrip.Chosen)
    def _chosen(self, event: PaneStrip.Chosen) -> None:
        self.focus_pane(event.pane)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        # A click focuses too. Another key may have moved the focus on since.
        if isinstance(event.widget, Pane) and event.widget is self.focused and event.widget is not self._current:
            self.focus_pane(event.widget)

    def panes_arranged(self) -> None:
        """Other panes may be seen now than before."""

    def _arranged(self) -> None:
        """Draws what is seen now, and gives the focus back that hiding took."""
        self.show_strip()
        self._hint.draw()
        for pane in self.panes:
            pane.draw()
        self.panes_arranged()
        if self.focused is None:
            self._current.focus(scroll_visible=False)
