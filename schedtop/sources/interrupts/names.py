"""What the sources of interrupts are called, by their numbers in bpf/interrupts/current.h."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from schedtop.base.units import printable
from schedtop.model.interrupts import SourceName
from schedtop.sources.interrupts.front_end import softirqs, vectors
from schedtop.sources.kernel.constants import INTERRUPTS

_LINE = re.compile(r"^\s*(\d+):((?:\s+\d+)+)\s+(.*)$", re.MULTILINE)
_ACTIONS_AFTER = re.compile(r"\s{2,}")

OTHER = "others"
"""The device interrupts that have no counter of their own."""


def device_names(text: str) -> dict[int, str]:
    """The names of device interrupts in the text of /proc/interrupts, by number: those who handle it, else its chip.

    Two of one name have their numbers in it.
    """
    found = {}
    for number, _, rest in _LINE.findall(text):
        # Chip, hardware number and trigger, and after two spaces the handlers (show_interrupts(), kernel/irq/proc.c).
        found[int(number)] = printable(_ACTIONS_AFTER.split(rest.strip())[-1])
    several = {name for name, count in Counter(found.values()).items() if count > 1}
    return {number: f"{name} ({number})" if name in several else name for number, name in found.items()}


def highest_irq(root: Path = Path("/sys/kernel/irq"), text: str = "") -> int:
    """The highest number of a device interrupt that there is now, by sysfs or /proc/interrupts."""
    try:
        numbers = [int(entry.name) for entry in root.iterdir() if entry.name.isdecimal()]
    except OSError:
        numbers = []
    return max((*numbers, *device_names(text)), default=0)


class SourceNames:
    """The names of sources; those of devices are read anew when there is one that is not known."""

    def __init__(self, path: Path = Path("/proc/interrupts")) -> None:
        self._path = path
        self._devices: Mapping[int, str] = {}
        self._fixed: dict[int, SourceName] = {INTERRUPTS.OTHER_IRQS: SourceName("hardirq", OTHER)}
        for number, name in enumerate(softirqs()):
            self._fixed[number] = SourceName("softirq", name)
        for number, name in enumerate(vectors()):
            self._fixed[INTERRUPTS.FIRST_VECTOR + number] = SourceName("vector", name)

    def know(self, sources: Iterable[int]) -> bool:
        """Whether it has a name for each of these; /proc/interrupts is long on a large host."""
        return all(
            source < INTERRUPTS.FIRST_IRQ or source - INTERRUPTS.FIRST_IRQ in self._devices for source in sources
        )

    def read(self) -> None:
        """Reads the names of devices as they are now."""
        try:
            self._devices = device_names(self._path.read_text(errors="replace"))
        except OSError:
            self._devices = {}

    def name(self, source: int) -> SourceName:
        """What a source is called."""
        if source < INTERRUPTS.FIRST_IRQ:
            return self._fixed.get(source) or SourceName("vector", f"source {source}")
        irq = source - INTERRUPTS.FIRST_IRQ
        return SourceName("hardirq", self._devices.get(irq) or f"irq {irq}")
