"""Where a run queue's lengths are in the running kernel, by name: flags for bpf/scheduler/queue.h.

What is counted are runnable tasks, of the whole CPU: `struct rq.nr_running`, and of the fair class the count of its
root queue with everything below in groups (`rq.cfs.h_nr_*`). Tasks of a throttled group are in neither.

Since 6.12 a task that goes to sleep may stay queued until it has used up its share ("delayed dequeue"). It is counted
by `nr_running` and by the fair class's count of all queued tasks, but it does not want to run, so it is taken off both:

=================  ===========================================  ==================================
kernel             fair class, runnable                         delayed sleepers
=================  ===========================================  ==================================
before 6.12        h_nr_running                                 there are none
6.12               h_nr_running, with delayed sleepers          not told: they count
6.13               h_nr_running - h_nr_delayed                  h_nr_delayed
6.14 and later     h_nr_runnable                                h_nr_queued - h_nr_runnable
=================  ===========================================  ==================================

The rows are chosen by the fields that BTF has, whatever the version says: stable kernels and distributions take over
later fields. (kernel/sched/fair.c: set_delayed(), cfs_h_nr_delayed(); commits fc1892becd56, c2a295bffeaf.)
"""

from __future__ import annotations

from schedtop.sources.kernel.btf import Btf, BtfError
from schedtop.sources.kernel.proxies import NO_LENGTHS, NOTE, proxies

_RUNNABLE = ("cfs.h_nr_runnable", "cfs.h_nr_running", "cfs.h_nr_queued")
"""The fair class's count, the best first."""

WITHOUT_BTF = "the kernel's BTF is needed to find the run queues"
NO_FIELDS = "this kernel's BTF does not tell where the run queues' lengths are"
DELAYED_COUNTED = "run queue lengths may include tasks that have just gone to sleep (this kernel does not tell them)"


def queue_flags(btf: Btf) -> list[str]:
    """Flags that find this CPU's run queue and its lengths, none where one of them is missing."""
    fair = next((name for name in _RUNNABLE if btf.has_field("rq", name)), "")
    fields = {
        "TASK_CFS_RQ": ("task_struct", "se.cfs_rq"),
        "CFS_RQ_RQ": ("cfs_rq", "rq"),
        "RQ_CPU": ("rq", "cpu"),
        "QUEUE_ALL": ("rq", "nr_running"),
        "QUEUE_FAIR_CURRENT": ("rq", "cfs.curr"),
        "QUEUE_FAIR": ("rq", fair),
    }
    if not has_probe_read(btf) or not fair or not all(btf.has_field(*place) for place in fields.values()):
        return []
    if fair == "cfs.h_nr_runnable" and btf.has_field("rq", "cfs.h_nr_queued"):
        fields["QUEUE_FAIR_ALL"] = ("rq", "cfs.h_nr_queued")
    elif btf.has_field("rq", "cfs.h_nr_delayed"):
        fields["QUEUE_DELAYED"] = ("rq", "cfs.h_nr_delayed")
    return [f"-D{name}_OFFSET={btf.offset(*place)}" for name, place in fields.items()]


def has_probe_read(btf: Btf) -> bool:
    """Whether there is the helper that reads through plain pointers (kernel 5.5 and later)."""
    try:
        return btf.enumerator("bpf_func_id", "BPF_FUNC_probe_read_kernel") > 0
    except BtfError:
        return False


def counts_delayed(btf: Btf) -> bool:
    """Whether the lengths contain tasks that sleep already, because this kernel does not tell which they are."""
    told = ("cfs.h_nr_runnable", "cfs.h_nr_delayed")
    return btf.has_field("task_struct", "se.sched_delayed") and not any(btf.has_field("rq", name) for name in told)


def queue_lengths(btf: Btf) -> tuple[list[str], str, tuple[str, ...]]:
    """Flags for the run queues' lengths, why there are none, and what is to be said of them."""
    if proxies(btf):
        return [], NO_LENGTHS, (NOTE,)
    flags = queue_flags(btf)
    if not flags:
        return [], NO_FIELDS, ()
    return flags, "", (DELAYED_COUNTED,) if counts_delayed(btf) else ()
