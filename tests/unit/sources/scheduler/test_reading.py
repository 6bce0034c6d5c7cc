"""Readings and their differences, on hand-made kernel structs."""

from dataclasses import fields as dataclass_fields
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schedtop.base.histogram import BUCKETS
from schedtop.model.counts import Attribution, Loss, Overhead, Pressure
from schedtop.model.group_latency import GroupLatency
from schedtop.model.rows import SLOW_WAIT_DTYPE, THROTTLING_DTYPE, WAIT_KINDS, Rows
from schedtop.model.waits import BEGINNINGS, CAUSES, EVIDENCE
from schedtop.sources.host.proc import StatReading
from schedtop.sources.scheduler.caused import Caused
from schedtop.sources.scheduler.ledger import Moment, TaskLedger, queue_length
from schedtop.sources.scheduler.reading import Reading, SinceLast, difference

SLOTS = 16
MS = 1_000_000


def layout(*groups: tuple[str, str]) -> np.dtype[Any]:
    """A struct of fields: for each type, the names that have it."""
    return np.dtype([(name, kind) for kind, names in groups for name in names.split()])


TASK_SLOT = layout(
    (
        "<u4",
        "tid tgid voluntary involuntary timeslices migrations cache_migrations numa_migrations pid_namespace "
        "parent_tgid exit_code",
    ),
    ("<u8", "start_ns wait_start_ns run_ns run_delay_ns cgroup_id account_ns"),
    ("<u2", "last_cpu enqueue_cpu queue_cpu"),
    ("u1", "wait_kind flags sched_class policy"),
    ("<u2", "priority"),
    ("<i2", "nice"),
    ("S16", "comm parent_comm"),
    ("2<u8", "longest_ns"),
    ("2<u2", "longest_epoch"),
)
CPU_STATE = layout(
    ("<u8", "slice_start_ns switches voluntary involuntary wakeups idle_ns current_tid migrations_in migrations_out"),
    ("<u8", "slow_suppressed ring_dropped negative_waits untracked evicted switches_unseen waits_unseen"),
    ("<u8", "cache_migrations numa_migrations looked_at_ns over_budget_ns uncovered_ns blocked_idle_ns"),
    ("<u8", "others_ns unpaired_ns short_lived short_lived_dropped wait_ends cut_epoch"),
    ("2<u8", "longest_epoch"),
    (f"{len(WAIT_KINDS)}<u8", "wait_sum_ns"),
    (f"{2 * len(WAIT_KINDS)}<u8", "longest_ns"),
    (f"{len(WAIT_KINDS) * BUCKETS}<u8", "latency"),
)


class Kernel:
    """Slots and CPUs as the kernel would hold them, and the ledger that watches them."""

    def __init__(self) -> None:
        self.slots = np.zeros(SLOTS, TASK_SLOT)
        self.cpus = np.zeros(2, CPU_STATE)
        self.overflow = np.zeros(0, TASK_SLOT)
        self.ledger = TaskLedger(SLOTS)

    def task(self, tid: int, **fields: Any) -> None:
        slot = self.slots[tid % SLOTS]
        slot["tid"] = slot["tgid"] = tid
        for name, value in fields.items():
            slot[name] = value

    def settle(self, time_ns: int, epoch: int = 1) -> dict[int, Rows]:
        """What the ledger reports, by tid."""
        moved, slots = self.ledger.moved(self.slots, self.cpus["current_tid"].astype(np.int64))
        now = Moment.of(time_ns, epoch, self.cpus)
        rows = self.ledger.settle(moved, slots, self.overflow, now)
        return {int(row["tid"]): row for row in rows}


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


def test_a_task_is_reported_with_what_it_did_since_the_last_time(kernel: Kernel) -> None:
    kernel.task(5, start_ns=1, run_ns=10 * MS, run_delay_ns=MS, timeslices=3, voluntary=2, involuntary=1, last_cpu=1)
    kernel.settle(100 * MS)
    kernel.task(5, run_ns=14 * MS, run_delay_ns=4 * MS, timeslices=5, voluntary=3, involuntary=2, migrations=1)
    row = kernel.settle(200 * MS)[5]
    names = ("run_ns", "run_delay_ns", "timeslices", "voluntary_switches", "involuntary_switches", "migrations")
    assert [int(row[name]) for name in names] == [4 * MS, 3 * MS, 2, 1, 1, 1]
    assert row["last_cpu"] == 1


