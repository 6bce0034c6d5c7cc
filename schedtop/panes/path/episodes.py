"""The episodes of a path: each a tree of tasks, with bars that say when they did what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.geometry import Size

from schedtop.base.units import format_clock_ms, format_ns
from schedtop.panes.pane import Pane
from schedtop.panes.path.bars import STYLES, time_bar
from schedtop.path.live import PathFrame
from schedtop.path.tree import Tree, TreeLine, tree_words
from schedtop.widgets.strips import Span, Spans, clip_spans, fit, steady

TIME_CELLS = 8
LEAST_BAR, MOST_BAR = 12, 60
BAR_PART = 4
"""A bar has so many times less than the width."""

ORDERS = ("worst", "latest")


class EpisodesPane(Pane[PathFrame]):
    """The worst or the latest episodes, one under the other."""

    NUMBER = 2
    TITLE = "Episodes"
    LEAST = Size(60, 8)
    WAITING = ""
    READING = (
        "The worst episodes, or (s) the latest. The bar is the time from the beginning of an episode to its end: it "
        "is filled where the line's task did what the line says, the darker the more. A line that ends in `until "
        "woken by` is time in which a task was blocked; what the task did that woke it stands below it, indented. A "
        "line that says `16 times` adds up as many turns. Lines with nothing below them add up to the episode."
    )
    ADVICE = "Follow the longest bar downwards to the line with nothing below it: that is where the time went."

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.order = ORDERS[0]
        self._offsets: list[int] = []

    @property
    def trees(self) -> tuple[Tree, ...]:
        """What is shown, in order."""
        if self.view is None:
            return ()
        return self.view.worst if self.order == ORDERS[0] else self.view.latest

    def show(self, view: PathFrame) -> None:
        self.view = view
        self.total_rows = sum(2 + len(tree.lines) for tree in self.trees)
        self.clamp_top()
        self.draw()

    def forget(self) -> None:
        """Drops what is shown: something else is being measured."""
        self.view, self.top, self.total_rows = None, 0, 0
        self.draw()

    def view_lines(self, view: PathFrame) -> Sequence[Spans]:
        width, height = self.inner
        trees = self.trees
        which = f"the {self.order} {len(trees)}" if trees else "none yet"
        self.set_title(f"{which} · s: {ORDERS[1 - ORDERS.index(self.order)]}", self.position_text())
        if not trees:
            return self.sentence("an episode appears when the task runs again after it was held up")
        # Only what is seen is made.
        wanted = range(self.top, self.top + height)
        lines: list[Spans] = []
        for number, make in enumerate(_makers(trees)):
            if number >= wanted.stop:
                break
            if number in wanted:
                lines.append(_line(make, width))
        return lines

    def search_texts(self) -> Sequence[str]:
        return ["".join(text for text, _ in _line(make, self.inner.width)) for make in _makers(self.trees)]

    @property
    def search_row(self) -> int:
        return self.top

    def reveal_row(self, row: int) -> None:
        self.top = row
        self.clamp_top()
        self.draw()


_Made = tuple[Tree | None, TreeLine | None]
"""The tree, and a line of it; `None`: its first line. Without a tree: an empty line."""


def _makers(trees: Sequence[Tree]) -> Iterator[_Made]:
    """What the lines are made of, in order."""
    for tree in trees:
        yield tree, None
        for line in tree.lines:
            yield tree, line
        yield None, None


def _line(made: _Made, width: int) -> Spans:
    tree, line = made
    if tree is None:
        return []
    cells = min(MOST_BAR, max(LEAST_BAR, width // BAR_PART))
    if line is None:
        at = format_clock_ms(tree.start_time_ns)
        head: list[Span] = [(f"{format_ns(tree.length_ns):>{TIME_CELLS}} ", "strong"), (fit(at, cells + 1), "dim")]
        return clip_spans([*head, (steady(tree_words(tree)), "key")], width)
    spans: list[Span] = [
        (f"{format_ns(line.time_ns):>{TIME_CELLS}} ", "text" if line.state else "dim"),
        *time_bar(line.coverage(cells), STYLES[line.state]),
        (" ", "text"),
        (line.guide, "dim"),
        (steady(line.words), "text" if line.state else "dim"),
    ]
    return clip_spans(spans, width)
