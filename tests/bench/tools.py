"""The tools that schedtop is compared with: found where distributions put them, started, and ended."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]

ATTACH_TIMEOUT_S = 30.0
_SETTLED_S = 0.4
_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/share/bcc/tools:/usr/share/bpftrace/tools"


class NotHere(Exception):
    """Something cannot be measured on this machine; the text says why."""


def find(*names: str, binary: bool = False) -> str:
    """The path of the first of these commands; `binary`: not a script. Raises NotHere."""
    for name in names:
        path = shutil.which(name, path=_PATH)
        if path and not (binary and Path(path).read_bytes()[:4] != b"\x7fELF"):
            return path
    raise NotHere(f"{' or '.join(names)} is not installed")


def runqlat() -> list[str]:
    """libbpf-tools' runqlat (Fedora names it bpf-runqlat)."""
    return [find("runqlat", "bpf-runqlat", binary=True)]


def runqslower() -> list[str]:
    """libbpf-tools' runqslower."""
    return [find("runqslower", "bpf-runqslower", binary=True)]


def offcputime() -> list[str]:
    """libbpf-tools' offcputime, for longer than anything here takes."""
    return [find("offcputime", "bpf-offcputime", binary=True), "-m", "1", "600"]


def bcc_runqlat() -> list[str]:
    """bcc's Python runqlat: a script, and so not the one of libbpf-tools."""
    return [find("runqlat-bpfcc", "/usr/share/bcc/tools/runqlat")]


def bpftrace_runqlat() -> list[str]:
    """bpftrace's runqlat.bt without its include, which BTF replaces, and which fails where there are no headers."""
    script = Path(find("runqlat.bt")).read_text()
    text = script.replace("#include <linux/sched.h>", "").replace("TASK_RUNNING", "0")
    return [find("bpftrace"), "-e", text]


def schedtop(python: str, *arguments: str) -> list[str]:
    """The program of this checkout; its screen as it is without anybody's config."""
    shows = not arguments or arguments[0].startswith("-")
    return [python, "-m", "schedtop", *(["--no-config"] if shows else []), *arguments]


@contextmanager
def running(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """The command while it runs, from when its kernel programs are attached. Raises NotHere if that does not come."""
    with tempfile.TemporaryFile() as said, ended(start(command, said)) as process:
        wait_attached(process, said)
        yield process


def start(command: Sequence[str], said: IO[bytes] | int) -> subprocess.Popen[bytes]:
    """Starts a command in the checkout; what it says goes to `said`."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, cwd=ROOT)


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Ends the process at the end of the block, whatever happens."""
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_attached(process: subprocess.Popen[bytes], said: IO[bytes] | None = None) -> None:
    """Returns when the process holds kernel programs, and as many as a moment before. Raises NotHere."""
    deadline = time.monotonic() + ATTACH_TIMEOUT_S
    held, since = 0, time.monotonic()
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise NotHere(f"{_name(process)} does not start: {why_ended(said)}")
        now_held = programs_held(process.pid)
        if now_held != held:
            held, since = now_held, time.monotonic()
        if held and time.monotonic() - since > _SETTLED_S:
            return
        time.sleep(0.05)
    raise NotHere(f"it attached nothing within {ATTACH_TIMEOUT_S:.0f} s")


def programs_held(pid: int) -> int:
    """How many descriptors of the process are kernel programs or their attachments. Others' programs do not count."""
    held = 0
    try:
        for entry in Path(f"/proc/{pid}/fdinfo").iterdir():
            try:
                held += "prog_id:" in entry.read_text()
            except OSError:  # closed meanwhile
                continue
    except OSError:
        return 0
    return held


def _name(process: subprocess.Popen[bytes]) -> str:
    words = process.args
    return Path(str(words[0] if isinstance(words, list) else words)).name


def others_programs() -> list[str] | None:
    """Tracing programs that somebody has loaded, as type and name; `None` if that cannot be found out."""
    try:
        listing = subprocess.run([find("bpftool"), "prog", "show", "-j"], capture_output=True, check=True).stdout
        programs = json.loads(listing)
    except (NotHere, OSError, subprocess.SubprocessError, ValueError):
        return None
    kinds = ("tracing", "raw_tracepoint", "tracepoint", "kprobe", "perf_event")
    return [f"{program['type']} {program.get('name', '?')}" for program in programs if program.get("type") in kinds]


def why_ended(said: IO[bytes] | None) -> str:
    """The line of what a tool said that explains best why it ended."""
    if said is None:
        return "it ended"
    said.seek(0)
    lines = [line.strip() for line in said.read().decode(errors="replace").splitlines() if line.strip()]
    for word in ("kernel headers", "Permission", "error:", "Error", "ERROR"):
        for line in lines:
            if word in line:
                return line.split(". ")[0][:100]
    return lines[-1][:100] if lines else "it said nothing"
