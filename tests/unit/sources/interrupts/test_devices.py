"""Which disks and interfaces interrupt lines are for, in trees of devices as sysfs has them."""

from pathlib import Path

import pytest

from schedtop.sources.interrupts.devices import MOST_NAMED, LineDevices


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    for name in ("bus/pci/devices", "class/block", "class/net"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def pci(sysfs: Path, address: str, *lines: int, shared: int = 0) -> Path:
    """A PCI device, which has interrupts by message, or shares a line."""
    device = sysfs / "devices/pci0000:00" / address
    (device / "msi_irqs").mkdir(parents=True)
    for line in lines:
        (device / "msi_irqs" / str(line)).touch()
    (device / "irq").write_text(f"{shared}\n")
    (sysfs / "bus/pci/devices" / address).symlink_to(device)
    return device


def has(sysfs: Path, kind: str, directory: Path, *names: str) -> None:
    for name in names:
        (directory / name).mkdir(parents=True)
        (sysfs / "class" / kind / name).symlink_to(directory / name)


def test_a_line_by_message_is_for_the_disk_of_its_device(sysfs: Path) -> None:
    has(sysfs, "block", pci(sysfs, "0000:00:02.0", 35, 36) / "virtio1/block", "vda")
    has(sysfs, "net", pci(sysfs, "0000:00:03.0", 38) / "virtio2/net", "eth0")
    found = LineDevices(sysfs)
    assert found.words(36, "virtio1-req.0") == "vda"
    assert found.words(38, "virtio2-input.0") == "eth0"
    assert found.words(99, "timer") == ""


def test_partitions_and_virtual_devices_are_none_of_it(sysfs: Path) -> None:
    device = pci(sysfs, "0000:01:00.0", 50) / "nvme/nvme0"
    has(sysfs, "block", device, "nvme0n1")
    has(sysfs, "block", device / "nvme0n1", "nvme0n1p1")
    (device / "nvme0n1/nvme0n1p1/partition").write_text("1\n")
    has(sysfs, "block", sysfs / "devices/virtual/block/0000:01:00.0", "dm-0")
    assert LineDevices(sysfs).words(50, "nvme0q3") == "nvme0n1"


def test_a_line_that_several_devices_have_names_few_of_them_or_none(sysfs: Path) -> None:
    ahci = pci(sysfs, "0000:00:1f.2", shared=17)
    has(sysfs, "block", ahci / "ata1/host0/target0:0:0/0:0:0:0/block", "sda")
    has(sysfs, "net", pci(sysfs, "0000:00:19.0", shared=17) / "net", "eno1")
    assert LineDevices(sysfs).words(17, "ahci, eno1") == "sda or eno1"
    has(sysfs, "block", ahci / "ata2/host1/target1:0:0/1:0:0:0/block", *(f"sd{letter}" for letter in "bcd"))
    assert MOST_NAMED < 5
    assert LineDevices(sysfs).words(17, "ahci, eno1") == ""


def test_names_of_handlers_tell_where_there_is_no_pci_device(sysfs: Path) -> None:
    has(sysfs, "block", sysfs / "devices/platform/a0.virtio_mmio/virtio0/block", "vda")
    assert LineDevices(sysfs).words(5, "virtio0") == "vda"
    assert LineDevices(sysfs).words(5, "virtio10") == ""


def test_the_address_in_a_handlers_name_tells_it_too(sysfs: Path) -> None:
    has(sysfs, "block", pci(sysfs, "0000:00:1f.2") / "ata1/host0/target0:0:0/0:0:0:0/block", "sda")
    assert LineDevices(sysfs).words(125, "ahci[0000:00:1f.2]") == "sda"


def test_without_sysfs_nothing_is_known(tmp_path: Path) -> None:
    assert LineDevices(tmp_path / "none").words(5, "virtio0") == ""
