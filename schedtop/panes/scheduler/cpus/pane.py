"""The CPUs: a row each where there is room, else several a line, else folded by what they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from schedtop.base.units import plural
from schedtop.history.view import View
from schedtop.model.folding import FOLDS
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.cpus.forms import Form, Picture, folded, gridded, listed, mean_busy
from schedtop.panes.scheduler.cpus.order import FORMS, fitting_form, full_text, is_sorted, order_words
from schedtop.panes.scheduler.cpus.rows import COLUMNS, EXPLAINED
from schedtop.panes.scheduler.cpus.trend import MEASURES, Measure, next_measure
from schedtop.widgets.strips import Span, Spans


class CpusPane(Pane[View]):
    """Per-CPU switches, busy and steal time, queue, and a short history of one measure; CPUs are chosen here."""

    TITLE = "CPUs"
    LEAST = Size(38, 5)
    COLUMN_HELP = (("Columns", (EXPLAINED[0], *COLUMNS)), ("Columns, folded", EXPLAINED[1:]))
    READING = (
        "The strip on the right is the recent past of what m chooses, the newest at its right end. Where there "
        "are more CPUs than lines, several share a line, each with the measure of m alone; where they are more "
        "than that, they are folded: a row a core, a last-level cache or a NUMA node, with its sums, each of "
        "its CPUs as a character (a full block: 100 %, or the largest value), and the worst of its CPUs by "
        "name. The worst has the largest value of what the CPUs are sorted by (s, or a click on a header; "
        "again: by number), or of the measure of m while they stand by number. u chooses another form; what "
        "does not fit scrolls. Enter, or a double click, selects the CPU under the cursor, or all of a fold: "
        "the other panes then show these alone, here they carry ▸ (+: some of a fold); Enter again, or Esc, "
        "shows all."
    )
    SIGNS = (
        (
            "one hot CPU, others idle",
            "affinity: work is pinned there",
            "widen the mask: taskset, cpusets, smp_affinity of interrupts",
        ),
        ("a hot node beside an idle one", "work was never spread", "start the program with another numactl or cpuset"),
        ("all hot", "more work than CPUs", "run less, or add CPUs"),
        ("steal 5 % or more, with !", "the hypervisor runs other guests", "ask for a host that is less full"),
        ("high inv %", "more tasks want this CPU than it can run", "move some of them"),
    )

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "measure(1)", "Measure", show=False, id="measure", tooltip="In CPUs: what the history shows"),
        Binding("u", "form(1)", "Fold", show=False, id="cpu-form",
                tooltip="In CPUs: a row each, several a line, by core, cache, NUMA node, or as there is room"),
        Binding("enter", "choose", "Select CPU", show=False, id="select-cpu",
                tooltip="In CPUs: only this CPU (or fold) in the other panes; again: all"),
    ]  # fmt: skip

    class Chosen(Message):
        """Other CPUs are selected; none: all."""

        def __init__(self, cpus: tuple[int, ...]) -> None:
            super().__init__()
            self.cpus = cpus

    class SortRequested(Message):
        """The header of a column that sorts was clicked."""

        def __init__(self, sort: str) -> None:
            super().__init__()
            self.sort = sort

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.measure: Measure | None = None
        self.form = "auto"
        """One of FORMS."""
        self.cursor: int | None = None
        """The CPU under the cursor, or one of the fold there."""
        self._shown: Form | None = None

    @property
    def page_rows(self) -> int:
        return self._shown.page if self._shown is not None else max(1, self.inner.height)

    def action_measure(self, step: int) -> None:
        """Shows the next measure that the source has."""
        self.measure = next_measure(self.measure or MEASURES[0], step, self.view.frame if self.view else None)
        self.draw()

    def action_form(self, step: int) -> None:
        """Shows the next of FORMS."""
        names = list(FORMS)
        self.form = names[(names.index(self.form) + step) % len(names)]
        self.draw()
        self._reveal()

    def view_glance(self, view: View) -> Spans:
        ids = view.all_cpu_ids
        if not ids:
            return []
        picture = Picture.of(view, ids, self._measure_of(view), (0, 0), -1)
        spans: list[Span] = [(f"{mean_busy(view.frame, ids)} %", "busy")]
        if (worst := picture.worst) is not None and len(ids) > 1 and picture.values[worst] > 0:
            spans.append((f" · CPU {worst} {full_text(picture.ranking, picture.values[worst])}", "text"))
        return spans

    def view_lines(self, view: View) -> Sequence[Spans]:
        ids = view.all_cpu_ids
        if not ids:
            self._shown = None
            return self.sentence(f"no online CPU passes the filter {view.settings.filter}")
        cursor = -1 if self.cursor is None else self.cursor
        picture = Picture.of(view, ids, self._measure_of(view), self.inner, cursor)
        name = self.form
        if name == "auto":
            name = fitting_form(view.host.topology, ids, *self.inner, zoomed=self.has_class("zoomed"))
        form = listed(picture) if name == "list" else gridded(picture) if name == "grid" else folded(picture, name)
        self._shown, self.total_rows = form, form.rows
        self.clamp_top()
        self.set_title(self._title_words(picture, name, len(form.items)), self.position_text())
        return form.draw(self.top)

    def _title_words(self, picture: Picture, name: str, items: int) -> str:
        """What stands beside the pane's name: how many, folded by what, in which order, of which measure."""
        view = picture.view
        count = f"{len(picture.ids)}"
        if name in FOLDS:
            words = [
                f"{count} in {items} {plural(items, name)}",
                order_words(view) or f"worst by {picture.ranking.word}",
            ]
        elif name == "grid":
            words = [count, picture.measure.word, order_words(view)]
        else:
            words = [order_words(view)]
        if view.settings.selects:
            words.append(f"{len(view.cpu_ids)} selected")
        return " · ".join(word for word in words if word)

    def _measure_of(self, view: View) -> Measure:
        if self.measure is not None and self.measure.available(view.frame):
            return self.measure
        return next((measure for measure in MEASURES if measure.available(view.frame)), MEASURES[1])

    # The cursor, and what is chosen with it.

    @property
    def _index(self) -> int | None:
        """The item under the cursor."""
        return None if self.cursor is None or self._shown is None else self._shown.index_of(self.cursor)

    def action_move(self, rows: int) -> None:
        if self._shown is None:
            return
        index = self._index
        if index is None:
            # The first key press takes what is on top (or, going up, stays there).
            index, rows = self.top, max(rows - 1, 0) if rows > 0 else 0
        self._move_to(index + rows)

    def action_page(self, pages: float) -> None:
        form = self._shown
        if form is None or form.across == 1:
            super().action_page(pages)
        else:
            # Where several share a line, a page is a column: the cursor goes to the one beside it.
            self.action_move(round(pages * form.rows) or (1 if pages > 0 else -1))

    def action_first(self) -> None:
        self._move_to(0)

    def action_last(self) -> None:
        self._move_to(len(self._shown.items) if self._shown is not None else 0)

    def action_choose(self) -> None:
        """Selects what is under the cursor, or nothing any more if it is selected; without a cursor: not ours."""
        index = self._index
        if index is None or self._shown is None or self.view is None:
            raise SkipAction
        cpus = self._shown.items[index]
        self.post_message(self.Chosen(() if set(cpus) == set(self.view.settings.selected_cpus) else tuple(cpus)))

    def clear_cursor(self) -> bool:
        """Takes the cursor away; false if there was none."""
        had, self.cursor = self.cursor is not None, None
        self.draw()
        return had

    def on_click(self, event: events.Click) -> None:
        offset, form = event.get_content_offset(self), self._shown
        if offset is None or form is None:
            return
        if offset.y == 0:
            self._header_clicked(form, offset.x)
        elif (index := form.item_at(offset.x, offset.y, self.top)) is not None:
            self._move_to(index)
            if event.chain == 2:
                self.action_choose()

    def _header_clicked(self, form: Form, x: int) -> None:
        start = 0
        for column, width in form.placed:
            if start <= x < start + width and column.sort:
                # A fold's name and that of its worst CPU are no columns of their own: they turn the order on and off.
                again = self.view is not None and is_sorted(self.view) and column.sort == self.view.settings.cpu_sort
                self.post_message(self.SortRequested("cpu" if again else column.sort))
                return
            start += width + 1

    def _move_to(self, index: int) -> None:
        form = self._shown
        if form is None or not form.items:
            return
        self.cursor = form.items[max(0, min(index, len(form.items) - 1))][0]
        self._reveal()
        self.draw()

    def _reveal(self) -> None:
        """Scrolls to the cursor."""
        if (index := self._index) is not None and self._shown is not None:
            row = self._shown.row_of(index)
            self.top = min(max(self.top, row - self._shown.page + 1), row)
