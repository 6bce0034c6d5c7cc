"""The container of the panes: it puts each where the arrangement says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.containers import Container
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import Layout, WidgetPlacement
from textual.widget import Widget

from schedtop.history.view import View
from schedtop.panes.pane import Pane
from schedtop.ui.layout.arrangement import regions
from schedtop.ui.layout.heights import WantedHeights
from schedtop.ui.layout.presets import Plan


class PlanLayout(Layout):
    """The framework's side of a Plan."""

    name = "plan"

    def __init__(self, least: Mapping[str, Size]) -> None:
        self.least = least
        self.plan: Plan = ()
        self.cpus: int | None = None
        self.wanted: Mapping[str, int] = {}

    def placed(self, size: Size) -> dict[str, Region]:
        """Where each pane is."""
        return regions(self.plan, size, self.least, self.cpus, self.wanted) if self.plan else {}

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> list[WidgetPlacement]:
        parent.pre_layout(self)
        placed = self.placed(size)
        return [
            WidgetPlacement(placed[child.id], NULL_OFFSET, NULL_SPACING, child)
            for child in children
            if child.id in placed
        ]


class PaneGrid(Container):
    """Panes by a Plan; those of no row are not displayed."""

    DEFAULT_CSS = """
    PaneGrid { height: 1fr; }
    PaneGrid > Pane { width: 100%; height: 100%; }
    """

    def __init__(self, *panes: Widget, least: Mapping[str, Size], id: str | None = None) -> None:
        super().__init__(*panes, id=id)
        self._layout_of_plan = PlanLayout(least)
        self._heights = WantedHeights()

    @property
    def layout(self) -> Layout:
        return self._layout_of_plan

    @property
    def cpus(self) -> int | None:
        """How many CPUs there are, `None` if that is not known yet."""
        return self._layout_of_plan.cpus

    def set_cpus(self, cpus: int) -> None:
        """Tells how many CPUs there are: with few of them, panes about CPUs leave room for others."""
        if cpus != self._layout_of_plan.cpus:
            self._layout_of_plan.cpus = cpus
            self.refresh(layout=True)

    def fit(self, panes: Sequence[Pane[View]], view: View) -> None:
        """Gives no pane more lines than it could fill lately, as long as another one can fill them."""
        wanted = self._heights.take(panes, view)
        layout = self._layout_of_plan
        if wanted == layout.wanted:
            return
        before, layout.wanted = layout.placed(self.size), wanted
        if layout.placed(self.size) != before:
            self.refresh(layout=True)

    def show_plan(self, plan: Plan) -> None:
        """Displays the panes of a Plan, and no others."""
        self._layout_of_plan.plan = plan
        seen = {pane for row in plan for pane in row.cells}
        for child in self.children:
            child.display = child.id in seen
        self.refresh(layout=True)
