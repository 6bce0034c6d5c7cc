"""Commands as a user starts them: a process of its own, in a directory of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import schedtop


def run_in(directory: Path, *arguments: str, timeout_s: float = 20) -> subprocess.CompletedProcess[str]:
    """What `schedtop ARGUMENTS` does there."""
    return subprocess.run(
        [sys.executable, "-m", "schedtop", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(Path(schedtop.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