def test_a_task_that_did_nothing_is_not_reported(kernel: Kernel) -> None:
    kernel.task(5, start_ns=1, timeslices=3, voluntary=3)
    kernel.settle(100 * MS)
    assert kernel.settle(200 * MS) == {}


def test_a_reused_tid_starts_from_zero(kernel: Kernel) -> None:
    kernel.task(5, start_ns=1, run_ns=100 * MS, timeslices=50, voluntary=50)
    kernel.settle(200 * MS)
    kernel.task(5, start_ns=150 * MS, run_ns=3 * MS, timeslices=2, voluntary=1)
    row = kernel.settle(300 * MS)[5]
    assert (row["run_ns"], row["timeslices"], row["voluntary_switches"]) == (3 * MS, 2, 1)


def test_a_slot_with_another_tid_starts_from_zero(kernel: Kernel) -> None:
    kernel.task(5, start_ns=1, run_ns=100 * MS, timeslices=50)
    kernel.settle(200 * MS)
    kernel.task(5 + SLOTS, run_ns=3 * MS, timeslices=2)
    rows = kernel.settle(300 * MS)
    assert list(rows) == [5 + SLOTS]
    assert rows[5 + SLOTS]["run_ns"] == 3 * MS


def test_counters_of_32_bits_may_wrap(kernel: Kernel) -> None:
    kernel.task(5, start_ns=1, timeslices=2**32 - 3, voluntary=2**32 - 1, involuntary=2**32 - 2)
    kernel.settle(100 * MS)
    kernel.task(5, timeslices=4, voluntary=1, involuntary=3)
    row = kernel.settle(200 * MS)[5]
    assert (row["timeslices"], row["voluntary_switches"], row["involuntary_switches"]) == (7, 2, 5)


def test_the_slice_under_way_counts_and_is_not_counted_again(kernel: Kernel) -> None:
    kernel.task(5, start_ns=1, run_ns=10 * MS, timeslices=1)
    kernel.cpus[0]["current_tid"], kernel.cpus[0]["slice_start_ns"] = 5, 60 * MS
    assert kernel.settle(100 * MS)[5]["run_ns"] == 50 * MS
    assert kernel.settle(200 * MS)[5]["run_ns"] == 100 * MS
    # It is switched out at 230 ms: the kernel adds the whole slice.
    kernel.task(5, run_ns=180 * MS, voluntary=1)
    kernel.cpus[0]["current_tid"], kernel.cpus[0]["slice_start_ns"] = 0, 230 * MS
    assert kernel.settle(300 * MS)[5]["run_ns"] == 30 * MS


def test_the_wait_under_way_counts_and_is_not_counted_again(kernel: Kernel) -> None:
    kernel.task(5, start_ns=1, run_delay_ns=MS, wait_start_ns=70 * MS)
    row = kernel.settle(100 * MS)[5]
    assert (row["run_delay_ns"], row["waiting_ns"], row["max_wait_ns"]) == (31 * MS, 30 * MS, 30 * MS)
    kernel.task(5, run_delay_ns=51 * MS, wait_start_ns=0, timeslices=1)
    row = kernel.settle(200 * MS)[5]
    assert (row["run_delay_ns"], row["waiting_ns"]) == (20 * MS, 0)


def test_reported_times_never_run_backwards(kernel: Kernel) -> None:
    # The slot was read in the middle of a switch: the slice is closed in the CPU's row, not yet in the task's.
    kernel.task(5, start_ns=1, run_ns=10 * MS, timeslices=1)
    kernel.cpus[0]["current_tid"], kernel.cpus[0]["slice_start_ns"] = 5, 50 * MS
    total = int(kernel.settle(100 * MS)[5]["run_ns"])
    kernel.cpus[0]["current_tid"] = 0
    kernel.task(5, timeslices=2)
    row = kernel.settle(150 * MS)[5]
    assert row["run_ns"] == 0
    kernel.task(5, run_ns=70 * MS, timeslices=3)
    total += int(kernel.settle(200 * MS)[5]["run_ns"])
    assert total == 70 * MS


