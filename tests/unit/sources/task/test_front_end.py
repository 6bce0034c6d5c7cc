"""What the task view needs of a kernel's BTF."""

from __future__ import annotations

import pytest

from schedtop.sources.kernel.btf import Btf
from schedtop.sources.kernel.quotas import tells_quotas
from schedtop.sources.task.front_end import QUOTA_RETURN, UNDER_WAY, btf_task_front_end
from tests.unit.sources.kernel.test_btf import ENUM, INT, PTR, TYPEDEF, Blob

FUNCTION = 12


def kernel(*, iterator: bool) -> Btf:
    """BTF of a kernel that tells quotas by the clock of 6.6."""
    blob = Blob()
    number, pointer = blob.add("unsigned int", INT, 4, (0x20,)), blob.add("", PTR, 0)

    def struct(name: str, *fields: str) -> int:
        kinds = [(field, pointer if field in ("cfs_rq", "rq", "tg") else number) for field in fields]
        return int(blob.struct(name, [(field, kind, 64 * place) for place, (field, kind) in enumerate(kinds)]))

    entity = struct("sched_entity", "cfs_rq")
    names = ("pid", "tgid", "comm", "__state", "on_rq", "min_flt", "maj_flt", "exit_code", "prio", "on_cpu")
    blob.struct(
        "task_struct", [*((name, number, 32 * place) for place, name in enumerate(names)), ("se", entity, 2048)]
    )
    struct("cfs_rq", "rq", "tg", "throttle_count", "throttled_clock_self", "throttled_clock_self_time")
    struct("task_group", "cfs_rq")
    struct("rq", "clock")
    blob.add("btf_trace_sched_switch", TYPEDEF, blob.add("", PTR, blob.prototype(5)))
    blob.add("bpf_func_id", ENUM, 4, (blob.name("BPF_FUNC_seq_write"), 127), 1)
    if iterator:
        blob.add("bpf_iter_task", FUNCTION, blob.prototype(2))
    return Btf(blob.bytes())


@pytest.mark.parametrize("iterator", [True, False])
def test_a_kernel_without_the_iterator_says_that_waits_under_way_are_not_split(iterator: bool) -> None:
    front_end = btf_task_front_end(kernel(iterator=iterator), "x86_64")
    assert tells_quotas(front_end.flags)
    assert (UNDER_WAY in front_end.hooks) is iterator
    assert ("-DHAVE_ITER_TASK" in front_end.flags) is iterator
    assert (QUOTA_RETURN in front_end.unavailable) is not iterator
