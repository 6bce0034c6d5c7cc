"""Draws the live dashboard beside a load that runs meanwhile. Needs root, and a machine with little else to do.

Each picture is a real run, so no two are the same. What else ran on the machine is hidden from the tables, as
`--hide-self` hides schedtop: its names are nobody's business.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.model.frame import Frame
from schedtop.sources.scheduler.source import LiveSource
from schedtop.sources.scope import Scope, find_scope
from schedtop.ui.app import SchedtopApp
from schedtop.verdict.verdict import Verdict
from tests.scenes.activity import ACTIVITY_SHOT, activity_picture
from tests.scenes.animation import Step, animated
from tests.scenes.draw import Shot, set_terminal, tidied
from tests.scenes.live import FLAME, OFFCPU_SHOT, PATH_FLAME, PATH_SHOT, lock_pictures, rename_host, until
from tests.scenes.loads import floods, monitors, quota_group, reports, running, workers
from tests.scenes.scrub import OTHER, is_of_scene, renamed

FIRST_LOOK, TRENDS = Shot("first-look", "", "", (100, 28)), Shot("live-trends", "", "", (120, 40), ("6",))
BLAME = Shot("live-blame", "", "", (120, 40), ("3",))
QUOTA = Shot("live-quota", "", "", (120, 40))
INTERRUPTS = Shot("live-interrupts", "", "", (120, 40), ("I", "3"))
FORK_STORM = Shot("live-fork-storm", "", "", (120, 40), ("5",))
STEAL = Shot("live-steal", "", "", (120, 40), ("4", "tab", *"mmmmm"))

COMMANDS = {
    **dict.fromkeys((FIRST_LOOK.name, TRENDS.name), "sudo schedtop --cgroup checkout.service"),
    BLAME.name: "sudo schedtop --threshold 3ms",
    QUOTA.name: "sudo schedtop --threshold 2ms",
    INTERRUPTS.name: "sudo schedtop --threshold 1ms --interrupts",
    FORK_STORM.name: "sudo schedtop",
    STEAL.name: "sudo schedtop --threshold 20ms",
}
"""What one types for it: the title of the window."""

QUIET_FRAMES, FRAMES = 14, 9
"""How many intervals are shown before something happens, and of it."""

LEAST_STEAL = 0.03
TRIES = 10

_NAMES_OTHERS = re.compile(rf"\b{OTHER.decode()}(?: \(\d|,)|-wx {OTHER.decode()}\b")
"""A task, not `1 other task`."""

NAME = b"schedtop"


class SceneSource(LiveSource):
    """The live kernel; `kept`: the names of the scene's tasks, all others become one name."""

    def __init__(self, threshold_ns: int, kept: tuple[str, ...], scope: Scope) -> None:
        super().__init__(NS_PER_S, threshold_ns, scope=scope)
        self._kept = {NAME, *(name.encode() for name in kept)}
        self.others: set[int] = set()
        """Processes that are not of the scene."""

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        for frame in super().frames(stop):
            rows = frame.tasks
            foreign = [not is_of_scene(name, self._kept) for name in rows["comm"].tolist()]
            self.others |= set(rows["tgid"][foreign].tolist())
            yield renamed(frame, self._kept)


