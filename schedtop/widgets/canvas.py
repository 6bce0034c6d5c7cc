"""A widget that shows lines: it keeps the Strip of a line that did not change and repaints only the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from schedtop.widgets.strips import Span, Spans, marked_spans, strip_of

LOOKS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "text": ("foreground", "", ""),
        "dim": ("faint", "", "$faint-style"),
        "strong": ("foreground", "", "bold"),
        "key": ("primary", "", "bold"),
        "head": ("faint", "", "$faint-style"),
        "sorted": ("primary", "", "$sorted-style"),
        "cursor": ("foreground", "selected", "$cursor-style"),
        "wakeup": ("wakeup", "", ""),
        "preemption": ("preemption", "", ""),
        "busy": ("busy", "", ""),
        "steal": ("steal", "", ""),
        "notice": ("warning", "", "$notice-style"),
        "alarm": ("alarm-foreground", "alarm-background", "$alarm-style"),
        "frozen": ("frozen-foreground", "frozen-background", "$frozen-style"),
        "live": ("success", "", "bold"),
        "heat": ("primary", "", ""),
        "slow": ("error", "", ""),
        "match": ("", "", "bold reverse"),
    }
)
"""Names for the second part of a Span, each with its colour, its background (empty: the widget's) and its text style.

Colours, and styles that begin with `$`, are variables of the theme. They are no component classes: of these the
framework makes a node for each name and each widget, again at each change of focus.
"""

STYLES = tuple(LOOKS)


class Canvas(Widget, can_focus=True):
    """Lines of text with styles, and a scroll position over them.

    Subclasses override `draw` to compute the visible lines and hand them to `put`. Nothing is computed in
    `render_line`: the screen may ask for a line many times.
    """

    HEAD_ROWS: ClassVar[int] = 0
    """Lines on top that are not searched."""

    DEFAULT_CSS = "Canvas { color: $foreground; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="up", tooltip="One row up"),
        Binding("down,j", "move(1)", "Down", show=False, id="down", tooltip="One row down"),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False, id="page-up", tooltip="One page up"),
        Binding("pagedown,ctrl+f", "page(1)", "Page down", show=False, id="page-down", tooltip="One page down"),
        Binding("ctrl+u", "page(-0.5)", "Half a page up", show=False, id="half-page-up", tooltip="Half a page up"),
        Binding("ctrl+d", "page(0.5)", "Half a page down", show=False, id="half-page-down", tooltip="Half a page down"),
        Binding("home", "first", "First", show=False, id="first", tooltip="To the first row"),
        Binding("end", "last", "Last", show=False, id="last", tooltip="To the last row"),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        # Before super: it calls notify_style_update.
        self._styles_by_name: dict[str, Style] = {}
        super().__init__(id=id, classes=classes)
        self.top = 0
        self.marked = ""
        """What is searched for: shown wherever it stands."""
        self.total_rows = 0
        self._lines: list[tuple[Span, ...]] = []
        self._strips: list[Strip] = []
        self._strips_width = 0

    def draw(self) -> None:
        """Computes the visible lines and puts them; called when the data, the size or the position changed."""

    @property
    def inner(self) -> Size:
        """The cells inside the border."""
        return self.content_size

    @property
    def page_rows(self) -> int:
        """How many of the rows that scroll are visible at once."""
        return max(1, self.inner.height)

    def put(self, lines: Sequence[Spans]) -> None:
        """Shows these lines from the first row on; lines that are the same keep their Strips."""
        width, height = self.inner
        wanted = [tuple(line) for line in lines[:height]]
        wanted.extend(() for _ in range(height - len(wanted)))
        keep = width == self._strips_width and height == len(self._lines)
        changed: list[int] = []
        strips: list[Strip] = []
        for row, line in enumerate(wanted):
            if keep and self._lines[row] == line:
                strips.append(self._strips[row])
            else:
                shown = marked_spans(line, self.marked) if self.marked and row >= self.HEAD_ROWS else line
                strips.append(strip_of(shown, width, self.style_named))
                changed.append(row)
        self._lines, self._strips, self._strips_width = wanted, strips, width
        if not keep:
            self.refresh()
        elif changed:
            self.refresh(*self._regions(changed))

    def _regions(self, rows: Sequence[int]) -> list[Region]:
        """The regions of changed rows, neighbours joined; their origin is the content, not the border."""
        regions: list[Region] = []
        start = previous = rows[0]
        for row in (*rows[1:], -1):
            if row != previous + 1:
                regions.append(Region(0, start, self._strips_width, previous - start + 1))
                start = row
            previous = row
        return regions

    # What is searched.

    def mark(self, text: str) -> None:
        """Shows where this stands among the lines; an empty text: nowhere."""
        if text != self.marked:
            self.marked = text
            self._strips_width = -1
            self.draw()

    def search_texts(self) -> Sequence[str]:
        """What a search looks through, a text a row: here, what is seen."""
        return ["".join(text for text, _ in line) for line in self._lines[self.HEAD_ROWS :]]

    @property
    def search_row(self) -> int:
        """The row from which a search goes on."""
        return self.top

    def reveal_row(self, row: int) -> None:
        """Shows a row that was found; what does not scroll shows it already."""

    @property
    def place(self) -> object:
        """Where one is, for `go_back_to`."""
        return self.top

    def go_back_to(self, place: Any) -> None:
        """Back to a `place`."""
        self.top = place
        self.clamp_top()
        self.draw()

    def render_line(self, y: int) -> Strip:
        if y < len(self._strips) and self._strips_width == self.size.width:
            return self._strips[y]
        return Strip.blank(self.size.width, self.rich_style)

    def style_named(self, name: str) -> Style:
        """The theme's style of one of STYLES."""
        style = self._styles_by_name.get(name)
        if style is None:
            style = self._styles_by_name[name] = self.rich_style + _style(name, self.app.theme_variables)
        return style

    def notify_style_update(self) -> None:
        super().notify_style_update()
        # The Strips carry the colours of the old theme or focus.
        self._strips_width = -1
        self._styles_by_name.clear()
        if self.is_attached and self.is_running:
            self.call_later(self.draw)

    def scroll_rows(self, rows: int) -> None:
        """Moves the position by rows, within bounds, and draws."""
        self.top += rows
        self.clamp_top()
        self.draw()

    def clamp_top(self) -> None:
        """Keeps the position within the rows there are."""
        self.top = max(0, min(self.top, self.total_rows - self.page_rows))

    def action_move(self, rows: int) -> None:
        self.scroll_rows(rows)

    def action_page(self, pages: float) -> None:
        step = max(1, int(abs(pages) * (self.page_rows - 1)))
        self.action_move(step if pages > 0 else -step)

    def action_first(self) -> None:
        self.action_move(-self.total_rows)

    def action_last(self) -> None:
        self.action_move(self.total_rows)

    def on_resize(self, _event: events.Resize) -> None:
        self.clamp_top()
        self.draw()

    def on_show(self, _event: events.Show) -> None:
        self.draw()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-3)


def _style(name: str, theme: Mapping[str, str]) -> Style:
    """One of STYLES in the colours of a theme, to be put over the widget's own."""
    foreground, background, text = LOOKS[name]
    colours = (Color.parse(theme[colour]).rich_color if colour else None for colour in (foreground, background))
    return Style.parse(theme[text[1:]] if text.startswith("$") else text) + Style.from_color(*colours)
