"""Draws what no recording holds: the path of a task and off-CPU time, on the screen and as a flame graph, while a load
that is known runs. Needs root and a C compiler; a picture of it is a real run, so no two are the same."""

from __future__ import annotations

import asyncio
import ctypes
import platform
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.capture.events import Capture
from schedtop.commands.on_demand import on_demand
from schedtop.outputs.path.stacks import to_svg
from schedtop.path.paths import find_paths
from schedtop.path.subject import PathSubject
from schedtop.path.targets import Targets
from schedtop.sources.capture.source import CaptureSource
from schedtop.sources.path import source as path_source
from schedtop.sources.scheduler.source import LiveSource
from schedtop.ui.app import SchedtopApp
from schedtop.ui.screens.offcpu.screen import OffCpuScreen
from schedtop.ui.screens.path.opener import PathOpener
from schedtop.ui.screens.path.screen import PathScreen
from tests.scenes.draw import Shot, set_terminal, tidied
from tests.scenes.loads import quota_group, running
from tests.scenes.scrub import HOST, KERNEL_THREADS, OTHER, OWN

CHAINS = Path("tests/root/chains.c")
PATH_SHOT, OFFCPU_SHOT = Shot("path-screen", "", "", (120, 40)), Shot("live-offcpu", "", "", (120, 40))
FLAME, PATH_FLAME = "offcpu", "path"
"""The names of the flame graphs: of off-CPU time, and of the path."""

GROUP = "orders.service"

CPUS = 2.0
"""The quota of the group, which so holds nothing back: of the group only its weight matters."""

SHOWN_NS = 10 * NS_PER_S
"""How long the path is recorded before the picture is taken."""

FLAME_NS = 5 * NS_PER_S

MOST_S = 150

_LOOP = """
import os, sys
name, group = sys.argv[1:]
open("/proc/self/comm", "w").write(name)
open(group, "w").write("0")
os.sched_setaffinity(0, {1})
os.nice(5)
while True: pass
"""

_KEPT = {b"rpc-worker", b"flusher", b"backup", b"tar", OWN}

_OPTIONS = {"source": "auto", "pid": (), "tid": (), "comm": (), "cgroup": GROUP, "pidns": None}

_CLONE_NEWUTS = 0x04000000  # include/uapi/linux/sched.h; `os` has it from Python 3.12 on


class _Scrubbed(CaptureSource):
    """Names of tasks that are not of the scene are nobody's business."""

    def capture_of(self, *taken: Any, **more: Any) -> Capture:
        found = super().capture_of(*taken, **more)
        names = found.names.copy()
        names["comm"] = [
            name if name in _KEPT or KERNEL_THREADS.match(name) else OTHER for name in names["comm"].tolist()
        ]
        return replace(found, names=names)


def lock_pictures() -> dict[str, str]:
    """A task that waits for a lock, whose holder shares its CPU with two loops: SVGs by their names.

    Raises OSError, SourceError, or subprocess.SubprocessError.
    """
    set_terminal()
    rename_host()
    # Compiled before the load begins, which leaves the compiler little time.
    with CaptureSource(path_ns=NS_PER_MS):
        pass
    with (
        LiveSource(NS_PER_S, 10 * NS_PER_MS) as source,
        tempfile.TemporaryDirectory() as name,
        quota_group(GROUP, CPUS) as group,
    ):
        assert group is not None
        program = Path(name) / "server"
        subprocess.run(["cc", "-O1", "-pthread", "-o", str(program), str(CHAINS)], check=True)
        join = str(group / "cgroup.procs")
        loops = [[sys.executable, "-I", "-S", "-c", _LOOP, task, join] for task in ("backup", "tar")]
        with _server(program, join) as subject, running(loops[0]), running(loops[1]):
            drawn = asyncio.run(_drawn(source, subject))
            return drawn | {FLAME: _flame(Path(name) / "offcpu.svg"), PATH_FLAME: _path_flame(subject)}


def rename_host() -> None:
    """This host's name is not for the picture: this process, alone, has another one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUTS):
        raise OSError(ctypes.get_errno(), "no namespace for another host name")
    socket.sethostname(HOST)


@contextmanager
def _server(program: Path, join: str) -> Iterator[PathSubject]:
    command = [program, "mutex", "rpc-worker", "flusher"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            _, tgid, tid = process.stdout.readline().split()
            Path(join).write_text(tgid)
            yield PathSubject(int(tid), int(tgid), "rpc-worker")
        finally:
            process.kill()


def _flame(to: Path) -> str:
    """Off-CPU time of the load, as the command draws it."""
    subprocess.run(
        [sys.executable, "-m", "schedtop", "offcpu", "--cgroup", GROUP, "--format", "svg", "-o", str(to)],
        check=True, capture_output=True,
    )  # fmt: skip
    return _without_build(to.read_text())


def _path_flame(subject: PathSubject) -> str:
    """The path of the task, as `schedtop path --format svg` draws it."""
    with _Scrubbed(path_ns=NS_PER_MS) as source:
        taken = source.take(FLAME_NS, threading.Event())
    targets = Targets((subject.tid,), (), (), None, f"tid {subject.tid}")
    return _without_build(to_svg(find_paths(taken, targets, NS_PER_MS)))


def _without_build(svg: str) -> str:
    """What the distribution made of the kernel's release is as in no other picture."""
    release = platform.release()
    return svg.replace(release, release.partition("-")[0])


async def _drawn(source: LiveSource, subject: PathSubject) -> dict[str, str]:
    opened = on_demand(_OPTIONS)
    path_source.CaptureSource = _Scrubbed  # type: ignore[misc]
    app = SchedtopApp(source, on_demand=opened)
    async with app.run_test(size=PATH_SHOT.size) as pilot:
        app.theme = PATH_SHOT.theme
        await until(pilot, lambda: app.dashboard.view is not None)
        PathOpener(app.dashboard, app.dashboard.shown, opened).open(subject)
        await until(pilot, lambda: _shows_enough(app.screen))
        await pilot.pause()
        path = app.export_screenshot(title="sudo schedtop", simplify=True)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, PathScreen))
        await pilot.press("o")
        await until(pilot, lambda: _has_measured(app.screen))
        offcpu = app.export_screenshot(title=f"sudo schedtop --cgroup {GROUP}", simplify=True)
    app.wait_for_source()
    return {PATH_SHOT.name: tidied(path, PATH_SHOT), OFFCPU_SHOT.name: tidied(offcpu, OFFCPU_SHOT)}


def _has_measured(screen: object) -> bool:
    measured = screen.shown if isinstance(screen, OffCpuScreen) else None
    return measured is not None and measured.offcpu.duration_ns >= SHOWN_NS


def _shows_enough(screen: object) -> bool:
    frame = screen.shown if isinstance(screen, PathScreen) else None
    return frame is not None and frame.duration_ns >= SHOWN_NS and frame.inversion is not None


async def until(pilot: Pilot[int], is_so: Callable[[], bool], most_s: float = MOST_S) -> None:
    """Waits until something is so. Raises TimeoutError."""
    end_s = time.monotonic() + most_s
    while not is_so():
        if time.monotonic() > end_s:
            raise TimeoutError("the screen does not come")
        await pilot.pause(0.25)
