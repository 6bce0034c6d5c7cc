"""Every pane stands in the list of the screens, so that its keys can be changed."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import schedtop.panes
from schedtop.panes.pane import Pane
from schedtop.ui.screens.catalog import PLACES


def panes() -> Iterator[type[Pane]]:
    """The panes in all modules below schedtop.panes."""
    for module in pkgutil.walk_packages(schedtop.panes.__path__, "schedtop.panes."):
        for one in vars(importlib.import_module(module.name)).values():
            if isinstance(one, type) and issubclass(one, Pane) and one is not Pane:
                yield one


def test_catalog_lists_every_pane() -> None:
    assert {*panes()} <= {one for place in PLACES.values() for one in place.panes}


def test_catalog_lists_what_a_screen_shows() -> None:
    dashboards = [place.panes for name, place in PLACES.items() if "dashboard" in name or name == "replay"]
    assert len(dashboards) == 3
    assert len({*dashboards}) == 1
