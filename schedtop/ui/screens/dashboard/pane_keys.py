"""The keys that go to panes and presets, and the list of all panes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, ClassVar

from textual import events
from textual.binding import BindingType
from textual.screen import Screen

from schedtop.history.view import View
from schedtop.panes.pane import Pane
from schedtop.ui.bars.keys import Tab
from schedtop.ui.keys.bindings import KeyRow, key, together
from schedtop.ui.layout.presets import PRESETS
from schedtop.ui.layout.strip import PaneStrip
from schedtop.ui.screens.chooser import DIGITS, Choice, Chooser
from schedtop.ui.screens.dashboard.pane_layout import PaneLayout


class PaneKeys:
    """What keys and clicks do to a PaneLayout."""

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

    def __init__(self, screen: Screen[Any], layout: PaneLayout) -> None:
        self._screen = screen
        self._layout = layout

    @property
    def in_bar(self) -> tuple[tuple[str, str, str], ...]:
        """What stands in the key bar for the keys that go to panes."""
        return ((together(self._screen.app, {"next-pane": "Tab"}), "Pane", "focus_pane(1)"),)

    @property
    def tabs(self) -> tuple[Tab, ...]:
        """The presets, with the keys in force."""
        app, shown = self._screen.app, self._layout.preset
        return tuple(
            Tab(
                together(app, {f"preset-{preset.number}": str(preset.number)}),
                preset.word,
                f"preset({preset.number})",
                preset is shown,
            )
            for preset in PRESETS
        )

    def by_name(self) -> Sequence[KeyRow]:
        """Actions without a key that go to each pane."""
        named = ((pane, f"To {pane.SHORT or pane.TITLE}") for pane in self._layout.panes)
        return [KeyRow("", word, f"The pane {pane.TITLE}", f"go_to_pane({pane.id!r})", False) for pane, word in named]

    def action_zoom(self) -> None:
        """Shows the current pane alone, or all again."""
        self._layout.zoom()

    def action_preset(self, number: int) -> None:
        """The preset with this number."""
        self._layout.show_preset(PRESETS[number - 1])

    def action_focus_pane(self, step: int) -> None:
        """To the pane after (or before) the current one."""
        panes = self._layout.panes
        self._layout.focus_pane(panes[(panes.index(self._layout.current) + step) % len(panes)])

    def action_choose_pane(self) -> None:
        """Opens the list of all panes."""
        panes, seen = self._layout.panes, {*self._layout.arrangement.seen}
        choices = [
            Choice(pane.TITLE, [*pane.glance(), ("" if pane.id in seen else "  (not seen now)", "dim")], pane, digit)
            for pane, digit in zip_longest(panes, DIGITS[: len(panes)], fillvalue="")
            if isinstance(pane, Pane)
        ]
        self._screen.app.push_screen(Chooser("Panes", choices, panes.index(self._layout.current)), self._chosen)

    def action_go_to_pane(self, name: str) -> None:
        """To the pane with this id."""
        self._layout.focus_pane(self._layout.pane_named(name))

    def _chosen(self, pane: Pane[View] | None) -> None:
        if pane is not None:
            self._layout.focus_pane(pane)

    def on_pane_strip_chosen(self, event: PaneStrip.Chosen) -> None:
        """A pane in the strip was clicked."""
        self._layout.focus_pane(event.pane)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """A click focuses, too."""
        widget = event.widget
        # Another key may have moved the focus on since.
        if isinstance(widget, Pane) and widget is self._screen.focused and widget is not self._layout.current:
            self._layout.focus_pane(widget)
