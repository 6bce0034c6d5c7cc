"""Short-lived tasks as fields of the snapshot, described in docs/snapshot-tasks.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from schedtop.history.view import View
from schedtop.model.rows import Rows, rows_where, text
from schedtop.model.short_lived import (
    EXIT_UNKNOWN,
    FOLDED,
    by_command,
    by_exit_code,
    by_parent,
    ending_words,
    exit_signal,
    exit_status,
    sort_commands,
)

_COUNTS = ("count", "run_ns", "run_delay_ns", "max_wait_ns", "lived_ns", "switches")
WORDED_CODES = 3
MOST_COMMANDS, MOST_PARENTS, MOST_CODES = 50, 5, 10


def short_lived_fields(view: View) -> dict[str, Any]:
    """All short-lived tasks of the View, and the commands with most of them by its order."""
    rows, has_latency = view.short_lived, "latency" not in view.frame.unavailable
    commands = sort_commands(by_command(rows), view.settings.short_lived_sort)
    return {
        "processes": int(rows["count"][rows["is_thread"] == 0].sum()),
        "threads": int(rows["count"][rows["is_thread"] != 0].sum()),
        "run_ns": int(rows["run_ns"].sum()),
        "run_delay_ns": int(rows["run_delay_ns"].sum()) if has_latency else None,
        "commands": [_command(view, command) for command in commands[:MOST_COMMANDS]],
    }


def _command(view: View, command: np.void) -> dict[str, Any]:
    rows = _own(view.short_lived, command)
    unavailable = view.frame.unavailable
    codes = None if "exit_codes" in unavailable or command["is_thread"] or command["is_folded"] else by_exit_code(rows)
    counts: dict[str, int | None] = {name: int(command[name]) for name in _COUNTS}
    if "latency" in unavailable:
        counts |= dict.fromkeys(("run_delay_ns", "max_wait_ns"))
    return {
        "comm": None if command["is_folded"] else text(command["comm"]),
        "kind": "thread" if command["is_thread"] else "process",
        **counts,
        **{name: None if codes is None else int(command[name]) for name in ("succeeded", "failed", "killed")},
        "exit_codes": None
        if codes is None
        else [
            {"status": exit_status(code), "signal": exit_signal(code), "count": count}
            for code, count in codes[:MOST_CODES]
        ],
        "parents": [
            {"comm": text(parent.comm) or None, "tgid": parent.tgid or None, "count": parent.count}
            for parent in by_parent(rows)[:MOST_PARENTS]
        ],
    }


def command_name(command: Mapping[str, Any]) -> str:
    """What a command of `short_lived_fields` is called; threads are said to be such."""
    name = "(other commands)" if command["comm"] is None else command["comm"] or "?"
    return f"{name} (threads)" if command["kind"] == "thread" else name


def endings_words(command: Mapping[str, Any]) -> str:
    """How those of a command ended: `ok`, or what else: `2 exit 1, 1 SIGKILL`; `-` if it is not known."""
    codes = command["exit_codes"]
    if codes is None:
        return "-"
    bad = [code for code in codes if code["status"] != 0]
    words = [f"{code['count']} {ending_words(code['status'], code['signal'])}" for code in bad[:WORDED_CODES]]
    return ", ".join([*words, *(["..."] if len(bad) > WORDED_CODES else [])]) or ("ok" if codes else "-")


def starter_name(command: Mapping[str, Any]) -> str:
    """The task that started most of them: `make (1234)`, and how many others did (`+2`)."""
    parents = command["parents"]
    if not parents or not parents[0]["comm"]:
        return "-"
    number = f" ({parents[0]['tgid']})" if parents[0]["tgid"] else ""
    return f"{parents[0]['comm']}{number}" + (f" +{len(parents) - 1}" if len(parents) > 1 else "")


def _own(rows: Rows, command: np.void) -> Rows:
    """The rows that a command's is made of."""
    folded = (rows["exit_code"] == FOLDED) == bool(command["is_folded"])
    own = folded & (rows["comm"] == command["comm"]) & (rows["is_thread"] == command["is_thread"])
    return rows_where(rows, own)


def task_ending(task: dict[str, Any], has_codes: bool) -> dict[str, Any]:
    """The parent of a task and how it ended; `task` has the fields of TASK_DTYPE."""
    code = task["exit_code"] if task["ended"] and has_codes else EXIT_UNKNOWN
    return {
        "parent_tgid": task["parent_tgid"] or None,
        "parent": text(task["parent"]) or None,
        "ended": bool(task["ended"]),
        "exit_status": exit_status(code),
        "exit_signal": exit_signal(code),
    }
