"""Who is to blame for a wait, and why it was slow: against scenarios whose truth is known by construction."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from conftest import NS_PER_MS, Collector, mostly_btf
from loads import load_share
from scenarios import HOG, Cast, Role, Take, cgroup, takes

from schedtop.base.histogram import LOW_NS
from schedtop.model.frame import Frame, merge
from schedtop.model.host import Topology
from schedtop.model.rows import WAIT_KINDS, Rows
from schedtop.model.waits import BEGINNINGS, CAUSES, DOMAINS, EVIDENCE, WokenBy
from schedtop.sources.kernel.constants import SCHEDULER
from schedtop.sources.kernel.front_end import BY_CLOCK
from schedtop.sources.scheduler.source import LiveSource
from schedtop.sources.scope import Scope

INTERVAL_NS = 100 * NS_PER_MS
POINTS = 0.05
MOST = 0.9
"""Of the waits: the rest may be disturbed by kernel threads."""

BUSY = Role("busy", HOG, cpu=0)
"""Keeps CPU 0 from being idle."""

TWO_NODES = Topology((0, 1), (0, 1))
"""As if each CPU had its own cache and were a NUMA node."""

WAKEUP, PREEMPTION, THROTTLED, YIELD, _ = range(len(BEGINNINGS))

BTF_AT_LEAST = pytest.mark.parametrize(
    "any_front_end", ["btf", *(pytest.param(each, marks=pytest.mark.stress) for each in (BY_CLOCK, "tracepoint"))]
)
"""The long version tries all three: who had the CPU is found by code that they share."""

Watch = Callable[..., AbstractContextManager[Collector]]

front_end = mostly_btf


@pytest.fixture(scope="module", autouse=True)
def out_of_the_way() -> Iterator[None]:
    """Keeps the test itself, and schedtop in it, off CPU 1, where it happens."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {0})
    yield
    os.sched_setaffinity(0, before)


@pytest.fixture(scope="module")
def sources() -> Iterator[dict[str, LiveSource]]:
    """Live sources by front end, opened once: to compile takes longer than most scenarios."""
    opened: dict[str, LiveSource] = {}
    yield opened
    for source in opened.values():
        source.__exit__(None, None, None)


@pytest.fixture
def watch(sources: dict[str, LiveSource]) -> Watch:
    """A context manager that collects from a source which all tests share."""

    @contextmanager
    def start(front_end: str, threshold_ns: int, grouping: str = "") -> Iterator[Collector]:
        if front_end not in sources:
            sources[front_end] = LiveSource(INTERVAL_NS, threshold_ns, front_end, topology=TWO_NODES).__enter__()
        source = sources[front_end]
        source.set_threshold(threshold_ns)
        source.set_grouping(grouping)
        with Collector(source) as collector:
            if grouping:
                time.sleep(2.5 * INTERVAL_NS / 1e9)  # the second reading is the first that is compared with another
            yield collector

    return start


@contextmanager
def watch_anew(front_end: str, scope: Scope) -> Iterator[Collector]:
    """Collects from a source of its own."""
    with LiveSource(INTERVAL_NS, NS_PER_MS, front_end, scope=scope) as source, Collector(source) as collector:
        yield collector


def played(
    roles: Sequence[Role],
    seconds: float,
    watching: Callable[[Cast], AbstractContextManager[Collector]],
    play: Callable[[Cast], None] | None = None,
) -> Iterator[Take]:
    """Takes of a scenario, with the way to watch it."""

    def perform() -> tuple[list[Frame], Cast]:
        with Cast(roles) as cast:
            with watching(cast) as collector:
                play(cast) if play else cast.play(seconds)
            return collector.frames, cast

    return takes(perform)


def most(of: object, least: float = MOST) -> bool:
    """Whether nearly all of some are true, of at least ten; an emulated processor has fewer."""
    values = np.asarray(of, bool)
    return len(values) >= (10 if load_share() == 1 else 2) and bool(values.mean() >= least)


def share(rows: Rows, tid: int) -> float:
    """Which share of the waits a blocker had."""
    return float(rows["blocker_ns"][rows["blocker_tid"] == tid].sum() / rows["covered_ns"].sum())


