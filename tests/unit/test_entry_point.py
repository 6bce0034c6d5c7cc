"""Ctrl-c while the program's modules are imported: the exit status says it, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRESSED = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(0.01)\nraise SystemExit(77)\n"


def script() -> str:
    """What the installed command runs."""
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["schedtop"]
    module, function = entry.split(":")
    return f"import sys\nfrom {module} import {function}\nsys.exit({function}())"


@pytest.mark.parametrize("arguments", [("-m", "schedtop"), ("-c", script())], ids=["module", "script"])
@pytest.mark.parametrize("ignored", [False, True])
def test_ctrl_c_during_the_imports_ends_without_words(
    arguments: tuple[str, ...], ignored: bool, tmp_path: Path
) -> None:
    (tmp_path / "click.py").write_text(PRESSED)
    done = subprocess.run(
        [sys.executable, *arguments, "--version"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.SIG_DFL),
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (77 if ignored else 130, "", "")
