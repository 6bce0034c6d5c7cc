"""The most memory that a program held, by the kernel's account of it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

# By a small process of its own: a program's account begins with what the one held that started it.
_RUNNER = """
import json, os, resource, subprocess, sys
most, words = int(sys.argv[1]), sys.argv[2:]
limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))
child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limit)
said = child.stderr.read().decode(errors="replace")
_, status, used = os.wait4(child.pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), said, used.ru_maxrss * 1024]))
"""

_MOST_BYTES = 6 << 30
"""So much address space it gets: what is broken shall not take the host's memory."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: its status, what it said on standard error, and the most memory that it held, in bytes."""

    status: int
    said: str
    peak_bytes: int


def run(*words: str) -> Ended:
    """Runs a command line of this interpreter to its end."""
    runner = [sys.executable, "-Ic", _RUNNER, str(_MOST_BYTES), sys.executable, *words]
    done = subprocess.run(runner, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=300)
    return Ended(*json.loads(done.stdout))