def coverage(rows: Rows) -> float:
    """Which share of the waits is known: not all of it where the kernel hides switches (`Loss.switches_unseen`)."""
    return float(rows["covered_ns"].sum() / rows["wait_ns"].sum())


def all_causes(rows: Rows) -> dict[str, int]:
    """How many waits have which cause."""
    return {
        CAUSES[cause]: int(number) for cause, number in zip(*np.unique(rows["cause"], return_counts=True), strict=True)
    }


def is_cause(rows: Rows, cause: str) -> np.ndarray:
    """Which of the waits have that cause."""
    return rows["cause"] == CAUSES.index(cause)


def assert_reconciled(frame: Frame) -> None:
    """What the pairs say is the whole of what was looked at, and that is all but the shortest waits."""
    whole = frame.attribution
    paired = whole.looked_at_ns - whole.uncovered_ns - whole.idle_ns - whole.others_ns - whole.unpaired_ns
    assert paired == int(frame.pairs["blocked_ns"].sum())
    short_ns = frame.ended_wait_ns - whole.looked_at_ns - whole.over_budget_ns
    counts = frame.latency.histogram().counts
    assert 0 <= short_ns <= counts[LOW_NS < SCHEDULER.LOOK_NS].sum() * SCHEDULER.LOOK_NS


@pytest.mark.parametrize("number", [2, pytest.param(3, marks=pytest.mark.stress)])
def test_hogs_block_each_other_equally(watch, any_front_end, number) -> None:
    names = [f"hog-{index}" for index in range(number)]
    for take in played([*(Role(name, HOG) for name in names), BUSY], 1.2, lambda _: watch(any_front_end, NS_PER_MS)):
        with take:
            for name in names:
                others = [other for other in names if other != name]
                tids = [take.cast.tids[other] for other in others]
                rows = take.waits(name)
                assert rows["wait_ns"].sum() >= 0.9 * take.kernel[name].run_delay_ns
                assert most(rows["kind"] == PREEMPTION, 0.95)
                # Kernel threads are short, but they preempt. Nobody else of the cast does.
                by_outsiders = ~np.isin(rows["preemptor_tid"], list(take.cast.tids.values()))
                take.needs(by_outsiders.mean() < 0.12, f"{by_outsiders.mean():.0%} of the waits began with others")
                assert np.all(by_outsiders | np.isin(rows["preemptor_tid"], tids))
                assert 0.95 <= coverage(rows) <= 1
                assert most(is_cause(rows, "preemption"), 0.95), all_causes(rows)
                for other in others:
                    assert share(rows, take.cast.tids[other]) == pytest.approx(1 / len(others), abs=POINTS)
                    # It always waits when another runs: the kernel's own number of nanoseconds.
                    pair = take.pair(name, other)
                    assert pair["blocked_ns"] == pytest.approx(take.kernel[other].run_ns, rel=POINTS)
                preemptions = sum(int(take.pair(name, other)["preemptions"]) for other in others)
                assert np.sum(~by_outsiders) - 2 <= preemptions <= take.kernel[name].involuntary
            assert_reconciled(take.frame)


def test_an_idle_cpu_that_pinned_tasks_may_not_use(watch, front_end) -> None:
    names = ["hog-0", "hog-1"]
    for take in played([Role(name, HOG) for name in names], 1.2, lambda _: watch(front_end, NS_PER_MS)):
        with take:
            idle = 1 - (take.frame.ratio("busy_ns", 0) or 0)
            take.needs(idle > 0.8, f"CPU 0 was idle for {idle:.0%} only")
            for name in names:
                rows = take.waits(name)
                idles = rows[is_cause(rows, "idle-cpu")]
                assert len(idles) > 0.6 * len(rows), all_causes(rows)
                assert not np.any(rows["evidence"] == EVIDENCE.index("not balanced"))
                # Without BTF the affinity is asked for afterwards.
                assert most(idles["evidence"] == EVIDENCE.index("pinned"))
                assert np.all(idles["idle_cpu"] == 0)
                assert np.all(idles["idle_cpu_ns"] * 2 >= idles["wait_ns"])


