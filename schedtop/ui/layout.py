"""Which arrangement of panes a terminal size gets, as classes for the style sheet."""

from __future__ import annotations

from schedtop.ui.terminal import LEAST_COLUMNS, LEAST_LINES

CLASSES = ("-tiny", "-one", "-few", "-wide", "-tall", "-high")


def layout_classes(columns: int, lines: int) -> set[str]:
    """The classes of CLASSES that hold at a size."""
    if columns < LEAST_COLUMNS or lines < LEAST_LINES:
        return {"-tiny"}
    if columns < 80 or lines < 20:
        return {"-one"}
    if columns < 100 or lines < 34:
        return {"-few"}
    classes = set()
    if columns >= 150:
        classes.add("-wide")
    if lines >= 46:
        classes.add("-tall")
    if lines >= 56:
        classes.add("-high")
    return classes
