"""Frames add up: totals, gauges, tables of different widths, tasks that share a tid, parts that are not there."""

from dataclasses import fields, replace
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedtop.model.counts import Loss, Overhead, Pressure
from schedtop.model.cpus import CPU_COUNTERS, CpuTable
from schedtop.model.frame import Frame, merge
from schedtop.model.latency import LatencyTable, decode_latency, encode_latency
from schedtop.model.rows import TASK_DTYPE, WAIT_KINDS, Rows, merge_tasks, text
from schedtop.sources.synthetic.scheduler import Scenario, make_frame


def frames(count: int, **scenario: int) -> list[Frame]:
    made = Scenario(**{"frames": count, **scenario})  # type: ignore[arg-type]
    rng = np.random.default_rng(made.seed)
    return [make_frame(made, number, rng) for number in range(count)]


def same(one: object, other: object) -> bool:
    """Whether two Frames (or parts of them) hold the same."""
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))  # type: ignore[arg-type]
    if isinstance(one, Frame | CpuTable | LatencyTable):
        return all(same(getattr(one, part.name), getattr(other, part.name)) for part in fields(one))
    return one == other


def task(tid: int, start_ns: int = 1, **values: object) -> Rows:
    row = np.zeros(1, TASK_DTYPE)
    row["tid"], row["start_ns"] = tid, start_ns
    for name, value in values.items():
        row[name] = value
    return row


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.lists(st.integers(1, 5), min_size=3, max_size=3))
def test_addition_is_associative_even_when_cpus_are_added(seed: int, widths: list[int]) -> None:
    a, b, c = (frames(1, seed=seed + place, cpus=cpus)[0] for place, cpus in enumerate(widths))
    assert same((a + b) + c, a + (b + c))
    assert same((a + b) + c, merge([a, b, c]))


def test_counters_add_and_gauges_are_the_last() -> None:
    first, second, third = frames(3)
    whole = merge([first, second, third])
    for counter in CPU_COUNTERS:
        assert whole.total(counter) == first.total(counter) + second.total(counter) + third.total(counter)
    assert same(whole.cpus.queue_length, third.cpus.queue_length)
    assert (whole.start_time_ns, whole.end_ns) == (first.start_time_ns, third.end_ns)
    assert whole.interval_ns == 3 * first.interval_ns
    assert whole.overhead.rss_bytes == third.overhead.rss_bytes
    assert whole.overhead.cpu_ns == first.overhead.cpu_ns * 3
    assert whole.kernel_switches == whole.total("switches")


def test_latency_adds_and_keeps_the_longest() -> None:
    first, second = frames(2)
    one, other, whole = (frame.latency.histogram("preemption", 1) for frame in (first, second, first + second))
    assert whole.count == one.count + other.count
    assert whole.sum_ns == one.sum_ns + other.sum_ns
    assert whole.max_ns == max(one.max_ns, other.max_ns)


def test_all_waits_are_those_of_each_kind_on_all_cpus() -> None:
    latency = frames(1, cpus=3)[0].latency
    parts = [latency.histogram(kind, cpu) for kind in WAIT_KINDS for cpu in range(3)]
    assert latency.histogram().count == sum(part.count for part in parts)
    assert latency.histogram().max_ns == max(part.max_ns for part in parts)
    assert latency.histogram("wakeup").count != latency.histogram("preemption").count


def test_narrow_counters_add_without_overflow() -> None:
    frame = frames(1)[0]
    narrow = replace(
        frame,
        cpus=replace(frame.cpus, counters=np.full((2, len(CPU_COUNTERS)), 2**32 - 1, np.uint32)),
        latency=replace(frame.latency, counts=np.full(frame.latency.counts.shape, 2**32 - 1, np.uint32)),
    )
    assert (narrow + narrow).total("switches") == 4 * (2**32 - 1)
    assert (narrow + narrow).latency.histogram().count == 2 * frame.latency.counts.size * (2**32 - 1)


