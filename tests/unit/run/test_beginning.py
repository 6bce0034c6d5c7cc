"""The first steps of every command line."""

from __future__ import annotations

import os
import subprocess
import sys

CODE = """
from schedtop.run.beginning import begin
begin([])
print(open("/proc/self/comm").read(), end="")
"""


def test_program_is_called_by_its_name_and_not_python() -> None:
    # While a shell completes, nothing else is begun.
    environment = os.environ | {"_SCHEDTOP_COMPLETE": "bash_complete"}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "schedtop\n"
