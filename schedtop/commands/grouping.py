"""`--group`: what tasks are added up by, as words of a command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GROUP_NAMES = ("thread", "process", "cgroup", "container", "pidns")
"""`rows.GROUPS` as words of a command line; its module would bring numpy with it."""


def group_of(options: Mapping[str, Any]) -> str:
    """One of GROUPS, empty if none was asked for."""
    return "pid namespace" if options["group"] == "pidns" else options["group"] or ""
