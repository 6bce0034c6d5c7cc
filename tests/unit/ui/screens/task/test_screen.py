"""The task view on the screen: where it opens, what it shows at each size, its keys, how it ends."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest
from textual.geometry import Region
from textual.pilot import Pilot

from schedtop.base.units import format_clock
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.model.source import SourceError
from schedtop.panes.task.past import Subject
from schedtop.sources.synthetic.task import SyntheticTaskSource, TaskScenario, make_task
from schedtop.task import TaskFrame, TaskSource
from schedtop.ui.app import SchedtopApp
from schedtop.ui.on_demand import OnDemand
from schedtop.ui.screens.dashboard.screen import Dashboard
from schedtop.ui.screens.task.screen import TaskScreen
from schedtop.ui.screens.text import TextScreen
from tests.unit.panes.screen import assert_drawn_whole, assert_widths, text
from tests.unit.ui.drive import GivenSource, collected, to_pane, until

SIZES = [(80, 24), (120, 40), (160, 50), (200, 60)]


class GivenTask:
    """A task view whose intervals come when the test says so."""

    def __init__(self, number: int, whole_process: bool, *, opens: bool = True, **scenario: Any) -> None:
        threads = 4 if whole_process else 1
        self.scenario = TaskScenario(number, whole_process, **{"threads": threads, **scenario})
        self.host = Host("given", "6.18.0", "synthetic")
        self.opens = opens
        self.opened = self.closed = threading.Event()
        self.opened, self.closed = threading.Event(), threading.Event()
        self.made = 0
        self._more = threading.Semaphore(0)
        self.change: Callable[[TaskFrame], TaskFrame] = lambda seen: seen
        self.host_frames: Sequence[Frame] = ()

    def take_host(self, frames: Sequence[Frame]) -> None:
        self.host_frames = frames

    def __enter__(self) -> Self:
        if not self.opens:
            raise SourceError("there is no task 4240 [bold]any more[/bold]")
        self.opened.set()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.closed.set()

    def give(self, count: int = 1) -> None:
        self._more.release(count)

    def frames(self, stop: threading.Event) -> Iterator[TaskFrame]:
        while not stop.is_set():
            if self._more.acquire(timeout=0.02):
                self.made += 1
                ended = self.made == self.scenario.ends_after
                yield self.change(make_task(self.scenario, self.made, ended=ended))
                if ended:
                    return


class GivenTasks:
    """What the key opens, and all that it has opened."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.made: list[GivenTask] = []

    def make(self, number: int, whole_process: bool) -> TaskSource:
        self.made.append(GivenTask(number, whole_process, **self.options))
        return self.made[-1]

    @property
    def last(self) -> GivenTask:
        return self.made[-1]


def app_with(source: GivenSource, given: GivenTasks | None) -> SchedtopApp:
    return SchedtopApp(source, on_demand=OnDemand(make_task=given.make) if given else OnDemand())


async def shown(pilot: Pilot[int], words: str) -> None:
    await until(pilot, lambda: words in text(pilot.app))


async def opened(pilot: Pilot[int], source: GivenSource, given: GivenTasks | None, *keys: str) -> TaskScreen:
    """The dashboard with some Frames, and the task view that the keys open."""
    await collected(pilot, source, 3)
    await to_pane(pilot, "tasks")
    await pilot.press(*keys)
    await until(pilot, lambda: isinstance(pilot.app.screen, TaskScreen))
    if given is not None and given.last.opens:
        await until(pilot, given.last.opened.is_set)
    screen = pilot.app.screen
    assert isinstance(screen, TaskScreen)
    return screen


async def counted(pilot: Pilot[int], screen: TaskScreen, seen: GivenTask, count: int = 1) -> None:
    """Gives intervals and waits until the screen has taken them."""
    before = screen.scenes.arrivals
    seen.give(count)
    await until(pilot, lambda: screen.scenes.arrivals == before + count)


async def test_dashboard_below_does_not_redraw_the_task_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    source, given = GivenSource(), GivenTasks()
    whole = []

    def refresh(self: TaskScreen, *regions: Region, **options: Any) -> TaskScreen:
        whole.extend(region for region in regions if region.size == self.size)
        return original(self, *regions, **options)

    async with app_with(source, given).run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, source, given, "down", "enter")
        await counted(pilot, screen, given.last)
        original = TaskScreen.refresh
        monkeypatch.setattr(TaskScreen, "refresh", refresh)
        dashboard = pilot.app.screen_stack[-2]
        assert isinstance(dashboard, Dashboard)
        for _ in range(3):
            latest = dashboard.live.latest_ns
            source.give()
            await until(pilot, lambda before=latest: dashboard.live.latest_ns != before)
            await counted(pilot, screen, given.last)
            await pilot.pause(0.1)
        assert not whole
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is dashboard)
        # What has come meanwhile is there.
        assert dashboard.view is not None
        await shown(pilot, format_clock(dashboard.view.frame.start_time_ns + dashboard.view.frame.interval_ns))


