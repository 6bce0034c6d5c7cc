"""The stacks of wakeups, taken out of their ring (bpf/capture/path.h), with the names of their functions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from schedtop.capture.events import PLACE_DTYPE
from schedtop.model.rows import Rows
from schedtop.sources.kernel.symbols import KERNEL, Symbols, kernel_symbols_hidden

Addresses = npt.NDArray[np.uint64]

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


class Places:
    """The stacks so far. `lost`: how many were overwritten before they were taken."""

    def __init__(self) -> None:
        self.lost = 0
        self._rows: list[Rows] = []
        self._addresses: list[Addresses] = []

    def add(self, rows: Rows, addresses: Addresses) -> None:
        """Rows of PLACE_DTYPE, and the frames of each, innermost first and zeros behind them."""
        self._rows.append(rows)
        self._addresses.append(addresses)

    def extend(self, later: Places) -> None:
        """Adds others; they stay there, too."""
        self.lost += later.lost
        self._rows += later._rows
        self._addresses += later._addresses

    @property
    def count(self) -> int:
        """How many stacks there are."""
        return sum(map(len, self._rows))

    def forget(self) -> None:
        """Drops them, and counts them as lost."""
        self.lost += self.count
        self._rows, self._addresses = [], []

    def named(self, names: KernelNames) -> tuple[Rows, tuple[tuple[str, ...], ...]]:
        """All rows, and the distinct stacks that their numbers mean."""
        if not self._rows:
            return np.empty(0, PLACE_DTYPE), ()
        rows = np.concatenate(self._rows)
        distinct, numbers = np.unique(np.concatenate(self._addresses), axis=0, return_inverse=True)
        rows["stack"] = numbers.reshape(-1)
        return rows, tuple(map(tuple, _functions(distinct, names)))


def _functions(stacks: Addresses, names: KernelNames) -> list[list[str]]:
    """The functions of each stack, without those of the tracepoint and those without a name."""
    known = names.of(np.unique(stacks[stacks > 0]).tolist())
    return [
        [name for address in stack if address and (name := known[address]) and not name.startswith(_OURS)]
        for stack in stacks.tolist()
    ]
