"""What to press first, in three lines above the key bar; it takes its lines from the panes and covers nothing."""

from __future__ import annotations

from schedtop.ui.keys.bindings import KEY_TEXT
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import Span

LEAST_LINES = 20
"""In fewer lines of the terminal there is no room for it."""

WORDS = (
    (("", "First time here?"), ("help", "explains keys and panes"), ("quit", "quits"), ("", "any key drops this")),
    (("1-5", "the view for a job: overview, latency, blame, CPUs, tasks"), ("next-pane", "next pane")),
    (("freeze", "freezes"), ("← →", "then step through the past"), ("filter", "filters"), ("open", "one task alone")),
)
"""Names of actions, or keys themselves, with what they do."""


class Hint(Canvas, can_focus=False):
    """The three lines."""

    DEFAULT_CSS = """
    Hint { height: 3; padding: 0 1; background: $panel; display: none; }
    Hint.shown { display: block; }
    """

    lines = len(WORDS)
    """How many lines of the screen it takes."""

    def draw(self) -> None:
        self.put([_line(words) for words in WORDS])


def _line(words: tuple[tuple[str, str], ...]) -> list[Span]:
    # It looks at all screens, and the dashboard has this one.
    from schedtop.ui.keys.own_keys import actions

    line: list[Span] = []
    for name, meaning in words:
        action = actions().get(name)
        key = KEY_TEXT.get(action.keys[0], action.keys[0]) if action else name
        line += [("  ", "text")] if line else []
        line += [(f"{key} ", "key")] if key else []
        line.append((meaning, "text" if key else "dim"))
    return line