def test_a_slice_that_began_after_the_moment_is_not_negative(kernel: Kernel) -> None:
    kernel.task(5, start_ns=1, run_ns=10 * MS)
    kernel.cpus[0]["current_tid"], kernel.cpus[0]["slice_start_ns"] = 5, 101 * MS
    kernel.task(6, start_ns=1, run_delay_ns=MS, wait_start_ns=102 * MS)
    rows = kernel.settle(100 * MS)
    assert rows[5]["run_ns"] == 10 * MS
    assert (rows[6]["run_delay_ns"], rows[6]["waiting_ns"]) == (MS, 0)


def test_the_longest_wait_is_that_of_this_epoch_only(kernel: Kernel) -> None:
    kernel.task(5, start_ns=1, timeslices=1, longest_ns=(8 * MS, 3 * MS), longest_epoch=(2, 3))
    assert kernel.settle(100 * MS, epoch=3)[5]["max_wait_ns"] == 3 * MS
    kernel.task(5, timeslices=2)
    assert kernel.settle(200 * MS, epoch=4)[5]["max_wait_ns"] == 0


def test_the_epoch_of_a_slot_has_16_bits(kernel: Kernel) -> None:
    kernel.task(5, start_ns=1, timeslices=1, longest_ns=(8 * MS, 0), longest_epoch=(4, 0))
    assert kernel.settle(100 * MS, epoch=2**16 + 4)[5]["max_wait_ns"] == 8 * MS


def test_tasks_in_the_overflow_map_have_their_own_memory(kernel: Kernel) -> None:
    kernel.task(5, start_ns=1, run_ns=MS, timeslices=1)
    kernel.overflow = np.zeros(1, TASK_SLOT)
    kernel.overflow["tid"], kernel.overflow["start_ns"], kernel.overflow["run_ns"] = 5 + SLOTS, 9, 40 * MS
    rows = kernel.settle(100 * MS)
    assert (rows[5]["run_ns"], rows[5 + SLOTS]["run_ns"]) == (MS, 40 * MS)
    kernel.overflow["run_ns"] = 43 * MS
    assert kernel.settle(200 * MS)[5 + SLOTS]["run_ns"] == 3 * MS


def test_overflow_map_drops_tasks_that_left_it(kernel: Kernel) -> None:
    kernel.overflow = np.zeros(1, TASK_SLOT)
    kernel.overflow["tid"], kernel.overflow["start_ns"], kernel.overflow["run_ns"] = 21, 9, 40 * MS
    kernel.settle(100 * MS)
    kernel.overflow["tid"] = 37
    assert kernel.settle(200 * MS)[37]["run_ns"] == 40 * MS


def test_queues_are_counted_where_the_tasks_wait_now() -> None:
    rows = np.zeros(4, TASK_SLOT)
    rows["wait_start_ns"], rows["queue_cpu"] = [1, 1, 0, 1], [0, 2, 2, 2]
    assert queue_length(rows, 4).tolist() == [1, 0, 2, 0]


# Readings.


def stat(busy: int, steal: int, accounted: int, switches: int, online: tuple[bool, bool] = (True, True)) -> StatReading:
    arrays = [np.array([value, value], np.int64) for value in (busy, steal, accounted)]
    return StatReading(np.array(online), arrays[0], arrays[1], arrays[2], switches)


def reading(time_ns: int, **fields: Any) -> Reading:
    empty: dict[str, Any] = {
        "epoch": 1,
        "cpus": np.zeros(2, CPU_STATE),
        "threshold_ns": 5 * MS,
        "stat": None,
        "pressure": None,
        "own": Overhead(),
        "queue_length": np.zeros(2, np.int64),
    }
    values = empty | fields
    since_last = {each.name: values.pop(each.name) for each in dataclass_fields(SinceLast) if each.name in values}
    return Reading(time_ns=time_ns, wall_ns=time_ns + 10**18, since_last=SinceLast(**since_last), **values)


