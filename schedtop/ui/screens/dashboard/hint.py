"""What to press first, in three lines above the key bar; it takes its lines from the panes and covers nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.binding import Binding, BindingType

from schedtop.ui.keys.bindings import KEY_TEXT
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import Span

LEAST_LINES = 20
"""In fewer lines of the terminal there is no room for it."""

WORDS = (
    (("", "First time here?"), ("help", "explains keys and panes"), ("quit", "quits"), ("", "any key drops this")),
    (("1-6", "views: overview, latency, blame, CPUs, tasks, trends"), ("next-pane", "next pane")),
    (("freeze", "freezes"), ("← →", "then step through the past"), ("filter", "filters"), ("open", "one task alone")),
)
"""Names of actions, or keys themselves, with what they do."""


class Hint(Canvas, can_focus=False):
    """The three lines, while they are `wanted`."""

    DEFAULT_CSS = """
    Hint { height: 3; padding: 0 1; background: $panel; display: none; }
    Hint.shown { display: block; }
    """

    def __init__(self, bindings: Sequence[BindingType], *, id: str | None = None) -> None:
        """`bindings`: those of the screen, for the keys of the actions."""
        super().__init__(id=id)
        self.wanted = False
        self._keys = _first_keys(bindings)

    @property
    def shown(self) -> bool:
        """Whether it is on the screen."""
        return self.wanted and self.is_attached and self.screen.size.height >= LEAST_LINES

    @property
    def lines_taken(self) -> int:
        """How many lines of the screen it takes."""
        return len(WORDS) if self.shown else 0

    def draw(self) -> None:
        self.put([_line(words, self._keys) for words in WORDS])


def _first_keys(bindings: Sequence[BindingType]) -> Mapping[str, str]:
    """The first key of each action by default, as it stands on the keyboard."""
    keys: dict[str, str] = {}
    for one in bindings:
        if isinstance(one, Binding):
            first = one.key.split(",")[0]
            keys.setdefault(one.id or "", KEY_TEXT.get(first, first))
    return keys


def _line(words: tuple[tuple[str, str], ...], keys: Mapping[str, str]) -> list[Span]:
    line: list[Span] = []
    for name, meaning in words:
        key = keys.get(name, name)
        line += [("  ", "text")] if line else []
        line += [(f"{key} ", "key")] if key else []
        line.append((meaning, "text" if key else "dim"))
    return line
