"""Lines that come before the others of a table, as they are about the task that the verdict is about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from schedtop.model.rows import Rows

SEEN = 4
"""What is in so many first lines is seen as it is."""


def brought_first(rows: Rows, places: Sequence[int]) -> Rows | None:
    """The rows with those at these places before the others; `None` if they are seen without that."""
    if not places or max(places) < SEEN:
        return None
    return np.concatenate((rows[places], np.delete(rows, places)))