class Performance:
    """The dashboard on a screen of its own, and what is done with it."""

    def __init__(self, pilot: Pilot[int], source: SceneSource) -> None:
        self.pilot, self._source = pilot, source
        assert isinstance(pilot.app, SchedtopApp)
        self.app = pilot.app

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the screen."""
        return self.app.dashboard.shown.verdict

    async def until(self, is_so: Callable[[Verdict], bool], most_s: float = 60) -> None:
        """Waits for a verdict that names tasks of the scene alone. Raises TimeoutError."""

        await until(self.pilot, lambda: self._says(is_so), most_s)

    async def pass_frames(self, number: int) -> None:
        """Waits for so many intervals."""
        history = self.app.dashboard.live
        last = history.frames[-1].end_ns if history.frames else 0
        await until(self.pilot, lambda: len([True for frame in history.frames if frame.end_ns > last]) >= number)

    def _says(self, is_so: Callable[[Verdict], bool]) -> bool:
        verdict = self.verdict
        return verdict is not None and not _NAMES_OTHERS.search(verdict.sentences()) and is_so(verdict)

    async def _hide_others(self) -> None:
        """Hides what has been seen so far of others, from here on."""
        shown = self.app.dashboard.shown
        shown.set_settings(replace(shown.settings, hidden_tgids=tuple(sorted(self._source.others))))
        await self.pilot.pause(0.3)

    async def press(self, *keys: str) -> None:
        """Presses keys and waits until they are shown."""
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause(0.2)

    async def picture(
        self, shot: Shot, is_so: Callable[[Verdict], bool], keys: tuple[str, ...] = (), name: str = ""
    ) -> str:
        """The screen as SVG after some keys, at a moment at which its verdict is that one, before and afterwards.

        `name`: other than the picture's, where it is a part of one. Raises TimeoutError.
        """
        for _ in range(TRIES):
            await self.until(is_so)
            await self._hide_others()
            await self.press(*keys)
            svg = self.app.export_screenshot(title=COMMANDS[shot.name], simplify=True)
            if self._says(is_so):
                return tidied(svg, replace(shot, name=name or shot.name))
            if keys:
                await self.press("escape")
        raise TimeoutError("others disturb it")


@asynccontextmanager
async def performing(
    shot: Shot, threshold_ms: int, kept: tuple[str, ...], cgroup: str | None = None
) -> AsyncIterator[Performance]:
    """A live dashboard of a picture's size; of the waits in a cgroup alone, if one is given."""
    set_terminal()
    rename_host()
    Path("/proc/self/comm").write_bytes(NAME)  # which the threads to come inherit
    scope = find_scope((), (), (), cgroup, None)
    with SceneSource(threshold_ms * NS_PER_MS, kept, scope) as source:
        app = SchedtopApp(source, own_pid=os.getpid())
        async with app.run_test(size=shot.size) as pilot:
            app.theme = shot.theme
            yield Performance(pilot, source)
        app.wait_for_source()


def is_well(verdict: Verdict) -> bool:
    """Nothing waits long."""
    return verdict.level == "ok"


def is_throttled(verdict: Verdict) -> bool:
    """The quota, and the command that sets a larger one."""
    return verdict.rule == "throttled" and verdict.command.startswith("echo ")


async def first_look() -> dict[str, str]:
    """A service runs into its quota: the alarm, why, which tasks, the fix as it is typed; the trends of all that."""
    steps: list[Step] = []
    with quota_group("checkout.service") as group:
        async with performing(FIRST_LOOK, 5, ("checkout",), "checkout.service") as shown:

            async def step(words: str, seconds: float, is_so: Callable[[Verdict], bool], *keys: str) -> None:
                svg = await shown.picture(FIRST_LOOK, is_so, keys, f"{FIRST_LOOK.name}-{len(steps)}")
                steps.append(Step(svg, words, seconds))

            with workers(group, QUIET_FRAMES, 100):
                await shown.pass_frames(QUIET_FRAMES - 3)
                await step("all is well", 2.5, is_well)
                await shown.pass_frames(FRAMES)
                await step("an alarm: what is wrong, and what to type", 5, is_throttled)
                await step("v: why, with the evidence", 6, is_throttled, "v")
                await shown.press("escape", "3")
                await shown.pass_frames(2)
                await step("3: which tasks wait, how long, what for", 5, is_throttled)
                await shown.press("1")
                await shown.until(is_throttled)
                command = shown.verdict.command if shown.verdict else ""
                subprocess.run(["sh", "-c", command], check=True)
                await shown.pass_frames(FRAMES)
                await step(f"the fix: {command}", 6, is_well)
                await shown.pilot.resize_terminal(*TRENDS.size)
                await shown.press(*TRENDS.keys)
                await shown.pass_frames(2)
                trends = await shown.picture(TRENDS, is_well)
    return {FIRST_LOOK.name: animated(steps, still=1), TRENDS.name: trends}


