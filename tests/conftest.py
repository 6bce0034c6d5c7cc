"""What all tests need."""

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# Background jobs of a shell ignore some, what `nohup` starts another, their children too: then no command that a test
# interrupts or hangs up would ever end.
signal.signal(signal.SIGINT, signal.default_int_handler)
for ignored in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(ignored, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--snapshot-update`: what tests/unit/ui/test_snapshots.py compares with is written anew."""
    parser.addoption("--snapshot-update", action="store_true", help="write the snapshots of the screen anew")


# Before schedtop is imported, which goes back to what it has found. Saves a tenth of the time of the screen's tests.
gc.set_threshold(50_000)


def pytest_collection_finish() -> None:
    """What is imported and collected by now stays: garbage is looked for among the rest."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says why tests needed another chance: they passed, so nothing else does."""
    for report in terminalreporter.stats.get("rerun", ()):
        terminalreporter.section(f"first chance of {report.nodeid}")
        terminalreporter.write_line("\n".join(report.longreprtext.splitlines()[-MOST_LINES:]))


MOST_LINES = 60
"""How much of a failure is shown that another chance has made good."""


@pytest.fixture(scope="session", autouse=True)
def no_config() -> Iterator[None]:
    """Commands that tests start neither read the config of whoever runs the tests nor write it."""
    # Not below pytest's own directory: tests of what sudo does have another user look into it.
    base = Path(tempfile.mkdtemp(prefix="schedtop-config-"))
    place = base / "schedtop"
    place.mkdir()
    (place / "config.toml").write_text("remember = false\n")
    before = os.environ.get("XDG_CONFIG_HOME")
    os.environ["XDG_CONFIG_HOME"] = str(base)
    yield
    if before is None:
        del os.environ["XDG_CONFIG_HOME"]
    else:
        os.environ["XDG_CONFIG_HOME"] = before
    shutil.rmtree(base)
