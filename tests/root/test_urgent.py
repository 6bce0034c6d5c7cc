"""The screen's threads go first, nothing that they start does, and who never pauses loses it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.root

PROGRAM = """
import os, subprocess, sys, threading, time
from schedtop.ui.urgent import urgent

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
