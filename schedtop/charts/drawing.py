"""A chart as lines of text with styles. The only module that knows plotext, and only what plotext makes public."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from schedtop.charts.chart import MARGIN, Chart, Line, Scale, Span

AXIS_STYLE = "head"
AXIS_COLOUR = 255
"""Colours are numbers that stand for styles: whoever shows the lines chooses the real ones."""

LINE_MARKER, AREA_MARKER = "braille", "░"

LEAST_COLUMNS, LEAST_ROWS = 2, 2

_ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")
_ZEROS = re.compile(r"\.0+(?!\d)")
_FOREGROUND = "38;5;"


@cache
def plotext() -> Any:
    """plotext, with a figure of any size."""
    # Late: a tenth of a second and 15 MB, for those alone who look at a chart.
    import plotext

    plotext.terminal.limit(False, False)
    return plotext


def canvas(chart: Chart, scale: Scale, columns: int, rows: int) -> list[list[Span]]:
    """The scale and the lines of a chart: as many rows, each MARGIN and `columns` cells wide.

    As many values as columns stand in one each; more or fewer are spread evenly from the first column to the last.
    """
    width = max(columns, LEAST_COLUMNS)
    height = max(rows, LEAST_ROWS)
    figure = plotext().figure
    figure.clear()
    figure.plot_size(MARGIN + width, height)
    figure.canvas("default")
    figure.legend(False)
    figure.axes(False)
    figure.axes(True, axis="y", side="left", pixel=AXIS_COLOUR)
    ticks = scale.ticks(height)
    labels = [f"{_tick_words(chart, value):>{MARGIN - 1}}"[: MARGIN - 1] for value in ticks]
    # plotext's own logarithmic scale is not used: what is drawn are shares of the height.
    figure.ruler("y", "left").pixel(AXIS_COLOUR).lim(0, 1).ticks([scale.share(value) for value in ticks], labels=labels)
    figure.ruler("x").lim(0, width - 1).ticks([])
    for number, line in enumerate(chart.lines):
        if line.filled or line.shaded:
            _draw(figure, line, number + 1, scale, width, is_area=True)
    for number, line in enumerate(chart.lines):
        if not line.filled:
            _draw(figure, line, number + 1, scale, width)
    styles = {AXIS_COLOUR: AXIS_STYLE} | {number + 1: line.style for number, line in enumerate(chart.lines)}
    text: str = figure.build().string()
    return [_spans(line, styles) for line in text.split("\n")[:rows]]


def _draw(figure: Any, line: Line, colour: int, scale: Scale, columns: int, *, is_area: bool = False) -> None:
    known = [(at, scale.share(value)) for at, value in enumerate(line.values) if value is not None]
    if not known:
        return
    places = [at for at, _ in known]
    step = (columns - 1) / max(1, len(line.values) - 1)
    marker = plotext().marker(AREA_MARKER if is_area else LINE_MARKER, colour)
    signal = figure.signal([at * step for at in places], [share for _, share in known], marker=marker)
    if is_area:
        signal = signal.fillx()
    else:
        signal = signal.lines()
        for number in range(1, len(places)):
            if places[number] != places[number - 1] + 1:
                # Nothing is known of what lies between.
                signal = signal.line(number, False)
    figure.draw(signal)


def _tick_words(chart: Chart, value: float) -> str:
    """A value of the scale, without needless zeros: `1 ms`, `25k`, `50 %`; without the blank if that is too long."""
    words = _ZEROS.sub("", chart.format(value))
    return words if len(words) < MARGIN else words.replace(" ", "")


def _spans(line: str, styles: dict[int, str]) -> list[Span]:
    """A line of text with colours as Spans."""
    spans: list[Span] = []
    style = "text"
    for number, part in enumerate(_ESCAPE.split(line)):
        if number % 2:
            if part.startswith(_FOREGROUND):
                style = styles.get(int(part.removeprefix(_FOREGROUND)), "text")
            elif part in ("", "0"):
                style = "text"
        elif part:
            spans.append((part, style))
    return spans


def plain(rows: Sequence[Sequence[Span]]) -> list[str]:
    """The same as text alone."""
    return ["".join(text for text, _ in row) for row in rows]
