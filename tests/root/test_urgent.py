"""The screen's threads go first, nothing that they start does, and who never pauses loses it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.root

PROGRAM = """
import os, subprocess, sys, threading, time
from schedtop.ui.terminal.urgent import urgent

def policy(thread=0):
    return os.sched_getscheduler(thread) & ~os.SCHED_RESET_ON_FORK

with urgent(True) as urgency:
    assert policy() == os.SCHED_RR
    waiting = threading.Event()
    thread = threading.Thread(target=waiting.wait)
    thread.start()
    assert policy(thread.native_id) == os.SCHED_OTHER
    urgency.keep()
    assert policy(thread.native_id) == os.SCHED_RR
    code = "import os; print(os.sched_getscheduler(0))"
    assert int(subprocess.check_output([sys.executable, "-c", code])) == os.SCHED_OTHER
    deadline = time.monotonic() + 30
    while policy() == os.SCHED_RR and time.monotonic() < deadline:
        pass  # without a pause
    assert policy() == policy(thread.native_id) == os.SCHED_OTHER
    urgency.keep()
    assert policy() == os.SCHED_OTHER
    waiting.set()
with urgent(True):
    assert policy() == os.SCHED_RR
assert policy() == os.SCHED_OTHER
with urgent(False) as urgency:
    urgency.keep()
    assert policy() == os.SCHED_OTHER
"""


def test_threads_go_first_until_one_never_pauses() -> None:
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, check=True, timeout=60)


TOO_MUCH = """
import os, subprocess, time
from schedtop.ui.terminal import urgent

urgent.SHARE_S = 0.5
with urgent.urgent(True) as urgency:
    other = subprocess.Popen(["sleep", "60"], process_group=0)
    try:
        os.sched_setscheduler(other.pid, os.SCHED_RR, os.sched_param(1))
        urgency._raised.add(other.pid)  # as if the number of a thread of ours that has ended were now another's
        deadline = time.monotonic() + 30
        while os.sched_getscheduler(0) & os.SCHED_RR and time.monotonic() < deadline:
            until = time.process_time() + 0.05
            while time.process_time() < until:
                pass
            time.sleep(0.001)  # the kernel's count begins anew
            urgency.keep()
        assert os.sched_getscheduler(0) == os.SCHED_OTHER
        assert os.sched_getscheduler(other.pid) == os.SCHED_RR, "somebody else's"
    finally:
        other.kill()
        other.wait()
"""


def test_urgent_thread_over_its_limit_loses_priority_and_others_keep_theirs() -> None:
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", TOO_MUCH], cwd=root, check=True, timeout=60)