def test_a_real_time_task_is_the_one_to_blame(watch, front_end) -> None:
    bursts = "for _ in range(25):\n    burn(15)\n    time.sleep(0.025)\nhear()"
    for take in played(
        [Role("victim", HOG), Role("urgent", bursts, fifo=10), BUSY], 1.3, lambda _: watch(front_end, 5 * NS_PER_MS)
    ):
        with take:
            burst_ns = take.kernel["urgent"].run_ns / 25
            take.needs(take.kernel["urgent"].voluntary >= 25, "there was no time for all bursts")
            rows, urgent = take.waits("victim", PREEMPTION), take.cast.tids["urgent"]
            assert 25 * 0.9 <= len(rows) <= 25 * 1.1
            assert np.median(rows["wait_ns"]) == pytest.approx(burst_ns, rel=POINTS)
            assert most(is_cause(rows, "behind-rt")), all_causes(rows)
            # A thread of the kernel may come first: it has nothing of the wait then, but did take the CPU.
            assert most(rows["preemptor_tid"] == urgent, 0.8)
            assert most(rows["blocker_tid"][:, 0] == urgent)
            assert share(rows, urgent) >= 0.95
            assert take.pair("victim", "urgent")["preemptions"] == pytest.approx(25, abs=2)


@BTF_AT_LEAST
def test_two_blockers_with_known_unequal_shares(watch, any_front_end) -> None:
    first = "while True:\n    burn(12)\n    tell('second')\n    time.sleep(0.040)"
    second = "while True:\n    hear()\n    burn(8)"
    roles = [Role("victim", HOG), Role("first", first, fifo=10), Role("second", second, fifo=10), BUSY]
    for take in played(roles, 1.3, lambda _: watch(any_front_end, 5 * NS_PER_MS)):
        with take:
            tids = take.cast.tids
            rounds = take.kernel["first"].run_ns / 12e6
            take.needs(rounds > 15, f"only {rounds:.0f} rounds")
            rows = take.waits("victim", PREEMPTION)
            assert 0.85 * rounds <= len(rows) <= 1.15 * rounds
            assert most(is_cause(rows, "behind-rt"))
            assert most(rows["preemptor_tid"] == tids["first"])
            assert share(rows, tids["first"]) == pytest.approx(0.6, abs=POINTS)
            assert share(rows, tids["second"]) == pytest.approx(0.4, abs=POINTS)
            assert take.pair("victim", "first")["preemptions"] == pytest.approx(len(rows), abs=2)
            assert take.pair("victim", "second")["preemptions"] <= 2
            assert_reconciled(take.frame)


def test_a_quota_throttles(front_end) -> None:
    """Its own quota, and one that a group above has."""
    with ExitStack() as groups:
        own = groups.enter_context(cgroup("own", quota=0.2))
        above = groups.enter_context(cgroup("above", quota=0.15))
        below = groups.enter_context(cgroup("below", parent=above))
        limited = {"own": own, "below": above}
        still: list[tuple[int, dict[str, int]]] = []

        def play(cast: Cast) -> None:
            # The statistics are compared between two moments at which nothing moves.
            cast.go()
            for seconds in (0.4, 1.2):
                time.sleep(seconds)
                cast.stop()
                time.sleep(2.5 * INTERVAL_NS / 1e9)
                still.append((time.monotonic_ns(), {name: throttled_ns(group) for name, group in limited.items()}))
                time.sleep(2.5 * INTERVAL_NS / 1e9)
                cast.go_on()

        roles = [Role("own", HOG, group=own), Role("below", HOG, group=below), BUSY]
        for take in played(roles, 0, lambda _: watch_anew(front_end, Scope()), play):
            with take:
                busy = take.frame.ratio("busy_ns", 1) or 0
                take.needs(busy < 0.5, f"CPU 1 was busy for {busy:.0%}, where the quotas leave 35 %")
                for name, group in limited.items():
                    rows = take.waits(name)
                    assert_throttled(rows[rows["wait_ns"] > 40 * NS_PER_MS], front_end)
                    truth = still[-1][1][name] - still[-2][1][name]
                    assert truth > 300 * NS_PER_MS
                    seen = merge([frame for frame in take.frames if still[-2][0] < frame.end_ns <= still[-1][0]])
                    mine = seen.throttling["cgroup_id"] == group.stat().st_ino
                    assert int(seen.throttling["throttled_ns"][mine].sum()) == truth