def test_the_interval_is_the_true_time_between_the_readings() -> None:
    frame = difference(reading(100 * MS), reading(350 * MS))
    assert (frame.interval_ns, frame.end_ns) == (250 * MS, 350 * MS)
    assert frame.start_time_ns == 10**18 + 100 * MS


def test_per_cpu_counters_are_differences_even_above_63_bits() -> None:
    earlier, later = np.zeros(2, CPU_STATE), np.zeros(2, CPU_STATE)
    earlier["switches"], later["switches"] = [2**64 - 4, 5], [2, 9]
    later["migrations_in"] = [0, 3]
    frame = difference(reading(0, cpus=earlier), reading(MS, cpus=later))
    assert frame.cpus.column("switches").tolist() == [6, 4]
    assert frame.cpus.column("migrations_in").tolist() == [0, 3]


def test_idle_time_includes_the_idle_period_under_way() -> None:
    earlier, later = np.zeros(2, CPU_STATE), np.zeros(2, CPU_STATE)
    earlier["slice_start_ns"], later["slice_start_ns"] = 100 * MS, 100 * MS
    # CPU 0 idles all the time; on CPU 1 a task runs.
    earlier["current_tid"], later["current_tid"] = [0, 7], [0, 7]
    frame = difference(reading(150 * MS, cpus=earlier), reading(250 * MS, cpus=later))
    assert frame.cpus.column("idle_ns").tolist() == [100 * MS, 0]


def test_kernel_times_never_run_backwards() -> None:
    frame = difference(reading(0, stat=stat(500, 20, 900, 100)), reading(MS, stat=stat(400, 25, 950, 160)))
    assert frame.cpus.column("busy_ns").tolist() == [0, 0]
    assert frame.cpus.column("steal_ns").tolist() == [5, 5]
    assert frame.kernel_switches == 60


@pytest.mark.parametrize("online", [((True, True), (True, False)), ((True, False), (True, True))])
def test_a_cpu_that_comes_or_goes_has_no_times_of_the_kernel(online: tuple[tuple[bool, bool], ...]) -> None:
    # One that is offline has no line in /proc/stat; on its return it tells of its whole life.
    readings = [stat(500 * at, 20 * at, 900 * at, 100 * at, online[at - 1]) for at in (1, 2)]
    frame = difference(reading(0, stat=readings[0]), reading(MS, stat=readings[1]))
    for name, grown in (("busy_ns", 500), ("steal_ns", 20), ("accounted_ns", 900)):
        assert frame.cpus.column(name).tolist() == [grown, 0]
    assert frame.cpus.online.tolist() == list(online[1])


def test_frame_lacks_parts_that_one_reading_lacks() -> None:
    frame = difference(reading(0, stat=stat(1, 1, 1, 1)), reading(MS, pressure=Pressure(5, 1)))
    assert frame.kernel_switches is None
    assert frame.pressure is None
    whole = difference(reading(0, pressure=Pressure(5, 1)), reading(MS, pressure=Pressure(9, 2)))
    assert whole.pressure == Pressure(4, 1)


def test_latency_is_by_kind_and_cpu() -> None:
    earlier, later = np.zeros(2, CPU_STATE), np.zeros(2, CPU_STATE)
    earlier["latency"][0, 10] = 4
    later["latency"][0, 10] = 9
    later["latency"][1, BUCKETS + 20] = 2
    later["latency"][0, 2 * BUCKETS + 30] = 3
    later["wait_sum_ns"][1, 1], later["wait_sum_ns"][0, 2] = 77, 66
    frame = difference(reading(0, cpus=earlier), reading(MS, cpus=later))
    assert frame.latency.counts[0, 0, 10] == 5
    assert frame.latency.counts[1, 1, 20] == 2
    assert frame.latency.counts[2, 0, 30] == 3
    assert frame.latency.counts.sum() == 10
    assert frame.latency.sum_ns.tolist() == [[0, 0], [0, 77], [66, 0]]


