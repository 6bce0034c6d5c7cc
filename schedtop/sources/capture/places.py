"""The stacks of wakeups, taken out of their ring (bpf/capture/path.h), with the names of their functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schedtop.base.breath import keep_on
from schedtop.capture.events import PLACE_DTYPE
from schedtop.model.rows import Rows, copy_rows, join_rows
from schedtop.sources.kernel.symbols import KERNEL, Symbols, kernel_symbols_hidden

Addresses = npt.NDArray[np.uint64]

MOST_STACKS = 20_000
"""So many distinct ones keep their names, 10 MB; a kernel has some hundreds."""

_OURS = ("bpf_", "__bpf_", "__traceiter_", "perf_trace_", "trace_call_bpf", "perf_tp_", "trace_event_")
"""How the frames begin that a tracepoint and its program put on top of what it is about."""

HIDDEN = (
    "the kernel hides its symbols (CAP_SYSLOG shows them, with sysctl kernel.kptr_restrict below 2): "
    "where tasks sleep is known by their system calls alone"
)


class KernelNames:
    """The names of kernel functions, each asked for once. It ends with the thread that made this: by `close`."""

    def __init__(self) -> None:
        self._symbols: Symbols | None = None
        self._names: dict[int, str] = {}
        self._stacks: dict[bytes, tuple[str, ...]] = {}

    def close(self) -> None:
        """Ends the child that reads them."""
        if self._symbols:
            self._symbols.close()
            self._symbols = None

    @property
    def trouble(self) -> str:
        """Why functions that were asked for have no names; empty: they have."""
        if not self._symbols:
            return ""
        return self._symbols.failure or (HIDDEN if kernel_symbols_hidden() else "")

    def of(self, addresses: list[int]) -> dict[int, str]:
        """Those of these addresses, and of others; empty where there is none."""
        new = [address for address in addresses if address not in self._names]
        if new:
            self._symbols = self._symbols or Symbols()
            # They are where calls return to, which may be behind the caller's end.
            found = self._symbols.of(KERNEL, [address - 1 for address in new])
            self._names.update(zip(new, (symbol.name for symbol in found), strict=True))
        return self._names

    def functions(
        self, stacks: Sequence[bytes], breathe: Callable[[], object] = keep_on
    ) -> tuple[tuple[str, ...], ...]:
        """The functions of each stack, without those of the tracepoint and those without a name.

        `stacks`: their addresses, 64 bits wide, zeros behind them. `breathe` is called in between.
        """
        if len(self._stacks) > MOST_STACKS:
            self._stacks.clear()
        new = [stack for stack in stacks if stack not in self._stacks]
        if new:
            addresses = np.frombuffer(b"".join(new), np.uint64)
            known = self.of(np.unique(addresses[addresses > 0]).tolist())
            for stack, row in zip(new, addresses.reshape(len(new), -1).tolist(), strict=True):
                named = (known[address] for address in row if address)
                self._stacks[stack] = tuple(name for name in named if name and not name.startswith(_OURS))
                breathe()
        return tuple(self._stacks[stack] for stack in stacks)


class Places:
    """The stacks so far. `lost`: how many were overwritten before they were taken."""

    def __init__(self) -> None:
        self.lost = 0
        self._pieces: list[_Piece] = []

    def add(self, rows: Rows, addresses: Addresses) -> None:
        """Rows of PLACE_DTYPE, and the frames of each, innermost first and zeros behind them."""
        numbers: dict[bytes, int] = {}
        stacks = np.ascontiguousarray(addresses).view(f"V{addresses.itemsize * addresses.shape[1]}").ravel().tolist()
        rows["stack"] = [numbers.setdefault(stack, len(numbers)) for stack in stacks]
        self._pieces.append(_Piece(rows, tuple(numbers)))

    def extend(self, later: Places) -> None:
        """Adds others; they stay there, too."""
        self.lost += later.lost
        self._pieces += later._pieces

    @property
    def count(self) -> int:
        """How many stacks there are."""
        return sum(len(piece.rows) for piece in self._pieces)

    def forget(self) -> None:
        """Drops them, and counts them as lost."""
        self.lost += self.count
        self._pieces = []

    def named(
        self, names: KernelNames, breathe: Callable[[], object] = keep_on
    ) -> tuple[Rows, tuple[tuple[str, ...], ...]]:
        """All rows, and the distinct stacks that their numbers mean. `breathe` is called in between."""
        if not self._pieces:
            return np.empty(0, PLACE_DTYPE), ()
        numbers: dict[bytes, int] = {}
        found = []
        for piece in self._pieces:
            rows = copy_rows(piece.rows)
            rows["stack"] = np.array([numbers.setdefault(stack, len(numbers)) for stack in piece.stacks])[rows["stack"]]
            found.append(rows)
            breathe()
        return join_rows(found), names.functions(list(numbers), breathe)


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Rows of PLACE_DTYPE, `stack` an index into `stacks`: the addresses of each, 64 bits wide."""

    rows: Rows
    stacks: tuple[bytes, ...]
