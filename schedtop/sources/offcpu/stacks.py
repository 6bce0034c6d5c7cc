"""Stacks of waits, symbolised: each once, early, because a process may be gone later."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from schedtop.base.stacks import INTERRUPT, NO_STACK, Stack, Symbol, Waker
from schedtop.sources.kernel.constants import OFFCPU
from schedtop.sources.kernel.pid_numbers import numbers_in, pid_numbers
from schedtop.sources.kernel.symbols import KERNEL, Symbols
from schedtop.sources.offcpu.before import read_thread
from schedtop.sources.offcpu.programs import OffCpuPrograms

_OURS = ("bpf_", "__bpf_", "__traceiter_", "perf_trace_", "trace_call_bpf", "perf_tp_", "trace_event_")
"""How the frames begin that a tracepoint and its program put on top of what it is about."""

_INTERRUPTS = ("asm_sysvec_", "asm_common_interrupt", "el1h_64_irq", "el0t_64_irq", "do_irq")
"""How the functions begin by which the kernel enters an interrupt (x86, arm64, riscv)."""

_MOST_KEPT = 1 << 16
_PROC = Path("/proc")


LATE = Stack(missing="ended early")
"""The user side of a process that had ended before it was looked at: its addresses say nothing."""


ELSEWHERE = Stack(missing="not in this container")
"""The user side of a process that /proc does not show here: it is in another pid namespace."""


DENIED = Stack(missing="not permitted")
"""The user side of another user's process, which takes CAP_SYS_PTRACE to look at."""


UNKNOWN = Stack(missing="unknown")
"""A user side of which not one frame is known."""


def unnamed(stacks: Iterable[Stack]) -> int:
    """How many distinct frames there are of which nothing is known."""
    distinct = {id(stack): stack for stack in stacks}.values()
    frames = {sym.offset for stack in distinct for sym in stack.symbols if not sym.name and not sym.module}
    return len(frames) + sum(stack is UNKNOWN for stack in distinct)


class Stacks:
    """Symbolised stacks by their ids in the kernel's map, in which no id ever gets another stack.

    `denied`: there was a process that we may not look at.
    """

    def __init__(self, programs: OffCpuPrograms, symbols: Symbols) -> None:
        self._programs = programs
        self._symbols = symbols
        self._kernel: dict[int, Stack] = {}
        self._user: dict[tuple[int, int], Stack] = {}
        self._distinct: dict[Stack, Stack] = {}
        self._processes: set[int] = set()
        self.denied = False
        self._kernel_threads: dict[int, bool] = {}

    def kernel(self, stack: int) -> Stack:
        """The kernel side of a stack id."""
        if stack < 0:
            return _absent(stack)
        if stack not in self._kernel:
            self._kernel[stack] = self._once(self._without_ours(self._symbolised(KERNEL, stack)))
        return self._kernel[stack]

    def user(self, tgid: int, stack: int) -> Stack:
        """The user side of a stack id, of a process."""
        if stack == OFFCPU.STACK_FAULT and self._is_kernel_thread(tgid):
            return NO_STACK
        if stack < 0:
            return _absent(stack)
        key = (tgid, stack)
        if key not in self._user:
            if len(self._user) >= _MOST_KEPT:
                self._user.clear()
                self._distinct.clear()
            # Nothing of its addresses could be known, and each such process has others: they are one.
            self._user[key] = self._user_side(tgid, stack) if self._remember(tgid) else self._why_not(tgid)
        return self._user[key]

    def _why_not(self, tgid: int) -> Stack:
        """What there is instead of the user side of a process that cannot be asked about."""
        number = pid_numbers().inside(tgid)
        if not number and pid_numbers().note:
            return ELSEWHERE
        try:
            with (_PROC / str(number) / "maps").open("rb"):
                return LATE
        except PermissionError:
            self.denied = True
            return DENIED
        except OSError:
            return LATE

    def _once(self, stack: Stack) -> Stack:
        """The same object for equal stacks: several ids may differ in what a tracepoint puts on top alone."""
        return self._distinct.setdefault(stack, stack)

    def _user_side(self, tgid: int, stack: int) -> Stack:
        found = self._symbolised(tgid, stack)
        # Mostly code of before an exec: its addresses are of no use either, and each process has others.
        return (
            UNKNOWN if found.symbols and not any(one.name or one.module for one in found.symbols) else self._once(found)
        )

    def _remember(self, tgid: int) -> bool:
        """Whether it may be asked about: not if it has ended before."""
        if tgid not in self._processes:
            if len(self._processes) >= _MOST_KEPT:
                self._processes.clear()
            number = pid_numbers().inside(tgid)
            if not number or not (_PROC / str(number)).exists() or not self._symbols.remember(number):
                return bool(self._symbols.trouble)
            self._processes.add(tgid)
        return True

    def _symbolised(self, pid: int, stack: int) -> Stack:
        addresses = self._programs.addresses(stack)
        number = KERNEL if pid == KERNEL else pid_numbers().inside(pid)
        # But for the leaf of the user side they are where calls return to, which may be behind the caller's end.
        back = [0 if pid != KERNEL and not index else 1 for index in range(len(addresses))]
        places = [address - less for address, less in zip(addresses, back, strict=True)]
        symbols = tuple(
            Symbol(symbol.name, symbol.module, symbol.offset + less, symbol.kernel)
            for symbol, less in zip(self._symbols.of(number, places), back, strict=True)
        )
        return Stack(symbols, truncated=len(addresses) >= self._programs.depth)

    def _is_kernel_thread(self, tgid: int) -> bool:
        if tgid not in self._kernel_threads:
            if len(self._kernel_threads) >= _MOST_KEPT:
                self._kernel_threads.clear()
            thread = read_thread(tgid, tgid)
            self._kernel_threads[tgid] = bool(thread and thread.is_kernel)
        return self._kernel_threads[tgid]

    def _without_ours(self, stack: Stack) -> Stack:
        start = 0
        while start < len(stack.symbols) and stack.symbols[start].name.startswith(_OURS):
            start += 1
        return Stack(stack.symbols[start:], stack.missing, stack.truncated)


def waker_of(tid: int, comm: str, user: Stack, kernel: Stack) -> Waker:
    """The waker with these stacks: an interrupt, if the kernel side goes through one."""
    for depth, symbol in enumerate(kernel.symbols):
        if symbol.name.startswith(_INTERRUPTS):
            return Waker(0, INTERRUPT, kernel=Stack(kernel.symbols[: depth + 1]))
    return Waker(tid, comm, user, kernel)


def process_name(tgid: int, root: Path = _PROC) -> str:
    """The name of a process's first thread, empty if it is gone."""
    try:
        return (root / str(numbers_in(root).inside(tgid)) / "comm").read_bytes()[:-1].decode("utf-8", "replace")
    except OSError:
        return ""


def _absent(stack: int) -> Stack:
    if stack in (OFFCPU.STACK_NONE, OFFCPU.STACK_NOT_TAKEN):
        return NO_STACK
    reasons = {
        OFFCPU.STACK_NOT_SEEN: "not seen",
        OFFCPU.STACK_NEW_TASK: "just started",
        OFFCPU.STACK_FAULT: "unreadable",
    }
    return Stack(missing=reasons.get(stack, "lost"))
