"""The programs that time interrupts, attached, and their maps (bpf/interrupts/interrupts.h)."""

from __future__ import annotations

import numpy as np

from schedtop.model.rows import Rows
from schedtop.sources.host.pid_numbers import highest_tid
from schedtop.sources.interrupts.front_end import BLOCK_DONE
from schedtop.sources.interrupts.names import highest_irq
from schedtop.sources.kernel.compiler import Compiled, compile_programs
from schedtop.sources.kernel.constants import INTERRUPTS
from schedtop.sources.kernel.front_end import FrontEnd
from schedtop.sources.kernel.loader import Loader
from schedtop.sources.kernel.program_cache import compiled_before
from schedtop.sources.kernel.program_text import program_text, source_directory

SPARE_IRQS = 32
"""Room for devices that come later."""

SPANS_BYTES, MOST_SPANS, FEWEST_SPANS = 32 << 20, 1 << 16, 1 << 10
"""What the rings of interrupts that are over may take for all CPUs together, and places of each of them."""

MOST_SLOTS = 1 << 16
"""How many tasks an interval may charge time to; with the highest tid below it none meets another one."""


def source_count(irq: int) -> int:
    """How many sources a CPU has counters for, with that highest device interrupt."""
    return min(INTERRUPTS.MOST_SOURCES, INTERRUPTS.FIRST_IRQ + irq + 1 + SPARE_IRQS)


def span_places(cpus: int, span_bytes: int) -> int:
    """How many interrupts each ring of each CPU holds: a power of two."""
    share = SPANS_BYTES // (span_bytes * INTERRUPTS.LEVELS * cpus)
    return max(FEWEST_SPANS, min(MOST_SPANS, 1 << max(0, share.bit_length() - 1)))


def build(front_end: FrontEnd, cpus: int) -> Compiled:
    """The programs for this kernel and number of possible CPUs. Raises SourceError."""
    directory = source_directory()
    text = program_text(directory, "interrupts/btf.c")
    flags = (f"-DCPUS={cpus}", *front_end.flags)
    return compiled_before(text, flags, lambda: compile_programs(text, flags, directory))


class InterruptPrograms(Loader):
    """Attached while it is open; made, used and closed by one thread.

    `handled` (possible CPUs * `sources`,), `levels` (possible CPUs * LEVELS,), `spans` (possible CPUs * LEVELS *
    `places`,), `raised` (possible CPUs * RAISED_SLOTS,) and `interrupted`: structured arrays on the kernel's own
    memory, with the fields of bpf/interrupts/interrupts.h; `completions` (possible CPUs * COMPLETIONS, else 1) and
    `completion_counts` (possible CPUs,) those of completions.h.
    """

    handled: Rows
    levels: Rows
    spans: Rows
    interrupted: Rows
    raised: Rows
    completions: Rows
    completion_counts: Rows

    def __init__(self, front_end: FrontEnd, compiled: Compiled, interrupting_fd: int | None, epoch: int) -> None:
        """`interrupting_fd`: the map in which the scheduler's programs look, if there are any. Raises SourceError."""
        super().__init__(compiled, front_end.hooks)
        maps = compiled.maps
        cpus = maps["levels"].entries // INTERRUPTS.LEVELS
        self.sources = source_count(highest_irq())
        self.places = span_places(cpus, maps["spans"].value_bytes)
        highest = highest_tid()
        slots = MOST_SLOTS if highest is None else min(MOST_SLOTS, 1 << max(10, (highest - 1).bit_length()))
        with self._opening():
            sizes = {"handled": cpus * self.sources, "spans": cpus * INTERRUPTS.LEVELS * self.places}
            if front_end.events.keys() >= {*BLOCK_DONE}:
                sizes["completions"] = cpus * INTERRUPTS.COMPLETIONS
            shared = {} if interrupting_fd is None else {"interrupting": interrupting_fd}
            self._create_maps({**sizes, "interrupted": slots}, shared)
            self._config = self._view("interrupt_config", writable=True)
            self._interrupting = self._view("interrupting", writable=True)
            self.handled = self._view("handled")
            self.levels = self._view("levels")
            self.spans = self._view("spans")
            self.interrupted = self._view("interrupted")
            self.raised = self._view("raised")
            self.completions, self.completion_counts = self._view("completions"), self._view("completion_counts")
            for name, value in (("sources", self.sources), ("spans", self.places), ("task_slots", slots)):
                self._config[name] = value
            self.begin_epoch(epoch)
            self._start()

    def begin_epoch(self, epoch: int) -> None:
        """From now on what happens is of another interval."""
        self._config["epoch"] = epoch

    def run_ns(self) -> int:
        """How long they have run while the kernel timed them."""
        return sum(self._info(name).run_ns() for name in self._hooks)

    def close(self) -> None:
        super().close()
        if hasattr(self, "_interrupting"):
            # An interrupt whose end is not seen any more would be under way for good.
            self._interrupting.view(np.uint32)[:] = 0
