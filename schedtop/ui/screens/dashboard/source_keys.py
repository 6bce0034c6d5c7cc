"""The keys that ask the source for something else: another threshold, the time of the kernel programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from schedtop.model.source import Source
from schedtop.ui.keys.bindings import key
from schedtop.ui.screens.dashboard.shown import Shown
from schedtop.ui.screens.dashboard.timeline import next_threshold


class SourceKeys:
    """What the screen asks of the source that its Frames are from."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("plus,equals_sign", "threshold(1)", "Threshold up", "Slow waits: a higher threshold, up to 10 s"),
        key("minus,underscore", "threshold(-1)", "Threshold down", "Slow waits: a lower threshold, down to 100 µs"),
        key("O", "measure", "Overhead", "Times the kernel programs: ns a switch in the header (costs a little itself)"),
        key("I", "interrupts", "Interrupts", "Times interrupts, or no longer: the pane, irq of tasks, slow waits"),
    ]

    def __init__(self, screen: Screen[Any], shown: Shown, source: Source, changed: Callable[[], None]) -> None:
        """`changed` is called when another threshold is wanted."""
        self.wanted_threshold_ns: int | None = None
        self._screen = screen
        self._shown = shown
        self._source = source
        self._changed = changed
        self._samples = False
        self._times_interrupts: bool | None = None

    def action_threshold(self, direction: int) -> None:
        """Asks the source for another threshold; it holds from its next interval on."""
        live = self._shown.live
        if len(live):
            current = self.wanted_threshold_ns or live.frames[-1].threshold_ns
            self.wanted_threshold_ns = next_threshold(current, direction)
            self._source.set_threshold(self.wanted_threshold_ns)
            self._changed()

    def action_measure(self) -> None:
        """Has the kernel time our programs, or no longer."""
        live = self._shown.live
        measures = bool(len(live)) and live.frames[-1].overhead.bpf_ns is not None
        why = live.frames[-1].unavailable.get("overhead", "") if len(live) else ""
        if why and not measures:
            self._screen.notify(why[:1].upper() + why[1:], severity="warning")
            return
        self._source.set_measuring(not measures)
        words = "The kernel times its BPF programs" if not measures else "The kernel programs are no longer timed"
        self._screen.notify(words)

    def action_interrupts(self) -> None:
        """Has interrupts timed, or no longer."""
        live = self._shown.live
        times = self._times_interrupts
        if times is None:
            times = bool(len(live)) and live.frames[-1].interrupts is not None
        why = live.frames[-1].unavailable.get("interrupts", "") if len(live) else ""
        if why:
            self._screen.notify(why[:1].upper() + why[1:], severity="warning")
            return
        self._times_interrupts = not times
        self._source.set_interrupts(not times)
        timed = "Interrupts are timed from now on: see the pane of that name"
        self._screen.notify("Interrupts are no longer timed" if times else timed)

    def set_grouping(self, kind: str) -> None:
        """By which id field the source keeps histograms; empty: by none."""
        self._source.set_grouping(kind)

    def set_sampling(self, wanted: bool) -> None:
        """Whether the run queues are sampled."""
        if wanted != self._samples:
            self._samples = wanted
            self._source.set_sampling(wanted)
