"""Memory of large arrays goes back to the system, also when something small was made after them."""

import subprocess
import sys

import pytest

_CODE = """
import sys
import numpy as np
from schedtop.ui.memory import return_large_arrays

def own():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))

if sys.argv[1] == "told":
    return_large_arrays()
for _ in range(3):
    np.ones(1 << 21)
before, large, small = own(), [], []
for _ in range(40):
    large.append(np.ones(1 << 18))
    small.append(bytearray(200_000))
large.clear()
print(own() - before)
"""


def left(told: str) -> int:
    """KiB that 40 arrays of 2 MiB leave behind, with 8 MiB of other things in use."""
    command = [sys.executable, "-c", _CODE, told]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_large_arrays_leave_nothing_behind() -> None:
    assert left("told") < 20 << 10