def test_a_merge_leaves_its_parts_alone() -> None:
    first, second = frames(2)
    before = first.cpus.counters.copy(), first.tasks.copy(), first.latency.counts.copy()
    merge([first, second])
    assert same(before[0], first.cpus.counters)
    assert same(before[1], first.tasks)
    assert same(before[2], first.latency.counts)


def test_merge_of_no_frames_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing"):
        merge([])


def test_a_task_adds_up_over_frames() -> None:
    merged = merge_tasks(
        [
            task(7, run_ns=10, run_delay_ns=1, max_wait_ns=5, timeslices=2, migrations=1, comm=b"old", last_cpu=0),
            task(7, run_ns=20, run_delay_ns=2, max_wait_ns=3, timeslices=3, comm=b"new", last_cpu=1, waiting_ns=9),
        ]
    )
    assert len(merged) == 1
    row = merged[0]
    assert (row["run_ns"], row["run_delay_ns"], row["timeslices"], row["migrations"]) == (30, 3, 5, 1)
    assert row["max_wait_ns"] == 5
    assert (row["comm"], row["last_cpu"], row["waiting_ns"]) == (b"new", 1, 9)


def test_two_users_of_one_tid_stay_apart() -> None:
    merged = merge_tasks(
        [task(7, start_ns=1, run_ns=10), task(7, start_ns=2, run_ns=20), task(7, start_ns=1, run_ns=1)]
    )
    assert [(row["start_ns"], row["run_ns"]) for row in merged] == [(1, 11), (2, 20)]


def test_a_task_that_is_not_in_the_last_table_does_not_wait_any_more() -> None:
    merged = merge_tasks([np.concatenate((task(7, waiting_ns=5), task(8, waiting_ns=6))), task(8, waiting_ns=7)])
    assert [(row["tid"], row["waiting_ns"]) for row in merged] == [(7, 0), (8, 7)]


def test_the_last_user_of_a_tid_does_not_make_the_first_one_wait() -> None:
    merged = merge_tasks([task(7, start_ns=1, waiting_ns=5), task(7, start_ns=2, waiting_ns=6)])
    assert [(row["start_ns"], row["waiting_ns"]) for row in merged] == [(1, 0), (2, 6)]


def test_tables_without_rows_merge() -> None:
    empty = np.empty(0, TASK_DTYPE)
    assert not len(merge_tasks([]))
    assert not len(merge_tasks([empty, empty]))
    assert len(merge_tasks([empty, task(7)])) == 1


def test_slow_waits_stay_in_order_of_time() -> None:
    first, second = frames(2)
    times = (first + second).slow_waits["time_ns"]
    assert (np.diff(times) >= 0).all()
    assert len(times) == len(first.slow_waits) + len(second.slow_waits)


def test_every_loss_adds() -> None:
    one = Loss(*range(1, len(fields(Loss)) + 1))
    assert one + one == Loss(*range(2, 2 * len(fields(Loss)) + 2, 2))
    assert not Loss().any
    assert all(replace(Loss(), **{part.name: 1}).any for part in fields(Loss))


def test_merge_of_a_part_measured_for_some_time_is_unknown() -> None:
    first, second = frames(2)
    assert (first + second).pressure == Pressure(
        first.pressure.some_ns + second.pressure.some_ns,  # type: ignore[union-attr]
        0,
    )
    assert (first + replace(second, pressure=None)).pressure is None
    assert (replace(first, kernel_switches=None) + second).kernel_switches is None


