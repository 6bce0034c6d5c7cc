"""The script that starts a storm of short-lived tasks, in the verdict on it."""

from __future__ import annotations

import re
from dataclasses import replace

from schedtop.base.scripts import script_of
from schedtop.ui.screens.dashboard.live.undo import processes_in
from schedtop.verdict.verdict import Verdict


def with_script(verdict: Verdict) -> Verdict:
    """The verdict on a storm of this host; behind the name of an interpreter that starts it the name of its script."""
    starters = processes_in(verdict.command) if verdict.rule == "forks" else ""
    if not starters:
        return verdict
    scripts = {script_of(pid) for pid in starters.split()}
    interpreters = {name for name, _ in scripts}
    if len(scripts) != 1 or "" in interpreters:
        return verdict
    ((interpreter, script),) = scripts
    starter = re.compile(rf"(^|; | by ){re.escape(interpreter)}(?=( \(\d+\))? (starts|take) | \(\d+ %\))")
    return replace(verdict, headline=starter.sub(lambda found: f"{found[0]} {script}", verdict.headline, count=1))
