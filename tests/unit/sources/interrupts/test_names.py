"""The names of the sources of interrupts, from texts of /proc/interrupts."""

from pathlib import Path

from schedtop.model.interrupts import SourceName
from schedtop.sources.interrupts.front_end import runs_softirqs_in_tasks, softirqs, vectors
from schedtop.sources.interrupts.names import SourceNames, device_names, highest_irq
from schedtop.sources.kernel.constants import INTERRUPTS

TEXT = """\
           CPU0       CPU1
  0:         44          0   IO-APIC   2-edge      timer
  9:          0          5   IO-APIC   9-fasteoi   acpi, ath9k
 24:          0          0 PCI-MSIX-0000:00:01.0   0-edge      virtio0-config
 25:    1039731    1176314 PCI-MSI 524288-edge      eth0
 26:          7          0 PCI-MSI 524289-edge      eth0
 27:          0          0  dummy   0
NMI:          1          0   Non-maskable interrupts
LOC:    8120894   10133025   Local timer interrupts
ERR:          0
"""


def test_devices_are_named_by_their_handlers_and_told_apart() -> None:
    names = device_names(TEXT)
    assert names == {
        0: "timer",
        9: "acpi, ath9k",
        24: "virtio0-config",
        25: "eth0 (25)",
        26: "eth0 (26)",
        27: "0",
    }


def test_sources_have_the_kernels_names(tmp_path: Path) -> None:
    path = tmp_path / "interrupts"
    path.write_text(TEXT)
    names = SourceNames(path)
    assert not names.know([3, INTERRUPTS.FIRST_IRQ + 24])
    names.read()
    assert names.know([3, INTERRUPTS.FIRST_VECTOR, INTERRUPTS.FIRST_IRQ + 24])
    assert not names.know([INTERRUPTS.FIRST_IRQ + 99])
    assert names.name(3) == SourceName("softirq", "NET_RX")
    assert names.name(INTERRUPTS.FIRST_VECTOR) == SourceName("vector", "local_timer")
    assert names.name(INTERRUPTS.FIRST_IRQ + 24) == SourceName("hardirq", "virtio0-config")
    assert names.name(INTERRUPTS.FIRST_IRQ + 99) == SourceName("hardirq", "irq 99")
    assert names.name(INTERRUPTS.OTHER_IRQS).kind == "hardirq"
    path.unlink()
    names.read()
    assert names.name(INTERRUPTS.FIRST_IRQ + 24).name == "irq 24"


def test_softirqs_are_those_of_proc() -> None:
    lines = Path("/proc/softirqs").read_text().splitlines()[1:]
    assert list(softirqs()) == [line.split(":")[0].strip() for line in lines]


def test_sources_do_not_overlap() -> None:
    assert len(softirqs()) <= INTERRUPTS.FIRST_VECTOR
    assert INTERRUPTS.FIRST_VECTOR + len(vectors()) <= INTERRUPTS.OTHER_IRQS < INTERRUPTS.FIRST_IRQ


def test_the_highest_number_is_that_of_sysfs_or_proc(tmp_path: Path) -> None:
    for name in ("7", "103", "power"):
        (tmp_path / name).mkdir()
    assert highest_irq(tmp_path) == 103
    assert highest_irq(tmp_path / "none", TEXT) == 27


def test_a_real_time_kernel_runs_softirqs_in_tasks() -> None:
    assert runs_softirqs_in_tasks("#1 SMP PREEMPT_RT Debian 6.12")
    assert not runs_softirqs_in_tasks("#1 SMP PREEMPT_DYNAMIC")