async def test_a_thread_is_not_taken_for_its_process() -> None:
    source, given = GivenSource(), GivenTasks(process_threads=12)
    async with app_with(source, given).run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot, source, given, "5", "down", "enter")
        given.last.change = lambda seen: replace(seen, threads_started=390)
        await counted(pilot, screen, given.last)
        await shown(pilot, "1 thread of 12, 390 started, p: all")
        number = given.last.scenario.number
        await pilot.press("p")
        await until(pilot, lambda: len(given.made) == 2)
        assert given.last.scenario.whole_process
        assert given.last.scenario.number == number // 4 * 4


@pytest.mark.parametrize("size", SIZES)
async def test_what_the_weights_give_it_is_in_the_overview_and_all_of_it_in_the_waits(size: tuple[int, int]) -> None:
    source, given = GivenSource(), GivenTasks()
    async with app_with(source, given).run_test(size=size) as pilot:
        screen = await opened(pilot, source, given, "down", "enter")
        await counted(pilot, screen, given.last)
        await shown(pilot, "20.0 %, got 20.0 %")
        # It comes from what the dashboard saw of the whole host.
        assert len(given.last.host_frames) >= 3
        await pilot.press("3", "z")
        await shown(pilot, "By weight: entitled to 20.0 % of a CPU, got 20.0 %: it is the weights, not")
        if size[1] >= 40:
            await shown(pilot, "echo 400 > /sys/fs/cgroup/batch.slice/cpu.weight (then 50.0 % of a CPU)")
        assert_drawn_whole(pilot.app)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("process", [False, True])
async def test_every_size_shows_every_section(size: tuple[int, int], process: bool) -> None:
    source, given = GivenSource(), GivenTasks()
    async with app_with(source, given).run_test(size=size) as pilot:
        screen = await opened(pilot, source, given, *("g" if process else ""), "down", "enter")
        await counted(pilot, screen, given.last, 3)
        titles = ("Overview", "System calls", "Waits for a CPU", "Other tasks", "I/O, network", "Slow waits")
        words = ("ran ", "epoll_wait", "counted", "woken by", "read socket", "time▼")
        if process:
            titles, words = (*titles, "Threads"), (*words, "worker/1")
        for number, (title, word) in enumerate(zip(titles, words, strict=True), 1):
            await pilot.press(str(number))
            await pilot.pause()
            assert f"{number} {title}" in text(pilot.app)
            assert word in text(pilot.app), text(pilot.app)
            assert_widths(pilot.app)
        assert_drawn_whole(pilot.app)
        assert "R running" in text(pilot.app)
        assert "● TASK" in text(pilot.app) and "since opened: 3 s" in text(pilot.app)
        await pilot.press("z")
        assert "Overview" not in text(pilot.app).replace("1 Overview ", "") or not process
        assert_widths(pilot.app)


async def test_large_sizes_show_all_at_once() -> None:
    source, given = GivenSource(), GivenTasks()
    async with app_with(source, given).run_test(size=(160, 50)) as pilot:
        screen = await opened(pilot, source, given, "down", "enter")
        await counted(pilot, screen, given.last, 2)
        for title in ("1 Overview", "2 System calls", "3 Waits", "4 Other tasks", "5 I/O", "6 Slow waits"):
            assert title in text(pilot.app)


async def test_task_screen_opens_on_the_selection() -> None:
    source, given = GivenSource(), GivenTasks()
    async with app_with(source, given).run_test(size=(120, 40), notifications=True) as pilot:
        dashboard = await collected(pilot, source, 3)

        async def subject(pane: str, key: str) -> Subject:
            await to_pane(pilot, pane)
            await pilot.press(key, "enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, TaskScreen))
            screen = pilot.app.screen
            assert isinstance(screen, TaskScreen)
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is dashboard)
            return screen.subject

        view = dashboard.view
        assert view is not None
        task = view.tasks[0]
        found = await subject("tasks", "down")
        assert (found.tid, found.tgid, found.start_ns) == (task["tid"], task["tgid"], task["start_ns"])
        assert found.name == task["comm"].decode()
        wait = view.slow_waits[0]
        assert (await subject("slow-waits", "down")).tid == wait["tid"]
        pair = view.pairs[0]
        found = await subject("blame", "down")
        assert (found.tid, found.tgid) == (pair["victim_tid"], pair["victim_tgid"])
        await pilot.press("g")
        assert (await subject("tasks", "home")).is_process
        assert (await subject("blame", "home")).is_process
        assert [(seen.scenario.number, seen.scenario.whole_process) for seen in given.made] == [
            (task["tid"], False), (wait["tid"], False), (pair["victim_tid"], False),
            *((seen.scenario.number, True) for seen in given.made[3:]),
        ]  # fmt: skip
        await pilot.press("g")
        await to_pane(pilot, "tasks")
        await pilot.press("home", "enter")
        await shown(pilot, "the task view is for")
        assert pilot.app.screen is dashboard


