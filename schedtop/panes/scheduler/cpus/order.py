"""Which form the CPUs are shown in, in which order, and which of some CPUs is the worst."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from schedtop.history.sorting import CPU_SORTS
from schedtop.history.view import View
from schedtop.model.folding import FOLDS, Fold, fold_cpus
from schedtop.model.host import Topology
from schedtop.panes.scheduler.cpus.trend import MEASURES, Measure, Values

FORMS = {
    "auto": "as there is room",
    "list": "a row each",
    "grid": "several a line",
    "core": "folded by core",
    "cache": "folded by cache",
    "node": "folded by NUMA node",
}
"""The forms to choose from, with their words."""

CELL_VALUE = 6
VALUE_CELLS = CELL_VALUE - 1
CELL_HISTORIES = (8, 4, 0)
"""Cells of history beside each CPU where several share a line: the longest that lets all be seen."""

ZOOM_PAGES = 4
"""A zoomed pane is to show more: up to so many pages of rows are scrolled then, before anything is left out."""

SHORT_WORDS = {
    "busy": "busy %",
    "switches": "switch/s",
    "involuntary": "invol/s",
    "share": "inv %",
    "queue": "queue",
    "steal": "steal %",
    "wait": "longest",
}
"""The measures as headers of columns."""


def measure_named(key: str) -> Measure:
    """The measure with this key. Raises StopIteration."""
    return next(measure for measure in MEASURES if measure.key == key)


def ranking_of(view: View, shown: Measure) -> Measure:
    """By what a CPU is worse than others: by what they are sorted, or, if that is their number, by what is shown."""
    key = view.settings.cpu_sort
    measure = shown if key == "cpu" else measure_named(key)
    return measure if measure.available(view.frame) else shown


def is_sorted(view: View) -> bool:
    """Whether the CPUs stand in another order than that of their numbers."""
    key = view.settings.cpu_sort
    return key != "cpu" and measure_named(key).available(view.frame)


def order_words(view: View) -> str:
    """The order for a title, empty by number."""
    return f"by {CPU_SORTS[view.settings.cpu_sort]}" if is_sorted(view) else ""


def ordered_cpus(view: View, ids: Sequence[int], ranking: Values) -> list[int]:
    """The CPUs in the order that was chosen: by number, or the largest value of the ranking first."""
    if not is_sorted(view):
        return list(ids)
    chosen = np.asarray(ids)
    order: list[int] = chosen[np.lexsort((chosen, -_known(ranking)[chosen]))].tolist()
    return order


def ordered_folds(view: View, folds: Sequence[Fold], ranking: Values) -> list[Fold]:
    """The folds in the order that was chosen: by their first CPU, or that with the worst CPU first."""
    if not is_sorted(view):
        return list(folds)
    known = _known(ranking)
    return sorted(folds, key=lambda fold: -float(known[list(fold.cpus)].max()))


def worst_cpu(ranking: Values, cpus: Sequence[int]) -> int | None:
    """The CPU with the largest value, the first of equals; `None` if nothing is known of them."""
    values = _known(ranking)[list(cpus)]
    place = int(values.argmax())
    return cpus[place] if values[place] >= 0 else None


def value_text(measure: Measure, value: float) -> str:
    """A value of a measure, NaN: none, in at most VALUE_CELLS characters: a time that is longer has no blank."""
    text = measure.format(None if np.isnan(value) else float(value))
    return text if len(text) <= VALUE_CELLS else text.replace(" ", "")


def full_text(measure: Measure, value: float) -> str:
    """The same with its unit, for a sentence."""
    unit = "" if np.isnan(value) else " %" if measure.key in ("busy", "share", "steal") else ""
    return value_text(measure, value) + unit


def label_width(ids: Sequence[int]) -> int:
    """The cells of a CPU's number where several share a line, with those around it."""
    return 2 + max(3, len(str(max(ids, default=0))))


def grid_size(ids: Sequence[int], width: int, height: int) -> tuple[int, int]:
    """CPUs a line and cells of history beside each, the longest with which all fit in so many lines, else none."""
    label = label_width(ids)
    for history in CELL_HISTORIES:
        across = max(1, width // (label + history + CELL_VALUE))
        if -(-len(ids) // across) <= height:
            break
    return across, history


def fitting_form(topology: Topology | None, ids: Sequence[int], width: int, height: int, zoomed: bool) -> str:
    """The form that shows most in so many cells: one of FORMS but `auto`."""
    count = len(ids)
    if count + 2 <= height or (zoomed and count <= ZOOM_PAGES * (height - 2)):
        return "list"
    across, _ = grid_size(ids, width, height - 1)
    if -(-count // across) <= height - 1:
        return "grid"
    sizes = {kind: len(fold_cpus(topology, kind, ids)) for kind in FOLDS}
    useful = [kind for kind, size in sizes.items() if 1 < size < count]
    fitting = [kind for kind in useful if sizes[kind] + 2 <= height]
    return (fitting or useful[-1:] or ["node"])[0]


def _known(ranking: Values) -> Values:
    """Values in which what is not known counts as less than nothing."""
    return np.where(np.isnan(ranking), -1.0, ranking)
