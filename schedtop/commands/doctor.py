"""`schedtop doctor`: what this host has of what schedtop needs, and a test of its counts."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence

from schedtop.base.ascii import to_ascii
from schedtop.base.finding import Finding
from schedtop.checks.examination import GROUPS, Checked, examine, safely, works
from schedtop.checks.self_test import live_self_test, not_tried, proc_self_test
from schedtop.config.load import load_config
from schedtop.outputs.doctor import Examination, to_json, to_text
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.stdout import write_stdout
from schedtop.run.threads import in_thread


def run(signals: Signals, *, as_json: bool, verbose: bool, tests: bool, ascii_only: bool) -> int:
    """What the command does, by its options; gives the exit status."""
    with progress("looking at this host"):
        checked = in_thread(lambda: examine_all(tests, verbose), signals)
    signals.check()
    findings = [(one.group, one.finding) for one in checked]
    system = os.uname()
    found = Examination(system.nodename, system.release, time.time_ns(), GROUPS, findings)
    text = to_json(found) if as_json else to_text(found, verbose=verbose, coloured=_is_coloured())
    with signals.raising():
        write_stdout(to_ascii(text) if ascii_only else text)
    return found.status


def examine_all(tests: bool, verbose: bool) -> list[Checked]:
    """The findings of all checks, the self-test last."""

    checked = examine()
    checked += [
        Checked("schedtop", safely(name, check)) for name, check in (("config", config), ("terminal", terminal))
    ]
    if not tests:
        return checked
    tested = [Checked("self_test", finding) for finding in self_test(checked)]
    if tested[0].finding.state != "ok":
        return checked + tested + [Checked("self_test_proc", finding) for finding in proc_self_test()]
    if verbose and tested[0].finding.details["source"] != "tracepoint":
        # It is a fallback: what goes wrong with it does not keep anything from working.
        tested += works(Checked("self_test_tracepoint", finding) for finding in live_self_test("tracepoint"))
    return works(checked) + tested


def self_test(checked: Iterable[Checked]) -> Sequence[Finding]:
    """The self-test of the front end that `auto` chooses, unless it is known that it cannot work."""

    # Without bcc there may still be programs that were compiled before.
    missing = [one.finding for one in checked if one.finding.state == "missing" and one.finding.name != "bcc"]
    return [not_tried(missing)] if missing else live_self_test("auto")


def config() -> Finding:
    """Whether the user's config file says something that cannot be."""
    # Late: as in `terminal`.
    from schedtop.ui.keys.own_keys import make_keymap

    found = load_config()
    problems = [*found.problems, *(f"{found.path}: {problem}" for problem in make_keymap(found.bindings).problems)]
    details = {"path": str(found.path) if found.path else None, "exists": found.exists, "problems": problems}
    if problems:
        return Finding("config", "degraded", "; ".join(problems), "what these lines say: defaults hold",
                       advice="correct the file; `schedtop config` explains each key", details=details)  # fmt: skip
    return Finding("config", "ok", str(found.path) if found.exists else "none: the defaults hold",
                   details=details)  # fmt: skip


def terminal() -> Finding:
    """What the terminal is and can."""
    # Late: a screen's library that is not installed is a finding of the doctor, not its end.
    from schedtop.ui.terminal.check import terminal

    return terminal()


def _is_coloured() -> bool:
    if sys.stdout is None or not sys.stdout.isatty():
        return False
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