async def test_a_slow_wait_that_has_left_the_window_still_names_its_victim() -> None:
    source, given = GivenSource(), GivenTasks()
    async with app_with(source, given).run_test(size=(120, 40)) as pilot:
        dashboard = await collected(pilot, source, 3)
        await to_pane(pilot, "slow-waits")
        await pilot.press("down")
        assert dashboard.view is not None
        wait = dashboard.view.slow_waits[0]
        await collected(pilot, source, 3)
        assert wait["time_ns"] not in dashboard.view.slow_waits["time_ns"]
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, TaskScreen))
        screen = pilot.app.screen
        assert isinstance(screen, TaskScreen)
        assert (screen.subject.tid, screen.subject.tgid) == (wait["tid"], wait["tgid"])
        assert screen.subject.name == wait["comm"].decode()


async def test_enter_without_a_selection_zooms() -> None:
    source, given = GivenSource(), GivenTasks()
    async with app_with(source, given).run_test(size=(120, 40)) as pilot:
        dashboard = await collected(pilot, source, 2)
        await pilot.press("enter")
        assert dashboard.pane_layout.is_zoomed and not given.made
        await to_pane(pilot, "latency")
        await pilot.press("enter")
        assert not dashboard.pane_layout.is_zoomed


async def test_escape_detaches_and_the_dashboard_has_gone_on() -> None:
    source, given = GivenSource(), GivenTasks()
    async with app_with(source, given).run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, source, given, "down", "enter")
        await counted(pilot, screen, given.last)
        await collected(pilot, source, 2)
        await pilot.press("escape")
        await until(pilot, given.last.closed.is_set)
        assert isinstance(pilot.app.screen, Dashboard)
        latest = pilot.app.screen.view
        assert latest is not None and latest.frame.end_ns == source.made * source.scenario.interval_ns
        await shown(pilot, "Tasks ·")
        assert_drawn_whole(pilot.app)


async def test_the_end_of_the_program_detaches() -> None:
    source, given = GivenSource(), GivenTasks()
    app = app_with(source, given)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, source, given, "down", "enter")
        app.stop(143)
    assert app.wait_for_source()
    assert given.last.closed.is_set()


async def test_before_it_counts_the_history_is_shown() -> None:
    source, given = GivenSource(), GivenTasks()
    async with app_with(source, given).run_test(size=(120, 40)) as pilot:
        await opened(pilot, source, given, "down", "enter")
        await shown(pilot, "ATTACHING")
        assert "attaching to the kernel" in text(pilot.app)
        assert "from the history" in text(pilot.app)
        assert "history: ran" in text(pilot.app)
        assert_widths(pilot.app)


async def test_a_failure_is_shown_in_it_and_the_history_works() -> None:
    source, given = GivenSource(), GivenTasks(opens=False)
    async with app_with(source, given).run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, source, given, "down", "enter")
        await until(pilot, lambda: screen.failure)
        await shown(pilot, "NOT ATTACHED")
        assert "there is no task 4240 [bold]any more[/bold]" in text(pilot.app)
        assert "history: ran" in text(pilot.app)
        await collected(pilot, source, 2)
        assert "waited" in text(pilot.app)
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, Dashboard)


async def test_a_task_that_ends_leaves_its_last_numbers() -> None:
    source, given = GivenSource(), GivenTasks(ends_after=3, exit_code=-9)
    async with app_with(source, given).run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, source, given, "down", "enter")
        await counted(pilot, screen, given.last, 3)
        await shown(pilot, "ENDED")
        assert "the task has ended, killed by signal 9" in text(pilot.app)
        assert "epoll_wait" in text(pilot.app)
        await until(pilot, given.last.closed.is_set)
        assert not screen.failure