async def quota() -> dict[str, str]:
    """A service that gets more requests than its quota is good for."""
    with quota_group("checkout.service") as group:
        async with performing(QUOTA, 2, ("checkout",)) as shown:
            await shown.pass_frames(8)
            with workers(group, 10, 100):
                await shown.pass_frames(10 + 2 * FRAMES)
                return {QUOTA.name: await shown.picture(QUOTA, lambda verdict: verdict.rule == "throttled")}


async def fork_storm() -> dict[str, str]:
    """A script that starts a program for each number that it wants."""
    with tempfile.TemporaryDirectory() as name:
        async with performing(FORK_STORM, 5, ("monitor.sh", "cat", "date", "expr", "true")) as shown:
            await shown.pass_frames(8)
            with monitors(Path(name)):
                await shown.press(*FORK_STORM.keys)
                await shown.pass_frames(FRAMES)
                return {FORK_STORM.name: await shown.picture(FORK_STORM, lambda verdict: verdict.rule == "forks")}


async def blame() -> dict[str, str]:
    """Two services that share a CPU with the loops of a report."""
    async with performing(BLAME, 3, ("web", "api", "report")) as shown:
        await shown.press(*BLAME.keys)
        with reports():
            await shown.pass_frames(2 * FRAMES)
            return {BLAME.name: await shown.picture(BLAME, lambda verdict: verdict.rule == "pinned")}


async def packets() -> dict[str, str]:
    """Programs that send themselves packets, while interrupts are timed."""
    async with performing(INTERRUPTS, 1, ("flood-a", "flood-b")) as shown:
        await shown.press(*INTERRUPTS.keys)
        with floods():
            await shown.pass_frames(2 * FRAMES)
            layout = shown.app.dashboard.pane_layout
            layout.focus_pane(layout.pane_named("interrupts"))
            await shown.pass_frames(2)
            return {INTERRUPTS.name: await shown.picture(INTERRUPTS, lambda verdict: True)}


async def steal() -> dict[str, str]:
    """Busy CPUs of a virtual machine, until its host takes some of their time."""
    async with performing(STEAL, 20, ("stress",)) as shown:
        with running(["stress", "-c", str(os.cpu_count())]):
            await shown.press(*STEAL.keys)
            await shown.pass_frames(FRAMES)

            def stolen(_verdict: Verdict) -> bool:
                view = shown.app.dashboard.view
                return view is not None and (view.frame.ratio("steal_ns") or 0) >= LEAST_STEAL

            return {STEAL.name: await shown.picture(STEAL, stolen)}


LOCK = PATH_SHOT.name
PERFORMANCES: dict[str, Callable[[], dict[str, str]]] = {
    FIRST_LOOK.name: lambda: asyncio.run(first_look()),
    QUOTA.name: lambda: asyncio.run(quota()),
    FORK_STORM.name: lambda: asyncio.run(fork_storm()),
    BLAME.name: lambda: asyncio.run(blame()),
    INTERRUPTS.name: lambda: asyncio.run(packets()),
    STEAL.name: lambda: asyncio.run(steal()),
    LOCK: lock_pictures,
    ACTIVITY_SHOT.name: lambda: {ACTIVITY_SHOT.name: activity_picture()},
}
"""What is performed, by its first picture: gives its pictures, SVG by name."""

LIVE = {name: name for name in PERFORMANCES} | {
    TRENDS.name: FIRST_LOOK.name,
    **dict.fromkeys((OFFCPU_SHOT.name, FLAME, PATH_FLAME), LOCK),
}
"""Of every live picture, the performance that it is of."""


def perform(name: str) -> dict[str, str]:
    """The pictures of a performance, SVG by name. Raises TimeoutError, and as `lock_pictures`."""
    return PERFORMANCES[name]()
