"""Off-CPU on the screen: who counts as held up, how states are split, and what the stacks say."""

from __future__ import annotations

import pytest

from schedtop.base.stacks import NO_STACK, Stack, Symbol, Waker
from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.model.filters import Filter
from schedtop.model.host import Host
from schedtop.offcpu.loss import OffCpuLoss
from schedtop.offcpu.measurement import OffCpu, OffCpuRow, Times
from schedtop.offcpu.places import place_of
from schedtop.offcpu.threads import measured
from schedtop.panes.offcpu.header import headline_spans, loss_words, lost_and_extra
from schedtop.panes.offcpu.lines import ORDERS, chosen
from schedtop.panes.offcpu.stacks import StacksPane
from schedtop.panes.offcpu.threads import ThreadsPane, state_bar
from schedtop.sources.synthetic.offcpu import SyntheticOffCpu, scene
from schedtop.ui.screens.offcpu.export import only
from tests.unit.panes.screen import OnePane, assert_widths, text

HOST = Host("h", "6.18", "btf")


def stack(names: str, kernel: bool = True) -> Stack:
    """Leaf first."""
    return Stack(tuple(Symbol(name, "[kernel]", 0, kernel) for name in names.split()))


def row(
    tid: int, ms: float, kernel: str = "__schedule schedule pipe_read", state: str = "sleeping", **given: object
) -> OffCpuRow:
    ns = int(ms * NS_PER_MS)
    values = {"user": NO_STACK, "waker": None, "comm": f"task{tid}", "times": Times(1, ns, ns, ns)} | given
    return OffCpuRow(tid, tid, process=f"proc{tid}", state=state, kernel=stack(kernel), **values)  # type: ignore[arg-type]


def offcpu(*rows: OffCpuRow, seconds: int = 10) -> OffCpu:
    return OffCpu(HOST, 0, seconds * NS_PER_S, rows)


@pytest.mark.parametrize(
    ("kernel", "state", "user", "place", "idle"),
    [
        ("__schedule schedule ep_poll do_epoll_wait", "sleeping", "", "epoll", True),
        ("__schedule schedule do_nanosleep hrtimer_nanosleep", "sleeping", "", "timer", True),
        # select is made of poll's parts
        ("__schedule schedule_hrtimeout_range poll_schedule_timeout.constprop.0 do_select", "sleeping", "",
         "poll_schedule_timeout", False),
        ("__schedule schedule futex_wait_queue futex_wait", "sleeping", "__lll_lock_wait main", "futex", False),
        ("__schedule schedule futex_wait_queue futex_wait", "sleeping", "pthread_cond_wait main", "condition", True),
        ("__schedule schedule io_schedule folio_wait_bit_common", "uninterruptible", "", "disk", False),
        ("__schedule schedule wait_for_vfork_done kernel_clone", "uninterruptible", "", "vfork", False),
        ("__schedule schedule watchdog kthread ret_from_fork", "sleeping", "", "watchdog", True),
        ("__schedule schedule some_lock kthread ret_from_fork", "uninterruptible", "", "some_lock", False),
        ("__schedule schedule worker_thread kthread", "idle", "", "kernel work", True),
        ("__schedule schedule some_driver_wait", "idle", "", "some_driver_wait", True),
        ("__schedule schedule some_driver_wait.isra.0 ioctl", "uninterruptible", "", "some_driver_wait", False),
        # A timer in the stack of an uninterruptible sleep is not how one waits for work.
        ("__schedule schedule do_nanosleep", "uninterruptible", "", "timer", False),
        ("__schedule schedule ep_poll", "runnable", "", "a CPU", False),
        ("", "sleeping", "", "sleeping", False),
    ],
)  # fmt: skip
def test_place_is_where_the_thread_blocked(kernel: str, state: str, user: str, place: str, idle: bool) -> None:
    if place == "poll_schedule_timeout":
        place, idle = "select", True
    assert place_of(row(1, 5, kernel, state, user=stack(user, False))) == (place, idle)


def test_a_futex_that_an_interrupt_ended_has_timed_out() -> None:
    futex = "schedule futex_wait_queue"
    assert place_of(row(1, 5, futex, waker=Waker(0, "[interrupt]"))) == ("futex timeout", True)
    assert place_of(row(1, 5, futex, waker=Waker(7, "giver"))) == ("futex", False)