async def test_freezing_holds_both_parts() -> None:
    source, given = GivenSource(), GivenTasks()
    async with app_with(source, given).run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, source, given, "down", "enter")
        await counted(pilot, screen, given.last, 2)
        await pilot.press("space")
        await shown(pilot, "FROZEN")
        before = text(pilot.app)
        await counted(pilot, screen, given.last, 2)
        await collected(pilot, source, 2)
        assert text(pilot.app) == before
        await pilot.press("space")
        await shown(pilot, "since opened: 4 s")
        assert "FROZEN" not in text(pilot.app)


async def test_window_and_anew() -> None:
    source, given = GivenSource(), GivenTasks()
    async with app_with(source, given).run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, source, given, "down", "enter")
        await counted(pilot, screen, given.last, 12)
        assert "since opened: 12 s" in text(pilot.app)
        for words in ("last 1 s", "last 10 s", "last 12 s", "since opened: 12 s"):
            await pilot.press("w")
            assert words in text(pilot.app)
        scene = screen.scene()
        assert scene.counts is not None
        assert scene.counts.syscall("read") == sum_of(given.last, range(1, 13)).syscall("read")
        await pilot.press("x")
        assert "R running" in text(pilot.app)
        await counted(pilot, screen, given.last, 2)
        await shown(pilot, "since x: 2 s")
        scene = screen.scene()
        assert scene.counts is not None and scene.counts.waits.count == sum_of(given.last, range(13, 15)).waits.count


def sum_of(seen: GivenTask, numbers: range) -> TaskFrame:
    made = [make_task(seen.scenario, number) for number in numbers]
    return sum(made[1:], made[0])


async def test_details_of_a_slow_wait() -> None:
    source, given = GivenSource(slow_waits=400), GivenTasks()
    async with app_with(source, given).run_test(size=(160, 50)) as pilot:
        await opened(pilot, source, given, "down", "enter")
        for keys in (("6", "i"), ("down", "enter")):
            await pilot.press(*keys)
            await until(pilot, lambda: isinstance(pilot.app.screen, TextScreen))
            assert "What had the CPU meanwhile" in text(pilot.app)
            await pilot.press("escape")
            assert isinstance(pilot.app.screen, TaskScreen)


async def test_task_screen_goes_from_a_process_to_a_thread_and_back() -> None:
    source, given = GivenSource(), GivenTasks()
    async with app_with(source, given).run_test(size=(160, 50)) as pilot:
        screen = await opened(pilot, source, given, "g", "down", "enter")
        await counted(pilot, screen, given.last)
        await pilot.press("7", "down", "down", "enter")
        await until(pilot, lambda: len(given.made) == 2)
        await until(pilot, given.made[0].closed.is_set)
        assert given.last.scenario.number == given.made[0].scenario.number + 1
        thread = pilot.app.screen
        assert isinstance(thread, TaskScreen) and thread is not screen and not thread.subject.is_process
        await pilot.press("p")
        await until(pilot, lambda: len(given.made) == 3)
        assert given.last.scenario.whole_process
        assert given.last.scenario.number == given.made[0].scenario.number
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, Dashboard)


async def test_task_screen_names_unavailable_parts_in_their_place() -> None:
    reasons = tuple((part, f"no {part} here") for part in ("syscalls", "faults", "network", "connections", "wakers"))
    source, given = GivenSource(), GivenTasks(unavailable=reasons)
    async with app_with(source, given).run_test(size=(160, 50)) as pilot:
        screen = await opened(pilot, source, given, "down", "enter")
        await counted(pilot, screen, given.last)
        for _, words in reasons:
            assert words in text(pilot.app)


async def test_task_screen_without_a_kernel_shows_only_the_history() -> None:
    source = GivenSource(slow_waits=200)
    async with app_with(source, None).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot, source, None, "down", "enter")
        await shown(pilot, "FROM THE RECORDING")
        assert text(pilot.app).count("available live only") == 1
        assert "x Reset" not in text(pilot.app)
        assert "history: ran" in text(pilot.app) and "had its CPU" in text(pilot.app)
        await pilot.press("x")
        await shown(pilot, "no counts of its own")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (160, 50), (240, 70)])
async def test_task_screen_of_a_recording_has_only_sections_with_content(size: tuple[int, int]) -> None:
    source = GivenSource(slow_waits=200)
    async with app_with(source, None).run_test(size=size, notifications=True) as pilot:
        await opened(pilot, source, None, "down", "enter")
        await shown(pilot, "FROM THE RECORDING")
        for number, word in (("4", "had its CPU"), ("6", "blocked by"), ("1", "of a CPU,")):
            await pilot.press(number)
            await shown(pilot, word)
            assert_widths(pilot.app)
        assert "2 System calls" not in text(pilot.app) and "5 I/O" not in text(pilot.app)
        await pilot.press("2", "6", "z")
        await until(pilot, lambda: "Slow waits" in text(pilot.app) and "of a CPU," not in text(pilot.app))
        assert_widths(pilot.app)