def assert_throttled(rows: Rows, front_end: str) -> None:
    """With BTF the kernel says so; else it is inferred from the statistics."""
    inferred = front_end != "btf"
    told = is_cause(rows, "throttled")
    assert most(told, 0.8), all_causes(rows)
    assert np.all(rows["evidence"][told] == (EVIDENCE.index("inferred") if inferred else 0))
    assert most(rows["kind"] == (PREEMPTION if inferred else THROTTLED), 0.9)
    assert not inferred or np.all(rows["cpu_idle_ns"][told] + rows["blocker_ns"][told].sum(axis=1) > 0)


def throttled_ns(group: Path) -> int:
    """Of its cpu.stat, version 1 or 2."""
    numbers = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(numbers.get("throttled_time", 0)) or int(numbers.get("throttled_usec", 0)) * 1000


def test_yielding_task_has_no_preemptor(watch) -> None:
    """Only typed tracepoints tell a yield."""
    loop = "while True: os.sched_yield()"
    roles = [Role("yielder-0", loop), Role("yielder-1", loop), Role("hog", HOG), BUSY]
    for take in played(roles, 1.2, lambda _: watch("btf", 20_000)):
        with take:
            for name in ("yielder-0", "yielder-1"):
                rows = take.waits(name)
                given = rows["kind"] == YIELD
                assert most(given, 0.9)
                # Hosts are stolen from now and then, and somebody of another session may come between.
                assert most(is_cause(rows[given], "yield"), 0.9), all_causes(rows)
                assert not rows["preemptor_tid"][given].any()
                assert share(rows, take.cast.tids["hog"]) > 0.5
            rows = take.waits("hog")
            assert most(rows["kind"] == PREEMPTION)
            assert most(is_cause(rows, "preemption")), all_causes(rows)


@pytest.mark.parametrize(
    ("front_end", "waker_cpu"), [("btf", 0), ("btf", 1), pytest.param("tracepoint", 0, marks=pytest.mark.stress)]
)
def test_a_storm_of_wakeups(watch, front_end, waker_cpu) -> None:
    """Real-time sleepers that are woken at once run one after the other: the n-th waits for n others, 2 ms each."""
    names = [f"sleeper-{index}" for index in range(20)]
    storms = 5
    waker = f"for _ in range({storms}):\n    time.sleep(0.12)\n    tell(*{names!r})\nhear()"
    roles = [Role(name, "while True:\n    hear()\n    burn(2)", fifo=10) for name in names]
    roles += [Role("waker", waker, cpu=waker_cpu, fifo=20), BUSY]
    for take in played(roles, 0.9, lambda _: watch(front_end, 5 * NS_PER_MS)):
        with take:
            tids, kernel = take.cast.tids, take.kernel
            take.needs(kernel["waker"].voluntary >= storms, "there was no time for all storms")
            burst_ns = sum(kernel[name].run_ns for name in names) / (storms * len(names))
            rows = np.concatenate([take.waits(name) for name in names])
            assert np.all(rows["kind"] == WAKEUP)
            # At their start, which we tell them, some wait if the host is stolen from just then.
            rows = rows[rows["waker_tid"] != os.getpid()]
            assert np.all(rows["waker_tid"] == tids["waker"])
            assert not rows["preemptor_tid"].any()
            # Four are named: where they had half of the wait, it is known to be behind real-time tasks.
            behind_rt = 2 * rows["blocker_ns"].sum(axis=1) >= rows["wait_ns"]
            assert most(np.where(behind_rt, is_cause(rows, "behind-rt"), is_cause(rows, "wakeup"))), all_causes(rows)
            assert coverage(rows) >= 0.95
            # Each place in the queue once a storm, from the fourth on: the first are not slow.
            places = np.bincount(np.round(rows["wait_ns"] / burst_ns).astype(int), minlength=len(names))
            assert np.sum(np.abs(places[4:19] - storms) <= 1) >= 13
            for name in names:
                mine = rows[rows["tid"] == tids[name]]
                others = [tids[other] for other in (*names, "waker") if other != name]
                blamed = np.where(np.isin(mine["blocker_tid"], others), mine["blocker_ns"], 0)
                assert blamed.sum() >= 0.98 * mine["blocker_ns"].sum()
            # Four are named, all as long; the rest are others.
            named = rows["blocker_ns"].sum(axis=1) / rows["covered_ns"]
            assert most(np.abs(named - np.minimum(1, 4 * burst_ns / rows["wait_ns"])) <= POINTS, 0.9)
            assert_reconciled(take.frame)


