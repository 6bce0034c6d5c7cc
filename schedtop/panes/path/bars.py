"""When in an episode something was: a bar over its whole length."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from schedtop.path.segments import BLOCKED, INTERRUPT, QUEUED, RUNNING, THROTTLED, UNKNOWN
from schedtop.widgets.glyphs import SHADE_LEVELS, shaded
from schedtop.widgets.strips import Span

STYLES = {
    RUNNING: "busy",
    QUEUED: "preemption",
    THROTTLED: "steal",
    BLOCKED: "wakeup",
    INTERRUPT: "heat",
    UNKNOWN: "dim",
    "": "dim",
}
"""By what was done; the words beside the bar say it, too."""

NONE = "·"
"""A cell in which it was not."""


def time_bar(coverage: npt.NDArray[np.float64], style: str) -> list[Span]:
    """A cell for each part of the episode, shaded by how much of it is covered (0..1): more than nothing is seen."""
    levels = np.ceil(np.clip(coverage, 0.0, 1.0) * (SHADE_LEVELS - 1) - 1e-6).astype(np.intp)
    # The faintest shade is left out: beside the mark for nothing it would look like nothing.
    return shaded(np.where(levels > 0, levels + 1, 0), style, NONE)
