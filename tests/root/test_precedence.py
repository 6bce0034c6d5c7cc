"""Who goes before whom: scenes with a known cause, their verdict, and that what it advises removes the cause."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import MOSTLY_BTF, NS_PER_MS, Collector
from loads import ended, kernel_numbers, load_share, python
from scenarios import cgroup, set_shares

from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame, merge
from schedtop.model.kernels import has_fair_server
from schedtop.model.rows import Rows
from schedtop.model.sched_class import Level, Policy, SchedClass, Treatment, treatment
from schedtop.model.waits import Cause, Evidence
from schedtop.model.weights import MOST_SHARES
from schedtop.sources.host.cgroups import cpu_hierarchy, read_mounts
from schedtop.sources.host.throttling import read_statistics
from schedtop.sources.proc.source import ProcSource
from schedtop.sources.scheduler.causes import Mask
from schedtop.sources.scheduler.source import LiveSource
from schedtop.verdict.engine import judge
from schedtop.verdict.verdict import Verdict

RT_RUNTIME = Path("/proc/sys/kernel/sched_rt_runtime_us")
FAIR_SERVER = has_fair_server(os.uname().release)
INTERVAL_NS = (200 if load_share() == 1 else 1000) * NS_PER_MS
LOOP = "while True: pass"
PULSE = "import time\nwhile True: time.sleep(0.005)"

_JOB = """
import os, signal, sys, time

def leave(*_):
    # A deadline task that is killed may leave its bandwidth behind on some kernels.
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os._exit(0)

signal.signal(signal.SIGTERM, leave)
work_s, period_s = map(float, sys.argv[1:])

def work():
    used = time.thread_time()
    while time.thread_time() - used < work_s:
        pass

"""

JOBS = f"""{_JOB}
while True:
    begin = time.monotonic()
    work()
    time.sleep(max(0, begin + period_s - time.monotonic()))
