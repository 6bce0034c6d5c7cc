"""Slow waits as they happen, a line each: as text, or as JSON with the fields of `slow_waits[]` of a snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from schedtop.base.units import NS_PER_S, printable
from schedtop.history.view import View
from schedtop.model.frame import Frame
from schedtop.outputs.plain import json_line
from schedtop.outputs.scheduler.blame import slow_wait_fields
from schedtop.outputs.scheduler.slow_waits import SLOW_WAIT_HEADER, SLOW_WAIT_LEFT, slow_wait_cells
from schedtop.outputs.schemas import WAITS

_WIDTHS = dict(zip(SLOW_WAIT_HEADER, (12, 7, 15, 10, 5, 8, 20, 24, 24, 5, 0), strict=True))
"""Of the columns of text. What is wider shifts its own line."""

_KERNEL_LOSSES = ("slow_waits_suppressed", "slow_waits_forgotten", "ring_dropped")


class WaitLines:
    """At most `per_second` lines a second: of more waits the longest. `told` and `left_out` count all so far."""

    def __init__(self, format_name: str, per_second: int) -> None:
        self._is_json = format_name == "json"
        self._per_second = per_second
        self._begun = False
        self._left_since = 0
        self.told = 0
        self.left_out = 0

    def text(self, view: View) -> str:
        """The slow waits of one interval, in the order in which they ended; empty if there were none."""
        rows, most = view.slow_waits, max(1, self._per_second * view.frame.interval_ns // NS_PER_S)
        left = _kept_from_us(view.frame)
        if len(rows) > most:
            left += len(rows) - most
            rows = rows[np.argsort(-rows["wait_ns"], kind="stable")[:most]]
        waits = slow_wait_fields(replace(view, slow_waits=rows[np.argsort(rows["time_ns"], kind="stable")]))
        self.told += len(waits)
        self.left_out += left
        return self._json(view, waits, left) if self._is_json else self._lines(waits, left)

    def _json(self, view: View, waits: list[dict[str, Any]], left: int) -> str:
        self._left_since += left
        lines = []
        for wait in waits:
            about = {"schema": WAITS, "host": view.host.name, "left_out": self._left_since}
            lines.append(json_line(about | wait))
            self._left_since = 0
        return "".join(lines)

    def _lines(self, waits: list[dict[str, Any]], left: int) -> str:
        lines = [_aligned(dict(zip(SLOW_WAIT_HEADER, SLOW_WAIT_HEADER, strict=True)))] if not self._begun else []
        self._begun = True
        lines += [_aligned(slow_wait_cells(wait)) for wait in waits]
        lines += [f"# {left} more are left out here"] if left else []
        return "".join(f"{printable(line)}\n" for line in lines)


def _aligned(cells: dict[str, str]) -> str:
    aligned = (
        cell.ljust(_WIDTHS[name]) if name in SLOW_WAIT_LEFT else cell.rjust(_WIDTHS[name])
        for name, cell in cells.items()
    )
    return "  ".join(aligned).rstrip()


def _kept_from_us(frame: Frame) -> int:
    """How many slow waits of an interval the kernel side did not tell."""
    return sum(getattr(frame.loss, name) for name in _KERNEL_LOSSES)
