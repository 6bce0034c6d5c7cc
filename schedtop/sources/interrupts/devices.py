"""Which disks and network interfaces an interrupt line is for, as far as sysfs tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

MOST_NAMED = 3
"""A line of more devices than this says nothing about one of them."""

_CLASSES = ("block", "net")
_NUMBERED = re.compile(r"(virtio|nvme)\d+")
_PCI_ADDRESS = re.compile(r"[\da-f]{4,}:[\da-f]{2}:[\da-f]{2}\.[\da-f]", re.IGNORECASE)


class LineDevices:
    """The devices of interrupt lines, as they are now. `sysfs`: where that is mounted."""

    def __init__(self, sysfs: Path = Path("/sys")) -> None:
        self._pci = sysfs / "bus/pci/devices"
        self._devices = [*_devices(sysfs)]
        self._words: dict[tuple[int, str], str] = {}

    def words(self, irq: int, action: str) -> str:
        """`vda`, `sda or sdb`; empty: not known, or too many. `action`: what handles it (/proc/interrupts)."""
        key = irq, action
        if key not in self._words:
            names = self._of(irq, action)
            self._words[key] = " or ".join(names) if len(names) <= MOST_NAMED else ""
        return self._words[key]

    def _of(self, irq: int, action: str) -> list[str]:
        """The devices below that of the line in the tree of devices."""
        above = {found[0] for found in (_NUMBERED.match(action), _PCI_ADDRESS.search(action)) if found}
        above |= {path.name for path in self._pci_of(irq)}
        return [name for parents, name in self._devices if not above.isdisjoint(parents)]

    def _pci_of(self, irq: int) -> Iterator[Path]:
        """The PCI devices that have a line: by message, else the one that they share."""
        try:
            paths = [*self._pci.iterdir()]
        except OSError:
            return
        by_message = [path for path in paths if (path / "msi_irqs" / str(irq)).exists()]
        yield from by_message or [path for path in paths if _read(path / "irq") == str(irq)]


def _devices(sysfs: Path) -> Iterator[tuple[frozenset[str], str]]:
    """Disks and network interfaces that are not virtual: what they are part of, and their names."""
    for each in _CLASSES:
        try:
            paths = sorted((sysfs / "class" / each).iterdir())
        except OSError:
            continue
        for path in paths:
            real = path.resolve()
            if "virtual" not in real.parts and not (real / "partition").exists():
                yield frozenset(real.parts[:-1]), path.name


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
