"""Percent in a few cells, for columns with a header that says percent."""

from __future__ import annotations


def percent(ratio: float | None) -> str:
    """A ratio (0..1) as at most four characters of percent without the sign, `-` if it is not available."""
    if ratio is None:
        return "-"
    value = ratio * 100
    return f"{value:.0f}" if value >= 99.95 or value == 0 else f"{value:.1f}"