def test_the_longest_wait_of_another_epoch_is_not_shown() -> None:
    later = np.zeros(2, CPU_STATE)
    later["longest_epoch"] = [[2, 3], [2, 1]]
    later["longest_ns"] = [[10, 20, 25, 30, 40, 45], [50, 60, 65, 70, 80, 85]]
    later["latency"][:, [5, BUCKETS + 5, 2 * BUCKETS + 5]] = 2
    later["wait_sum_ns"] = [[45, 60, 70], [21, 22, 23]]
    frame = difference(reading(0), reading(MS, cpus=later, epoch=3))
    # The second CPU's are of another epoch: all that is known is that one wait was at least the average.
    assert frame.latency.max_ns.tolist() == [[30, 11], [40, 11], [45, 12]]


def test_the_longest_wait_fits_the_count_even_at_the_edge_of_an_interval() -> None:
    """Of a CPU that is stopped while it counts a wait, the count may be in one Frame and the longest in the other."""
    later = np.zeros(2, CPU_STATE)
    later["longest_epoch"][0], later["longest_ns"][0] = [2, 3], [0, 0, 0, 90, 40, 0]
    later["latency"][0, 5] = 1
    later["wait_sum_ns"][0] = [50, 7, 0]
    frame = difference(reading(0), reading(MS, cpus=later, epoch=3))
    assert frame.latency.max_ns.tolist() == [[50, 0], [0, 0], [0, 0]]
    assert frame.latency.sum_ns.tolist() == [[50, 0], [0, 0], [0, 0]]


def slow_wait(**fields: Any) -> Rows:
    row = np.zeros(1, SLOW_WAIT_DTYPE)
    row["wait_ns"], row["idle_cpu"] = 400 * MS, -1
    for name, value in fields.items():
        row[name] = value
    return row


def test_a_slow_wait_was_stolen_if_the_steal_of_its_cpu_leaves_nothing_else() -> None:
    row = slow_wait(cpu=1, kind=BEGINNINGS.index("preemption"))
    later = reading(500 * MS, slow_waits=row, stat=stat(0, 350 * MS, 500 * MS, 0))
    rows = difference(reading(0, stat=stat(0, 0, 0, 0)), later).slow_waits
    # 100 ms of the interval lie outside of the wait, and /proc/stat counts in steps of 10 ms.
    assert rows["stolen_ns"].tolist() == [240 * MS]
    assert CAUSES[rows["cause"][0]] == "stolen"
    assert not row["stolen_ns"][0]


def test_a_throttled_group_is_inferred_where_the_kernel_does_not_tell() -> None:
    groups = np.zeros(1, THROTTLING_DTYPE)
    groups["cgroup_id"] = 9
    throttled = groups.copy()
    throttled["throttled_ns"] = 300 * MS
    row = slow_wait(cgroup_id=10, kind=BEGINNINGS.index("preemption"), cpu_idle_ns=300 * MS)
    fields = {"slow_waits": row, "throttling": throttled, "cgroups": {9: "/a", 10: "/a/b"}}
    rows = difference(reading(0, throttling=groups), reading(500 * MS, infers_throttling=True, **fields)).slow_waits
    assert (CAUSES[rows["cause"][0]], EVIDENCE[rows["evidence"][0]]) == ("throttled", "inferred")
    rows = difference(reading(0, throttling=groups), reading(500 * MS, **fields)).slow_waits
    assert CAUSES[rows["cause"][0]] == "preemption"


