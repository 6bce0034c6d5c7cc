"""What all panes share: a title with its number, the View, and words for what cannot be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, Protocol, Self, TypeVar

from textual.color import Color
from textual.content import Content
from textual.geometry import Region, Size

from schedtop.panes.levels import NORMAL, Level
from schedtop.widgets.canvas import Canvas, surface_of
from schedtop.widgets.columns import Column
from schedtop.widgets.strips import Spans, steady, wrapped

EDGES = 2
"""Lines of the border."""

TITLE_FRAME = 8
"""Cells of the border beside a title: corners, blanks, the number."""

FLAGGED = MappingProxyType({"notice": "warning", "alarm": "error"})
"""The colour of the title of a pane that the verdict is about, by the style of its level: a variable of the theme."""

LINE: Final = "round"
"""Of the border of a pane; of the one that has the keys a theme may choose another."""

FOCUS_FREE = frozenset(("threshold-up", "threshold-down", "group", "window"))
"""Actions that do the same whatever has the focus."""


Command = tuple[int, str]
"""When a command was typed, by the clock of `Frame.end_ns`, and the sign that stands for it."""


class Shown(Protocol):
    """What a pane shows at one moment: a View, or the Scene of a task view."""

    def missing(self, part: str) -> str:
        """Why a part of it is not there, in words; empty if it is."""


Moment = TypeVar("Moment", bound=Shown)


class Pane(Canvas, Generic[Moment]):
    """One pane: `show(view)` hands it what to draw, `view_lines` draws.

    `NUMBER` is the key that focuses it, if it has one; `SHORT` is its title where there is little room (TITLE if
    empty); `LEAST` is the size in which all of it can be read, with its border; `PARTS` are the parts of a Frame
    without which it has nothing to show.
    """

    NUMBER: ClassVar[int] = 0
    TITLE: ClassVar[str] = ""
    SHORT: ClassVar[str] = ""
    LEAST: ClassVar[Size] = Size(40, 6)
    PARTS: ClassVar[tuple[str, ...]] = ()
    WAITING: ClassVar[str] = "waiting for the first interval"
    """What it says before it has anything to show."""
    READING: ClassVar[str] = ""
    """How to read the pane, for the help screen."""
    ADVICE: ClassVar[str] = ""
    """What to do about what it shows, if neither READING nor SIGNS say."""
    SIGNS: ClassVar[Sequence[tuple[str, str, str]]] = ()
    """What to see in it, what that means, and what to do."""
    COLUMN_HELP: ClassVar[Sequence[tuple[str, Sequence[Column[Any]]]]] = ()
    """Its columns, under a title for each set of them."""

    DEFAULT_CSS = """
    Pane {
        border: round $edge;
        border-title-color: $foreground;
        border-title-style: bold;
        border-subtitle-color: $faint;
        padding: 0 1;
        &:focus { border: $focus-line $primary; border-title-color: $primary; border-subtitle-color: $foreground; }
    }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        """`hint` and `keys` are set by the screen: what the border says besides the position; and the key of each
        action that changes what the pane shows, by the action's name."""
        super().__init__(id=id, classes=classes)
        self.view: Moment | None = None
        self.hint = ""
        self.keys: Mapping[str, str] = {}
        self.flag = NORMAL
        """How bad what it shows is, if the verdict is about that."""
        self.is_calm = False
        """Whether the verdict is that all is in order."""
        self.commands: tuple[Command, ...] = ()
        self._title = ""
        self._subtitle = ""
        self._is_titling = False
        self.set_title()

    def show(self, view: Moment) -> None:
        """Shows another moment."""
        self.view = view
        self.draw()

    @property
    def hidden(self) -> bool:
        """Whether nothing of the pane is on the screen, so that drawing would be wasted."""
        return not self.display or not self.inner.width or not self.inner.height

    def draw(self) -> None:
        if self.hidden:
            return
        if message := self.message_lines():
            self.set_title()
        self.put(message or self.current_lines())

    def current_lines(self) -> Sequence[Spans]:
        """The lines of what there is."""
        return self.view_lines(self.view) if self.view is not None else []

    def view_lines(self, view: Moment) -> Sequence[Spans]:
        """The visible lines of it."""
        raise NotImplementedError

    def message_lines(self) -> list[Spans]:
        """What to say instead of data: that none came yet, or why there is none."""
        if self.view is None:
            return self.sentence(self.WAITING)
        reasons = [words for part in self.PARTS if (words := self.view.missing(part))]
        return self.sentence(reasons[0]) if reasons else []

    def glance(self) -> Spans:
        """The most important thing of it in a few words, for where the pane itself is not seen."""
        if self.view is None:
            return []
        missing = any(self.view.missing(part) for part in self.PARTS)
        return [("n/a", "dim")] if missing else self.view_glance(self.view)

    def view_glance(self, _view: Moment) -> Spans:
        """The same of one that has what the pane needs."""
        return []

    def sentence(self, text: str, style: str = "dim") -> list[Spans]:
        """A sentence (a filter in it may hold anything) in lines, from the second line on where there is room."""
        lines: list[Spans] = [[(line, style)] for line in wrapped(steady(text), self.inner.width)]
        return [[], *lines] if self.inner.height > len(lines) + 1 else lines

    def set_title(self, detail: str = "", subtitle: str = "", *, title: str = "") -> None:
        """The border's texts; set only when they change. `title`: in place of TITLE."""
        surface_of(self).breathe()  # most panes have done half of their work when they know it
        name = title or self.TITLE
        name = self.SHORT if self.SHORT and 0 < self.size.width < len(name) + TITLE_FRAME else name
        number = f"{self.NUMBER} " if self.NUMBER else ""
        sign = f"{self.flag.sign} " if self.flag.sign else ""
        title = f"{sign}{number}{name}{f' · {detail}' if detail else ''}"
        subtitle = " · ".join(text for text in (self.hint, subtitle) if text)
        if title == self._title and subtitle == self._subtitle:
            return
        painted, self._is_titling = True, True
        if title != self._title:
            self._title = title
            self.border_title = Content(title)
            painted = surface_of(self).paint_edge(self, title, top=True, look=self._colour_title())
        if subtitle != self._subtitle:
            self._subtitle = subtitle
            self.border_subtitle = Content(subtitle)
            painted = surface_of(self).paint_edge(self, subtitle, top=False) and painted
        self._is_titling = False
        if not painted:
            self.refresh()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        if self._is_titling:
            # The framework would paint the whole pane for one word in its border.
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def look_at(self, victim: int) -> None:
        """Notes the number of the task that the verdict is about; 0: it is about none."""

    def set_flag(self, flag: Level) -> None:
        """Marks the title of the pane that the verdict is about; NORMAL: of another one."""
        self.flag = flag

    def _colour_title(self) -> str:
        """Gives the title and its line the colour of its flag, and that colour's name; empty: as of all panes.

        Not by a class of the widget, and without word to the framework (`refresh`): it would paint all of the pane
        anew, in 11 ms.
        """
        name = FLAGGED.get(self.flag.style, "")
        if name:
            colours = self.app.theme_variables
            self.styles.border_title_color = colour = Color.parse(colours[name])
            if colours["focus-line"] == LINE:
                # Elsewhere the line tells which pane has the keys.
                self.styles.border_top = LINE, colour
        else:
            self.styles.clear_rule("border_title_color")
            self.styles.clear_rule("border_top")
        return name

    def notify_style_update(self) -> None:
        super().notify_style_update()
        # It carries the colours of the old theme.
        self._title = ""

    @property
    def strip_name(self) -> str:
        """What its cell of the strip is called; `glance` is what that says."""
        return self.SHORT or self.TITLE

    @property
    def wanted_lines(self) -> int | None:
        """How many lines it can fill with its border; `None`: any number, or not known."""
        return None

    def is_idle(self, _view: Moment) -> bool:
        """Whether it has nothing to show, so that its place may go to others."""
        return False

    def keyed(self, words: str, *names: str) -> str:
        """Words of the title with the keys that change what they say: `slowest first (s)`.

        Only keys that do so now: most act on the pane that has the focus.
        """
        keys = " ".join(
            self.keys[name] for name in names if name in self.keys and (self.has_focus or name in FOCUS_FREE)
        )
        return f"{words} ({keys})" if words and keys else words

    def position_text(self) -> str:
        """Which rows are visible, empty if all are; and whether they are held where they were."""
        place = f"{self.top + 1}-{min(self.top + self.page_rows, self.total_rows)} of {self.total_rows}"
        return " · ".join(filter(None, (self.held_text, place if self.total_rows > self.page_rows else "")))