"""
"""A job that takes so much CPU time, once each period."""

JOBS_AT_ONCE = f"""{_JOB}
while True:
    due = (time.monotonic() // period_s + 1) * period_s
    time.sleep(due - time.monotonic())
    print(due, time.monotonic() - due, flush=True)
    work()
"""
"""The same of jobs that all begin with the period. It prints when that was, and how long it waited for the CPU."""


@pytest.fixture(scope="module", autouse=True)
def out_of_the_way() -> Iterator[None]:
    """Keeps the test itself, and schedtop in it, off CPU 1, where it happens."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {0})
    yield
    os.sched_setaffinity(0, before)


BTF_AT_LEAST = pytest.mark.parametrize("front_end", MOSTLY_BTF)


@pytest.fixture(scope="module")
def sources() -> Iterator[dict[str, LiveSource]]:
    """Live sources by front end, opened once."""
    opened: dict[str, LiveSource] = {}
    yield opened
    for source in opened.values():
        source.__exit__(None, None, None)


class Watcher:
    """Collects for a while, and judges."""

    def __init__(self, source: LiveSource) -> None:
        self._source = source
        self.frame: Frame

    def view(self, seconds: float, words: str = "") -> View:
        with Collector(self._source) as collector:
            time.sleep(seconds)
        # Whole intervals of the load alone.
        self.frame = merge(collector.frames[1:] or collector.frames)
        return History(self._source.host, [self.frame]).view(ViewSettings(filter=Filter.parse(words)))

    def verdict(self, seconds: float, words: str = "") -> Verdict:
        return judge(self.view(seconds, words))


@pytest.fixture
def watch(sources: dict[str, LiveSource], front_end: str) -> Watcher:
    if front_end not in sources:
        sources[front_end] = LiveSource(INTERVAL_NS, 5 * NS_PER_MS, front_end).__enter__()
    return Watcher(sources[front_end])


@pytest.fixture(scope="module")
def first() -> Iterator[Path]:
    """A cgroup of so much weight that hardly a task outside of it runs beside its own: others may use the machine."""
    with cgroup("first") as directory:
        set_shares(directory, MOST_SHARES)
        yield directory


def loop(
    policy: int = os.SCHED_OTHER,
    priority: int = 0,
    nice: int = 0,
    cpu: int = 1,
    group: Path | None = None,
    code: str = LOOP,
    session: bool = False,
) -> subprocess.Popen[bytes]:
    """A loop on one CPU, in a cgroup, else in the session of the tests, or one of its own."""

    def prepare() -> None:
        if group:
            (group / "cgroup.procs").write_text(str(os.getpid()))
        os.sched_setaffinity(0, {cpu})
        os.setpriority(os.PRIO_PROCESS, 0, nice)
        os.sched_setscheduler(0, policy, os.sched_param(priority))

    return python(code, preexec_fn=prepare, start_new_session=session)


@contextmanager
def deadline_job(
    work_s: float, runtime_ns: int, period_ns: int, *, deadline_ns: int = 0, code: str = JOBS, repeat_s: float = 0.0
) -> Iterator[subprocess.Popen[bytes]]:
    """A job as a deadline task, which must be free to run anywhere. `deadline_ns` 0: the period, as `repeat_s`."""
    every = {*range(os.cpu_count() or 1)}
    arguments = (str(work_s), str(repeat_s or period_ns / 1e9))
    job = python(code, *arguments, preexec_fn=lambda: os.sched_setaffinity(0, every), stdout=subprocess.PIPE)
    try:
        time.sleep(0.2)
        deadline_ns = deadline_ns or period_ns
        times = ("--sched-runtime", runtime_ns, "--sched-deadline", deadline_ns, "--sched-period", period_ns)
        done = subprocess.run(
            ["chrt", "-d", *map(str, times), "-p", "0", str(job.pid)], capture_output=True, check=False
        )
        if done.returncode:
            pytest.skip(f"no deadline task here: {done.stderr.decode().strip()}")
        yield job
    finally:
        job.terminate()
        with suppress(subprocess.TimeoutExpired):
            job.wait(5)
        job.kill()
        job.wait()


def follow(verdict: Verdict) -> None:
    """Types what the verdict advises."""
    assert verdict.command and verdict.command in verdict.action, verdict
    subprocess.run(verdict.command, shell=True, check=True, capture_output=True)


def waits_of(frame: Frame, process: subprocess.Popen[bytes], least_ns: int = 5 * NS_PER_MS) -> Rows:
    rows = frame.slow_waits
    return rows[(rows["tid"] == process.pid) & (rows["wait_ns"] >= least_ns)]


def named(process: subprocess.Popen[bytes], how: str = "") -> str:
    comm = Path(f"/proc/{process.pid}/comm").read_text().strip()
    return f"{comm} ({process.pid}, {how})" if how else f"{comm} ({process.pid})"


def share_ns(rows: Rows, chosen: Mask) -> float:
    """The share of the waiting time that some of the waits have."""
    return float(rows["wait_ns"][chosen].sum() / max(1, rows["wait_ns"].sum()))


@BTF_AT_LEAST
def test_real_time_loop_is_named_with_what_it_leaves(watch: Watcher, front_end: str, first: Path) -> None:
    hog, ordinary = loop(os.SCHED_FIFO, 50), loop(group=first)
    with ended(hog, ordinary):
        time.sleep(0.5)
        verdict = watch.verdict(3.5, f"tid:{ordinary.pid}")
        rows = waits_of(watch.frame, ordinary)
        assert share_ns(rows, rows["cause"] == Cause.BEHIND_RT) > 0.8
        assert verdict.rule == "behind-rt", verdict
        how = "fifo 50" if front_end == "btf" else "rt 50"
        start = f"{named(hog, how)}, real-time, keeps {named(ordinary).split(' (')[0]} off CPU 1: it waits "
        assert verdict.headline.startswith(start)
        assert verdict.headline.endswith("; others get 5 %")
        assert verdict.command == f"chrt -o -p 0 {hog.pid}"
        follow(verdict)
        after = watch.verdict(2, f"tid:{ordinary.pid}")
        assert after.rule != "behind-rt", after


@BTF_AT_LEAST
def test_throttled_real_time_loop_is_named(watch: Watcher, first: Path) -> None:
    if not FAIR_SERVER and RT_RUNTIME.read_text().strip() == "-1":
        pytest.skip("real-time tasks are not limited here")
    hog, ordinary = loop(os.SCHED_RR, 7), loop(group=first)
    with ended(hog, ordinary):
        time.sleep(0.5)
        verdict = watch.verdict(6.5, f"tid:{hog.pid}")
        rows = waits_of(watch.frame, hog)
        assert share_ns(rows, rows["evidence"] == Evidence.RT_RUNTIME) > 0.8
        assert verdict.rule == "rt-runtime", verdict
        limit = "the fair server gives others 5 %" if FAIR_SERVER else "sched_rt_runtime_us allows 95 %"
        assert verdict.headline.endswith(f": {limit} of it"), verdict
        follow(verdict)
        assert watch.verdict(2, f"tid:{hog.pid}").rule != "rt-runtime"


@pytest.fixture
def without_rt_runtime() -> Iterator[None]:
    """Real-time tasks may have all, as far as this file says it."""
    before = RT_RUNTIME.read_text()
    RT_RUNTIME.write_text("-1")
    yield
    RT_RUNTIME.write_text(before)


@pytest.mark.stress
@pytest.mark.skipif(not FAIR_SERVER, reason="before 6.12 a CPU without that limit stands still")
@pytest.mark.usefixtures("without_rt_runtime")
def test_fair_server_keeps_its_share_without_the_runtime_limit(front_end: str, first: Path) -> None:
    if front_end != "btf":
        pytest.skip("seen once is enough")
    hog, ordinary = loop(os.SCHED_FIFO, 50), loop(group=first)
    with ended(hog, ordinary), LiveSource(INTERVAL_NS, 5 * NS_PER_MS, front_end) as source:  # which reads the limit
        watch = Watcher(source)
        time.sleep(0.5)
        before = kernel_numbers(ordinary.pid).run_ns, time.monotonic_ns()
        verdict = watch.verdict(3.5, f"tid:{ordinary.pid}")
        ran, took = kernel_numbers(ordinary.pid).run_ns - before[0], time.monotonic_ns() - before[1]
        assert verdict.rule == "behind-rt", verdict
        assert verdict.headline.endswith("; others get 5 %"), verdict
        assert "ordinary tasks get the 5 % that the fair server keeps for them" in verdict.evidence
        # What else is in the fair class there has a part of it.
        assert 0.02 < ran / took < 0.07


def test_deadline_task_without_runtime_is_named(watch: Watcher, front_end: str) -> None:
    if front_end != "btf":
        pytest.skip("tracepoints do not tell how much a deadline task was granted")
    with deadline_job(0.006, 5 * NS_PER_MS, 20 * NS_PER_MS) as job:
        verdict = watch.verdict(3, f"tid:{job.pid}")
        rows = waits_of(watch.frame, job)
        assert len(rows) > 10
        assert share_ns(rows, rows["evidence"] == Evidence.DEADLINE_RUNTIME) > 0.8
        assert verdict.rule == "deadline-runtime", verdict
        assert verdict.headline.startswith(f"{named(job, 'deadline')} is throttled up to ")
        assert verdict.headline.endswith(": used up its 5 ms of each 20 ms")
        follow(verdict)
        after = watch.verdict(3, f"tid:{job.pid}")
        assert after.rule != "deadline-runtime", after
        assert len(waits_of(watch.frame, job)) < len(rows) // 4


@pytest.mark.parametrize("front_end", ["btf"])
def test_missed_deadlines_are_told_as_late_as_they_were(watch: Watcher) -> None:
    """Two jobs a CPU whose deadlines are earlier, of 9 ms each, so that a third can begin 18 ms after they all woke."""
    repeat_s, deadline_ns = 0.1, 13 * NS_PER_MS
    common: dict[str, Any] = {"code": JOBS_AT_ONCE, "repeat_s": repeat_s}
    with ExitStack() as stack:
        for rival in range(2 * (os.cpu_count() or 1)):
            earlier_ns = (11 + rival // (os.cpu_count() or 1)) * NS_PER_MS
            # A period that is over for certain when the next job wakes.
            rivals = {"deadline_ns": earlier_ns, "period_ns": 90 * NS_PER_MS}
            stack.enter_context(deadline_job(0.009, 10 * NS_PER_MS, **rivals, **common))
        # With a longer period it would be throttled when it moves after its deadline (dl_check_constrained_dl()).
        late = stack.enter_context(deadline_job(0.001, 5 * NS_PER_MS, period_ns=deadline_ns, **common))
        verdict = watch.verdict(3, f"tid:{late.pid}")
        rows, end_s, window_s = waits_of(watch.frame, late), watch.frame.end_ns / 1e9, watch.frame.duration_s
        follow(verdict)
        time.sleep(2 * repeat_s)
        watch.view(2)
        after = waits_of(watch.frame, late, 0)
    assert late.stdout
    told = np.array([line.split() for line in late.stdout.read().decode().splitlines()], float)
    within = (told[:, 0] > end_s - window_s) & (told[:, 0] < end_s - deadline_ns / 1e9)
    missed_ns = told[within, 1] * 1e9 - deadline_ns
    missed_ns = missed_ns[missed_ns > 0]
    assert len(missed_ns) > 10
    ours = rows["dl_missed_ns"][rows["dl_missed_ns"] > 0]
    assert len(ours) == pytest.approx(len(missed_ns), abs=2)
    assert np.median(ours) == pytest.approx(np.median(missed_ns), abs=NS_PER_MS)
    assert verdict.rule == "behind-deadline", verdict
    assert any(words.startswith("deadlines were missed ") for words in verdict.evidence), verdict
    # With one of the others gone it can begin 9 ms after it woke, in time.
    assert (after["dl_missed_ns"] > 0).sum() <= len(missed_ns) // 10


@pytest.mark.stress
@BTF_AT_LEAST
def test_tasks_behind_a_deadline_task(watch: Watcher, first: Path) -> None:
    ordinary = loop(group=first)
    times = (0.012, 15 * NS_PER_MS, 20 * NS_PER_MS)
    # Two, so that each CPU has one: they may not be pinned.
    with ended(ordinary), deadline_job(*times) as one, deadline_job(*times) as other:
        verdict = watch.verdict(3, f"tid:{ordinary.pid}")
        assert verdict.rule == "behind-deadline", verdict
        beginnings = tuple(f"{named(job, 'deadline')} goes first: it had CPU 1 for " for job in (one, other))
        assert verdict.headline.startswith(beginnings), verdict
        follow(verdict)
        if (after := watch.verdict(2, f"tid:{ordinary.pid}")).rule == "behind-deadline":
            follow(after)  # behind the other one
            after = watch.verdict(2, f"tid:{ordinary.pid}")
        assert after.rule != "behind-deadline", after


@BTF_AT_LEAST
def test_nice_task_waits_because_of_its_weight(watch: Watcher, first: Path) -> None:
    low, high = loop(nice=19, group=first), loop(group=first)
    with ended(low, high):
        time.sleep(0.5)
        verdict = watch.verdict(4, f"tid:{low.pid}")
        rows = waits_of(watch.frame, low)
        assert share_ns(rows, rows["cause"] == Cause.LOWER_WEIGHT) > 0.8
        place = rows["blocker_tid"] == high.pid
        assert {*rows["blocker_level"][place].tolist()} == {Level.TASK}
        assert {*rows["victim_weight"][place].tolist()} == {15}
        assert {*rows["blocker_weight"][place].tolist()} == {1024}
        assert verdict.rule == "lower-weight", verdict
        assert verdict.headline.startswith(f"{named(low, 'nice 19')} waits up to ")
        assert verdict.headline.endswith(f": {named(high)} has 68 times its weight")
        assert verdict.command == f"renice -n 0 -p {low.pid}"
        follow(verdict)
        after = watch.verdict(2, f"tid:{low.pid}")
        assert after.rule != "lower-weight", after


@pytest.mark.stress
@BTF_AT_LEAST
def test_task_of_a_cgroup_with_less_weight_waits_because_of_it(watch: Watcher, first: Path) -> None:
    with cgroup("low", parent=first) as group, cgroup("high", parent=first) as other:
        set_shares(group, 256)
        low, high = loop(group=group), loop(group=other)
        with ended(low, high):
            time.sleep(0.5)
            verdict = watch.verdict(3, f"tid:{low.pid}")
            rows = waits_of(watch.frame, low)
            assert share_ns(rows, (rows["blocker_level"] == Level.CGROUP).any(axis=1)) > 0.8
            shares = {int(task["tid"]): int(task["cgroup_weight"]) for task in watch.frame.tasks}
            assert (shares[low.pid], shares[high.pid]) == (256, 1024)
            assert verdict.rule == "lower-weight", verdict
            assert verdict.headline.endswith(f": the cgroup of {named(high)} has 4 times its weight")
            follow(verdict)
            time.sleep(5.5)  # as long as the old weight is believed
            after = watch.verdict(2, f"tid:{low.pid}")
            assert after.rule != "lower-weight", after


def test_task_of_the_root_cgroup_is_raised_beside_a_group(watch: Watcher, front_end: str) -> None:
    root = cpu_hierarchy(read_mounts())
    if front_end != "btf" or root is None:
        pytest.skip("seen once is enough, on a host with cgroups")
    autogroups = Path("/proc/self/autogroup").exists()
    with cgroup("high") as group:
        set_shares(group, 8192)
        low, high = loop(group=root, session=True), loop(group=group)
        with ended(low, high):
            time.sleep(0.5)
            verdict = watch.verdict(3, f"tid:{low.pid}")
            assert verdict.rule == "lower-weight", verdict
            whose = "the weight of its session" if autogroups else "its weight"
            assert verdict.headline.endswith(f": the cgroup of {named(high)} has 8 times {whose}"), verdict
            command = f"echo -10 > /proc/{low.pid}/autogroup" if autogroups else f"renice -n -10 -p {low.pid}"
            assert verdict.command == command
            follow(verdict)
            assert_even(low, high)


def assert_even(one: subprocess.Popen[bytes], other: subprocess.Popen[bytes]) -> None:
    """Both have the CPU alike, by the kernel's own account."""
    before = [kernel_numbers(each.pid).run_ns for each in (one, other)]
    time.sleep(1.5)
    ran = [kernel_numbers(each.pid).run_ns - ns for each, ns in zip((one, other), before, strict=True)]
    assert 0.35 < ran[0] / sum(ran) < 0.65


@pytest.mark.stress
def test_nice_is_no_help_in_a_session_with_less_weight(watch: Watcher, front_end: str) -> None:
    if front_end != "btf" or not Path("/proc/self/autogroup").exists():
        pytest.skip("seen once is enough, on a kernel that has autogroups")
    low, high = loop(nice=-10, session=True), loop(session=True)
    with ended(low, high):
        # Before the sessions of others.
        for each, nice in ((low, -10), (high, -20)):
            Path(f"/proc/{each.pid}/autogroup").write_text(str(nice))
        time.sleep(0.5)
        verdict = watch.verdict(3, f"tid:{low.pid}")
        assert verdict.rule == "lower-weight", verdict
        assert verdict.headline.startswith(f"{named(low, 'nice -10')} waits up to ")
        assert verdict.headline.endswith(f": the session of {named(high)} has 9.3 times its weight")
        assert verdict.action == f"nice acts only inside of its session: echo -20 > /proc/{low.pid}/autogroup"
        follow(verdict)
        assert_even(low, high)


def test_quota_for_four_tasks_is_raised_by_the_command(watch: Watcher, front_end: str, first: Path) -> None:
    if front_end != "btf":
        pytest.skip("seen once is enough")
    with cgroup("quota", quota=0.2, parent=first) as group:
        loops = [loop(group=group) for _ in range(4)]
        with ended(*loops):
            time.sleep(0.5)
            before = throttled_ns(group)
            verdict = watch.verdict(3, f"cgroup:{group.name}")
            held = throttled_ns(group) - before
            assert verdict.rule == "throttled", verdict
            assert re.search(f"{group.name} is throttled by its quota in .* periods, up to ", verdict.headline)
            assert re.match("Raise the quota from 0.20 to 0[.]9[0-9] CPUs: echo ", verdict.action)
            words = "90 % less throttling takes 0[.][0-9]+ CPUs [(]the same work[)] to 0[.]9[0-9] [(]all it can run[)]"
            assert re.fullmatch(f"{words}; the command sets the larger, [0-9]+ % of all CPUs", verdict.evidence[0])
            follow(verdict)
            before = throttled_ns(group)
            time.sleep(3)
            assert throttled_ns(group) - before < 0.3 * held


def throttled_ns(group: Path) -> int:
    """What the kernel has counted."""
    return read_statistics(str(group), not (group / "cpu.shares").exists())[2]


@pytest.mark.stress
def test_task_of_the_policy_idle_waits_because_of_it(watch: Watcher, front_end: str, first: Path) -> None:
    if front_end != "btf":
        pytest.skip("tracepoints do not tell the policy")
    low, high = loop(os.SCHED_IDLE, group=first), loop(group=first)
    with ended(low, high):
        time.sleep(0.5)
        verdict = watch.verdict(5, f"tid:{low.pid}")
        assert verdict.rule == "lower-weight", verdict
        assert verdict.headline.startswith(f"{named(low, 'idle')} waits up to ")
        assert verdict.command == f"chrt -o -p 0 {low.pid}"
        follow(verdict)
        assert watch.verdict(2, f"tid:{low.pid}").rule != "lower-weight"


def test_task_of_the_policy_batch_has_the_weight_of_its_nice(watch: Watcher, front_end: str, first: Path) -> None:
    batch, ordinary = loop(os.SCHED_BATCH, group=first), loop(group=first)
    with ended(batch, ordinary):
        time.sleep(0.5)
        view = watch.view(2, f"tid:{batch.pid}")
        verdict = judge(view)
        assert verdict.rule not in ("lower-weight", "behind-rt"), verdict
        rows = waits_of(watch.frame, batch, 2 * NS_PER_MS)
        if front_end == "btf" and len(rows):
            assert treatment(rows[0]) == Treatment(SchedClass.FAIR, Policy.BATCH, 0, 0)


def test_classes_of_tasks_are_those_of_the_kernel(watch: Watcher, front_end: str) -> None:
    wanted = {
        loop(os.SCHED_RR, 3, code=PULSE): Treatment(SchedClass.RT, Policy.RR, 3, 0),
        loop(nice=7, code=PULSE): Treatment(SchedClass.FAIR, Policy.OTHER, 0, 7),
        loop(os.SCHED_BATCH, nice=-3, code=PULSE): Treatment(SchedClass.FAIR, Policy.BATCH, 0, -3),
        loop(os.SCHED_IDLE, code=PULSE): Treatment(SchedClass.FAIR, Policy.IDLE, 0, 0),
    }
    with ended(*wanted):
        time.sleep(0.5)
        watch.view(3)
        assert_told(watch.frame.tasks, wanted, front_end == "btf")
        # A class that is changed is told from the next interval on.
        changed = next(iter(wanted))
        os.sched_setscheduler(changed.pid, os.SCHED_FIFO, os.sched_param(9))
        time.sleep(0.2)
        watch.view(2)
        assert_told(watch.frame.tasks, {changed: Treatment(SchedClass.RT, Policy.FIFO, 9, 0)}, front_end == "btf")


def test_policy_and_priority_are_those_of_the_kernels_own_file(watch: Watcher, front_end: str) -> None:
    if front_end != "btf":
        pytest.skip("tracepoints do not tell the policy")
    if not Path("/proc/self/sched").exists():
        pytest.skip("this kernel has no /proc/PID/sched (CONFIG_SCHED_DEBUG)")
    tasks = [
        *(loop(nice=nice, code=PULSE) for nice in (-20, 0, 19)),
        loop(os.SCHED_BATCH, nice=3, code=PULSE),
        loop(os.SCHED_IDLE, code=PULSE),
        *(loop(policy, priority, code=PULSE) for policy, priority in ((os.SCHED_FIFO, 99), (os.SCHED_RR, 1))),
    ]
    with ended(*tasks), deadline_job(0.001, 5 * NS_PER_MS, 20 * NS_PER_MS) as job:
        time.sleep(0.3)
        watch.view(2)
        told = {task.pid: kernels_own(task.pid) for task in (*tasks, job)}
    rows = {int(row["tid"]): treatment(row) for row in watch.frame.tasks if int(row["tid"]) in told}
    assert {tid: (found.policy, prio_of(found)) for tid, found in rows.items()} == told


def kernels_own(tid: int) -> tuple[Policy, int]:
    """Policy and priority of /proc/PID/sched, where less is more urgent: proc_sched_show_task()."""
    lines = Path(f"/proc/{tid}/sched").read_text().splitlines()
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return tuple(Policy)[int(fields["policy"]) + 1], int(fields["prio"])


def prio_of(told: Treatment) -> int:
    """What we tell, in the kernel's unit: MAX_RT_PRIO is 100, nice 0 is 120, a deadline task has -1."""
    if told.sched_class is SchedClass.DEADLINE:
        return -1
    return 120 + told.nice if told.is_fair else 99 - told.priority


def test_source_proc_tells_classes_too() -> None:
    wanted = {
        loop(os.SCHED_RR, 3): Treatment(SchedClass.RT, Policy.RR, 3, 0),
        loop(os.SCHED_BATCH, nice=-3): Treatment(SchedClass.FAIR, Policy.BATCH, 0, -3),
    }
    with ended(*wanted), ProcSource(500 * NS_PER_MS, NS_PER_MS) as source, Collector(source) as collector:  # type: ignore[arg-type]
        time.sleep(2.5)
    assert_told(collector.frame.tasks, wanted, policies=True)


def assert_told(tasks: Rows, wanted: dict[subprocess.Popen[bytes], Treatment], policies: bool) -> None:
    for process, told in wanted.items():
        found = treatment(tasks[tasks["tid"] == process.pid][0])
        if not policies:
            told = Treatment(told.sched_class, Policy.UNKNOWN, told.priority, told.nice if told.is_fair else 0)
            found = found if found.is_fair else Treatment(found.sched_class, found.policy, found.priority, 0)
        assert found == told


def test_kernel_threads_of_the_stop_class(watch: Watcher, front_end: str) -> None:
    if front_end != "btf":
        pytest.skip("to tracepoints they are real-time tasks")
    moved = python("while True: pass")  # a task that runs can be moved by the stopper alone
    with ended(moved):
        with Collector(watch._source) as collector:
            for turn in range(200):
                os.sched_setaffinity(moved.pid, {turn % 2})
                time.sleep(0.005)
        tasks = collector.frame.tasks
    stoppers = [row for row in tasks if row["comm"].startswith(b"migration/")]
    assert stoppers
    assert {treatment(row).sched_class for row in stoppers} == {SchedClass.STOP}
