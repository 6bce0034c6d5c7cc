"""All that is used here of what textual keeps to itself, and may change with any release.

`USED` lists it; a test looks for each name and tells the release in which one is missing. No other module of schedtop
reads, calls or overrides a private name of textual.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from rich.console import RenderableType
from textual._ansi_sequences import SYNC_END, SYNC_START
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.driver import Driver
from textual.filter import LineFilter
from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget

__all__ = [
    "ChopsUpdate",
    "CompositorUpdate",
    "LayoutUpdate",
    "OpenApp",
    "PartialUpdate",
    "XTermParser",
    "forget_lines",
    "forget_what_is_under",
    "keymap_of",
    "missing_names",
    "regions_of",
]

Result = TypeVar("Result")

PartialUpdate = ChopsUpdate | LayoutUpdate
"""What textual wants to send of a screen: cells that changed, or a part that is placed anew."""

USED: tuple[tuple[str, str], ...] = (
    ("_batch_count", "whether it holds back what it paints"),
    ("_bindings", "its own keys, to know those with priority"),
    ("_closed", "whether it has ended"),
    ("_close_messages_no_wait", "how it ends after an error of ours"),
    ("_display", "overridden: what it wants to send is compared with what the terminal shows"),
    ("_driver", "whether the terminal can be suspended"),
    ("_exception", "the error of ours that has ended it"),
    ("_fatal_error", "overridden: no page of our source and local variables"),
    ("_filters", "what it does to colours"),
    ("_running", "whether it has begun"),
    ("_sync_available", "whether the terminal takes what is sent in one piece"),
    ("_keymap", "the keys that the user chose, by the ids of their bindings"),
)
"""Names of an App, each with what it is used for."""

USED_OF_SCREENS: tuple[tuple[str, str], ...] = (
    ("_compositor", "where widgets are, and which of them lie over others"),
    ("_dirty_regions", "whether it makes its lines again"),
    ("_layout_required", "whether it is about to place widgets anew"),
    ("_styles_cache", "the lines that it keeps of a widget"),
)
"""Names of a Screen, or of any Widget."""

USED_OF_UPDATES: tuple[tuple[type[CompositorUpdate], str], ...] = (
    (ChopsUpdate, "chops"),
    (ChopsUpdate, "spans"),
    (LayoutUpdate, "strips"),
    (LayoutUpdate, "region"),
)
"""What the painter reads of an update."""


class OpenApp(App[Result], Generic[Result]):
    """An App that tells what textual's own does not tell, and lets what it sends be replaced."""

    @property
    def crash(self) -> Exception | None:
        """An error of our own that has ended the app."""
        return self._exception

    @property
    def can_suspend(self) -> bool:
        """Whether the shell can have the terminal for a while."""
        return self._driver is not None and self._driver.can_suspend

    @property
    def driver(self) -> Driver | None:
        """What reads the keyboard and writes to the terminal."""
        return self._driver

    @property
    def colour_filters(self) -> Sequence[LineFilter]:
        """What textual does to the colours of lines, as far as it is on."""
        return [one for one in self._filters if one.enabled]

    def has_priority(self, key: str) -> bool:
        """Whether a key of the app comes before those of what has the focus."""
        return any(binding.priority for binding in self._bindings.key_to_bindings.get(key, ()))

    def replaced(self, renderable: RenderableType | None) -> RenderableType | CompositorUpdate | None:
        """What is sent in place of what textual wants to send."""
        return renderable

    @property
    def is_painting(self) -> bool:
        """Whether what is sent reaches a terminal now."""
        return self._running and not self._closed and not self._batch_count and not self.is_headless

    def send(self, sequences: str) -> None:
        """Writes to the terminal, behind what textual has written, and as it would."""
        if self._driver is None or not self.is_painting:
            return
        x, y = self.screen.outer_size.clamp_offset(self.cursor_position)
        text = f"{sequences}\x1b[{y + 1};{x + 1}H"
        self._driver.write(f"{SYNC_START}{text}{SYNC_END}" if self._sync_available else text)
        self._driver.flush()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        super()._display(screen, self.replaced(renderable))  # type: ignore[arg-type]

    def _fatal_error(self) -> None:
        # Not the framework's page of our source and local variables: `run` raises the error again.
        self._close_messages_no_wait()


def keymap_of(app: App[Any]) -> Mapping[str, str]:
    """The keys that the user chose, by the ids of their bindings."""
    return app._keymap


def regions_of(screen: Screen[Any]) -> Mapping[Widget, tuple[Region, Region]] | None:
    """Where each widget is on the screen and what is seen of it, the uppermost first; another object after each change.

    `None` while the screen is about to place them anew.
    """
    return None if screen._layout_required else screen._compositor.visible_widgets


def forget_lines(widget: Widget) -> None:
    """Has textual make all lines of a widget again when it paints it next."""
    widget._styles_cache.clear()


def forget_what_is_under(screen: Screen[Any]) -> None:
    """Has textual make all of a screen with others under it again when it paints some of it next."""
    screen._styles_cache.clear()
    screen._dirty_regions.add(screen.outer_size.region)


def missing_names() -> Iterator[str]:
    """What of textual's private names is not there, a line each with what it was for."""
    app: App[None] = App()
    yield from (f"App.{name}: {use}" for name, use in USED if not hasattr(app, name))
    for owner, name in USED_OF_UPDATES:
        if name not in owner.__init__.__annotations__ and not hasattr(owner, name):
            yield f"{owner.__name__}.{name}: what the painter sends"
