"""When in an episode something was: a bar over its whole length."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from schedtop.path.segments import BLOCKED, INTERRUPT, QUEUED, RUNNING, THROTTLED, UNKNOWN

SHADES = "·░▒▓█"
"""By how much of a cell's time it was: the first one for none of it."""

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

_GLYPHS = np.array(list(SHADES))


def time_bar(coverage: npt.NDArray[np.float64]) -> str:
    """A cell for each part of the episode, shaded by how much of it is covered (0..1): more than nothing is seen."""
    levels = np.ceil(np.clip(coverage, 0.0, 1.0) * (len(SHADES) - 1) - 1e-6).astype(np.intp)
    return "".join(_GLYPHS[np.maximum(levels, 0)].tolist())
