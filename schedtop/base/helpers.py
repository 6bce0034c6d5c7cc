"""Processes of ours that work beside this one. What they take is our own cost as well."""

HELPERS: list[int] = []
"""Their pids. They are single threads, and end with us."""
