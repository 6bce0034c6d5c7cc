"""CPUs over time: one measure, a strip a CPU, the more the fuller; as bars where there is room for tall ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from textual.binding import Binding, BindingType
from textual.geometry import Size

from schedtop.history.view import View
from schedtop.model.frame import Frame
from schedtop.panes.pane import TITLE_FRAME, Pane
from schedtop.panes.scheduler.cpus.order import full_text
from schedtop.panes.scheduler.cpus.trend import MEASURES, Measure, Values, next_measure
from schedtop.panes.time_columns import Placed, TimeColumns, with_cursor
from schedtop.widgets.bars import tall_bars
from schedtop.widgets.glyphs import SHADE_LEVELS, shaded
from schedtop.widgets.parts import keys_of, made_of
from schedtop.widgets.strips import Span, Spans, fit

LABEL, VALUE = 6, 6
CHOSEN = "▸"
TALL_MOST = 6


AXIS_LEAST = 3
"""With fewer lines there is no axis."""


MADE_OF = {"time": TimeColumns}

KEYS: Sequence[BindingType] = (
    Binding("m", "measure(1)", "Measure", show=False, id="measure", tooltip="In CPU panes: what is shown"),
)


@made_of(MADE_OF)
class CpuStripsPane(Pane[View]):
    """One measure of each CPU over time."""

    TITLE = "CPUs over time"
    SHORT = "CPU strips"
    LEAST = Size(40, 5)
    READING = (
        "One measure of every CPU over the last minutes, an interval a cell, the newest at the right, its "
        "value now behind it; m chooses the measure, and the title says what a full cell is. Where not all "
        "CPUs fit, those with most over this time come first, the others by scrolling; selected CPUs carry ▸. "
        "A click on a column shows that interval in all panes; x shows more time in each column."
    )
    SIGNS = (
        ("full strips beside empty ones", "work that is pinned, or cannot be spread", "look at affinity masks"),
        ("a full stretch that moves", "one task that migrates", "pin it, if it suffers (cache in Tasks)"),
        (
            "full columns through all CPUs",
            "everything at once: a timer, or the hypervisor",
            "m until steal: it tells which",
        ),
        ("much involuntary % where busy is full", "more tasks than CPU there", "move some of them"),
    )

    BINDINGS: ClassVar[list[BindingType]] = keys_of(MADE_OF, KEYS)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.time = TimeColumns(self, widens=True)
        self.measure: Measure = MEASURES[0]
        self._page = 1
        self._values: dict[int, tuple[Frame, Values]] = {}
        self._drawn: Measure | None = None
        self._whole = 0.0
        self._ranked: tuple[object, list[int]] = (None, [])

    @property
    def page_rows(self) -> int:
        return self._page

    def action_measure(self, step: int) -> None:
        """Shows the next measure that the source has."""
        frame = self.view.frame if self.view else None
        self.measure = next_measure(self.measure, step, frame) or self.measure
        self.draw()

    def show(self, view: View) -> None:
        if self.hidden:
            # What is not seen must not keep Frames that the history has given up.
            self.forget()
        super().show(view)

    def forget(self) -> None:
        """Drops what is kept of Frames."""
        self.time.forget()
        self._values.clear()

    def view_glance(self, view: View) -> Spans:
        measure = self._measure_of(view)
        values = measure.values(view.frame)
        ids = [cpu for cpu in view.cpu_ids if not np.isnan(values[cpu])]
        if not ids:
            return [("n/a", "dim")]
        worst = max(ids, key=lambda cpu: values[cpu])
        value = full_text(measure, float(values[worst]))
        return [(f"CPU {worst} ", "strong"), (f"{measure.key} ", "dim"), (value, measure.style)]

    def view_lines(self, view: View) -> Sequence[Spans]:
        width, height = self.inner
        ids = view.all_cpu_ids
        if not ids:
            return self.sentence(f"no online CPU passes the filter {view.settings.filter}")
        measure = self._measure_of(view)
        if measure is not self._drawn:
            self._drawn, self._whole = measure, 0.0
            self._values.clear()
        room = max(1, height - (height >= AXIS_LEAST))
        placed = self.time.place(view, LABEL, max(1, width - LABEL - VALUE))
        table = self._columns(measure, placed, len(view.frame.cpus.online))
        whole = self._whole = measure.whole or _round_up(_most(table), self._whole)
        order = self._order(measure, table, ids, placed, room)
        tall = max(1, min(TALL_MOST, room // len(ids)))
        self._page, self.total_rows = (room // tall, len(order))
        self.clamp_top()
        self._set_titles(measure, whole, tall, ranked=len(ids) > room)
        visible = order[self.top : self.top + self._page]
        now, selected = measure.values(view.frame), set(view.settings.selected_cpus)
        lines: list[Spans] = []
        for cpu in visible:
            lines += self._strip(measure, cpu, table[cpu] / whole, float(now[cpu]), tall, cpu in selected, placed)
        if height >= AXIS_LEAST:
            lines += [[]] * (room - len(lines))
            lines.append(self.time.axis_spans(view, placed, " " * LABEL))
        return lines

    def _measure_of(self, view: View) -> Measure:
        if self.measure.available(view.frame):
            return self.measure
        return next((measure for measure in MEASURES if measure.available(view.frame)), MEASURES[1])

    def _columns(self, measure: Measure, placed: Placed, cpus: int) -> Values:
        """The measure of each CPU in each column, shape (cpus, columns), NaN where nothing is known.

        Where several Frames share a column, it is the largest of them.
        """
        table = np.full((placed.width, cpus), np.nan)
        kept: dict[int, tuple[Frame, Values]] = {}
        for begin, last, frame in placed.frames:
            found = kept[id(frame)] = self._known(measure, frame)
            values = found[1][:cpus]
            for column in range(max(begin, 0), min(last, placed.width - 1) + 1):
                row = table[column, : len(values)]
                np.fmax(row, values, out=row)
        self._values = kept
        return table.T

    def _known(self, measure: Measure, frame: Frame) -> tuple[Frame, Values]:
        """The values of a Frame; they are computed once."""
        found = self._values.get(id(frame))
        return found if found is not None else (frame, measure.values(frame))

    def _order(self, measure: Measure, table: Values, ids: list[int], placed: Placed, room: int) -> list[int]:
        """The CPUs as they are; where not all fit, those with most come first, until the map moves on."""
        if len(ids) <= room:
            return ids
        key = (measure.key, tuple(ids), placed.grid, placed.first, placed.width)
        if key != self._ranked[0]:
            sums = np.nansum(table[ids], axis=1)
            self._ranked = (key, [ids[place] for place in np.argsort(-sums, kind="stable").tolist()])
        return self._ranked[1]

    def _strip(
        self, measure: Measure, cpu: int, shares: Values, now: float, tall: int, chosen: bool, placed: Placed
    ) -> list[Spans]:
        """The lines of one CPU: its strip, or bars several lines high with the numbers beside the lowest."""
        if tall == 1:
            known = np.where(np.isnan(shares), 0, shares)
            levels = np.minimum(np.ceil(known * SHADE_LEVELS - 1e-9), SHADE_LEVELS).astype(int)
            parts = [shaded(levels, measure.style)]
        else:
            # An eighth of a line stays free above a full bar, so that neighbours are told apart.
            bars = tall_bars(np.where(np.isnan(shares), 0, shares) * (1 - 1 / (8 * tall)), tall)
            parts = [[(bar, measure.style)] for bar in bars]
        label = f"{CHOSEN if chosen else ''}{cpu}"
        value = fit(measure.format(None if np.isnan(now) else now), VALUE, right=True)
        lines: list[Spans] = []
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            begin: Span = (f"{label if last else '':>{LABEL - 1}} ", "key" if chosen else "dim")
            end: Span = (value if last else " " * VALUE, "text")
            spans: list[Span] = [begin, *part, end]
            lines.append(with_cursor(spans, LABEL, placed.cursor[1]) if placed.cursor else spans)
        return lines

    def _set_titles(self, measure: Measure, whole: float, tall: int, *, ranked: bool) -> None:
        unit = " %" if measure.word.endswith("%") else "/s" if measure.word.endswith("/s") else ""
        details = [f"{measure.word} · full = {measure.format(whole)}{unit}", self.time.scale_words]
        detail = " · ".join(text for text in details if text)
        if len(detail) + len(self.TITLE) + TITLE_FRAME > self.size.width:
            detail = details[0].replace(f"{measure.word} · full = ", f"{measure.word}, full ")
        position = self.position_text()
        self.set_title(detail, f"most first · {position}" if ranked and position else position)


def _most(table: Values) -> float:
    known = table[~np.isnan(table)]
    return float(known.max(initial=0.0))


def _round_up(value: float, before: float) -> float:
    """The next of 1, 2, 5, 10, 20, ...; the scale before while it is at most three times too large."""
    if value <= before <= value * 3:
        return before
    if value <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9)))