@BTF_AT_LEAST
def test_a_wait_that_moves_to_another_cpu(watch, any_front_end) -> None:
    """30 ms behind one real-time task on CPU 1, then 60 ms behind another on CPU 0, which are two NUMA nodes here."""
    controller = """
time.sleep(0.05)
for _ in range(6):
    tell('here', 'there')
    time.sleep(0.030)
    os.sched_setaffinity(TID['victim'], {0})
    time.sleep(0.090)
    os.sched_setaffinity(TID['victim'], {1})
    time.sleep(0.080)
hear()
"""
    roles = [
        Role("victim", "while True: burn(1)"),
        Role("here", "while True:\n    hear()\n    burn(80)", cpu=1, fifo=10),
        Role("there", "while True:\n    hear()\n    burn(90)", cpu=0, fifo=10),
        Role("controller", controller, cpu=0, fifo=20),
    ]
    for take in played(roles, 1.4, lambda _: watch(any_front_end, 5 * NS_PER_MS)):
        with take:
            tids = take.cast.tids
            take.needs(take.kernel["there"].voluntary >= 6, "there was no time for all rounds")
            rows = take.waits("victim")
            moved = rows[(rows["wait_ns"] > 60 * NS_PER_MS)]
            assert 5 <= len(moved) <= 7
            assert np.all((moved["enqueue_cpu"] == 1) & (moved["cpu"] == 0))
            assert np.all(moved["domain"] == DOMAINS.index("numa"))
            assert np.mean(moved["preemptor_tid"] == tids["here"]) >= 0.8
            assert np.mean(is_cause(moved, "behind-rt")) >= 0.8, all_causes(moved)
            assert coverage(moved) >= 0.9
            assert share(moved, tids["here"]) == pytest.approx(1 / 3, abs=0.1)
            assert share(moved, tids["there"]) == pytest.approx(2 / 3, abs=0.1)
            # Six times there and back.
            row = take.task("victim")
            assert row["migrations"] == row["cache_migrations"] == row["numa_migrations"] == 12


def test_a_wait_that_a_wakeup_began_and_that_moves_later_keeps_its_first_queue(watch, front_end) -> None:
    """Through tracepoints each first move passed for the wakeup's choice: CPU 0, and nothing was to blame on CPU 1."""
    controller = """
time.sleep(0.05)
for _ in range(6):
    os.sched_setaffinity(TID['victim'], {1})
    tell('victim')
    time.sleep(0.010)
    tell('here')
    time.sleep(0.005)
    tell('victim')
    time.sleep(0.030)
    os.sched_setaffinity(TID['victim'], {0})
    time.sleep(0.030)
hear()
"""
    roles = [
        Role("victim", "while True:\n    hear()\n    burn(1)"),
        Role("here", "while True:\n    hear()\n    burn(50)", cpu=1, fifo=10),
        Role("controller", controller, cpu=0, fifo=20),
    ]
    for take in played(roles, 0.7, lambda _: watch(front_end, 5 * NS_PER_MS)):
        with take:
            rows = take.waits("victim")
            rows = rows[rows["wait_ns"] > 25 * NS_PER_MS]
            assert len(rows) >= 4
            assert np.mean((rows["enqueue_cpu"] == 1) & (rows["cpu"] == 0)) >= 0.7
            assert share(rows, take.cast.tids["here"]) >= 0.7


