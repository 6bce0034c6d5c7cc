"""States over time as a strip: one column a stretch of time, a letter for what took most of it, and bars for the rest.

It knows no states by itself: whoever uses it says which there are, with a letter, a word and a style each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schedtop.base.units import format_round_ns
from schedtop.widgets.bars import MISSING, bars
from schedtop.widgets.strips import Span, Spans, fit, spans_width, whole_parts

Times = npt.NDArray[np.integer]

SHARE_CELLS = 7
"""Cells for a share behind the strip: `100.0 %`."""

LABEL_CELLS = 12
"""Two times under the strip are at least so far apart."""


@dataclass(frozen=True, slots=True)
class State:
    """One state: its letter (one cell), its word, and the style of both (one of `widgets.canvas.STYLES`)."""

    letter: str
    word: str
    style: str


class StateStrip:
    """Draws the strip of some states; the same times at the same size cost nothing again."""

    def __init__(self, states: Sequence[State]) -> None:
        self.states = tuple(states)
        self._names = max(len(state.word) for state in self.states) + 3
        self._key: object = None
        self._lines: list[Spans] = []

    def lines(self, times: Times, slot_ns: int, width: int, height: int, end: str = "now") -> list[Spans]:
        """The strip in at most `height` lines of `width` cells.

        `times`: nanoseconds in each state, shape (slots, states), oldest first; a slot without any time is unknown.
        `slot_ns`: how long a slot is; `end`: what the newest end is called. With more lines than states each has a
        line with its shares over time.
        """
        key = (times.shape, times.tobytes(), slot_ns, width, height, end)
        if key != self._key:
            self._key = key
            self._lines = self._build(times, slot_ns, width, height, end)
        return self._lines

    def _build(self, times: Times, slot_ns: int, width: int, height: int, end: str) -> list[Spans]:
        columns = width - self._names - SHARE_CELLS - 1
        if columns < 10 or height < 1:
            return []
        merged, per_column = in_columns(times, columns)
        seen = merged.sum(axis=1)
        lines: list[Spans] = [[(fit("state", self._names), "head"), *self._letters(merged, columns)]]
        axis: Spans = [(" " * self._names, "head"), (_axis(columns, per_column * slot_ns, end), "head")]
        if height <= len(self.states):
            return [*lines, *self._legend(merged, width, height - 2), axis][:height]
        if height < len(self.states) + 2:
            lines = []  # the bars say more than the letters
        whole = int(seen.sum())
        shares = np.where(seen[:, None] > 0, merged / np.maximum(seen[:, None], 1), np.nan)
        pad = np.full((columns - len(shares), len(self.states)), np.nan)
        shares = np.concatenate((pad, shares))
        for place, state in enumerate(self.states):
            share = int(merged[:, place].sum()) / whole if whole else None
            strip = bars(shares[:, place]).replace(MISSING, " ")
            name = fit(f"{state.letter} {state.word}", self._names)
            lines.append([(name, state.style), (strip, state.style), (f" {_percent(share):>{SHARE_CELLS}}", "text")])
        return [*lines, axis]

    def _letters(self, merged: Times, columns: int) -> list[Span]:
        """What took most of each column, neighbours of one state joined; a dot where nothing is known."""
        spans: list[Span] = [(" " * (columns - len(merged)), "dim")]
        known = merged.sum(axis=1) > 0
        for most, is_known in zip(merged.argmax(axis=1).tolist(), known.tolist(), strict=True):
            letter, style = (self.states[most].letter, self.states[most].style) if is_known else (MISSING, "dim")
            if spans[-1][1] == style:
                spans[-1] = (spans[-1][0] + letter, style)
            else:
                spans.append((letter, style))
        return [span for span in spans if span[0]]

    def _legend(self, merged: Times, width: int, height: int) -> list[Spans]:
        """Letters with words and shares, in as many lines as are there."""
        whole = int(merged.sum())
        parts: list[list[Span]] = []
        for place, state in enumerate(self.states):
            share = int(merged[:, place].sum()) / whole if whole else None
            parts.append([(f"{state.letter} {state.word} ", state.style), (_percent(share), "text")])
        lines: list[Spans] = []
        while parts and len(lines) < height:
            count = next(
                (
                    many
                    for many in range(len(parts), 0, -1)
                    if sum(map(spans_width, parts[:many])) + 2 * (many - 1) <= width
                ),
                1,
            )
            lines.append(whole_parts(parts[:count], width, ("  ", "text")))
            parts = parts[count:]
        return lines


def in_columns(times: Times, columns: int) -> tuple[Times, int]:
    """Slots added up so that they fit in `columns`, and how many slots a column has.

    Aligned to the oldest, so that columns keep what they hold while slots are added; the newest may have fewer.
    """
    slots = len(times)
    per_column = max(1, -(-slots // columns))
    short = -slots % per_column
    if short:
        times = np.concatenate((times, np.zeros((short, times.shape[1]), times.dtype)))
    return times.reshape(-1, per_column, times.shape[1]).sum(axis=1, dtype=np.int64), per_column


def _axis(columns: int, column_ns: int, end: str) -> str:
    """How long before the right end, which has a name, each mark is, at round times."""
    cells = [" "] * (columns - len(end)) + [*end]
    least = max(1, LABEL_CELLS * column_ns)
    power = 10 ** int(np.log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)
    for back in range(step, columns * column_ns + 1, step):
        text = f"-{format_round_ns(back)}"
        start = columns - round(back / column_ns)
        if start + len(text) < columns - len(end):
            cells[start : start + len(text)] = text
    return "".join(cells)


def _percent(share: float | None) -> str:
    if share is None:
        return "-"
    return "<0.1 %" if 0 < share < 0.0005 else f"{share * 100:.1f} %"
