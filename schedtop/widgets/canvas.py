"""A widget that shows lines: what did not change is neither made nor painted again.

Lines that change go to the app's `surface`, if it has one that takes them: straight to the terminal. The framework
makes Strips of them only when it paints the widget itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self

from rich.style import Style
from textual import events, on
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.dom import NoScreen
from textual.errors import NoWidget
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from schedtop.widgets.strips import Span, Spans, fitted, marked_spans, strip_of

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
        "notice-band": ("frozen-foreground", "frozen-background", "$frozen-style"),
        "alarm": ("alarm-foreground", "alarm-background", "$alarm-style"),
        "notice-command": ("frozen-foreground", "frozen-background", "$command-style"),
        "alarm-command": ("alarm-foreground", "alarm-background", "$command-style"),
        "raised": ("warning", "", "$level-style"),
        "grave": ("error", "", "$level-style"),
        "frozen": ("foreground", "selected", "$frozen-style"),
        "live": ("success", "", "bold"),
        "helped": ("success", "", "bold reverse"),
        "heat": ("primary", "", ""),
        "slow": ("warning", "", ""),
        "throttled": ("throttled", "", "bold"),
        **{f"heat-{level}": ("foreground", f"heat-{level}", "bold") for level in range(1, 6)},
        **{f"slow-{level}": ("foreground", f"slow-{level}", "bold") for level in range(1, 6)},
        "match": ("", "", "bold reverse"),
    }
)
"""Names for the second part of a Span, each with its colour, its background (empty: the widget's) and its text style.

Colours, and styles that begin with `$`, are variables of the theme. They are no component classes: of these the
framework makes a node for each name and each widget, again at each change of focus.
"""

STYLES = tuple(LOOKS)

SHADE_SHARES = (0.22, 0.4, 0.58, 0.78, 1.0)
SLOW_SHARES = (0.5, 0.62, 0.74, 0.87, 1.0)
"""How much of its colour each shade has, over the background: the first is seen, too. A single slow wait matters."""

_SHADE = "-shade-"


class Surface(Protocol):
    """What paints lines past the framework."""

    def breathe(self) -> None:
        """Gives the CPU away for a moment, if it was kept for a while."""

    def paint(self, canvas: Canvas, rows: Sequence[tuple[int, Spans]]) -> bool:
        """Paints other lines in place of those before; false if they have to go through the framework now."""

    def paint_edge(self, canvas: Canvas, label: str, *, top: bool, look: str = "") -> bool:
        """Paints the border's first or last line with another label; false as above. `look`: a name for that
        of the label, if it has one of its own."""

    def refreshed(self, canvas: Canvas) -> None:
        """Notes that the framework paints a canvas anew."""


class NoSurface:
    """Everything goes through the framework."""

    def breathe(self) -> None:
        """Keeps the CPU."""

    def paint(self, _canvas: Canvas, _rows: Sequence[tuple[int, Spans]]) -> bool:
        """Paints nothing."""
        return False

    def paint_edge(self, _canvas: Canvas, _label: str, *, top: bool, look: str = "") -> bool:
        """Paints nothing."""
        return False

    def refreshed(self, _canvas: Canvas) -> None:
        """Knows that."""


NO_SURFACE = NoSurface()


def surface_of(canvas: Canvas) -> Surface:
    """What paints the lines of a canvas: the app's surface, if it has one."""
    surface: Surface = getattr(canvas.app, "surface", NO_SURFACE) if canvas.is_attached else NO_SURFACE
    return surface


class Canvas(Widget, can_focus=True):
    """Lines of text with styles, and a scroll position over them.

    Subclasses override `draw` to compute the visible lines and hand them to `put`. Nothing is computed in
    `render_line`: the screen may ask for a line many times.
    """

    held_text: str = ""
    """Says that rows are not in order, but where they were; empty if they are."""

    head_rows: int = 0
    """Lines on top that do not scroll, and are not searched."""

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
        self.inks: dict[str, Any] = {}
        """What the surface knows of the styles, until they change."""
        self._home: Screen[Any] | None = None
        self._measured: tuple[object, Size] = (None, Size(0, 0))
        super().__init__(id=id, classes=classes)
        self.top = 0
        self.marked = ""
        """What is searched for: shown wherever it stands."""
        self.total_rows = 0
        self._lines: list[tuple[Span, ...]] = []
        self._fitted: list[Spans | None] = []
        self._strips: list[Strip | None] = []
        """Both are made when they are asked for."""
        self._strips_width = 0
        self.catch_up: Callable[[Widget], None] | None = None
        """Has the framework drop the lines that it keeps, because newer ones have been painted past it."""

    def draw(self) -> None:
        """Computes the visible lines and puts them; called when the data, the size or the position changed."""

    @property
    def inner(self) -> Size:
        """The cells inside the border."""
        try:
            if self._home is None:
                self._home = self.screen
            place = self._home.find_widget(self)
        except (NoScreen, NoWidget):
            return Size(0, 0)
        if place is not self._measured[0]:
            self._measured = (place, place.region.shrink(self.styles.gutter).size)
        return self._measured[1]

    @property
    def page_rows(self) -> int:
        """How many of the rows that scroll are visible at once."""
        return max(1, self.inner.height)

    def put(self, lines: Sequence[Spans]) -> None:
        """Shows these lines from the first row on; only those that are others are made anew."""
        surface = surface_of(self)
        surface.breathe()
        width, height = self.inner
        wanted = [tuple(line) for line in lines[:height]]
        wanted.extend(() for _ in range(height - len(wanted)))
        before, keep = self._lines, width == self._strips_width and height == len(self._lines)
        self._lines = wanted
        if not keep:
            self._strips, self._fitted, self._strips_width = [None] * height, [None] * height, width
            self.refresh()
            return
        changed = [row for row, line in enumerate(wanted) if line != before[row]]
        if not changed:
            return
        fitted_before = [(row, self._fitted[row] or fitted(before[row], width)) for row in changed]
        for row in changed:
            self._fitted[row] = self._strips[row] = None
        if self.marked or not surface.paint(self, fitted_before):
            self.refresh(*_regions(changed, width))

    def line_at(self, row: int) -> Spans:
        """A line as it is shown: exactly as wide as the canvas."""
        line = self._fitted[row]
        if line is None:
            spans: Spans = self._lines[row]
            if self.marked and row >= self.head_rows:
                spans = marked_spans(spans, self.marked)
            line = self._fitted[row] = fitted(spans, self._strips_width)
        return line

    # What is searched.

    def mark(self, text: str) -> None:
        """Shows where this stands among the lines; an empty text: nowhere."""
        if text != self.marked:
            self.marked = text
            self._strips_width = -1
            self.draw()

    def search_texts(self) -> Sequence[str]:
        """What a search looks through, a text a row: here, what is seen."""
        return ["".join(text for text, _ in line) for line in self._lines[self.head_rows :]]

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
        width = self.inner.width
        if y >= len(self._strips) or self._strips_width != width:
            return Strip.blank(width, self.rich_style)
        strip = self._strips[y]
        if strip is None:
            strip = self._strips[y] = strip_of(self.line_at(y), width, self.style_named)
        return strip

    def render_lines(self, crop: Region) -> list[Strip]:
        surface_of(self).breathe()
        if self.catch_up is not None:
            self.catch_up(self)
            self.catch_up = None
        return super().render_lines(crop)

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
        self.inks.clear()
        self._measured = (None, Size(0, 0))
        if self.is_attached and self.is_running:
            self.call_later(self.draw)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)
        surface_of(self).refreshed(self)
        return self

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

    @on(events.Show)
    @on(events.Resize)
    def _placed_anew(self, _event: events.Show | events.Resize) -> None:
        self.clamp_top()
        self.draw()

    @on(events.MouseScrollDown)
    @on(events.MouseScrollUp)
    def _mouse_scrolled(self, event: events.MouseScrollDown | events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(3 if isinstance(event, events.MouseScrollDown) else -3)


def _regions(rows: Sequence[int], width: int) -> list[Region]:
    """The regions of changed rows, neighbours joined; their origin is the content, not the border."""
    regions: list[Region] = []
    start = previous = rows[0]
    for row in (*rows[1:], -1):
        if row != previous + 1:
            regions.append(Region(0, start, width, previous - start + 1))
            start = row
        previous = row
    return regions


def has_shades(theme: Mapping[str, str]) -> bool:
    """Whether weaker colours can be made of those of a theme: not of the terminal's own."""
    return not theme["background"].startswith("ansi_")


def _style(name: str, theme: Mapping[str, str]) -> Style:
    """One of STYLES in the colours of a theme, to be put over the widget's own.

    `NAME-shade-N` is the N-th shade of one: a cell that is full of a weaker colour, whatever its character. Where there
    are none, it is the one itself, and the character is seen.
    """
    name, _, level = name.partition(_SHADE)
    foreground, background, text = LOOKS[name]
    if level and has_shades(theme):
        share = (SLOW_SHARES if name == "slow" else SHADE_SHARES)[int(level) - 1]
        shade = Color.parse(theme["background"]).blend(Color.parse(theme[foreground]), share).rich_color
        return Style.from_color(shade, shade)
    colours = (Color.parse(theme[colour]).rich_color if colour else None for colour in (foreground, background))
    return Style.parse(theme[text[1:]] if text.startswith("$") else text) + Style.from_color(*colours)
