"""As an ordinary user with capabilities, each dropped in turn: what works with them, and what is said without."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from schedtop.sources.kernel.cache_directory import DIRECTORY_VARIABLE

pytestmark = pytest.mark.beside

NOBODY = 65534
REPOSITORY = Path(__file__).parents[2]

PROGRAM = """
import ctypes, json, os, subprocess, sys, threading
from tests.unit.sources.contract import check_frames
from schedtop.model.source import SourceError
from schedtop.sources.kernel.findings.privileges import CAPABILITIES
from schedtop.sources.task.source import LiveTaskSource
from schedtop.sources.scheduler.source import LiveSource
from schedtop.sources.offcpu.source import LiveOffCpu
from schedtop.sources.scope import Scope

MS = 1_000_000

def keep(*names):
    "Drops all other capabilities, for good."
    mask = sum(1 << CAPABILITIES[name] for name in names)
    sets = [half for shift in (0, 32) for half in [(mask >> shift) & 0xFFFFFFFF] * 3]
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*sets)
    assert not ctypes.CDLL(None, use_errno=True).syscall({"x86_64": 126, "aarch64": 91}[os.uname().machine],
                                                         header, data), os.strerror(ctypes.get_errno())

def of_kernel(pid):
    "The switches of a thread until now."
    lines = open(f"/proc/{pid}/status").read().splitlines()
    return sum(int(line.split()[1]) for line in lines if "voluntary_ctxt_switches" in line)

def counted(source):
    "What is seen of a child that lives and stops within the intervals: the kernel's own count of it must be met."
    with LiveSource(100 * MS, 100_000, source) as live:
        live.set_measuring(True)
        live.set_sampling(True)
        coming = live.frames(threading.Event())
        frames = [next(coming)]
        load = "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.003; done; kill -STOP $$"
        with subprocess.Popen(["sh", "-c", load]) as child:
            os.waitpid(child.pid, os.WUNTRACED)
            ours, kernels = 0, of_kernel(child.pid)
            while ours != kernels and len(frames) < 30:  # it may still be on its way out of its CPU
                frames.append(next(coming))
                ours, kernels = switches_of(frames, child.pid), of_kernel(child.pid)
            child.kill()
        check_frames(frames)
    total = sum(frames[1:], start=frames[0])
    return {"counts": (ours, kernels), "lacks": dict(total.unavailable), "samples": int(total.queue.samples.sum())}

def switches_of(frames, tid):
    rows = [frame.tasks[frame.tasks["tid"] == tid] for frame in frames]
    return sum(int(row["voluntary_switches"].sum() + row["involuntary_switches"].sum()) for row in rows)

def refused(source):
    try:
        counted(source)
    except SourceError as error:
        return str(error)

said = {}
stop = threading.Event()
keep("cap_bpf", "cap_perfmon", "cap_dac_read_search")
said["tracepoint"] = counted("tracepoint")
keep("cap_bpf", "cap_perfmon")
said["no tracefs"] = refused("tracepoint")
said["btf"] = counted("btf")
with LiveTaskSource(1, True, 100 * MS) as task:
    said["task"] = dict(task.look(100 * MS, stop).unavailable)
with LiveOffCpu(Scope(tgids=(int(sys.argv[1]),))) as offcpu:
    measured = offcpu.take(300 * MS, stop)
said["offcpu"] = {"notes": measured.notes, "threads": [row.comm for row in measured.rows],
                  "missing": sorted({row.user.missing for row in measured.rows})}
keep("cap_bpf")
said["no perfmon"] = refused("btf")
keep()
said["nothing"] = refused("btf")
print(json.dumps(said))
"""


@pytest.fixture
def cache() -> Iterator[Path]:
    """What root has compiled, as that user's own."""
    directory = Path(tempfile.mkdtemp())
    for file in Path(os.environ[DIRECTORY_VARIABLE]).glob("*.json"):
        with suppress(FileNotFoundError):  # other tests drop what is old
            shutil.copy(file, directory)
    for path in (directory, *directory.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    yield directory
    for file in directory.glob("*.json"):  # compiled once for the tests that follow, too
        os.chown(file, 0, 0)
        shutil.move(file, Path(os.environ[DIRECTORY_VARIABLE], file.name))
    shutil.rmtree(directory)


def as_nobody(capabilities: str, cache: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command as user nobody with these capabilities and no others."""
    grant = f"-all,{capabilities}" if capabilities else "-all"
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", f"--bounding-set={grant}"]
    paths = f"{REPOSITORY}:{REPOSITORY / 'tests' / 'sources'}"
    run = subprocess.run(
        [*user, f"--inh-caps={grant}", f"--ambient-caps={grant}", *command],
        capture_output=True,
        text=True,
        cwd="/",
        env=os.environ | {DIRECTORY_VARIABLE: str(cache), "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )
    if "Permission denied" in run.stderr or "No module named" in run.stderr:
        pytest.skip("the checkout is not readable for an ordinary user")
    return run


def check_counts(counted: dict[str, Any]) -> None:
    """Exact as for root; what needs more is named."""
    ours, kernels = counted["counts"]
    assert ours == kernels > 9
    of_tracepoints = {"exit_codes", "throttled_ns"}
    assert set(counted["lacks"]) - of_tracepoints == {"overhead"} and "CAP_SYS_ADMIN" in counted["lacks"]["overhead"]
    assert counted["samples"] > 0


def test_each_capability_is_good_for_what_the_docs_say(cache: Path) -> None:
    with subprocess.Popen(["sh", "-c", "while :; do sleep 0.01; done"]) as of_root:
        try:
            run = as_nobody("+bpf,+perfmon,+dac_read_search", cache, sys.executable, "-c", PROGRAM, str(of_root.pid))
        finally:
            of_root.kill()
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    check_counts(said["tracepoint"])
    check_counts(said["btf"])
    assert "tracing is not readable for this user" in said["no tracefs"]
    assert "CAP_SYS_PTRACE" in said["task"]["beginning"]
    # Since 6.14 CAP_PERFMON is enough to see what others have mapped.
    denied = any("CAP_SYS_PTRACE" in note for note in said["offcpu"]["notes"])
    assert said["offcpu"]["threads"] and ("not permitted" in said["offcpu"]["missing"]) == denied
    assert any("CAP_SYSLOG" in note for note in said["offcpu"]["notes"])
    assert "lacking: cap_perfmon" in said["no perfmon"]
    assert "cap_bpf and cap_perfmon" in said["nothing"]
