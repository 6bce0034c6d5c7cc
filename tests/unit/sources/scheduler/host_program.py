"""Parts of the kernel side as a program of this host, with maps that a test makes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BPF = HERE.parents[3] / "bpf"
_OPTIONS = (
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


def run_on_host(source: str, directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Compiles a C file that lies beside this one, and runs it: what it has printed, and its status."""
    compiler = shutil.which("clang") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler")
    program = directory / Path(source).stem
    subprocess.run([compiler, *_OPTIONS, "-o", str(program), str(HERE / source)], check=True)
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=60, check=False)