def test_bpf_time_is_known_if_it_was_ever_measured() -> None:
    measured = Overhead(1, 1, 600, 6)
    assert (Overhead(1, 1) + measured).bpf_ns_per_switch == 100
    assert (measured + Overhead(1, 1)).bpf_ns_per_switch == 100
    assert (Overhead() + Overhead()).bpf_ns_per_switch is None
    assert (Overhead(nice=0, longest_caused_wait_ns=4) + Overhead(nice=-9, longest_caused_wait_ns=3)) == Overhead(
        nice=-9, longest_caused_wait_ns=4
    )
    later = Overhead(session_nice=-12, slice_ns=8)
    assert Overhead(session_nice=-5, slice_ns=9) + later == later, "what holds now"
    certain = Overhead(certain_caused_wait_ns=2) + Overhead(certain_caused_wait_ns=1)
    assert certain.certain_caused_wait_ns == 2 and (certain + Overhead()).certain_caused_wait_ns is None
    assert (Overhead(longest_caused_wait_ns=4) + Overhead()).longest_caused_wait_ns is None, "no bound of both"
    assert Overhead(0, 0, 0, 0).bpf_ns_per_switch is None


def test_a_reason_survives_the_merge() -> None:
    first, second = frames(2)
    lost = replace(second, unavailable=MappingProxyType({"steal": "no /proc/stat"}))
    assert (first + lost).unavailable == {"steal": "no /proc/stat"}
    assert (first + lost).ratio("steal_ns") is None
    assert (first + lost).ratio("busy_ns") is not None


def test_ratios_are_of_the_time_that_the_kernel_accounted() -> None:
    table = CpuTable.empty(3)
    for cpu, (busy, steal, whole) in enumerate(((30, 10, 100), (90, 0, 100), (0, 0, 0))):
        table.counters[cpu, CPU_COUNTERS.index("busy_ns")] = busy
        table.counters[cpu, CPU_COUNTERS.index("steal_ns")] = steal
        table.counters[cpu, CPU_COUNTERS.index("accounted_ns")] = whole
    frame = replace(frames(1)[0], cpus=table)
    assert frame.ratio("busy_ns") == 0.6
    assert frame.ratio("steal_ns", 0) == 0.1
    assert frame.ratio("busy_ns", 2) is None


def test_the_involuntary_share_is_of_the_switches_of_tasks_not_of_idle() -> None:
    table = CpuTable.empty(2)
    for name, value in (("switches", 100), ("voluntary_switches", 30), ("involuntary_switches", 10)):
        table.counters[0, CPU_COUNTERS.index(name)] = value
    frame = replace(frames(1)[0], cpus=table)
    assert frame.involuntary_ratio(0) == frame.involuntary_ratio() == 0.25
    assert frame.involuntary_ratio(1) is None


def test_offline_cpus_have_no_id() -> None:
    table = replace(CpuTable.empty(4), online=np.array([True, False, True, False]))
    assert table.ids == [0, 2]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"nginx\0\0\0", "nginx"),
        (b"kworker/1:2", "kworker/1:2"),
        ("jürgen".encode(), "jürgen"),
        (b"a\x1b[2Jb\nc\rd\te", "a?[2Jb?c?d?e"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        ("a\u202eb".encode(), "a?b"),
        (b"", ""),
    ],
)
def test_names_cannot_steer_a_terminal(name: bytes, shown: str) -> None:
    assert text(name) == shown


def test_a_minute_of_512_cpus_merges_in_milliseconds() -> None:
    # No timed assertion: it must end, at this size, within the test's share of a minute, and be right.
    big = frames(1, cpus=512, tasks=2000)[0]
    whole = merge([big] * 60)
    assert whole.total("switches") == 60 * big.total("switches")
    assert len(whole.tasks) == len(big.tasks)


def test_latency_of_an_older_recording_has_no_forks() -> None:
    latency = frames(1, cpus=3)[0].latency
    whole = encode_latency(latency)
    assert decode_latency(whole, 3).histogram("fork").count == latency.histogram("fork").count > 0
    older = encode_latency(LatencyTable(latency.counts[:2], latency.sum_ns[:2], latency.max_ns[:2]))
    read = decode_latency(older, 3)
    for kind in WAIT_KINDS[:2]:
        assert read.histogram(kind).counts.tolist() == latency.histogram(kind).counts.tolist()
    assert not read.histogram("fork").count
    for kinds in ([], [[0] * 3] * 4):
        with pytest.raises(ValueError, match="kind of wait"):
            decode_latency(whole | {"sum_ns": kinds}, 3)
