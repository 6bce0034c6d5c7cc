"""What an app shows, as text, and whether every line is as wide as the screen."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.strip import Strip

from schedtop.panes.pane import Pane
from schedtop.ui.terminal.themes import DARK
from schedtop.widgets.canvas import Canvas


class OnePane(App[None]):
    """A pane, or another canvas, alone, as large as the screen."""

    CSS = "Canvas { width: 100%; height: 100%; }"

    def __init__(self, pane: Canvas) -> None:
        super().__init__()
        self.pane = pane
        self.register_theme(DARK)
        self.theme = DARK.name

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(DARK.variables)

    def compose(self) -> ComposeResult:
        yield self.pane


def strips(app: App[object]) -> list[Strip]:
    """The lines of the screen as the compositor has them."""
    return app.screen._compositor.render_strips(app.size)


def lines(app: App[object]) -> list[str]:
    """The text on the screen."""
    return [strip.text for strip in strips(app)]


def text(app: App[object]) -> str:
    """The text on the screen, as one string."""
    return "\n".join(lines(app))


def canvases(app: App[object]) -> Sequence[Canvas]:
    """The parts of the screen that draw their own Strips."""
    return [canvas for canvas in app.screen.query(Canvas) if canvas.display and canvas.size.area]


def assert_widths(app: App[object]) -> None:
    """Every Strip of every Canvas is as wide as it says and as its place is."""
    for canvas in canvases(app):
        for row in range(canvas.size.height):
            strip = canvas.render_line(row)
            assert cell_len(strip.text) == strip.cell_length == canvas.size.width, (canvas.id, row, strip.text)


def assert_drawn_whole(app: App[object]) -> None:
    """What is on the screen is what a complete repaint would give: no line was left behind."""
    before = lines(app)
    app.screen._compositor.cleared = True
    for widget in app.screen.walk_children(with_self=True):
        widget._styles_cache.clear()
    assert lines(app) == before


async def lines_of(pane: Pane, view: object, size: tuple[int, int]) -> list[str]:
    """What a pane shows of a View, drawn whole and at the right widths."""
    app = OnePane(pane)
    async with app.run_test(size=size) as pilot:
        pane.show(view)
        await pilot.pause()
        assert_widths(app)
        assert_drawn_whole(app)
        return lines(app)
