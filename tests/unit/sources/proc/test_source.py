"""What /proc tells without privileges, against the kernel's own numbers of the same tasks."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.frame import Frame, merge
from schedtop.outputs.report.contents import Gatherer, report
from schedtop.outputs.report.plots import plots
from schedtop.outputs.scheduler.csv import to_csv
from schedtop.outputs.scheduler.snapshot import snapshot
from schedtop.outputs.scheduler.text import to_text
from schedtop.sources.proc.births import Births, UnseenTasks, last_tid
from schedtop.sources.proc.polling import CHUNK, TaskPolling
from schedtop.sources.proc.source import LOST, ProcSource
from schedtop.sources.proc.task_table import TaskTable
from schedtop.sources.scope import Scope
from tests.unit.sources.contract import check_frames, check_source, check_stop, take

NS_PER_MS, NS_PER_S = 1_000_000, 1_000_000_000
BUSY = "while True: pass"
NAPS = "import time\nwhile True: time.sleep(0.001)"


def python(code: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", code])


MANY = f"""
import threading, time
for _ in range({2 * CHUNK}):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
time.sleep(60)
"""
"""More tasks than are read between two looks at the clock."""


def wait_for_threads(pid: int) -> None:
    while len(os.listdir(f"/proc/{pid}/task")) <= 2 * CHUNK:
        time.sleep(0.02)


@contextmanager
def loads(*codes: str, cpu: int | None = None) -> Iterator[list[int]]:
    """Processes that run these programs, on one CPU; they are killed at the end."""
    children = [python(code) for code in codes]
    if cpu is not None:
        for child in children:
            os.sched_setaffinity(child.pid, {cpu})
    try:
        yield [child.pid for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()


def begun() -> int:
    lines = Path("/proc/stat").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("processes"))


def kernel_numbers(tid: int) -> tuple[int, ...]:
    """Run time, run delay, timeslices, voluntary and involuntary switches."""
    switches = [int(line.split()[1]) for line in Path(f"/proc/{tid}/status").read_text().splitlines() if "ctxt" in line]
    return (*map(int, Path(f"/proc/{tid}/schedstat").read_text().split()), *switches)


def told(rows: "np.ndarray", tid: int) -> tuple[int, ...]:
    """The same by rows of tasks."""
    own = rows[rows["tid"] == tid]
    names = ("run_ns", "run_delay_ns", "timeslices", "voluntary_switches", "involuntary_switches")
    return tuple(int(own[name].sum()) for name in names)


def stop_all(tids: list[int]) -> None:
    for tid in tids:
        os.kill(tid, signal.SIGSTOP)
    while any("\nState:\tT" not in Path(f"/proc/{tid}/status").read_text() for tid in tids):
        time.sleep(0.01)


@contextmanager
def polling(most_open: int = 100_000) -> Iterator[TaskPolling]:
    polled = TaskPolling(lambda _tid: 0, most_open)
    polled.begin(begun())
    try:
        yield polled
    finally:
        polled.close()


def test_proc_source_keeps_the_contract_and_names_its_gaps() -> None:
    with ProcSource(200 * NS_PER_MS, 5 * NS_PER_MS) as source, loads(BUSY):
        frames = check_source(source)
    assert source.host.source == "proc"
    assert frames[0].unavailable.keys() == set(LOST)
    assert len(set(frames[0].unavailable.values())) == 1, "one reason"
    assert all(frame.total("busy_ns") > 0 and len(frame.tasks) and frame.kernel_switches for frame in frames)
    check_outputs(source, merge(frames))


def check_outputs(source: ProcSource, frame: Frame) -> None:
    """That no output has a zero where nothing is known, and that a recording brings it back."""
    view = History(source.host, [frame]).view(ViewSettings(window_ns=frame.interval_ns))
    data = snapshot(view, 10)
    assert data["source"] == "proc"
    assert data["totals"]["switches"] == frame.kernel_switches
    assert all(data["cpus"][0][name] is None for name in ("switches", "wakeups", "migrations_in", "queue_length"))
    assert data["cpus"][0]["busy_ratio"] is not None
    for part in ("short_lived", "slow_waits", "preemptions", "queue_length"):
        assert data[part] is None
    assert set(data["runqueue_latency"].values()) == {None}
    task = data["tasks"][0]
    assert all(task[name] is not None for name in ("run_ns", "run_delay_ns", "timeslices", "switches", "last_cpu"))
    assert all(task[name] is None for name in ("max_wait_ns", "migrations", "ended", "exit_status", "parent"))
    assert data["verdict"]["rule"] != "unavailable"
    group = snapshot(by_cgroup(view), 1)["groups"][0]
    assert group["run_ns"]
    assert all(group[name] is None for name in ("max_wait_ns", "migrations", "waiting", "runqueue_latency"))
    check_report(source, frame)
    assert to_text(view).count("not available: latency, slow_waits, switches, ") == 1
    assert "not_available" in to_csv(view)


def by_cgroup(view: View) -> View:
    return replace(view, settings=replace(view.settings, group="cgroup"))


def check_report(source: ProcSource, frame: Frame) -> None:
    """Over time: switches are the host's, CPUs are told by how busy they were."""
    gatherer = Gatherer(source.host, ViewSettings(), 2 * NS_PER_S, NS_PER_S)
    for end_ns in (NS_PER_S, 2 * NS_PER_S):
        gatherer.add(replace(frame, end_ns=end_ns, interval_ns=NS_PER_S))
    data = report(gatherer)
    assert [row["switches"] for row in data["series"]] == [frame.kernel_switches] * 2
    assert all(row[name] is None for row in data["series"] for name in ("involuntary_switches", "waits", "max_ns"))
    assert data["heat"]["busy_ratio"]
    assert data["heat"]["involuntary_per_second"] is None
    titles = [plot.title for plot in plots(data)]
    assert "Busy by CPU" in titles
    assert "Runqueue latency" not in titles
    assert "Involuntary switches by CPU" not in titles


