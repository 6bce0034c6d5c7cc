"""What only keys need is not imported before: a dashboard is to start soon, and to hold little."""

import subprocess
import sys

LISTS = """
import sys
import schedtop.commands.dashboard, schedtop.commands.on_demand, schedtop.sources.scheduler.source, schedtop.ui.app
print(*sys.modules)
"""

AT_KEYS = (
    "task",
    "offcpu",
    "entitlement",
    "sources.proc",
    "outputs.recording",
    "outputs.scheduler",
)


def test_what_keys_open_is_imported_at_the_key() -> None:
    loaded = subprocess.run([sys.executable, "-c", LISTS], capture_output=True, text=True, check=True).stdout.split()
    assert "schedtop.ui.screens.dashboard.screen" in loaded
    assert "curses" not in loaded, "only where TERM and COLORTERM do not tell how many colours there are"
    parts = [name.removeprefix("schedtop.") for name in loaded if name.startswith("schedtop.")]
    assert not [part for part in parts if f"{part}.".startswith(tuple(f"{one}." for one in AT_KEYS))]
