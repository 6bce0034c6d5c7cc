"""Each pane alone: what it says, at two sizes, with data, without, and with hostile data."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from schedtop.history.view import View, ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.model.rows import THROTTLING_DTYPE
from schedtop.model.sched_class import SchedClass
from schedtop.model.waits import Beginning, Cause, Evidence
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.blame.pane import BlamePane
from schedtop.panes.scheduler.cpus.pane import CpusPane
from schedtop.panes.scheduler.cpus.strips import CpuStripsPane
from schedtop.panes.scheduler.interrupts.pane import InterruptsPane
from schedtop.panes.scheduler.latency.over_time import OverTimePane
from schedtop.panes.scheduler.latency.pane import LatencyPane
from schedtop.panes.scheduler.queue.pane import QueuePane
from schedtop.panes.scheduler.short_lived.pane import ShortLivedPane
from schedtop.panes.scheduler.slow_waits.pane import SlowWaitsPane
from schedtop.panes.scheduler.steal.pane import StealPane
from schedtop.panes.scheduler.tasks.pane import TasksPane
from schedtop.panes.scheduler.trends.pane import TrendsPane
from tests.unit.panes.conftest import MakeView, without
from tests.unit.panes.screen import OnePane, assert_drawn_whole, assert_widths, lines, lines_of, text
from tests.unit.widgets.test_strips import HOSTILE

PANES: list[Callable[[], Pane]] = [CpusPane, LatencyPane, StealPane, SlowWaitsPane, TasksPane, BlamePane, QueuePane]
PANES += [OverTimePane, CpuStripsPane, ShortLivedPane, InterruptsPane, TrendsPane]
SIZES = [(80, 24), (160, 48), (24, 6), (44, 10)]

pytestmark = pytest.mark.asyncio


async def shown(pane: Pane, view: object, size: tuple[int, int] = (160, 24)) -> str:
    """What a pane shows of a View."""
    app = OnePane(pane)
    async with app.run_test(size=size) as pilot:
        if view is not None:
            pane.show(view)  # type: ignore[arg-type]
        await pilot.pause()
        assert_widths(app)
        return text(app)


@pytest.mark.parametrize("make", PANES)
@pytest.mark.parametrize("cpus", [1, 2, 128, 1024])
async def test_every_size(make: Callable[[], Pane], cpus: int, make_view: MakeView) -> None:
    pane = make()
    app = OnePane(pane)
    async with app.run_test(size=SIZES[0]) as pilot:
        for seed, size in enumerate(SIZES):
            await pilot.resize_terminal(*size)
            pane.show(make_view(cpus=cpus, frames=2, seed=seed))
            await pilot.pause()
            assert_widths(app)
            assert_drawn_whole(app)
            assert pane.TITLE in lines(app)[0] or pane.SHORT in lines(app)[0]


@pytest.mark.parametrize("make", PANES)
async def test_waits_for_the_first_interval(make: Callable[[], Pane]) -> None:
    assert "waiting for the first interval" in await shown(make(), None)


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (LatencyPane, "latency"),
        (StealPane, "steal"),
        (SlowWaitsPane, "slow_waits"),
        (TasksPane, "tasks"),
        (BlamePane, "pairs"),
        (QueuePane, "queue"),
        (InterruptsPane, "interrupts"),
    ],
)
async def test_says_what_is_not_available(make: Callable[[], Pane], part: str, make_view: MakeView) -> None:
    assert f"not available: no {part} here" in await shown(make(), make_view(change=without(part)))


RECORDED = Host("a", "6.1", "recording", recorded_source="btf")


@pytest.mark.parametrize(
    ("make", "host", "words"),
    [
        (QueuePane, None, "sampling begins"),
        (QueuePane, RECORDED, "were not sampled at this time"),
        (InterruptsPane, None, "the key I times them"),
        (InterruptsPane, RECORDED, "were not timed at this time"),
    ],
)
async def test_says_why_there_is_nothing_of_what_is_measured_on_demand(
    make: Callable[[], Pane], host: Host | None, words: str, make_view: MakeView
) -> None:
    assert words in await shown(make(), make_view(frames=1, host=host))


@pytest.mark.parametrize("size", [(80, 24), (78, 10), (55, 12), (30, 9), (24, 6), (160, 48), (20, 3)])
@pytest.mark.parametrize("cpus", [1, 2, 128, 1024])
@pytest.mark.parametrize("make", [QueuePane, InterruptsPane])
async def test_every_size_of_what_is_measured_on_demand(
    make: type[Pane], cpus: int, size: tuple[int, int], make_view: MakeView
) -> None:
    screen = await lines_of(make(), make_view(frames=2, cpus=cpus, sampling=True, interrupts=True), size)
    assert any(make.TITLE in line for line in screen)


async def test_cpus_numbers(make_view: MakeView) -> None:
    view = make_view(cpus=2)
    screen = await shown(CpusPane(), view, (120, 8))
    row = next(line for line in screen.splitlines() if line.strip("│┃ ").startswith("1 "))
    switches = int(view.frame.cpus.column("switches")[1])
    busy = view.frame.ratio("busy_ns", 1)
    assert busy is not None
    assert str(switches) in row.split()
    assert f"{busy * 100:.1f}" in row.split()


async def test_cpus_tell_moves_where_there_is_room(make_view: MakeView) -> None:
    view = make_view(cpus=2)
    wide = (await shown(CpusPane(), view, (120, 8))).splitlines()
    assert all(word in wide[1].split() for word in ("in/s", "out/s", "cache", "numa"))
    row = next(line for line in wide if line.strip("│┃ ").startswith("1 ")).split()
    assert str(view.frame.cpus.column("migrations_in")[1]) in row
    narrow = (await shown(CpusPane(), view, (60, 8))).splitlines()
    assert "in/s" not in narrow[1]


async def test_cpus_unavailable_parts_are_dashes_or_no_columns(make_view: MakeView) -> None:
    screen = await shown(CpusPane(), make_view(cpus=1, change=without("busy", "steal", "switches")), (120, 8))
    row = next(line for line in screen.splitlines() if line.strip("│┃ ").startswith("all"))
    assert row.split().count("-") >= 2
    assert not any(word in screen.splitlines()[1] for word in ("switch/s", "invol/s", "inv %"))


async def test_cpus_zoomed_scrolls_through_all(make_view: MakeView) -> None:
    pane = CpusPane(classes="zoomed")
    app = OnePane(pane)
    async with app.run_test(size=(120, 20)) as pilot:
        pane.show(make_view(cpus=60, frames=2))
        pane.focus()
        await pilot.press("end")
        assert "45-60 of 60" in text(app)
        await pilot.press("home")
        assert "1-16 of 60" in text(app)


async def test_cpus_offline(make_view: MakeView) -> None:
    def offline(frame: Frame) -> Frame:
        return replace(frame, cpus=replace(frame.cpus, online=np.array([True, False, True])))

    screen = await shown(CpusPane(), make_view(cpus=3, change=offline), (120, 10))
    labels = [line.strip("│┃ ").split()[0] for line in screen.splitlines() if line.strip("│┃ ─╭╮╰╯")]
    assert "2" in labels
    assert "1" not in labels


async def test_latency_numbers_and_kinds(make_view: MakeView) -> None:
    screen = await shown(LatencyPane(), make_view(), (90, 20))
    for word in ("wakeup", "preemption", "fork", "all", "p50", "p90", "p99", "p99.9", "max", "slow > 5 ms", "10 µs"):
        assert word in screen
    assert "all tasks" not in screen


@pytest.mark.parametrize(
    ("inner", "expected"),
    [(50, "p50 p90 p99 p99.9 max"), (42, "p50 p90 p99 p99.9 max"), (37, "p50 p99 p99.9 max"), (30, "p50 p99 max")],
)
async def test_latency_keeps_every_percentile_for_which_there_is_room(
    inner: int, expected: str, make_view: MakeView
) -> None:
    screen = await shown(LatencyPane(), make_view(), (inner + 4, 12))
    header, *rows = (line.strip("│┃ ").split() for line in screen.splitlines()[1:6])
    assert " ".join(header[1:6]).startswith(expected)
    assert [row[0] for row in rows] == (
        ["wakeup", "preemption", "fork", "all"] if inner >= 50 else ["wakeup", "preempt", "fork", "all"]
    )
    assert "…" not in screen


async def test_latency_shows_both_halves_in_two_lines_under_a_filter(make_view: MakeView) -> None:
    by_task = make_view(settings=ViewSettings(filter=Filter.parse("nginx")))
    screen = await shown(LatencyPane(), by_task, (41, 9))
    assert " wakeup+ " in screen.splitlines()[-3], "with forks"
    assert "preempt " in screen.splitlines()[-2]


async def test_latency_says_that_a_task_filter_cannot_reach_it(make_view: MakeView) -> None:
    by_task = make_view(settings=ViewSettings(filter=Filter.parse("nginx")))
    assert "Runqueue latency · all tasks" in await shown(LatencyPane(), by_task)
    by_cpu = make_view(settings=ViewSettings(filter=Filter.parse("cpu:1")))
    screen = await shown(LatencyPane(), by_cpu)
    assert "all tasks" not in screen
    assert "CPU 1" in screen
    assert "1720 waits" in screen


def steal_of(ratio: float) -> Callable[[Frame], Frame]:
    """A change of the steal of all CPUs."""

    def change(frame: Frame) -> Frame:
        frame.cpus.column("steal_ns")[:] = int(ratio * frame.interval_ns)
        return frame

    return change


async def test_cell_of_the_strip_is_about_what_is_high(make_view: MakeView) -> None:
    def throttled(frame: Frame) -> Frame:
        rows = np.zeros(1, THROTTLING_DTYPE)
        rows["periods"], rows["throttled_periods"] = 10, 9
        return replace(frame, throttling=rows)

    def told(change: Callable[[Frame], Frame]) -> str:
        pane = StealPane()
        pane.view = make_view(frames=1, change=lambda frame: change(replace(steal_of(0.0)(frame), pressure=None)))
        return f"{pane.strip_name} {''.join(text for text, _ in pane.glance())}"

    assert told(lambda frame: replace(frame, throttling=frame.throttling[:0])) == "Steal 0 %"
    assert told(throttled) == "Quota 90.0 % !"
    assert told(lambda frame: throttled(steal_of(0.2)(frame))) == "Steal 20.0 % !!"


@pytest.mark.parametrize(
    ("ratio", "expected", "absent"),
    [
        (0.0, "steal    0 % ", "high"),
        (0.049, "4.9 % ", "high"),
        (0.05, "5.0 % ! high", "very"),
        (0.1, "!! very high", "? "),
    ],
)
async def test_steal_levels(ratio: float, expected: str, absent: str, make_view: MakeView) -> None:
    screen = await shown(StealPane(), make_view(change=steal_of(ratio)), (60, 14))
    assert expected in screen
    assert absent not in next(line for line in screen.splitlines() if "steal " in line and "%" in line)


async def test_steal_says_the_level_in_a_narrow_pane(make_view: MakeView) -> None:
    screen = await shown(StealPane(), make_view(change=steal_of(0.123)), (24, 12))
    assert "steal 12.3 % !!" in screen
    assert "very" not in screen


async def test_steal_not_virtualised(make_view: MakeView) -> None:
    screen = await shown(StealPane(), make_view(host=Host("metal", "6.1", "btf", virtualised=False)), (60, 14))
    assert "not virtualised" in screen


async def test_steal_shows_pressure_where_there_is_some(make_view: MakeView) -> None:
    assert re.search(r"PSI +\d", await shown(StealPane(), make_view(), (60, 14)))
    bare = make_view(change=lambda frame: replace(frame, pressure=None))
    assert re.search(r"PSI +- ", await shown(StealPane(), bare, (60, 14)))


def throttled(frame: Frame) -> Frame:
    frame.throttling["throttled_periods"] = frame.throttling["periods"] * (0.3, 0.8)
    frame.throttling["throttled_ns"] = (123_000_000, 456_000_000)
    return frame


@pytest.mark.parametrize("size", [(28, 10), (60, 12), (80, 22), (160, 45)])
async def test_steal_names_the_group_that_its_quota_stopped_most(size: tuple[int, int], make_view: MakeView) -> None:
    screen = await shown(StealPane(), make_view(change=throttled), size)
    assert re.search(r"quota +80\.0 %", screen)
    assert "pod 6f1e2d3c" in screen
    assert ("456 ms" in screen) == (size[0] >= 60)


async def test_steal_without_quotas_and_without_a_hypervisor_still_says_something(make_view: MakeView) -> None:
    host = Host("metal", "6.1", "btf", virtualised=False)
    view = make_view(host=host, change=lambda frame: replace(frame, throttling=frame.throttling[:0]))
    screen = await shown(StealPane(), view, (80, 40))
    assert "no cgroup was throttled" in screen
    assert re.search(r"p99 +\d", screen)
    assert "CPU 0" not in screen


async def test_slow_waits_columns_and_order(make_view: MakeView) -> None:
    view = make_view()
    screen = await shown(SlowWaitsPane(), view)
    first = view.slow_waits[0]
    row = screen.splitlines()[2]
    assert str(first["tid"]) in row
    blocker = first["blocker_comm"][0].decode()
    assert f"% {blocker} ({first['blocker_tid'][0]}) +2" in row
    for word in ("time", "▼wait", "task", "tid", "CPU", "cause", "blocked by", "preempted by", "woken by"):
        assert word in screen.splitlines()[1]


@pytest.mark.parametrize(
    ("width", "time", "tids"), [(68, False, False), (80, False, False), (88, True, False), (160, True, True)]
)
async def test_slow_waits_have_the_preempting_task_at_every_size(
    width: int, time: bool, tids: bool, make_view: MakeView
) -> None:
    def preempted(frame: Frame) -> Frame:
        frame.slow_waits["preemptor_tid"], frame.slow_waits["preemptor_comm"] = 77, b"greedy"
        return frame

    view = make_view(change=preempted)
    header, row = (await shown(SlowWaitsPane(), view, (width, 12))).splitlines()[1:3]
    assert [word in header for word in ("wait", "task", "cause", "preempted by", "blocked by")] == [True] * 5
    assert ("time" in header) == time
    blocker = view.slow_waits[0]["blocker_comm"][0].decode()
    assert ("greedy (77)" in row, f"% {blocker} (" in row) == (tids, tids)
    assert "greedy" in row and f" % {blocker}" in row


def glance_of(view: View) -> str:
    return "".join(text for text, _ in SlowWaitsPane().view_glance(view))


async def test_slow_waits_say_at_a_glance_what_preempted_the_longest(make_view: MakeView) -> None:
    def one(tid: int, began: Beginning) -> Callable[[Frame], Frame]:
        def change(frame: Frame) -> Frame:
            row = frame.slow_waits[:1].copy()
            row["wait_ns"], row["comm"], row["kind"] = 4_020_000, b"stress", began
            row["cause"], row["evidence"] = Cause[began.name], Evidence.NONE
            row["preemptor_tid"], row["preemptor_comm"], row["blocker_comm"] = tid, b"greedy" if tid else b"", b"hog"
            return replace(frame, slow_waits=row)

        return change

    assert glance_of(make_view(frames=1, change=one(77, Beginning.PREEMPTION))) == "4.02 ms stress ← greedy"
    assert glance_of(make_view(frames=1, change=one(0, Beginning.WAKEUP))) == "4.02 ms stress behind hog"
    assert glance_of(make_view(frames=1, change=one(0, Beginning.THROTTLED))) == "4.02 ms stress · throttled"


async def test_slow_waits_tell_the_last_one_while_there_is_none(make_view: MakeView) -> None:
    def only_first(name: str) -> Callable[[Frame], Frame]:
        seen: list[Frame] = []

        def change(frame: Frame) -> Frame:
            seen.append(frame)
            row = frame.slow_waits[: len(seen) == 1].copy()
            row["wait_ns"], row["comm"] = 950_000_000, name.encode()
            return replace(frame, slow_waits=row)

        return change

    assert glance_of(make_view(frames=3, change=only_first("web"))) == "none · 950 ms web, 2 s ago"
    assert "in the last 1 s; the last was 950 ms web, 2 s ago" in await shown(
        SlowWaitsPane(), make_view(frames=3, change=only_first("web")), (120, 12)
    )
    # Long ago, and hidden by the filter.
    assert glance_of(make_view(frames=12, change=only_first("web"))) == "none"
    filtered = ViewSettings(filter=Filter.parse("comm:db"))
    assert glance_of(make_view(frames=3, change=only_first("web"), settings=filtered)) == "none"


async def test_slow_waits_empty_state_names_the_threshold(make_view: MakeView) -> None:
    assert "no task waited longer than 5 ms for a CPU in the last 1 s" in await shown(
        SlowWaitsPane(), make_view(slow_waits=0)
    )
    filtered = make_view(settings=ViewSettings(filter=Filter.parse("nobody")))
    assert "none of 6 slow waits passes the filter comm:nobody" in await shown(SlowWaitsPane(), filtered)


async def test_tasks_columns_and_marks(make_view: MakeView) -> None:
    def waiting(frame: Frame) -> Frame:
        frame.tasks["waiting_ns"][0] = 12_000_000
        return frame

    view = make_view(change=waiting)
    screen = await shown(TasksPane(own_pid=4244), view)
    header = screen.splitlines()[1]
    for word in (
        "task",
        "tid",
        "process or unit",
        "CPU",
        "▼run delay",
        "longest",
        "switch/s",
        "invol/s",
        "run %",
        "moves",
    ):
        assert word in header
    assert "▶ 12.0 ms" in screen
    assert "(self)" in screen
    first = view.tasks[0]
    assert str(first["tid"]) in screen.splitlines()[2]


async def test_the_task_that_waits_and_what_had_its_cpu_are_the_first_tasks(make_view: MakeView) -> None:
    def behind(frame: Frame) -> Frame:
        """The last task waits behind the one before it, which waits for nothing."""
        hog, late = frame.tasks["tid"][-2:].tolist()
        frame.tasks["run_delay_ns"][-2:] = 0, 1
        pairs = frame.pairs[:1].copy()
        pairs["victim_tid"], pairs["other_tid"], pairs["blocked_ns"] = late, hog, 1
        return replace(frame, pairs=pairs)

    pane, view = TasksPane(), make_view(frames=1, change=behind)
    hog, late = view.frame.tasks["tid"][-2:].tolist()
    name = view.frame.tasks["comm"][-1].decode()
    async with OnePane(pane).run_test(size=(120, 24)) as pilot:

        async def order(victim: int, **settings: str) -> list[int]:
            pane.look_at(victim)
            pane.show(make_view(frames=1, change=behind, settings=ViewSettings(**settings)))  # type: ignore[arg-type]
            await pilot.pause()
            assert pane.rows is not None
            return pane.rows["tid"].tolist()  # type: ignore[no-any-return]

        as_sorted = await order(0)
        assert as_sorted == view.tasks["tid"].tolist() != await order(late)
        assert await order(late) == [late, hog, *(tid for tid in as_sorted if tid not in (late, hog))]
        assert f"{len(as_sorted)} · {name} first · sorted by run delay" in text(pilot.app)
        assert await order(4_000_000) == as_sorted, "a task that is not there"
        pane.own_pid = int(view.frame.tasks["tgid"][-2])
        assert await order(late) == [late, *(tid for tid in as_sorted if tid != late)], "our own share is in the header"
        pane.own_pid = None
        by_time = await order(late, task_sort="run_ns")
        assert (
            by_time
            == make_view(frames=1, change=behind, settings=ViewSettings(task_sort="run_ns")).tasks["tid"].tolist()
        )


async def test_the_longest_wait_of_the_task_that_waits_is_the_first_one(make_view: MakeView) -> None:
    """Four lines of hogs that wait for each other, and none of the service that they keep waiting."""
    pane, view = SlowWaitsPane(), make_view(frames=1)
    as_sorted = view.slow_waits
    last = int(as_sorted["tid"][-1])
    assert last != as_sorted["tid"][0]
    async with OnePane(pane).run_test(size=(120, 24)) as pilot:

        async def first(victim: int, shown: View) -> tuple[int, int]:
            pane.look_at(victim)
            pane.show(shown)
            await pilot.pause()
            assert pane.rows is not None and len(pane.rows) == len(shown.slow_waits)
            return int(pane.rows["tid"][0]), int(pane.rows["wait_ns"][0])

        longest = int(as_sorted["wait_ns"][as_sorted["tid"] == last].max())
        assert await first(last, view) == (last, longest)
        name = as_sorted["comm"][-1].decode()
        assert f" · {name}, slowest first" in text(pilot.app)
        assert (np.diff(pane.rows["wait_ns"][1:]) <= 0).all()  # type: ignore[index]
        assert (await first(0, view))[0] == (await first(4_000_000, view))[0] == as_sorted["tid"][0]
        newest = make_view(frames=1, settings=ViewSettings(slow_wait_sort="time_ns"))
        assert (await first(last, newest))[0] == newest.slow_waits["tid"][0]


async def test_slow_waits_that_were_asked_for_are_counted_apart(make_view: MakeView) -> None:
    """The verdict said 8 slow waits, and the pane 360: the others were of tasks that had been told to wait."""

    def polite(frame: Frame) -> Frame:
        rows = frame.slow_waits.copy()
        rows["nice"][1:], rows["sched_class"], rows["cause"] = 10, SchedClass.FAIR, Cause.PREEMPTION
        return replace(frame, slow_waits=rows)

    view = make_view(frames=1, change=polite)
    count = len(view.slow_waits)
    assert count > 3
    assert f" {count - 1} of lower priority " in await shown(SlowWaitsPane(), view)
    assert "of lower priority" not in await shown(SlowWaitsPane(), make_view(frames=1))


def moved(count: int) -> Callable[[Frame], Frame]:
    def change(frame: Frame) -> Frame:
        for name in ("migrations", "cache_migrations", "numa_migrations", "waiting_ns"):
            frame.tasks[name] = 0
        frame.tasks["migrations"][:1] = count
        return frame

    return change


async def test_tasks_leave_out_columns_that_have_told_nothing_for_a_while(make_view: MakeView) -> None:
    app = OnePane(TasksPane())
    async with app.run_test(size=(160, 24)) as pilot:

        async def header(count: int, frames: int) -> list[str]:
            app.pane.show(make_view(change=moved(count), frames=frames, interval_ns=10_000_000_000))
            await pilot.pause()
            return lines(app)[1].split()

        assert not {"moves", "cache", "numa", "now"} & {*await header(0, 1)}
        assert "moves" in await header(3, 2) and "cache" not in await header(3, 2)
        assert "moves" in await header(0, 4), "20 s later"
        assert "moves" not in await header(0, 5), "30 s later"


async def test_tasks_have_columns_of_class_and_process_if_more_than_our_own_has_them(make_view: MakeView) -> None:
    def change(tgid: int, run_ns: int = 10**8, tid: int = 900, path: str = "/") -> Callable[[Frame], Frame]:
        def changed(frame: Frame) -> Frame:
            rows = frame.tasks[:2].copy()
            rows["tid"], rows["tgid"], rows["cgroup_id"] = (tid, 901), (tgid, 901), 5
            rows["nice"], rows["sched_class"], rows["policy"] = (-12, 0), 1, 0
            rows["run_ns"], rows["run_delay_ns"] = run_ns, 0
            return replace(frame, tasks=rows, cgroups={5: path})

        return changed

    for given, told in (
        (change(900), "class"),
        (change(900, run_ns=10**6), ""),
        (change(4244), ""),
        (change(4244, tid=4244, path="/system.slice/web.service"), "process or unit"),
        (change(901), "class process or unit"),
    ):
        header = (await shown(TasksPane(own_pid=4244), make_view(frames=1, change=given))).splitlines()[1]
        assert ("class" in header, "process or unit" in header) == ("class" in told, "process or unit" in told)


async def test_tasks_show_run_delay_as_a_bar_and_the_unit_of_a_process(make_view: MakeView) -> None:
    def change(frame: Frame) -> Frame:
        rows = frame.tasks[:2].copy()
        rows["tid"], rows["tgid"], rows["process"] = (700, 701), (700, 700), b"server"
        rows["comm"], rows["run_delay_ns"], rows["cgroup_id"] = (b"server", b"worker"), (80_000_000, 20_000_000), 5
        return replace(frame, tasks=rows, cgroups={5: "/system.slice/web.service"})

    row, thread = (await shown(TasksPane(), make_view(frames=1, change=change))).splitlines()[2:4]
    assert "web.service" in row and "server (700)" not in row
    assert "server (700)" in thread
    assert "━" * 8 in row.strip("┃") and "━━ " in thread and "━━━" not in thread.strip("┃")


async def test_tasks_unavailable_parts_are_dashes_or_no_columns(make_view: MakeView) -> None:
    lacks = ("latency", "run_delay", "task_switches", "migrations")
    lines = (await shown(TasksPane(), make_view(change=without(*lacks)))).splitlines()
    assert lines[2].split().count("-") == 3, "run delay and the two kinds of switches"
    assert not any(word in lines[1] for word in ("longest", "waits now", "moves", "cache", "numa"))
    by_proc = (await shown(TasksPane(), make_view(change=without("latency", "switches", "migrations")))).splitlines()
    assert "-" not in by_proc[2].split(), "tasks have switches where CPUs have none"


async def test_tasks_filter_that_lets_nothing_through(make_view: MakeView) -> None:
    view = make_view(settings=ViewSettings(filter=Filter.parse("nobody")))
    assert "no task of 40 passes the filter comm:nobody" in await shown(TasksPane(), view)


@pytest.mark.parametrize("group", ["thread", "process"])
async def test_a_wait_for_a_quota_is_marked_where_it_was_the_longest(group: str, make_view: MakeView) -> None:
    def longest(cause: Cause, wait_ns: int) -> str:
        def change(frame: Frame) -> Frame:
            row = frame.tasks[:1].copy()
            row["run_delay_ns"], row["max_wait_ns"], row["waiting_ns"] = 3_000_000, 67_900_000, 0
            frame.slow_waits["cause"], frame.slow_waits["wait_ns"] = cause, wait_ns
            return replace(frame, tasks=row)

        view = make_view(frames=1, change=change, settings=ViewSettings(group=group))
        pane = TasksPane()
        pane.show(view)
        column = next(each for each in pane.table_columns() if each.header == "longest")
        assert pane.rows is not None and column.level
        context = pane.context(pane.rows)
        return f"{column.cells(context)[0]} {column.level(context)[0]}"

    assert longest(Cause.THROTTLED, 67_900_000) == "◆67.9 ms throttled"
    assert longest(Cause.THROTTLED, 67_900_001) == "67.9 ms raised", "of another task"
    assert longest(Cause.PREEMPTION, 67_900_000) == "67.9 ms raised"


async def test_where_waits_were_not_seen_the_longest_is_an_upper_bound(make_view: MakeView) -> None:
    """rcu_preempt had a run delay of 1.2 ms in 3 switches, and a longest wait of 2 µs."""

    def longest(delay_ns: int, wait_ns: int, switches: int = 3, lacks: str = "") -> str:
        def change(frame: Frame) -> Frame:
            row = frame.tasks[:1].copy()
            row["run_delay_ns"], row["max_wait_ns"], row["waiting_ns"] = delay_ns, wait_ns, 0
            row["voluntary_switches"], row["involuntary_switches"] = switches, 0
            return replace(frame, tasks=row, unavailable={**frame.unavailable, **({lacks: "why"} if lacks else {})})

        pane = TasksPane()
        pane.show(make_view(frames=1, change=change))
        column = next(each for each in pane.table_columns() if each.header == "longest")
        assert pane.rows is not None
        return column.cells(pane.context(pane.rows))[0]

    assert longest(1_260_000, 1_650) == "≤1.26 ms"
    assert longest(1_550_000, 0) == "≤1.55 ms"
    assert longest(1_550_000, 0, lacks="task_switches") == "·"
    assert longest(1_260_000, 420_000) == "420 µs"
    assert longest(90_000, 1_650) == "1.65 µs"


@pytest.mark.parametrize("make", [TasksPane, SlowWaitsPane, BlamePane])
async def test_hostile_names(make: Callable[[], Pane], make_view: MakeView) -> None:
    names = np.array([name.encode()[:15] for name in HOSTILE], "S16")

    def rename(frame: Frame) -> Frame:
        frame.tasks["comm"] = names[np.arange(len(frame.tasks)) % len(names)]
        frame.tasks["process"] = frame.tasks["comm"]
        for field in ("comm", "preemptor_comm", "previous_comm", "waker_comm"):
            frame.slow_waits[field] = names[np.arange(len(frame.slow_waits)) % len(names)]
        frame.slow_waits["blocker_comm"] = frame.slow_waits["comm"][:, None]
        for field in ("victim_comm", "other_comm", "victim_process"):
            frame.pairs[field] = names[np.arange(len(frame.pairs)) % len(names)]
        return frame

    for size in SIZES:
        screen = await shown(make(), make_view(change=rename, slow_waits=12), size)
        assert "\x1b" not in screen
    assert "[bold]" in screen or size[1] < 20, "markup is text"


@pytest.mark.parametrize("keys", [(), ("down",) * 3, ("end",), ("pagedown", "up")])
async def test_selection_survives_sorting(keys: tuple[str, ...], make_view: MakeView) -> None:
    pane = TasksPane()
    app = OnePane(pane)
    async with app.run_test(size=(120, 20)) as pilot:
        pane.show(make_view(seed=1))
        pane.focus()
        await pilot.press(*keys)
        before = pane.selected_row
        assert (before is not None) == bool(keys)
        pane.show(make_view(seed=2, settings=ViewSettings(task_sort="migrations")))
        await pilot.pause()
        after = pane.selected_row
        if before is not None and after is not None:
            assert (before["tid"], before["start_ns"]) == (after["tid"], after["start_ns"])
            index = int(np.flatnonzero(pane.rows["tid"] == after["tid"])[0])  # type: ignore[index]
            assert pane.top <= index < pane.top + pane.page_rows
        assert lines(app)


async def test_a_filter_that_nothing_passes_may_hold_what_steers_a_terminal(make_view: MakeView) -> None:
    view = make_view(settings=ViewSettings(filter=Filter(comms=("5\x00\x07\x7f",))))
    assert "filter comm:5???" in await shown(TasksPane(), view)