async def test_hostile_names() -> None:
    evil = "[red]\x1b]0;x\x07 \u202e名前"

    def change(seen: TaskFrame) -> TaskFrame:
        peers = tuple(replace(peer, comm=evil) for peer in seen.wakers)
        calls = tuple(replace(call, name=evil) for call in seen.syscalls)
        attributes = seen.attributes and replace(seen.attributes, cgroup=f"/{evil}", policy=evil)
        changes = tuple(replace(one, remote=evil) for one in seen.connections)
        parts = {"wakers": peers, "syscalls": calls, "attributes": attributes, "connections": changes}
        threads = tuple(replace(one, comm=evil) for one in seen.threads)
        return replace(seen, comm=evil, process=evil, command_line=evil, threads=threads, **parts)

    source, given = GivenSource(), GivenTasks()
    async with app_with(source, given).run_test(size=(160, 50)) as pilot:
        screen = await opened(pilot, source, given, "g", "down", "enter")
        given.last.change = change
        await counted(pilot, screen, given.last, 3)
        assert "\x1b" not in text(pilot.app) and "\u202e" not in text(pilot.app)
        assert "[red]" in text(pilot.app)
        assert_widths(pilot.app)


async def test_export(tmp_path: Path) -> None:
    source, given = GivenSource(slow_waits=200), GivenTasks()
    app = SchedtopApp(source, on_demand=OnDemand(make_task=given.make), export_dir=tmp_path)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        screen = await opened(pilot, source, given, "down", "enter")
        await counted(pilot, screen, given.last, 3)
        await pilot.press("e")
        await until(pilot, lambda: len(list(tmp_path.iterdir())) == 2)
        await shown(pilot, "Exported")
        number = given.last.scenario.number
        data = json.loads(next(tmp_path.glob(f"*-task-{number}.json")).read_text())
        assert data["schema"] == "schedtop.task/1" and data["host"] == "given"
        expected = sum_of(given.last, range(1, 4))
        assert data["interval_ns"] == expected.interval_ns
        assert data["states"]["running_ns"] == expected.states.running_ns
        assert len(data["strip"]) == 30
        assert {call["name"]: call["count"] for call in data["syscalls"]} == {
            call.name: call.count for call in expected.syscalls
        }
        picture = next(tmp_path.glob(f"*-task-{number}.svg")).read_text()
        assert "State&#160;over&#160;time" in picture and "http" not in picture.split("<style>")[1].split("</style>")[0]


async def test_export_of_a_recording_is_the_picture(tmp_path: Path) -> None:
    source = GivenSource()
    async with SchedtopApp(source, export_dir=tmp_path).run_test(size=(120, 40)) as pilot:
        await opened(pilot, source, None, "down", "enter")
        await pilot.press("e")
        await until(pilot, lambda: list(tmp_path.iterdir()))
        assert [path.suffix for path in tmp_path.iterdir()] == [".svg"]


async def test_help_names_its_keys() -> None:
    source, given = GivenSource(), GivenTasks()
    async with app_with(source, given).run_test(size=(120, 40)) as pilot:
        await opened(pilot, source, given, "down", "enter")
        await pilot.press("question_mark")
        await shown(pilot, "ran, waited: shares of the span")
        await pilot.press("left", "left")
        await shown(pilot, "Starts its counts over")
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, TaskScreen)


async def test_a_small_terminal_says_so() -> None:
    source, given = GivenSource(), GivenTasks()
    async with app_with(source, given).run_test(size=(80, 24)) as pilot:
        await opened(pilot, source, given, "down", "enter")
        await pilot.resize_terminal(50, 12)
        await shown(pilot, "the terminal is too small: 50x12")
        await pilot.resize_terminal(60, 15)
        await shown(pilot, "1 Overview")
        assert_widths(pilot.app)


def test_the_synthetic_task_is_a_source() -> None:
    with SyntheticTaskSource(TaskScenario(ends_after=3)) as source:
        made = list(source.frames(threading.Event()))
    assert [seen.ended for seen in made] == [False, False, True]
    for seen in made:
        assert seen.states == sum((column.states for column in seen.strip[1:]), seen.strip[0].states)
        assert seen.states.total_ns == seen.interval_ns
        assert sum(one.run_ns for one in seen.cpus) == seen.states.running_ns