def test_migrations_cross_what_the_topology_says(watch, front_end) -> None:
    wanderer = "for step in range(60):\n    os.sched_setaffinity(0, {step % 2})\n    burn(2)\nhear()"
    roles = [Role("wanderer", wanderer)]
    for take in played(roles, 0.5, lambda _: watch(front_end, NS_PER_MS)):
        with take:
            take.needs(take.kernel["wanderer"].run_ns > 119e6, "there was no time for all moves")
            row = take.task("wanderer")
            assert row["migrations"] == row["cache_migrations"] == row["numa_migrations"] == 60
            moves = take.frame.total("migrations_in")
            assert moves >= 60
            assert moves == take.frame.total("cache_migrations") == take.frame.total("numa_migrations")
            assert moves == take.frame.total("migrations_out")


def test_many_short_slices_are_covered_in_part(watch, front_end) -> None:
    """Two real-time tasks play ping-pong: far more switches in a wait than a CPU's timeline holds."""
    ping = "while True:\n    for _ in range(1500):\n        tell('pong')\n        hear()\n    time.sleep(0.06)"
    pong = "while True:\n    hear()\n    tell('ping')"
    roles = [Role("victim", HOG), Role("ping", ping, fifo=10), Role("pong", pong, fifo=10), BUSY]
    for take in played(roles, 1.2, lambda _: watch(front_end, 3 * NS_PER_MS)):
        with take:
            tids, kernel = take.cast.tids, take.kernel
            rows = take.waits("victim")
            rounds = kernel["ping"].timeslices / 1500
            take.needs(rounds > 4, f"only {rounds:.0f} rounds")
            rows = rows[rows["preemptor_tid"] == tids["ping"]]
            assert 0.7 * rounds <= len(rows) <= 1.1 * rounds
            assert np.all(rows["switches"] <= 257)
            assert np.mean((rows["covered_ns"] > 0) & (rows["covered_ns"] < 0.5 * rows["wait_ns"])) > 0.9
            both = np.isin(rows["blocker_tid"], [tids["ping"], tids["pong"]])
            named = np.where(both, rows["blocker_ns"], 0).sum(axis=1)
            assert np.median(named / rows["covered_ns"]) >= 0.9  # the fair server may let others run, too
            fair = kernel["ping"].run_ns / (kernel["ping"].run_ns + kernel["pong"].run_ns)
            by_ping = rows["blocker_ns"][rows["blocker_tid"] == tids["ping"]].sum() / named.sum()
            assert by_ping == pytest.approx(fair, abs=POINTS)
            assert take.frame.attribution.uncovered_ns >= (rows["wait_ns"] - rows["covered_ns"]).sum()
            assert_reconciled(take.frame)


class HeldUp(LiveSource):
    """Loses the CPU between the new epoch and what it reads then, as any reader may."""

    def _begin_epoch(self, epoch: int) -> int:
        threshold_ns = super()._begin_epoch(epoch)
        time.sleep(INTERVAL_NS / 3 / 1e9)
        return threshold_ns


