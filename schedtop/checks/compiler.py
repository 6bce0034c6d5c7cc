"""The compiler: which bcc there is, and the programs that it made before."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedtop.base.environment import child_environment
from schedtop.base.finding import Finding
from schedtop.sources.kernel.bcc_child import NO_BCC
from schedtop.sources.kernel.cache_directory import is_ours
from schedtop.sources.kernel.findings.binding import LOST, no_bcc
from schedtop.sources.kernel.findings.repairs import install_bcc

OLDEST = (0, 18)
"""The first bcc with the headers that bpf/include was made for."""

PATIENCE_S = 10.0


def bcc(command: Sequence[str]) -> Finding:
    """Which bcc the compiler's child has. `command` asks it: a JSON object, or a status that is not 0."""
    try:
        child = subprocess.run(
            command, capture_output=True, timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL,
            env=child_environment(),
        )  # fmt: skip
        about: Mapping[str, Any] = json.loads(child.stdout) if child.returncode == 0 else {}
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return _broken(str(error))
    why = child.stderr.decode("utf-8", "replace").strip().splitlines()
    if child.returncode not in (0, NO_BCC):
        return _broken(why[-1] if why else f"it ended with {child.returncode}")
    if child.returncode:
        finding = no_bcc()
        details = {**finding.details, "said": why}
        return Finding("bcc", "missing", finding.found, LOST, finding.repair, finding.advice, details)
    return _found(about)


def _broken(why: str) -> Finding:
    found = f"the compiler's child cannot be asked for its bcc: {' '.join(why.split())}"
    return Finding("bcc", "degraded", found, details={"version": None, "libraries": {}})


def _found(about: Mapping[str, Any]) -> Finding:
    libraries = {name: number for path in about.get("libraries", ()) if (name := _library(path)[0])
                 for number in [_library(path)[1]]}  # fmt: skip
    version = about.get("version") or libraries.get("libbcc") or ""
    details = {**about, "libraries": libraries, "files": list(about.get("libraries", ()))}
    words = [
        version or "no version told",
        *(f"{name} {number}" for name, number in libraries.items() if "bcc" in name or "bpf" in name),
    ]
    if "libbpf" not in libraries:
        words.append("libbpf inside libbcc")
    found = ", ".join(words)
    if about.get("interpreter") != sys.executable:
        found += f", through {about.get('interpreter', 'another Python')}"
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if numbers and numbers < OLDEST:
        lost = "perhaps the kernel programs: this version was never tried"
        return Finding("bcc", "degraded", found, lost, install_bcc(), "of a newer distribution", details)
    return Finding("bcc", "ok", found, details=details)


def _library(path: str) -> tuple[str, str]:
    """`libbcc`, `0.26.0` of /usr/lib/libbcc.so.0.26.0."""
    found = re.fullmatch(r"(lib\w+?)(?:-(\d[\d.]*))?\.so(?:\.([\d.]+))?.*", os.path.basename(path))
    return (found[1], found[2] or found[3] or "?") if found else ("", "")


def cache(directory: Path | None, variable: str) -> Finding:
    """Whether compiled programs can be kept: in a directory that is ours, and that no other user can write to."""
    lost = "half a second to seconds of each start: nothing compiled is kept"
    if directory is None:
        return Finding("cache", "degraded", f"switched off by {variable}", lost, f"unset {variable}",
                       details={"path": None, "programs": None})  # fmt: skip
    details = {"path": str(directory), "programs": 0}
    if not os.path.lexists(directory):
        above = next((path for path in directory.parents if os.path.exists(path)), Path("/"))
        if os.access(above, os.W_OK):
            return Finding("cache", "ok", f"{directory}, will be made", details=details)
        found = f"{directory} cannot be made: {above} is not writable"
        return Finding("cache", "degraded", found, lost, advice=f"set {variable} to a directory of yours",
                       details=details)  # fmt: skip
    if not is_ours(directory) or not os.access(directory, os.W_OK):
        found = f"{directory} is not used: it is not ours alone to write to"
        repair = f"chown {os.geteuid()} {directory} && chmod 700 {directory}"
        return Finding("cache", "degraded", found, lost, repair if os.geteuid() == 0 else f"sudo sh -c '{repair}'",
                       details=details)  # fmt: skip
    details["programs"] = len(list(directory.glob("*.json")))
    return Finding("cache", "ok", f"{directory}, {details['programs']} kept", details=details)