def test_proc_source_stops_when_asked() -> None:
    with ProcSource(200 * NS_PER_MS, 5 * NS_PER_MS) as source:
        check_stop(source, 0.2)


@pytest.mark.parametrize("most_open", [100_000, 0])
def test_whole_lives_are_told_to_the_last_nanosecond(most_open: int) -> None:
    """With open files, and without any: how an unlucky limit of descriptors leaves it."""
    cpu = min(os.sched_getaffinity(0))
    with polling(most_open) as polled, loads(BUSY, BUSY, NAPS, cpu=cpu) as tids:
        looks = []
        for _ in range(4):
            time.sleep(0.1)
            looks.append(polled.look(begun(), NS_PER_S))
        stop_all(tids)
        looks.append(polled.look(begun(), NS_PER_S))
        for tid in tids:
            assert told(np.concatenate([look.rows for look in looks]), tid) == kernel_numbers(tid)
    assert sum(look.born for look in looks) >= 3
    own = looks[0].rows[np.isin(looks[0].rows["tid"], tids)]
    assert (own["allowed_cpus"] == 1).all()
    assert (own["last_cpu"] == cpu).all()


def test_unread_task_is_counted_later_without_loss() -> None:
    with loads(MANY) as crowd, loads(BUSY, BUSY, NAPS) as tids:
        wait_for_threads(*crowd)
        check_turns(tids)


def check_turns(tids: list[int]) -> None:
    with polling() as polled:
        time.sleep(0.3)
        looks = [polled.look(begun(), 1) for _ in range(3)]
        assert sum(look.late for look in looks) > 0
        stop_all(tids)
        before = {tid: polled.table.tasks[tid].counters for tid in tids}
        rest = polled.look(begun(), 10 * NS_PER_S)
        assert not rest.late
        for tid in tids:
            run, delay, slices = (now - then for now, then in zip(kernel_numbers(tid), before[tid], strict=False))
            assert told(rest.rows, tid)[:3] == (run, delay, slices)