def test_groups_are_differences_and_one_that_was_forgotten_starts_from_zero() -> None:
    def latency(kind: str, sums: dict[int, int], wait_kind: int = 0) -> GroupLatency:
        counts = np.zeros((len(sums), BUCKETS), np.uint32)
        counts[:, 3] = [total // 10 for total in sums.values()]
        return GroupLatency(
            kind, np.array([*sums]), counts, np.array([*sums.values()], np.int64), np.full(len(sums), wait_kind)
        )

    earlier = reading(0, groups=latency("tgid", {1: 100, 2: 500, 3: 70}))
    groups = difference(earlier, reading(MS, groups=latency("tgid", {1: 130, 2: 40, 3: 70, 4: 20}))).groups
    assert groups is not None
    assert groups.ids.tolist() == [1, 2, 4]
    assert groups.sum_ns.tolist() == [30, 40, 20]
    assert groups.counts[:, 3].tolist() == [3, 4, 2]
    other = difference(earlier, reading(MS, groups=latency("tgid", {1: 130}, 1))).groups
    assert other is not None and other.sum_ns.tolist() == [130], "another kind of wait is another entry"
    assert difference(earlier, reading(MS, groups=latency("tid", {1: 130}))).groups is None
    assert difference(reading(0), reading(MS, groups=latency("tid", {1: 130}))).groups is None


def test_outcomes_of_waits_sum_over_cpus_and_small_pairs_are_others() -> None:
    later = np.zeros(2, CPU_STATE)
    names = ("looked_at_ns", "over_budget_ns", "uncovered_ns", "blocked_idle_ns", "others_ns", "unpaired_ns")
    for count, name in enumerate(names, 1):
        later[name] = [count, 10]
    frame = difference(reading(0), reading(MS, cpus=later, small_pairs_ns=100))
    assert frame.attribution == Attribution(11, 12, 13, 14, 115, 16)


def test_every_loss_is_the_sum_over_cpus_since_the_last_reading() -> None:
    earlier, later = np.zeros(2, CPU_STATE), np.zeros(2, CPU_STATE)
    for count, name in enumerate(("ring_dropped", "slow_suppressed", "untracked", "evicted", "negative_waits"), 1):
        earlier[name], later[name] = [1, 0], [1 + count, 10]
    later["switches_unseen"], later["waits_unseen"] = [1, 2], [4, 5]
    frame = difference(
        reading(0, cpus=earlier, late_ticks=2, events_missed=1, waits_ungrouped=5),
        reading(MS, cpus=later, late_ticks=5, events_missed=8, waits_ungrouped=9),
    )
    assert frame.loss == Loss(11, 12, 13, 14, 15, 3, 9, 3, 7, waits_ungrouped=4)


def test_our_own_cost_is_a_difference_and_our_memory_is_not() -> None:
    frame = difference(reading(0, own=Overhead(100, 7)), reading(MS, own=Overhead(130, 9)))
    assert (frame.overhead.cpu_ns, frame.overhead.rss_bytes) == (30, 9)


def test_the_longest_wait_that_we_caused_is_of_the_interval() -> None:
    own = Overhead(nice=-10, session_nice=-12, slice_ns=5)
    later = reading(MS, own=own, caused=Caused(7, 7, False, 9))
    assert difference(reading(0, own=own), later).overhead == replace(
        own, longest_caused_wait_ns=7, certain_caused_wait_ns=7
    )
    assert difference(reading(0), reading(MS)).overhead.longest_caused_wait_ns is None


def quota_rows(*rows: tuple[int, int, int, int, int]) -> Rows:
    """Groups with a quota of 20 ms in 100 ms and a burst of 5 ms."""
    return np.array([(*row, 20 * MS, 100 * MS, 5 * MS) for row in rows], THROTTLING_DTYPE)


def test_quota_statistics_are_differences_of_the_groups_in_both_readings_in_order_of_id() -> None:
    earlier = quota_rows((9, 10, 2, 30, 4), (7, 1, 1, 1, 1), (8, 5, 5, 5, 5))
    later = quota_rows((11, 1, 1, 1, 1), (8, 4, 6, 7, 5), (9, 15, 3, 90, 4))
    frame = difference(reading(0, throttling=earlier), reading(MS, throttling=later))
    assert frame.throttling.tolist() == quota_rows((8, 0, 1, 2, 0), (9, 5, 1, 60, 0)).tolist()
