"""Thinning: a Frame with less detail, for the time that is long past. What is left out is counted."""

from __future__ import annotations

from dataclasses import replace

from schedtop.model.detail import Detail
from schedtop.model.frame import Frame

DETAILS = (
    Detail(1000, 250, 250, 100),
    Detail(1000, 250, 250, 100, ended=100),
    Detail(100, 50, 50, 30, ended=20),
)
"""What is kept of a Frame: as much as of two that are merged; where it would push others out; of long ago."""

WHOLE, THINNED, SPARSE = range(len(DETAILS))


def with_detail(frame: Frame, number: int) -> Frame:
    """The Frame with the rows that one of DETAILS keeps."""
    return thinned(frame, DETAILS[number])


def thinned(frame: Frame, keep: Detail = DETAILS[WHOLE]) -> Frame:
    """The Frame without its least tasks, slow waits and pairs, where it has many, and without histograms by group.

    Least are those with the least run delay and run time together, and the shortest waits. They are counted.
    """
    thin = {part.name: part.thin(getattr(frame, part.name), keep) for part in frame.parts if part.thin}
    return replace(
        frame,
        **{name: part.value for name, part in thin.items()},
        loss=sum((part.loss for part in thin.values()), frame.loss),
        attribution=sum((part.attribution for part in thin.values()), frame.attribution),
    )
