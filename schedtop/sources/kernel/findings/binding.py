"""What the compiler lacks: bcc's Python binding, or our sources for it."""

from __future__ import annotations

from pathlib import Path

from schedtop.base.finding import Finding
from schedtop.sources.kernel.bcc_child import DISTRIBUTION
from schedtop.sources.kernel.findings.repairs import install_bcc

LOST = "the kernel programs, unless they were compiled before: everything but --source proc"

OTHERS = "python3-bpfcc (Debian, Ubuntu), python3-bcc (Fedora, openSUSE) or python-bcc (Arch)"


def no_bcc(interpreter: str = DISTRIBUTION, install: str | None = None) -> Finding:
    """That neither our interpreter nor the distribution's has bcc."""
    install = install_bcc() if install is None else install
    found = f"the bcc Python binding is missing, for schedtop's own interpreter and for {interpreter}"
    advice = f"(elsewhere: {OTHERS})" if install else f"install {OTHERS}"
    return Finding("bcc", "missing", found, LOST, install, advice, {"version": None, "libraries": {}})


def sources(directory: Path | None, expected: Path) -> Finding:
    """Whether bpf/ is there (`None`: it is not where it is `expected`)."""
    if directory is None:
        found = f"the kernel programs' sources are missing: expected {expected}"
        advice = "install schedtop again"
        return Finding("sources", "missing", found, LOST, advice=advice, details={"path": None})
    return Finding("sources", "ok", str(directory), details={"path": str(directory)})
