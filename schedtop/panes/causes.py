"""Causes in words, until blame has them."""

import numpy as np

from schedtop.rows import CAUSES


def cause_words(row: np.void) -> str:
    """The cause."""
    return CAUSES[row["cause"]] if 0 <= row["cause"] < len(CAUSES) else "?"


def explain(row: np.void) -> str:
    """The cause."""
    return cause_words(row)
