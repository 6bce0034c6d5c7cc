"""Made-up off-CPU time, for tests and for a look at the screen without root: the same numbers each time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

from schedtop.base.stacks import Stack, Symbol, Waker
from schedtop.base.units import NS_PER_MS, NS_PER_S, NS_PER_US
from schedtop.model.host import Host
from schedtop.offcpu.loss import OffCpuLoss
from schedtop.offcpu.measurement import OffCpu, OffCpuRow, Times, Wakers

_START_TIME_NS = 1_790_000_000 * NS_PER_S

_ENTRY = "entry_SYSCALL_64_after_hwframe do_syscall_64"
_KERNEL = {
    "epoll": f"{_ENTRY} __x64_sys_epoll_wait do_epoll_wait ep_poll schedule_hrtimeout_range schedule __schedule",
    "timer": f"{_ENTRY} __x64_sys_clock_nanosleep common_nsleep hrtimer_nanosleep do_nanosleep schedule __schedule",
    "futex": f"{_ENTRY} __x64_sys_futex do_futex futex_wait __futex_wait futex_wait_queue schedule __schedule",
    "pipe": f"{_ENTRY} ksys_read vfs_read pipe_read schedule __schedule",
    "disk": f"{_ENTRY} ksys_pread64 vfs_read ext4_file_read_iter filemap_read filemap_get_pages folio_wait_bit_common "
    "io_schedule schedule __schedule",
    "journal": f"{_ENTRY} __x64_sys_fdatasync ext4_sync_file jbd2_log_wait_commit schedule __schedule",
    "exit": f"{_ENTRY} irqentry_exit_to_user_mode schedule __schedule",
    "work": "ret_from_fork_asm ret_from_fork kthread worker_thread schedule __schedule",
}

# comm, tid, process, tgid, kernel stack, user stack (root first), state, waits and nanoseconds a second, waker
_SCENE: tuple[tuple[str, int, str, int, str, str, str, int, int, tuple[int, str] | None], ...] = (
    ("nginx", 811, "nginx", 811, "epoll", "main ngx_worker_process_cycle ngx_epoll_process_events", "sleeping",
     420, 970 * NS_PER_MS, (0, "")),
    ("nginx", 811, "nginx", 811, "epoll", "main ngx_worker_process_cycle ngx_epoll_process_events", "runnable",
     420, 200 * NS_PER_US, (0, "")),
    ("cron", 402, "cron", 402, "timer", "main sleep clock_nanosleep", "sleeping", 1, NS_PER_S, None),
    ("postgres", 1204, "postgres", 1204, "disk", "main PostgresMain ExecutePlan heapgettup ReadBufferExtended mdread "
     "FileRead pread64", "uninterruptible", 96, 412 * NS_PER_MS, (0, "")),
    ("postgres", 1204, "postgres", 1204, "journal", "main PostgresMain CommitTransaction XLogFlush issue_xlog_fsync "
     "fdatasync", "uninterruptible", 12, 301 * NS_PER_MS, (377, "jbd2/sda1-8")),
    ("postgres", 1204, "postgres", 1204, "disk", "main PostgresMain ExecutePlan heapgettup ReadBufferExtended mdread "
     "FileRead pread64", "runnable", 96, 31 * NS_PER_MS, (0, "")),
    ("java-pool-1", 2231, "java", 2201, "futex", "start_thread thread_native_entry Orders.settle ObjectMonitor::enter "
     "__lll_lock_wait", "sleeping", 33, 640 * NS_PER_MS, (2232, "java-pool-2")),
    ("java-pool-1", 2231, "java", 2201, "futex", "start_thread thread_native_entry Orders.settle ObjectMonitor::enter "
     "__lll_lock_wait", "runnable", 33, 3 * NS_PER_MS, (2232, "java-pool-2")),
    ("java-pool-2", 2232, "java", 2201, "futex", "start_thread thread_native_entry Unsafe_Park pthread_cond_wait",
     "sleeping", 12, 890 * NS_PER_MS, (2231, "java-pool-1")),
    ("cc1", 3307, "cc1", 3307, "exit", "main compile_file", "runnable", 210, 455 * NS_PER_MS, None),
    ("tar", 3410, "tar", 3410, "pipe", "main read_archive full_read read", "sleeping", 1500, 220 * NS_PER_MS,
     (3411, "gzip")),
    ("kworker/1:2", 77, "kworker/1:2", 77, "work", "", "idle", 40, 980 * NS_PER_MS, (0, "")),
)  # fmt: skip


class SyntheticOffCpu:
    """An OffCpuSource that shows one scene, a second more each time, every `pace_s` seconds."""

    def __init__(self, min_ns: int = 0, wakers: Wakers = Wakers.NAMES, pace_s: float = 1.0) -> None:
        self.host = Host("synthetic", "6.18.0", "synthetic", virtualised=True)
        self._min_ns = min_ns
        self._wakers = wakers
        self._pace_s = pace_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None

    def frames(self, stop: threading.Event) -> Iterator[OffCpu]:
        """All so far, each time."""
        seconds = 0
        while not stop.wait(self._pace_s):
            seconds += 1
            yield replace(scene(self.host, seconds, self._min_ns), wakers=self._wakers, end_ns=time.monotonic_ns())


def scene(host: Host, seconds: int, min_ns: int = 0) -> OffCpu:
    """The measurement after so many seconds."""
    rows = [_row(values, seconds) for values in _SCENE]
    kept = tuple(row for row in rows if row.times.max_ns >= min_ns)
    below = [row for row in rows if row.times.max_ns < min_ns]
    return OffCpu(
        host,
        _START_TIME_NS,
        seconds * NS_PER_S,
        kept,
        min_ns,
        sum(row.times.count for row in below),
        sum(row.total_ns for row in below),
        wakers=Wakers.NAMES,
        loss=OffCpuLoss(unreadable_stacks=3 * seconds),
    )


def _row(values: tuple[str, int, str, int, str, str, str, int, int, tuple[int, str] | None], seconds: int) -> OffCpuRow:
    comm, tid, process, tgid, kernel, user, state, count, ns, waker = values
    average = ns // count
    times = Times(seconds * count, seconds * ns, average // 3, average * 4 if count > 1 else ns)
    return OffCpuRow(
        tid, tgid, comm, process, state, _stack(user, False), _stack(_KERNEL[kernel], True), times,
        Waker(*waker) if waker else None,
    )  # fmt: skip


def _stack(names: str, kernel: bool) -> Stack:
    module = "[kernel]" if kernel else "/usr/bin/program"
    return Stack(tuple(Symbol(name, module, 0x2A, kernel) for name in reversed(names.split())))
