"""What woke tasks, and where they were blocked until then, as far as a capture tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedtop.base.breath import keep_on
from schedtop.capture.events import (
    BLOCKED_IN,
    LEFT_IN_IOWAIT,
    STATE_LETTERS,
    SWITCH,
    WAKEUP_NEW,
    WAKING,
    WOKEN_FROM,
    Capture,
)
from schedtop.model.rows import copy_rows, take_many
from schedtop.model.waits import WAKERS, WokenBy
from schedtop.offcpu.places import place_of_functions
from schedtop.path.by_task import by_task

TIMER, DISK, NETWORK = "timer", "disk", "network"

_SOURCES: Mapping[str, str] = {
    TIMER: "hrtimer_wakeup process_timeout it_real_fn posix_timer_fn posix_timer_event timerfd_tmrproc "
    "timerfd_triggered call_timer_fn delayed_work_timer_fn",
    DISK: "bio_endio blk_update_request blk_mq_end_request blk_mq_complete_request blk_complete_reqs blk_done_softirq "
    "end_buffer_async_write folio_end_writeback folio_end_read end_page_writeback",
    NETWORK: "__netif_receive_skb __netif_receive_skb_core process_backlog napi_poll __napi_poll net_rx_action",
}
_WORDS = {name: word for word, names in _SOURCES.items() for name in names.split()}

_ENTRIES = ("asm_sysvec_", "asm_common_interrupt", "common_interrupt", "irq_exit", "__irq_exit", "el1h_64_irq",
            "el0t_64_irq", "el1_interrupt", "do_irq", "run_ksoftirqd")  # fmt: skip
"""How functions begin by which an interrupt, and the softirqs after it, are entered."""

_OWN = ("__local_bh_enable_ip", "do_softirq")
"""The functions by which a task handles the softirqs that it raised itself, as on its way through the loopback."""

ASKED_FOR = (TIMER, DISK)
"""What a task waits for that it asked for itself; anything else came from outside."""

_TIMED_CALLS = ("nanosleep", "clock_nanosleep")
_WORK_CALLS = ("nanosleep", "clock_nanosleep", "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select",
               "pselect6", "pause", "rt_sigsuspend", "rt_sigtimedwait", "wait4", "waitid", "accept", "accept4",
               "io_getevents", "io_pgetevents")  # fmt: skip
"""Calls in which threads wait for work, where the function that they wait in is not known."""

_CALL_WORDS = {"futex": "futex"} | dict.fromkeys(_TIMED_CALLS, TIMER)

_SLEEPS = 0x01
PLACES_AT_ONCE = 500
_WAITS_FOR_WORK = 0xC0  # parked, idle


@dataclass(frozen=True, slots=True)
class Place:
    """Where a task was blocked: in words, and whether it merely waited for work there."""

    where: str
    for_work: bool = False


@dataclass(frozen=True, slots=True)
class Wakeup:
    """What made a task runnable, or made it (`is_new`). `tid` 0: no task; then `source` is what is known of it.

    `interrupt`: which one it was, where interrupts were timed; of ksoftirqd, the softirq that it did.
    """

    time_ns: int
    tid: int
    source: str = ""
    is_new: bool = False
    interrupt: str = ""

    @property
    def words(self) -> str:
        """What woke a task that no task woke: `timer (local_timer)`, `softirq NET_RX raised by iperf (1234)`."""
        if not self.interrupt or self.source in WAKERS:
            return self.interrupt or self.source
        return f"{self.source} ({self.interrupt})"


class Wakeups:
    """The wakeups of a capture by task and time, and the places of the sleeps that they end."""

    def __init__(self, capture: Capture, breathe: Callable[[], object] = keep_on) -> None:
        """`breathe` is called in between, later on too."""
        events = capture.events
        self._calls = capture.calls
        self._stacks = capture.stacks
        self._interrupts = capture.interrupts
        kinds = (events["kind"] == WAKING) | (events["kind"] == WAKEUP_NEW)
        breathe()
        wakings = take_many(events, np.flatnonzero(kinds), breathe)
        self._wakings = by_task(wakings, breathe=breathe)
        switches = take_many(events, np.flatnonzero(events["kind"] == SWITCH), breathe)
        self._switches = by_task(switches, breathe=breathe)
        arrivals = copy_rows(switches)
        arrivals["tid"] = switches["other_tid"]
        breathe()
        self._arrivals = by_task(arrivals, breathe=breathe)
        self._places: dict[tuple[int, int, int], tuple[int, int]] = {}
        for at in range(0, len(capture.places), PLACES_AT_ONCE):
            rows = capture.places[at : at + PLACES_AT_ONCE].tolist()
            self._places.update(((row[1], row[0], row[4]), (row[3], row[2])) for row in rows)
            breathe()

    def first(self, tid: int, start_ns: int, end_ns: int) -> Wakeup | None:
        """The first wakeup of a task from `start_ns` to `end_ns`, both included."""
        rows = self._wakings.between(tid, start_ns, end_ns + 1)
        return self._wakeup(rows[0]) if len(rows) else None

    def last(self, tid: int, end_ns: int) -> Wakeup | None:
        """The last one before `end_ns`."""
        row = self._wakings.last_before(tid, end_ns)
        return None if row is None else self._wakeup(row)

    def departure(self, tid: int, time_ns: int) -> Any:
        """The switch by which a task left a CPU then."""
        rows = self._switches.between(tid, time_ns, time_ns + 1)
        return rows[-1] if len(rows) else None

    def arrival(self, tid: int, start_ns: int, end_ns: int) -> int | None:
        """When a task came to a CPU first, from `start_ns` until before `end_ns`."""
        rows = self._arrivals.between(tid, start_ns, end_ns)
        return int(rows[0]["time_ns"]) if len(rows) else None

    def place(self, tid: int, left_ns: int, wakeup: Wakeup | None) -> Place:
        """Where a task was blocked that left at `left_ns`, until a wakeup if one is known."""
        left = self.departure(tid, left_ns)
        state = int(left["prev_state"]) if left is not None else 0
        in_iowait = left is not None and bool(left["woken_by"] & LEFT_IN_IOWAIT)
        number = int(left["syscall"]) - 1 if left is not None else -1
        call = (self._calls.get(number) or f"call {number}") if number >= 0 else ""
        functions = self._functions(tid, wakeup.time_ns, BLOCKED_IN) if wakeup else ()
        word, idle = place_of_functions(functions)
        idle = (idle or "kthread" in functions) and state in (0, _SLEEPS)
        if not functions:
            word = DISK if in_iowait else _CALL_WORDS.get(call, "")
            idle = call in _WORK_CALLS and state == _SLEEPS and not in_iowait
        elif in_iowait and word in functions:
            word, idle = DISK, False  # whatever the function is called
        if word == "futex" and wakeup and not wakeup.tid:
            word, idle = "futex timeout", True
        if not call and any(name.startswith(("handle_mm_fault", "do_user_addr_fault")) for name in functions):
            call = "page fault"
        where = word if word == call or not call else f"{call}: {word}" if word else call
        letter = STATE_LETTERS.get(state & 0xFF, "")
        where = where or (f"state {letter}" if letter else "")
        return Place(where, idle or bool(state & _WAITS_FOR_WORK))

    def _wakeup(self, row: Any) -> Wakeup:
        time_ns, tid, waker = int(row["time_ns"]), int(row["tid"]), int(row["other_tid"])
        by, is_new = WokenBy.known(int(row["woken_by"])) or WokenBy.TASK, bool(row["kind"] == WAKEUP_NEW)
        interrupt = self._interrupts.get((tid, time_ns), "")
        if waker or by == WokenBy.TASK:
            return Wakeup(time_ns, waker, "", is_new, interrupt)
        functions = self._functions(tid, time_ns, WOKEN_FROM)
        current = self._places.get((tid, time_ns, WOKEN_FROM), (0, 0))[1]
        if by == WokenBy.SOFTIRQ and current and _is_its_own(functions):
            return Wakeup(time_ns, current, "", is_new)
        word = next((_WORDS[name] for name in map(_plain, functions) if name in _WORDS), "")
        source = word or self._guess(tid, time_ns) or by.label
        return Wakeup(time_ns, 0, source, is_new, interrupt)

    def _guess(self, tid: int, time_ns: int) -> str:
        """What an interrupt was about, by what the task that it woke was waiting for."""
        left = self._switches.last_before(tid, time_ns)
        if left is None:
            return ""
        if left["woken_by"] & LEFT_IN_IOWAIT:
            return DISK
        return TIMER if self._calls.get(int(left["syscall"]) - 1) in _TIMED_CALLS else ""

    def _functions(self, tid: int, time_ns: int, side: int) -> tuple[str, ...]:
        found = self._places.get((tid, time_ns, side))
        return self._stacks[found[0]] if found else ()


def _is_its_own(functions: Iterable[str]) -> bool:
    """Whether a task was handling softirqs that it had raised itself, and not those of an interrupt."""
    for name in map(_plain, functions):
        if name.startswith(_ENTRIES):
            return False
        if name in _OWN:
            return True
    return False


def _plain(name: str) -> str:
    return name.partition(".")[0]
