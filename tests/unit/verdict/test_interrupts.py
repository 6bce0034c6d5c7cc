"""Slow waits in which interrupts had the CPU."""

import shlex
import subprocess
from pathlib import Path

import pytest

from schedtop.model.rows import Rows
from tests.unit.verdict.frames import MS, frame, judged, waits


def interrupted(**fields: object) -> Rows:
    rows = waits(cause="interrupts", **fields)
    rows["interrupted_ns"] = rows["covered_ns"] = rows["wait_ns"] * 3 // 4
    rows["interrupt"][:, 0], rows["interrupt_ns"][:, 0] = b"softirq NET_RX", rows["wait_ns"] // 2
    rows["interrupt"][:, 1], rows["interrupt_ns"][:, 1] = b"irq eth0", rows["wait_ns"] // 4
    return rows


def test_slow_waits_behind_interrupts_name_the_source_and_what_to_do() -> None:
    verdict = judged(frame(interrupted()))
    assert verdict.rule == "interrupts"
    assert verdict.headline == "Interrupts had the CPU for 75 % of the slow waits, up to 8.00 ms, mainly softirq NET_RX"
    assert verdict.evidence[:2] == (
        "softirq NET_RX had the CPU for 50 % of these waits",
        "irq eth0 had the CPU for 25 % of these waits",
    )
    assert "packets" in verdict.action


def test_what_a_task_raised_itself_is_told_as_its_doing() -> None:
    rows = interrupted()
    rows["interrupt_raiser"][:, 0] = b"iperf (1234)"
    verdict = judged(frame(rows))
    assert verdict.headline.endswith("mainly softirq NET_RX, raised by iperf (1234)")
    assert "iperf (1234) raised softirqs for 50 % of these waits" in verdict.evidence
    assert verdict.action.startswith("No device asks for this, iperf (1234) does")
    rows["interrupt_raiser"][:, 0] = b"irq eth0"
    verdict = judged(frame(rows))
    assert verdict.headline.endswith("raised by irq eth0") and "packets" in verdict.action


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("irq virtio2-input.0", "echo 0 | tee /proc/irq/*/virtio2-input.0/../smp_affinity_list"),
        ("irq usb1, usb2", "echo 0 | tee /proc/irq/*/usb1/../smp_affinity_list"),
        ("irq a;b", "echo 0 | tee /proc/irq/*/'a;b'/../smp_affinity_list"),
        ("irq ACPI:Ged (24)", "echo 0 > /proc/irq/24/smp_affinity_list"),
        ("irq irq 24", "echo 0 > /proc/irq/24/smp_affinity_list"),
        (f"irq {'x' * 40}", f"echo 0 | tee /proc/irq/*/{'x' * 28}*/../smp_affinity_list"),
        ("irq others", "taskset -cp 0 101"),
        ("local_timer", "taskset -cp 0 101"),
        ("softirq BLOCK", "taskset -cp 0 101"),
    ],
)
def test_the_command_moves_the_devices_line_or_else_the_task_that_waits(name: str, command: str) -> None:
    rows = interrupted()
    rows["interrupt"][:, 0] = name.encode()
    verdict = judged(frame(rows))
    assert verdict.command == command
    assert verdict.action.startswith("Move the device's interrupts") == name.startswith("irq ")


def test_the_command_finds_the_line_of_a_device_of_this_host() -> None:
    """The kernel has a directory for it below that of its line."""
    lines = [path for path in Path("/proc/irq").glob("*/*/") if path.is_dir()]
    if not lines:
        pytest.skip("no device of this host has an interrupt")
    by_name: dict[str, list[str]] = {}
    for path in lines:
        by_name.setdefault(path.name, []).append(path.parent.name)
    name, (number, *_) = next((name, numbers) for name, numbers in by_name.items() if len(numbers) == 1)
    rows = interrupted()
    rows["interrupt"][:, 0] = f"irq {name}".encode()
    _, _, place = judged(frame(rows)).command.partition("tee ")
    found = subprocess.run(["sh", "-c", f"readlink -f {place}"], capture_output=True, text=True, check=True).stdout
    assert found == f"/proc/irq/{number}/smp_affinity_list\n"


def test_a_device_with_a_number_in_its_name_is_no_task() -> None:
    rows = interrupted()
    rows["interrupt_raiser"][:, 0] = b"irq ahci (24)"
    verdict = judged(frame(rows))
    assert verdict.headline.endswith("raised by irq ahci (24)")
    assert verdict.action.startswith("Spread the packets") and verdict.command == "taskset -cp 0 101"


def test_the_command_moves_the_task_that_raised_it() -> None:
    rows = interrupted()
    rows["interrupt_raiser"][:, 0] = b"iperf (1234)"
    assert shlex.split(judged(frame(rows)).command) == ["taskset", "-cp", "0", "1234"]


def test_a_few_waits_behind_interrupts_are_no_verdict() -> None:
    assert judged(frame(interrupted(count=2, wait_ns=6 * MS))).rule != "interrupts"
