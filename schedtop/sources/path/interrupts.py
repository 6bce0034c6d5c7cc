"""What interrupts have to do with a capture beside which they were timed: what they took, and which tasks they woke."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from schedtop.base.units import NS_PER_S
from schedtop.capture.events import WAKEUP_NEW, WAKING, Capture
from schedtop.model.rows import Integers, Rows, text
from schedtop.model.waits import WokenBy
from schedtop.sources.host.proc import possible_cpus
from schedtop.sources.interrupts.completions import device_name
from schedtop.sources.interrupts.devices import LineDevices
from schedtop.sources.interrupts.reader import InterruptReader
from schedtop.sources.kernel.constants import INTERRUPTS

KEPT = 2 << 20
"""So many interrupts of a capture are known one by one, 100 MB; the newest ones."""

_COLLECT_S = 0.1
"""Their rings hold a third of a second of the worst that there is."""

_LATE_NS = NS_PER_S // 10
"""An interrupt is noted when it ends: so long before the end of a capture wakeups are looked up again the next time."""


class PathInterrupts:
    """Times interrupts while it is open. `poll` must be called ten times a second, by one thread.

    Opening raises SourceError.
    """

    def __init__(self, kept: int = KEPT) -> None:
        """`kept`: so many are known one by one."""
        self._kept = kept
        self._devices = LineDevices()
        self._disks: dict[int, str] = {}
        self._woken: dict[tuple[int, int], str] = {}
        self._woken_until_ns = 0

    def __enter__(self) -> Self:
        self._reader = InterruptReader(possible_cpus(), None, 1, self._kept, completions=True)
        return self

    def __exit__(self, *exc: Any) -> None:
        self._reader.close()

    def poll(self) -> None:
        """Takes note of those that came."""
        self._reader.completions.collect()
        self._reader.spans.collect()

    def noted(self, capture: Capture) -> Capture:
        """The same capture with its interrupts. Of several, each begins and ends later than the one before."""
        self.poll()
        spans = self._reader.spans
        rows = spans.taken(capture.start_ns, capture.end_ns)
        sources, places = np.unique(rows["source"], return_inverse=True)
        rows["source"] = places
        self._note_wakers(capture)
        return replace(
            capture,
            interrupts=dict(self._woken),
            interruptions=rows,
            interrupt_names=tuple(self._name(source) for source in sources.tolist()),
            lost_interrupts=spans.overwritten + (spans.dropped if spans.dropped_until_ns > capture.start_ns else 0),
        )

    def _note_wakers(self, capture: Capture) -> None:
        """What woke the tasks since the last time; of what is in the capture no longer nothing is kept."""
        events = capture.events
        self._woken = {key: words for key, words in self._woken.items() if key[1] >= capture.start_ns}
        self._woken |= self._wakers(replace(capture, events=events[events["time_ns"] >= self._woken_until_ns]))
        self._woken_until_ns = capture.end_ns - _LATE_NS

    def _wakers(self, capture: Capture) -> dict[tuple[int, int], str]:
        """By tid and time of a wakeup the interrupt that it came from."""
        comms = _Comms(capture)
        events = capture.events
        wakeups = events[(events["kind"] == WAKING) | (events["kind"] == WAKEUP_NEW)]
        found: dict[tuple[int, int], str] = {}
        for by, level in ((WokenBy.INTERRUPT, INTERRUPTS.LEVEL_HARD), (WokenBy.SOFTIRQ, INTERRUPTS.LEVEL_SOFT)):
            chosen = wakeups[wakeups["woken_by"] == by]
            for cpu in np.unique(chosen["seen_on"]).tolist():
                found |= self._wakers_on(cpu, level, chosen[chosen["seen_on"] == cpu], comms)
        return found

    def _wakers_on(self, cpu: int, level: int, wakeups: Rows, comms: _Comms) -> dict[tuple[int, int], str]:
        found = {}
        times = wakeups["time_ns"].astype(np.int64)
        sources, raisers, began = self._reader.spans.under_way(cpu, level, times)
        devices = self._reader.completions.last(cpu, began, times)
        known = zip(wakeups, sources.tolist(), raisers.tolist(), devices.tolist(), strict=True)
        for row, source, raiser, device in known:
            if source >= 0:
                raised_by, of = self._raiser(raiser, comms), self._device(device)
                words = self._name(source) + (f" raised by {raised_by}" if raised_by else "")
                found[int(row["tid"]), int(row["time_ns"])] = words + (f", I/O of {of}" if of else "")
        return found

    def _device(self, device: int) -> str:
        """The name of the block device of which I/O was done just before; empty: none was, or it is not known."""
        if device not in self._disks:
            self._disks[device] = device_name(device)
        return self._disks[device]

    def _name(self, source: int) -> str:
        """What a source is called, with the disk or network interface that it is for, if that is known."""
        name = text(self._reader.name(source))
        if source < INTERRUPTS.FIRST_IRQ:
            return name
        devices = self._devices.words(source - INTERRUPTS.FIRST_IRQ, name.removeprefix("irq "))
        return f"{name} ({devices})" if devices else name

    def _raiser(self, raiser: int, comms: _Comms) -> str:
        """The same of what raised a softirq, which may be a task; empty: not known."""
        source = raiser >> INTERRUPTS.SOURCE_SHIFT
        return self._name(source) if source else text(self._reader.raiser(raiser, comms.of))


class InterruptsBeside:
    """The same beside one recording that keeps its thread: another one polls until the recording is noted."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._interrupts = PathInterrupts()

    def __enter__(self) -> Self:
        self._interrupts.__enter__()
        self._thread = threading.Thread(target=self._collect, name="interrupts")
        self._thread.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._end()
        self._interrupts.__exit__(*exc)

    def noted(self, capture: Capture) -> Capture:
        """The same capture with its interrupts."""
        self._end()
        return self._interrupts.noted(capture)

    def _collect(self) -> None:
        while not self._stop.wait(_COLLECT_S):
            self._interrupts.poll()

    def _end(self) -> None:
        self._stop.set()
        self._thread.join()


class _Comms:
    """The last names of the tasks of a capture."""

    def __init__(self, capture: Capture) -> None:
        self._names = dict(zip(capture.names["tid"].tolist(), capture.names["comm"].tolist(), strict=True))

    def of(self, tids: Integers) -> npt.NDArray[np.bytes_]:
        """Those of some, in their order."""
        return np.array([self._names.get(tid, b"") for tid in tids.tolist()], "S16")