def test_a_wait_that_ends_while_it_is_read_is_in_one_interval(any_front_end) -> None:
    """In its pairs, sums, histogram, longest wait and slow waits: so no remainder is negative."""
    with HeldUp(INTERVAL_NS, NS_PER_MS, any_front_end) as source:
        for take in played([Role("hog-0", HOG), Role("hog-1", HOG), BUSY], 2.0, lambda _: Collector(source)):
            with take:
                assert len(take.frames) >= 5
                for frame in take.frames:
                    assert_reconciled(frame)
                    latency = frame.latency.histogram()
                    slow = frame.slow_waits["wait_ns"]
                    longer = latency.counts[LOW_NS > NS_PER_MS].sum()
                    assert longer <= len(slow) <= latency.counts[LOW_NS >= NS_PER_MS * 7 // 8].sum()
                    assert slow.max(initial=0) <= latency.max_ns


def test_the_waits_of_tasks_are_the_sum(watch, any_front_end) -> None:
    """Many kinds of waits at once; everything that ended is accounted for, and by whom it was suffered."""
    ticks = "while True:\n    burn(0.3)\n    time.sleep(0.002)"
    roles = [Role("hog-0", HOG), Role("hog-1", HOG), Role("ticks-0", ticks), Role("ticks-1", ticks), BUSY]
    for take in played(roles, 1.5, lambda _: watch(any_front_end, 2 * NS_PER_MS)):
        with take:
            frame = take.frame
            assert_reconciled(frame)
            suffered = int(frame.tasks["run_delay_ns"].sum())
            assert suffered == pytest.approx(frame.ended_wait_ns, rel=0.01)
            for name in ("hog-0", "hog-1", "ticks-0", "ticks-1"):
                assert take.task(name)["run_delay_ns"] == pytest.approx(take.kernel[name].run_delay_ns, rel=0.03)


def assert_only(take: Take, selected: Sequence[str], blockers: Sequence[str], at_first: Sequence[str] = ()) -> None:
    """Only these wait, but whoever had the CPU meanwhile is named."""
    tids, frame = take.cast.tids, take.frame
    # A command such as unshare is in the namespace that it makes; it sleeps.
    others = {pid for name, pid in tids.items() if name not in (*selected, *at_first)}
    allowed = set(take.cast.pids) - others
    slices = sum(take.kernel[name].timeslices for name in selected)
    assert frame.latency.histogram().count == pytest.approx(slices, rel=0.03, abs=4)
    for waiting in (frame.slow_waits["tid"], frame.pairs["victim_tid"], frame.tasks["tid"]):
        assert {tids[name] for name in selected} <= set(waiting.tolist()) <= allowed
    blamed = set(frame.slow_waits["blocker_tid"].ravel().tolist()) & set(frame.pairs["other_tid"].tolist())
    assert {tids[name] for name in blockers} <= blamed


TICKS = "while True:\n    burn(0.3)\n    time.sleep(0.002)"


@pytest.mark.parametrize(
    ("front_end", "scope", "chosen"),
    [
        ("btf", lambda tids: Scope(tgids=(tids["chosen"],)), ["chosen"]),
        ("btf", lambda tids: Scope(comms=("CHOS",)), ["chosen", "chosen too"]),
        ("btf", lambda tids: Scope(comms=("other", "nobody"), tids=(tids["other"], tids["chosen"])), ["other"]),
        ("tracepoint", lambda tids: Scope(comms=("chos", "nobody"), tgids=(tids["chosen"],)), ["chosen"]),
    ],
    ids=["pid", "comm", "comm-and-tid", "comm-and-pid"],
)
def test_scope_of_tasks_counts_only_their_waits(front_end, scope, chosen) -> None:
    """Many of their waits begin and end while others are on the CPU, and the other way round."""
    roles = [Role("chosen", HOG), Role("other", HOG), Role("ticks", TICKS), Role("chosen too", "burn(20)\n" + TICKS)]
    for take in played(roles, 0.8, lambda cast: watch_anew(front_end, scope(cast.tids))):
        with take:
            assert_only(take, chosen, ["other" if chosen[0] == "chosen" else "chosen"])


def test_scope_of_a_cgroup_counts_waits_in_it_and_below() -> None:
    """Whoever is in it at the moment: some are from the start, some join, into a group that was not there, or leave."""
    with cgroup("chosen") as group, cgroup("elsewhere") as elsewhere:
        later = group / "later"
        move = "open('{}/cgroup.procs', 'w').write('0')\n" + HOG
        roles = [
            Role("member", HOG, group=group),
            Role("joiner", move.format(later)),
            Role("leaver", move.format(elsewhere), group=group),
            Role("other", HOG),
            Role("ticks", TICKS),
        ]

        def play(cast: Cast) -> None:
            later.mkdir(exist_ok=True)  # after the programs were loaded
            cast.play(0.8)

        scope = Scope(cgroup=(f"/{group.name}", group.stat().st_ino))
        for take in played(roles, 0, lambda _: watch_anew("btf", scope), play):
            with take:
                assert_only(take, ["member", "joiner"], ["other", "member"], at_first=["leaver"])
                groups = {directory.stat().st_ino for directory in (group, later)}
                assert set(take.frame.slow_waits["cgroup_id"].tolist()) == groups


def test_scope_of_a_pid_namespace_counts_only_its_waits() -> None:
    roles = [Role("inside", HOG, prefix=("unshare", "-pf")), Role("other", HOG), Role("ticks", TICKS)]

    def watching(cast: Cast) -> AbstractContextManager[Collector]:
        return watch_anew("btf", Scope(pid_namespace=os.stat(f"/proc/{cast.tids['inside']}/ns/pid").st_ino))

    for take in played(roles, 0.8, watching):
        with take:
            assert_only(take, ["inside"], ["other"])


FORKS = """
while True:
    child = os.fork()
    if not child: os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.05)
"""


@pytest.mark.parametrize(
    ("front_end", "kind"), [("btf", "tgid"), ("btf", "cgroup_id"), ("btf", "pid_namespace"), ("tracepoint", "tid")]
)
def test_groups_have_the_waits_of_their_tasks(watch, front_end, kind) -> None:
    threads = f"import threading\nthreading.Thread(target=burn, args=(10_000,)).start()\n{HOG}"
    with cgroup("grouped") as directory:
        roles = [Role("one", HOG, group=directory), Role("threads", threads, group=directory), Role("other", HOG)]
        roles += [Role("sleeper", "while True: time.sleep(0.002); burn(0.1)"), Role("maker", FORKS)]
        for take in played(roles, 0.8, lambda _: watch(front_end, NS_PER_MS, grouping=kind)):
            with take:
                one, threads = (take.kernel[name].timeslices for name in ("one", "threads"))
                truth = {
                    "tid": {take.cast.tids["one"]: one},
                    "tgid": {take.cast.tids["one"]: one, take.cast.tids["threads"]: threads},
                    "cgroup_id": {directory.stat().st_ino: one + threads},
                    "pid_namespace": {},
                }[kind]
                frame = merge([frame for frame in take.frames if frame.groups is not None])
                assert frame.groups is not None and frame.groups.kind == kind
                for group, count in truth.items():
                    assert frame.groups.histogram([group]).count == pytest.approx(count, rel=0.02, abs=3)
                if kind == "pid_namespace":
                    assert os.stat("/proc/self/ns/pid").st_ino in frame.groups.ids
                total = frame.latency.histogram()
                assert int(frame.groups.counts.sum()) == pytest.approx(total.count, rel=0.02, abs=10)
                assert int(frame.groups.sum_ns.sum()) == pytest.approx(
                    total.sum_ns, rel=0.02, abs=int(frame.latency.max_ns.max())
                )
                assert_kinds_are_apart(take, frame, kind)


def assert_kinds_are_apart(take: Take, frame: Frame, kind: str) -> None:
    """Each kind of wait of a group by the kernel's numbers, and of all groups together by the histograms of CPUs."""
    groups = frame.groups
    assert groups is not None and groups.has_kinds
    for place, name in enumerate(WAIT_KINDS):
        counted = int(groups.counts[groups.wait_kinds == place].sum())
        assert counted == pytest.approx(frame.latency.histogram(name).count, rel=0.02, abs=10), name
    assert frame.latency.histogram("fork").count >= 3
    if kind not in ("tid", "tgid"):
        return
    for role, name in (("one", "preemption"), ("sleeper", "wakeup")):
        truth = take.kernel[role]
        expected = truth.involuntary if name == "preemption" else truth.timeslices - truth.involuntary
        assert groups.histogram([take.cast.tids[role]], kind=name).count == pytest.approx(expected, rel=0.02, abs=3)


def test_a_timers_wakeup_names_no_waker_and_a_tasks_does(watch, front_end) -> None:
    roles = [
        Role("hog", HOG),
        Role("callee", "while True: hear(); burn(1)"),  # less than its caller, so that it sleeps again
        Role("caller", "while True: burn(3); tell('callee')"),
        Role("sleeper", "while True: time.sleep(0.001); burn(3)"),
    ]
    seconds = 2 if load_share() == 1 else 12
    for take in played(roles, seconds, lambda _: watch(front_end, NS_PER_MS // 10)):
        with take:
            rows, called = (waits[waits["kind"] == WAKEUP] for waits in map(take.waits, ("sleeper", "callee")))
            called = called[called["waker_tid"] != os.getpid()]  # which sends them off
            by_timer = rows["woken_by"] != WokenBy.TASK
            assert most(rows["woken_by"] == WokenBy.INTERRUPT), rows["woken_by"]
            assert not rows["waker_tid"][by_timer].any()
            assert most(called["waker_tid"] == take.cast.tids["caller"]), called["waker_tid"]
            assert most(called["woken_by"] == WokenBy.TASK)
