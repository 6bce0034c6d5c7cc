"""The forms in which CPUs are drawn: a row each, several a line, or folded by what they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from schedtop.base.cpu_lists import cpus_text
from schedtop.base.units import format_round_ns
from schedtop.history.view import View
from schedtop.model.folding import fold_cpus
from schedtop.model.frame import Frame
from schedtop.panes.percent import percent
from schedtop.panes.scheduler.cpus.order import (
    CELL_VALUE,
    SHORT_WORDS,
    VALUE_CELLS,
    full_text,
    grid_size,
    label_width,
    ordered_cpus,
    ordered_folds,
    ranking_of,
    value_text,
    worst_cpu,
)
from schedtop.panes.scheduler.cpus.rows import PARTLY, SELECTED, CpuRows, fold_columns, list_columns, row_spans
from schedtop.panes.scheduler.cpus.trend import Measure, Values, mean, trend
from schedtop.widgets.bars import bar_rows, level_glyphs, tall_bars
from schedtop.widgets.columns import Column, Placed, header_spans, place
from schedtop.widgets.strips import Span, Spans, fit, whole_parts

HISTORY_LEAST, HISTORY_GOOD = 6, 14
"""Cells of history that no column takes, and those that the columns of rank EXTRA leave."""

EXTRA = 4
HISTORY_MOST = 60
TALL_MOST = 4
FEW_CPUS, FEW_TALL = 4, 2
"""Of so few CPUs each has fewer lines: their figures would float among empty ones."""
MAP_GOOD = 64
"""Cells of CPUs that fewer columns are shown for."""

SPACE: Span = ("  ", "text")

Cpus = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """What is to be drawn: a View of these CPUs in a measure, in so many cells.

    `ranking`: by what CPUs are worse than others, with the values of all CPUs; `cursor`: one CPU, -1: none.
    """

    view: View
    ids: Sequence[int]
    measure: Measure
    ranking: Measure
    values: Values
    width: int
    height: int
    cursor: int

    @classmethod
    def of(cls, view: View, ids: Sequence[int], measure: Measure, size: tuple[int, int], cursor: int) -> Picture:
        """The picture of these CPUs."""
        ranking = ranking_of(view, measure)
        return cls(view, ids, measure, ranking, ranking.values(view.frame), *size, cursor)

    @property
    def selected(self) -> frozenset[int]:
        """The CPUs that are selected."""
        return frozenset(self.view.settings.selected_cpus)

    def mark(self, cpus: Sequence[int]) -> str:
        """The sign behind the name of some CPUs."""
        if not self.view.settings.selected_cpus:
            return " "
        inside = self.selected.intersection(cpus)
        return (SELECTED if len(inside) == len(cpus) else PARTLY) if inside else " "

    @property
    def worst(self) -> int | None:
        """The worst CPU of all."""
        return worst_cpu(self.values, self.ids)


@dataclass(frozen=True, slots=True)
class Form:
    """A form of a picture: its items (CPUs that are chosen together), and how they are laid out.

    `rows` scroll below `head` lines, each of `step` lines with `across` items beside each other, which go down first.
    `page`: rows seen at once; `draw` gives the lines from a first row on; `placed`: columns, for clicks on the header.
    """

    items: Sequence[Cpus]
    rows: int
    page: int
    head: int
    draw: Callable[[int], list[Spans]]
    step: int = 1
    across: int = 1
    cell: int = 0
    placed: Placed[CpuRows] = ()

    def row_of(self, index: int) -> int:
        """The row in which an item stands."""
        return index % self.rows

    def item_at(self, x: int, y: int, top: int) -> int | None:
        """The item at a place inside the pane, while `top` is the first row seen."""
        row, column = top + (y - self.head) // self.step, x // self.cell if self.cell else 0
        index = column * self.rows + row
        inside = y >= self.head and row < min(self.rows, top + self.page) and column < self.across
        return index if inside and index < len(self.items) else None

    def index_of(self, cpu: int) -> int | None:
        """The item with this CPU."""
        return next((index for index, cpus in enumerate(self.items) if cpu in cpus), None)


def listed(picture: Picture) -> Form:
    """A row a CPU under a row of totals; what height is left makes the histories taller."""
    view, ids, width, height = picture.view, picture.ids, picture.width, picture.height
    order = ordered_cpus(view, ids, picture.values)
    most = TALL_MOST if len(ids) > FEW_CPUS else FEW_TALL
    tall = max(1, min(most, (height - 1) // (len(ids) + 1)))
    page = max(1, (height - 1 - tall) // tall)
    placed = _placed_list(max(ids, default=0), view.settings.cpu_sort, frozenset(view.frame.unavailable), width)
    table_width = sum(column_width + 1 for _, column_width in placed)
    room = min(width - table_width, HISTORY_MOST)
    measure = picture.measure

    def draw(top: int) -> list[Spans]:
        frames = view.series[-room:]
        shares = trend(measure, frames, len(view.frame.cpus.online))
        visible = order[top : top + page]
        title = fit(_history_title(measure, sum(frame.interval_ns for frame in frames), room), room, right=True)
        lines: list[Spans] = [[*header_spans(placed, view.settings.cpu_sort), (title, "head")]]
        names = [f"{picture.mark((cpu,))}{cpu}" for cpu in visible]
        rows = CpuRows.of(view, ids, [(cpu,) for cpu in visible], names)
        histories = [mean(shares[ids]), *shares[visible]]
        for row, (spans, history) in enumerate(zip(row_spans(placed, rows, table_width), histories, strict=True)):
            parts = [part.rjust(room) for part in tall_bars(history * (1 - 1 / (8 * tall)), tall)]
            line = [*spans, (parts[-1], measure.style)]
            if row and visible[row - 1] == picture.cursor:
                line = _under_cursor(line)
            # The numbers stand beside the lowest line: bars and text share a base line.
            lines.extend([(" " * table_width, "text"), (part, measure.style)] for part in parts[:-1])
            lines.append(line)
        return lines

    return Form([(cpu,) for cpu in order], len(order), page, 1 + tall, draw, step=tall, placed=placed)


def gridded(picture: Picture) -> Form:
    """Several CPUs a line, column by column: number, short history, value now."""
    view, ids, measure = picture.view, picture.ids, picture.measure
    order = ordered_cpus(view, ids, picture.values)
    page = max(1, picture.height - 1)
    across, history = grid_size(ids, picture.width, page)
    label = label_width(ids)
    rows = -(-len(order) // across)

    def draw(top: int) -> list[Spans]:
        now = measure.values(view.frame)[order].tolist()
        marked = [f"{picture.mark((cpu,))}{cpu}" for cpu in order]
        names = [f"{text:>{label - 1}} " for text in marked]
        values = [fit(value_text(measure, value), VALUE_CELLS, right=True) for value in now]
        strips = [""] * len(order)
        if history:
            shares = trend(measure, view.series[-history:], len(view.frame.cpus.online))
            strips = [text.rjust(history) for text in bar_rows(np.ascontiguousarray(shares[order]))]
        lines: list[Spans] = [_summary(picture)]
        for row in range(top, min(top + page, rows)):
            line: list[Span] = []
            for index in range(row, len(order), rows):
                name, value = names[index], values[index] + " "
                cell: list[Span] = [(name, "dim"), (strips[index], measure.style), (value, "text")]
                if order[index] == picture.cursor:
                    cell = _under_cursor(cell)
                elif SELECTED in name:
                    cell[0] = (name, "key")
                line += [span for span in cell if span[0]]
            lines.append(line)
        return lines

    items = [(cpu,) for cpu in order]
    return Form(items, rows, page, 1, draw, across=across, cell=label + history + CELL_VALUE)


def folded(picture: Picture, kind: str) -> Form:
    """A row a core, cache or node: its sums, its worst CPU, and each of its CPUs as a character."""
    view, ids, ranking = picture.view, picture.ids, picture.ranking
    folds = ordered_folds(view, fold_cpus(view.host.topology, kind, ids), picture.values)
    names = [f"{picture.mark(fold.cpus)}{fold.name}" for fold in folds]
    header = f"worst {SHORT_WORDS[ranking.key]}"
    worst_width = len(f"CPU {max(ids)} ") + 5
    most = max(len(fold.cpus) for fold in folds)
    wanted = max(HISTORY_LEAST, min(most, picture.width // 3))
    columns = fold_columns([*names, " fold"], header, worst_width, ranking.key, view.frame.unavailable)
    placed = _placed(columns, picture.width, wanted, max(HISTORY_GOOD, min(most, MAP_GOOD)))
    table_width = sum(column_width + 1 for _, column_width in placed)
    room = max(1, picture.width - table_width)
    tall = max(1, min((picture.height - 2) // len(folds), -(-most // room)))
    page = max(1, (picture.height - 2) // tall)
    shares = trend(ranking, (view.frame,), len(view.frame.cpus.online))[:, 0]

    def draw(top: int) -> list[Spans]:
        visible = folds[top : top + page]
        worst = [_worst_text(picture, cpus) for cpus in (ids, *(fold.cpus for fold in visible))]
        ranges = [str(len(ids)), *(cpus_text(fold.cpus) for fold in visible)]
        groups = [fold.cpus for fold in visible]
        rows = CpuRows.of(view, ids, groups, names[top : top + page], worst, ranges)
        a_cell = -(-most // (room * tall))
        title = f"{ranking.word}, a CPU a cell" if a_cell == 1 else f"{ranking.word}, worst of {a_cell} a cell"
        title = next((text for text in (title, ranking.word) if len(text) <= room), "")
        lines: list[Spans] = [[*header_spans(placed, view.settings.cpu_sort), (fit(title, room), "head")]]
        for row, spans in enumerate(row_spans(placed, rows, table_width)):
            cpus, height = (visible[row - 1].cpus, tall) if row else (ids, 1)
            # More CPUs than cells in one line would be another scale than that of the folds.
            text = _cells(shares[list(cpus)], room * height) if row or len(ids) <= room else ""
            line = [*spans, (text[:room], ranking.style)]
            if row and picture.cursor in cpus:
                line = _under_cursor(line)
            lines.append(line)
            for start in range(room, room * height, room):
                lines.append([(" " * table_width, "text"), (text[start : start + room], ranking.style)])
        return lines

    return Form([fold.cpus for fold in folds], len(folds), page, 2, draw, step=tall, placed=placed)


@lru_cache(8)
def _placed_list(last: int, sort: str, lacks: frozenset[str], width: int) -> Placed[CpuRows]:
    """The columns of a row a CPU; `last` is the CPU with the longest number."""
    return _placed(list_columns((last,), sort, lacks), width, HISTORY_LEAST, HISTORY_GOOD)


def _placed(columns: Sequence[Column[CpuRows]], width: int, least: int, good: int) -> Placed[CpuRows]:
    """The columns that leave `least` cells at the right; those of rank EXTRA have to leave `good`."""
    placed = place([column for column in columns if column.rank < EXTRA], width - least - 1, air_most=0)
    more = place(columns, width - good - 1, air_most=0)
    return more if len(more) > len(placed) else placed


def _under_cursor(line: Sequence[Span]) -> list[Span]:
    return [("".join(text for text, _ in line), "cursor")]


def _worst_text(picture: Picture, cpus: Sequence[int]) -> str:
    cpu = worst_cpu(picture.values, cpus)
    if cpu is None:
        return "-"
    value = value_text(picture.ranking, picture.values[cpu])
    return f"CPU {cpu} {value:>5}"


def _cells(shares: Values, room: int) -> str:
    """A character a CPU; if they are more than there is room for, one for the worst of several."""
    each = -(-len(shares) // room)
    if each > 1:
        known = np.where(np.isnan(shares), -1.0, shares)
        largest = np.maximum.reduceat(known, np.arange(0, len(known), each))
        shares = np.where(largest < 0, np.nan, largest)
    return level_glyphs(shares)


def _summary(picture: Picture) -> Spans:
    """The totals in one line, above the forms that have no columns."""
    total = CpuRows.of(picture.view, picture.ids, ())
    level, worst = total.total_level, picture.worst
    parts: list[Spans] = [[("all  ", "strong"), (f"{total.rates('switches')[0]} switch/s", "text")]]
    if worst is not None and len(picture.ids) > 1:
        value = full_text(picture.ranking, picture.values[worst])
        parts.append([("worst ", "dim"), (f"CPU {worst}", "strong"), (f" {value}", picture.ranking.style)])
    share = percent(total.involuntary_shares[0])
    parts += [
        [(f"{total.rates('involuntary_switches')[0]} invol/s ({share} %)", "preemption")],
        [(f"busy {percent(total.shares('busy')[0])} %", "busy")],
        [(f"steal {total.steals[0].strip()} %", level.style if level.sign else "steal")],
        [(f"queue {total.queues[0]}", "text")],
    ]
    return whole_parts(parts, picture.width, SPACE)


def _history_title(measure: Measure, span_ns: int, room: int) -> str:
    """What the history shows and how far it reaches, as long as there is room for.

    Of busy time the column beside it says already what it is.
    """
    span = format_round_ns(round(span_ns, -9) if span_ns >= 10**9 else span_ns)
    if measure.key == "busy":
        texts: tuple[str, ...] = (f"{measure.word}, last {span}", f"last {span}", "history", "past")
    else:
        texts = (f"{measure.word}, last {span}", f"{measure.word} {span}", measure.word)
    return next((text for text in texts if len(text) <= room), texts[-1])


def mean_busy(frame: Frame, ids: Sequence[int]) -> str:
    """How busy some CPUs are together, in percent without decimals."""
    ratio = frame.ratio("busy_ns", ids)
    return "-" if ratio is None else f"{ratio * 100:.0f}"
