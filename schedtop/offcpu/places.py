"""Where in the kernel a thread slept, in a word, and whether that is how one waits for work to do.

By the names of kernel functions, innermost first. Names of several kernels are in the table; one that is in none gives
the function itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from schedtop.base.stacks import Stack
from schedtop.offcpu.measurement import IDLE, RUNNABLE, SLEEPING, UNINTERRUPTIBLE, OffCpuRow

_IDLE_PLACES: Mapping[str, str] = {
    "timer": "do_nanosleep hrtimer_nanosleep common_nsleep",
    "epoll": "ep_poll do_epoll_wait",
    "poll": "do_poll do_sys_poll",
    "select": "do_select core_sys_select",
    "signal": "sigsuspend do_sigtimedwait __do_sys_pause",
    "child": "do_wait kernel_wait4 kernel_waitid",
    "terminal": "n_tty_read",
    "accept": "inet_csk_accept inet_csk_wait_for_connect unix_accept",
    "aio": "io_cqring_wait read_events",
    "inotify": "inotify_read",
    "kernel work": "worker_thread kthread_worker_fn smpboot_thread_fn rcu_gp_kthread rescuer_thread kauditd_thread "
    "kswapd kcompactd khugepaged ksm_scan_thread kjournald2 oom_reaper devtmpfsd kthreadd rcu_tasks_kthread watchdogd",
}
"""Where threads wait until another task wants something from them, or until it is time."""

_PLACES: Mapping[str, str] = {
    "futex": "futex_wait __futex_wait futex_wait_queue futex_wait_queue_me futex_lock_pi futex_wait_multiple",
    "pipe": "pipe_read pipe_write anon_pipe_read anon_pipe_write pipe_wait_readable pipe_wait_writable fifo_open",
    "socket": "sk_wait_data sk_stream_wait_memory unix_stream_read_generic unix_stream_data_wait "
    "__skb_wait_for_more_packets sock_alloc_send_pskb inet_wait_for_connect inet_stream_connect unix_wait_for_peer",
    "vfork": "wait_for_vfork_done",
    "disk": "io_schedule io_schedule_timeout bit_wait_io submit_bio_wait blk_mq_get_tag rq_qos_wait wait_on_buffer "
    "folio_wait_bit_common __iomap_dio_rw wbt_wait",
    "journal": "jbd2_log_wait_commit wait_transaction_locked xlog_wait_on_iclog",
    "mutex": "__mutex_lock __mutex_lock_slowpath rt_mutex_slowlock",
    "rwsem": "rwsem_down_read_slowpath rwsem_down_write_slowpath",
    "semaphore": "__down __down_common __down_interruptible do_semtimedop",
    "file lock": "locks_lock_inode_wait flock_lock_inode_wait posix_lock_inode_wait fcntl_setlk do_flock",
    "dirty pages": "balance_dirty_pages",
    "memory": "throttle_direct_reclaim shrink_node __alloc_pages_slowpath reclaim_throttle mem_cgroup_handle_over_high",
    "rcu": "synchronize_rcu __wait_rcu_gp synchronize_rcu_normal",
    "stop": "do_signal_stop ptrace_stop do_freezer_trap",
    "message": "do_msgrcv do_msgsnd wq_sleep",
    "fuse": "request_wait_answer",
    "nfs": "rpc_wait_bit_killable",
}

_WORDS: Mapping[str, tuple[str, bool]] = {
    name: (word, idle)
    for places, idle in ((_PLACES, False), (_IDLE_PLACES, True))
    for word, names in places.items()
    for name in names.split()
}

_GENERIC_NAMES = """
    schedule __schedule schedule_timeout schedule_hrtimeout_range schedule_hrtimeout_range_clock schedule_hrtimeout
    schedule_preempt_disabled preempt_schedule preempt_schedule_common preempt_schedule_irq preempt_schedule_notrace
    __cond_resched wait_woken prepare_to_wait __wait_on_bit out_of_line_wait_on_bit bit_wait wait_for_completion
    __wait_for_common wait_for_completion_killable wait_for_completion_state do_wait_for_common bpf_get_stackid
    context_switch schedule_idle schedule_rtlock
"""
_GENERIC = frozenset(_GENERIC_NAMES.split())
"""They say only that it slept."""

_CONDITIONS = ("pthread_cond_", "condition_variable", "Condvar", "runtime.notesleep", "runtime.stopm", "Unsafe_Park")
"""Parts of the names of user functions that wait for a condition: in these a futex is no lock."""

CPU = "a CPU"

FILE_LOCK = "file lock"

_NEVER_FOR_WORK = frozenset((FILE_LOCK, "mutex", "rwsem", "fuse", "nfs"))
"""Places where a thread that is there all the time is stuck: no thread waits there for work."""


def place_of(row: OffCpuRow) -> tuple[str, bool]:
    """Where a row's time was spent, and whether it merely waited for work there."""
    if row.state == RUNNABLE:
        return CPU, False
    word, idle = _in_kernel(row.kernel)
    if word == "futex" and _waits_for_condition(row.user):
        word, idle = "condition", True
    if word == "futex" and row.waker is not None and not row.waker.tid:
        # Only tasks give a futex away: an interrupt that ends such a wait is its timer.
        word, idle = "futex timeout", True
    # The kernel's threads mark themselves idle where they wait for work, or sleep; for anything else they wait
    # uninterruptibly.
    idle = idle or any(symbol.name == "kthread" for symbol in row.kernel.symbols)
    return word or row.state, row.state in (IDLE, "parked") or (idle and row.state == SLEEPING)


def is_stuck_in(row: OffCpuRow) -> bool:
    """Whether no thread waits for work in such a row, however long it is: an uninterruptible wait, a lock of a file."""
    return row.state == UNINTERRUPTIBLE or (row.is_blocked and _in_kernel(row.kernel)[0] in _NEVER_FOR_WORK)


def is_in_file_lock(row: OffCpuRow) -> bool:
    """Whether it is blocked in a lock of a file (flock, fcntl)."""
    return row.is_blocked and _in_kernel(row.kernel)[0] == FILE_LOCK


def forget_stacks() -> None:
    """Drops what is remembered of stacks: with all their symbols they are megabytes."""
    _in_kernel.cache_clear()
    _waits_for_condition.cache_clear()


@lru_cache(maxsize=2048)
def _in_kernel(stack: Stack) -> tuple[str, bool]:
    return place_of_functions(symbol.name for symbol in stack.symbols)


def place_of_functions(functions: Iterable[str]) -> tuple[str, bool]:
    """Where in the kernel that is, by its functions, innermost first, and whether threads wait for work there.

    A place that has no word of its own gives the function itself; empty: nothing is known.
    """
    names = [name.partition(".")[0] for name in functions]
    for name in names:
        if name in _WORDS:
            return _WORDS[name]
    return next((name for name in names if name and name not in _GENERIC), ""), False


@lru_cache(maxsize=2048)
def _waits_for_condition(stack: Stack) -> bool:
    return any(part in symbol.name for symbol in stack.symbols for part in _CONDITIONS)
