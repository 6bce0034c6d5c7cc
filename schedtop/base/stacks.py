"""Stacks with names: the symbols of both sides of one, and the waker."""

from __future__ import annotations

from dataclasses import dataclass

INTERRUPT = "[interrupt]"
"""The name of a waker that is an interrupt: a timer, a disk, a network card."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """One place in code. `name`: the function (demangled), empty: not known; `offset`: within it, else within `module`.

    `module`: the file's path, `[kernel]` or a kernel module's name; empty: not known, `offset` is then the address. No
    address leaves the program: it would tell where the kernel or the process is loaded (KASLR, ASLR).
    """

    name: str
    module: str
    offset: int
    kernel: bool

    @property
    def label(self) -> str:
        """The function, else `libc.so.6+0x1234`, else `[kernel]` or `[unknown]`."""
        if self.name:
            return self.name
        if self.kernel:
            return "[kernel]"
        return f"{self.module.rpartition('/')[2]}+{self.offset:#x}" if self.module else "[unknown]"

    @property
    def place(self) -> int | None:
        """The offset in the function or the module; `None`: all that is known is an address."""
        return self.offset if self.name or (self.module and not self.kernel) else None


@dataclass(frozen=True, slots=True)
class Stack:
    """The symbols of one side (user or kernel) of a stack, leaf first.

    `missing`: why there are none, in a word or two (`lost`, `not seen`, `unreadable`); empty although there are none:
    there is no such side (a kernel thread, a task in user space). `truncated`: it was deeper than what is kept.
    """

    symbols: tuple[Symbol, ...] = ()
    missing: str = ""
    truncated: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The names from root to leaf, as a path shows them; what is missing is in brackets."""
        if self.missing:
            return (f"[{self.missing}]",)
        names = tuple(symbol.label for symbol in reversed(self.symbols))
        return ("[truncated]", *names) if self.truncated else names


NO_STACK = Stack()


ENDED = -1


@dataclass(frozen=True, slots=True)
class Waker:
    """A waker, with its stacks. An interrupt has the tid 0: the task it interrupted has nothing to do with it. The
    tid ENDED: tasks of that name that have ended themselves, added up when there are very many."""

    tid: int
    comm: str
    user: Stack = NO_STACK
    kernel: Stack = NO_STACK

    @property
    def name(self) -> str:
        """As a path shows it."""
        if self.tid == ENDED:
            return f"{self.comm} (ended)"
        return f"{self.comm}-{self.tid}" if self.tid else self.comm