def test_threads_waiting_for_work_are_hidden_and_counted() -> None:
    lines = measured(
        offcpu(
            row(1, 9000, "schedule ep_poll"),
            row(1, 0.5, "schedule ep_poll", "runnable"),
            row(2, 8000, "schedule ep_poll"),
            row(2, 2, "schedule io_schedule", "uninterruptible"),
            row(3, 700),
        )
    ).lines
    by_tid = {line.thread.tid: line for line in lines}
    assert [by_tid[tid].held_ns for tid in (1, 2, 3)] == [NS_PER_MS // 2, 2 * NS_PER_MS, 700 * NS_PER_MS]
    # Half a millisecond in ten seconds is idle; one wait of two milliseconds is not.
    assert [by_tid[tid].is_idle for tid in (1, 2, 3)] == [True, False, False]
    assert [by_tid[tid].place for tid in (1, 2, 3)] == ["epoll", "disk", "pipe"]
    shown, hidden = chosen(lines, Filter(), "held", idle=False)
    assert ([line.thread.tid for line in shown], hidden) == ([3, 2], 1)
    shown, hidden = chosen(lines, Filter(), "held", idle=False, always=1)
    assert ([line.thread.tid for line in shown], hidden) == ([3, 2, 1], 0)
    shown, hidden = chosen(lines, Filter(), "blocked", idle=True)
    assert ([line.thread.tid for line in shown], hidden) == ([1, 2, 3], 0)
    assert sum(line.thread.total_ns for line in lines) == sum(stack.total_ns for line in lines for stack in line.stacks)


def test_thread_asleep_all_the_time_comes_last() -> None:
    lines = measured(offcpu(row(1, 10_000, "schedule futex_wait"), row(2, 3), row(3, 10_000, state="uninterruptible")))
    shown, hidden = chosen(lines.lines, Filter(), "held", idle=False)
    assert ([line.thread.tid for line in shown], hidden) == ([3, 2, 1], 0)


@pytest.mark.parametrize("order", ORDERS)
def test_orders_put_the_largest_first(order: str) -> None:
    lines = measured(scene(HOST, 3)).lines
    shown, _ = chosen(lines, Filter(), order, idle=True)
    values = [ORDERS[order][1](line) for line in shown]
    assert values == sorted(values, reverse=True) and len(set(values)) > 1


@pytest.mark.parametrize(
    ("words", "tids"),
    [
        ("task", [1, 2]),
        ("PROC2", [2]),
        ("tid:1", [1]),
        ("tgid:2", [2]),
        ("2", [2]),
        ("tid:1 proc2", []),
        ("cpu:3", [1, 2]),
    ],
)
def test_a_filter_is_about_names_and_numbers(words: str, tids: list[int]) -> None:
    lines = measured(offcpu(row(1, 20), row(2, 10))).lines
    assert [line.thread.tid for line in chosen(lines, Filter.parse(words), "held", idle=False)[0]] == tids


@pytest.mark.parametrize(
    ("states", "bar"),
    [
        ({"sleeping": 100}, "SSSSSS"),
        ({"sleeping": 100, "runnable": 0.001}, "rSSSSS"),
        ({"sleeping": 50, "uninterruptible": 50}, "SSSDDD"),
        ({"sleeping": 1, "uninterruptible": 1, "runnable": 100, "stopped": 1}, "RRRsdt"),
        ({"idle": 5}, "IIIIII"),
    ],
)
def test_every_state_is_seen_in_the_bar(states: dict[str, float], bar: str) -> None:
    (line,) = measured(offcpu(*(row(1, ms, state=state) for state, ms in states.items()))).lines
    assert state_bar(line) == bar


def test_states_with_one_stack_are_one_line_with_both_times() -> None:
    waker = Waker(9, "irq/9")
    (line,) = measured(
        offcpu(row(1, 30, waker=waker), row(1, 10, state="runnable", waker=waker), row(1, 5, "schedule do_wait"))
    ).lines
    assert [stack.total_ns // NS_PER_MS for stack in line.stacks] == [40, 5]
    assert line.stacks[0].wakers == (("irq/9-9", 30 * NS_PER_MS),)
    assert line.waker == "irq/9-9"


async def test_the_threads_pane_at_every_width() -> None:
    pane = ThreadsPane()
    lines, _ = chosen(measured(scene(HOST, 3)).lines, Filter(), "held", idle=True)
    for width in (60, 80, 100, 120, 160, 200):
        async with OnePane(pane := ThreadsPane()).run_test(size=(width, 14)) as pilot:
            pane.take(lines, "held", "8")
            await pilot.pause()
            assert_widths(pilot.app)
            screen = text(pilot.app)
            assert "▼held up" in screen and "postgres" in screen and "2.23 s" in screen
            if width >= 80:
                assert "mostly in" in screen and "disk" in screen and "16.1 %" in screen and "rDDDDD" in screen
            if width >= 120:
                assert "run delay" in screen and "unintr." in screen and "sleeping" in screen


async def test_long_and_hostile_names_keep_the_lines_whole() -> None:
    names = "a[red]\x1b[31m漢字" + "x" * 500
    hostile = row(1, 500, names, comm="[b]\x07漢字漢字漢字漢字漢字", user=stack(f"{names} {names}", False))
    for whole in (False, True):
        async with OnePane(pane := StacksPane()).run_test(size=(80, 20)) as pilot:
            pane.is_whole = whole
            (line,) = measured(offcpu(hostile)).lines
            pane.take(line.stacks, "of [red]", named=True)
            await pilot.pause()
            assert_widths(pilot.app)
            assert "[red]" in text(pilot.app) and "\x1b" not in text(pilot.app)


async def test_short_stacks_leave_out_what_all_have_and_say_how_much_is_cut() -> None:
    ends = "__schedule schedule", "do_syscall_64 entry_SYSCALL_64_after_hwframe"
    inner = " ".join(f"a_rather_long_function_name_{n}" for n in range(40))
    (line,) = measured(offcpu(row(1, 500, f"{ends[0]} {inner} {ends[1]}"))).lines
    async with OnePane(pane := StacksPane()).run_test(size=(80, 40)) as pilot:
        pane.take(line.stacks, "", named=False)
        await pilot.pause()
        screen = text(pilot.app)
        assert "function_name_0" in screen and "do_syscall_64" not in screen and "__schedule" not in screen
        shown = screen.count("a_rather_long") - 1  # it is also what the head says it slept in
        assert f"… {40 - shown} more" in screen
        pane.is_whole = True
        pane.draw()
        await pilot.pause()
        screen = text(pilot.app)
        assert screen.count("a_rather_long") == 41 and "__schedule ← schedule" in screen


async def test_ended_threads_of_different_names_are_different() -> None:
    ended = [
        row(0, ms, f"schedule {place}", comm=comm) for ms, place, comm in ((5, "pipe_read", "a"), (3, "pause", "b"))
    ]
    shown = measured(offcpu(*ended))
    assert [(line.held_ns, line.place, len(line.stacks)) for line in shown.lines] == [
        (5 * NS_PER_MS, "pipe", 1),
        (3 * NS_PER_MS, "pause", 1),
    ]
    assert [kept.comm for kept in only(shown.offcpu, {(0, "b")}, "").rows] == ["b"]
    async with OnePane(pane := ThreadsPane()).run_test(size=(160, 20)) as pilot:
        pane.take(shown.lines, "held", "2")
        await pilot.pause()
        assert pane.rows is not None and len(set(pane.rows["tid"].tolist())) == 2


def test_losses_in_words() -> None:
    words = loss_words(OffCpuLoss(tasks=3, user_stacks=12_000, rows=1, unknown_frames=10**6))
    assert "".join(text for text, _ in words) == "lost: user stacks 12.0k, tasks 3"


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (80, ["lost: user stacks 12.0k, tasks 3", "filter postgres tid:4242"]),
        (56, ["lost: user stacks 12.0k", "filter postgres tid:4242"]),
        (44, ["lost: 12.0k", "filter postgres tid:4242"]),
        (33, ["lost: 12.0k", "filter postgres t…"]),
        (5, ["lost: 12.0k", "filter post…"]),
    ],
)
def test_losses_get_short_before_the_filter_is_cut(room: int, expected: list[str]) -> None:
    loss = OffCpuLoss(tasks=3, user_stacks=12_000)
    parts = lost_and_extra(loss, [("filter postgres tid:4242", "notice")], room)
    assert ["".join(text for text, _ in part) for part in parts] == expected
    assert room < 28 or sum(2 + len(words) for words in expected) <= room


def test_the_synthetic_source_is_one() -> None:
    import threading

    with SyntheticOffCpu(pace_s=0) as source:
        frames = source.frames(threading.Event())
        first, second = next(frames), next(frames)
    assert second.duration_ns == 2 * first.duration_ns and second.blocked_ns == 2 * first.blocked_ns
    short = scene(HOST, 1, NS_PER_MS)
    assert short.below_count and short.min_ns == NS_PER_MS


@pytest.mark.parametrize("width", [60, 80, 160])
def test_header_leads_with_the_thread_held_up_most_and_a_whole_command(width: int) -> None:
    lines = measured(offcpu(row(7, 4000), row(8, 9000))).lines
    worst = max(lines, key=lambda line: line.held_ns)
    told = "".join(text for text, _ in headline_spans(worst, 10 * NS_PER_S, width))
    assert told.startswith("task8 (8) is held up 90.0 %")
    assert told.endswith("schedtop path --tid 8") and len(told) <= width


def test_header_says_that_no_thread_is_held_up() -> None:
    assert headline_spans(None, NS_PER_S, 80)[0][0].startswith("No thread is held up")
