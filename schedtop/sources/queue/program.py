"""The program that samples the run queues, without the others: nothing runs on a switch or a wakeup."""

from __future__ import annotations

from dataclasses import replace

from schedtop.model.rows import Rows
from schedtop.sources.kernel.compiler import Compiled
from schedtop.sources.kernel.front_end import SAMPLER, FrontEnd
from schedtop.sources.kernel.loader import Loader

_MAPS = ("queues", "config")


class QueueProgram(Loader):
    """Attached while it is open. It is compiled with the others, so that what is kept of those does for it.

    `queues` (possible CPUs,): rows of `struct queue_samples` on the kernel's own memory; `config` (1,): written by us.
    """

    queues: Rows
    config: Rows

    def __init__(self, front_end: FrontEnd, compiled: Compiled) -> None:
        """Raises SourceError."""
        super().__init__(compiled, {SAMPLER: front_end.hooks[SAMPLER]})
        self.sampled_cpus: tuple[int, ...] = ()
        with self._opening():
            # Only these are made; the code names a map by its number among all of them.
            whole = self._compiled
            self._compiled = replace(whole, maps={name: whole.maps[name] for name in _MAPS})
            self._create_maps()
            self._compiled = whole
            self.queues, self.config = self._view("queues"), self._view("config", writable=True)
            self._start(later=(SAMPLER,))

    def sample(self, online: tuple[int, ...]) -> None:
        """Has the run queues of these CPUs sampled; one that has come online since is taken in. Raises OSError."""
        if self.sampled_cpus != online:
            self._detach(SAMPLER)
            self._attach(SAMPLER)
            self.sampled_cpus = online
