"""Facts of a snapshot or a report in words: what was let through, and what is missing for which reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schedtop.base.units import format_count

MOST_NAMED = 3
"""So many hosts are named in a sentence."""

_TYPED = {"pid_namespace": "pidns:", "tid_or_tgid": ""}
"""Parts of a filter that are typed in another way than they are called."""


def filter_words(filters: Mapping[str, Any]) -> str:
    """What was let through, in words; empty: everything."""
    others = {key: values for key, values in filters.items() if values and key not in ("scope", "not_tgid")}
    chosen = [f"{_TYPED.get(key, f'{key}:')}{','.join(map(str, values))}" for key, values in others.items()]
    # A number of its own would say nothing later: it is always schedtop itself.
    hidden = ["--hide-self"] * bool(filters.get("not_tgid"))
    return " ".join(filter(None, (filters["scope"], *chosen, *hidden)))


def by_reason(unavailable: Mapping[str, str]) -> list[tuple[str, str]]:
    """What is missing for the same reason in one line: names of parts, and why."""
    parts: dict[str, list[str]] = {}
    for part, why in unavailable.items():
        parts.setdefault(why, []).append(part)
    return [(", ".join(names), why) for why, names in parts.items()]


def loss_words(loss: Mapping[str, Any]) -> str:
    """What was lost, empty if nothing was."""
    return ", ".join(f"{name.replace('_', ' ')}: {format_count(count)}" for name, count in loss.items() if count)


def named(names: Sequence[str]) -> str:
    """Names for a sentence: a few, and how many more."""
    shown = ", ".join(names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
