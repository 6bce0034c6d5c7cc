"""The place of a task at its first sight, when events of it come on two CPUs at once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BPF = HERE.parents[3] / "bpf"


@pytest.mark.parametrize("arguments", [(), ("start",)], ids=["tracepoint", "btf"])
def test_a_task_has_one_place_however_its_first_events_interleave(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """It had two, of which one waited for ever, or what one CPU had written was wiped by the other."""
    compiler = shutil.which("clang") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler")
    program = tmp_path / "first_sight"
    options = (
        "-std=gnu11",
        "-O1",
        "-w",
        "-I",
        str(BPF),
        "-I",
        str(BPF / "include"),
        "-include",
        "bcc.h",
        "-DFEWEST_FLAGS",
    )
    subprocess.run([compiler, *options, "-o", str(program), str(HERE / "first_sight.c")], check=True)
    run = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60)
    assert not run.stdout
    assert run.returncode == 0
