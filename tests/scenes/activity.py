"""Draws the activity screen while a load that is known runs: a server and its clients, a program that writes and syncs,
one that reads a tree of files. Needs root; a picture of it is a real run, so no two are the same."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from schedtop.activity.activity import Activity
from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.model.rows import take_rows
from schedtop.sources.activity.source import LiveActivity
from schedtop.sources.scheduler.source import LiveSource
from schedtop.ui.app import SchedtopApp
from schedtop.ui.on_demand import OnDemand
from schedtop.ui.screens.activity.screen import ActivityScreen
from tests.scenes.draw import Shot, set_terminal, tidied
from tests.scenes.live import rename_host, until
from tests.scenes.loads import running
from tests.scenes.scrub import KERNEL_THREADS, OWN

ACTIVITY_SHOT = Shot("activity-screen", "", "", (140, 34))

SECONDS = 4
"""How many are counted before the picture is taken."""

PORT = "17071"

_NAME = """
import os, socket, sys, time
open("/proc/self/comm", "w").write(sys.argv[1])
"""

_SERVER = """
import threading
listener = socket.create_server(("127.0.0.1", int(sys.argv[2])), backlog=64)
def serve(peer):
    while peer.recv(512): peer.sendall(b"x" * 20000)
    peer.close()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""

_CLIENT = """
time.sleep(1)
while True:
    try: peer = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    except OSError: time.sleep(0.2); continue
    for _ in range(20):
        peer.sendall(b"GET")
        left = 20000
        while left: left -= len(peer.recv(left))
        time.sleep(0.002)
    peer.close()
    try: socket.create_connection(("127.0.0.1", 1))
    except OSError: pass
"""

_LOGGER = """
with open(sys.argv[2] + "/log", "wb") as log:
    while True:
        log.write(b"a line of a log\\n" * 200)
        log.flush()
        os.fsync(log.fileno())
        time.sleep(0.02)
"""

_BACKUP = """
while True:
    for name in os.listdir("/usr/share/doc")[:400]:
        try: os.open("/usr/share/doc/" + name + "/nothing", os.O_RDONLY)
        except OSError: pass
        try:
            with open("/usr/share/doc/" + name + "/copyright", "rb") as file: file.read()
        except OSError: pass
    time.sleep(0.05)
"""

_CACHE = """
import mmap
while True:
    memory = mmap.mmap(-1, 16 << 20)
    for at in range(0, len(memory), 4096): memory[at] = 1
    memory.close()
    time.sleep(0.1)
"""

_KEPT = {b"web", b"client", b"logger", b"backup", b"cache", OWN}


class _Scrubbed(LiveActivity):
    """Without the rows of tasks that are not of the scene."""

    def frames(self, stop: threading.Event) -> Iterator[Activity]:
        for activity in super().frames(stop):
            tables = {}
            for name in ("rows", "connections"):
                rows = getattr(activity, name)
                words = zip(rows["comm"].tolist(), rows["process"].tolist(), strict=True)
                tables[name] = take_rows(
                    rows, np.array([index for index, pair in enumerate(words) if _is_known(*pair)], int)
                )
            yield replace(activity, **tables)


def _is_known(*words: bytes) -> bool:
    return all(word in _KEPT or not word or KERNEL_THREADS.match(word) for word in words)


def activity_picture() -> str:
    """The screen as SVG. Raises OSError, SourceError, or subprocess.SubprocessError."""
    set_terminal()
    rename_host()
    with ExitStack() as stack:
        source = stack.enter_context(LiveSource(NS_PER_S, 10 * NS_PER_MS))
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        for name, code, argument in (
            ("web", _SERVER, PORT),
            ("client", _CLIENT, PORT),
            ("logger", _LOGGER, directory),
            ("backup", _BACKUP, ""),
            ("cache", _CACHE, ""),
        ):
            stack.enter_context(running([sys.executable, "-I", "-S", "-c", _NAME + code, name, argument]))
        return asyncio.run(_drawn(source))


async def _drawn(source: LiveSource) -> str:
    app = SchedtopApp(source, on_demand=OnDemand(make_activity=_Scrubbed))
    async with app.run_test(size=ACTIVITY_SHOT.size) as pilot:
        app.theme = ACTIVITY_SHOT.theme
        await until(pilot, lambda: app.dashboard.view is not None)
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, ActivityScreen) and len(app.screen.shown.live) >= SECONDS)
        await pilot.press("down")
        await until(pilot, lambda: isinstance(app.screen, ActivityScreen) and len(app.screen.shown.live) >= SECONDS + 2)
        svg = app.export_screenshot(title="sudo schedtop", simplify=True)
    app.wait_for_source()
    return tidied(svg, ACTIVITY_SHOT)
