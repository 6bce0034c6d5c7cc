"""The control: no result counts of an emulation under which a kernel dies of patching its own code
(docs/kernels-found.md).

Each qemu is tried once on this machine, before the first results that it gives.
"""

from __future__ import annotations

from pathlib import Path

from tests.kernels import guest_root, machine
from tests.kernels.emulator import Emulator
from tests.kernels.machine import Processors, Silent
from tests.kernels.packages import Kernel

SECONDS = 60.0
"""For so long it lasts."""

_SILENCE_S = 300.0


def has_stood(place: Path, emulator: Emulator) -> bool:
    """Whether this qemu has passed it here, with as many threads."""
    stood = _stood(place)
    return stood.exists() and _words(emulator) in stood.read_text().splitlines()


def note_stood(place: Path, emulator: Emulator) -> None:
    """It has passed."""
    if not has_stood(place, emulator):
        with _stood(place).open("a") as file:
            file.write(f"{_words(emulator)}\n")


def stands_patching(kernel: Kernel, cpus: Processors, place: Path, emulator: Emulator, bare: bool) -> None:
    """Has a guest switch kernel.sched_schedstats for a minute: it patches its code each time. Raises Silent."""
    print(
        f"\n{kernel.release}, {cpus} CPUs: the control, {SECONDS:.0f} s of switching kernel.sched_schedstats",
        flush=True,
    )
    disks = (guest_root.root_image(place), guest_root.tree(place, {"control_s": SECONDS}))
    initramfs, console, writes = guest_root.initramfs(kernel, place), place / f"console-{kernel.release}.log", 0
    with machine.booted(emulator, kernel.image, initramfs, disks, cpus, console, bare) as guest:
        try:
            for message in guest.messages(_SILENCE_S):
                writes = message.get("writes", writes)
        except Silent as silent:
            raise Silent(f"qemu {emulator} fails the control after {writes} writes: {silent}") from None
    print(f"  stood {writes} writes", flush=True)
    note_stood(place, emulator)


def _stood(place: Path) -> Path:
    return place / "emulators-that-stood"


def _words(emulator: Emulator) -> str:
    return f"{emulator.version} {emulator.accel}"