def test_a_storm_of_forks_breaks_nothing_and_is_counted() -> None:
    storm = "import os\nwhile True:\n    os.wait() if os.fork() else os._exit(0)"
    with ProcSource(200 * NS_PER_MS, 5 * NS_PER_MS) as source, loads(storm, storm):
        frames = take(source, 5)
    check_frames(frames)
    loss = merge(frames).loss
    assert loss.lives_unseen > 20, "nearly all of them live shorter than an interval"
    assert not loss.serious.tasks_untracked


def test_a_tid_that_is_given_again_is_another_task() -> None:
    with polling(0) as polled, loads(BUSY) as (tid,):
        time.sleep(0.05)
        polled.look(begun(), NS_PER_S)
        task = polled.table.tasks[tid]
        task.start_ns -= NS_PER_S  # as if another one had it before, with larger counters
        task.counters = (10**15, 10**15, 10**9)
        time.sleep(0.05)
        assert polled.look(begun(), NS_PER_S).ended >= 1
        stop_all([tid])
        rows = polled.look(begun(), NS_PER_S).rows
        assert told(rows, tid) == kernel_numbers(tid), "the whole life of the new one"


def test_an_end_is_counted_and_leaves_no_file_open() -> None:
    with polling() as polled:
        with loads(NAPS) as (tid,):
            time.sleep(0.1)
            polled.look(begun(), NS_PER_S)
            assert tid in polled.table.tasks
        assert polled.look(begun(), NS_PER_S).ended >= 1
        assert tid not in polled.table.tasks
    assert not [name for name in os.listdir("/proc/self/fd") if "schedstat" in link(name)]


def link(name: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        return ""


def test_new_tasks_are_found_by_their_numbers() -> None:
    births = Births()
    known = {tid: 0 for tid, _ in births.candidates(begun(), (), lambda _tgid: 0)}
    assert os.getpid() in known
    with loads(NAPS) as (tid,):
        found = {tid for tid, _ in births.candidates(begun(), known, lambda _tgid: 1)}
        assert tid in found
        assert len(found) < len(known) + 2000, "not all of /proc"
        assert last_tid() >= 0


def test_lives_between_two_looks_are_what_is_left() -> None:
    tasks = UnseenTasks(100)
    assert tasks.unseen(110, 3) == 0, "the last ten may still be found"
    assert tasks.unseen(110, 2) == 5
    assert tasks.unseen(110, 0) == 0


def test_the_limit_of_files_is_raised_and_given_back() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, before[1]))
    try:
        table = TaskTable(100)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 356
        for number in (os.getpid(), os.getppid()):
            assert table.enter(number)
        table.close()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_scope_lets_its_tasks_through_alone() -> None:
    with loads(BUSY, BUSY) as tids:
        scope = Scope(tgids=(tids[0],), comms=("PYTH",))
        with ProcSource(200 * NS_PER_MS, 5 * NS_PER_MS, scope=scope) as source:
            rows = merge(take(source, 2)).tasks
    assert set(rows["tid"].tolist()) == {tids[0]}
    assert source.host.scope


def test_threads_are_told_with_their_process() -> None:
    stop = threading.Event()

    def spin() -> None:
        while not stop.is_set():
            sum(range(1000))

    thread = threading.Thread(target=spin)
    with ProcSource(200 * NS_PER_MS, 5 * NS_PER_MS) as source:
        thread.start()
        try:
            rows = merge(take(source, 2)).tasks
        finally:
            stop.set()
            thread.join()
    own = rows[rows["tid"] == thread.native_id]
    assert own["tgid"].tolist() == [os.getpid()]
    assert own["process"][0] == Path("/proc/self/comm").read_bytes().rstrip()[:16]
