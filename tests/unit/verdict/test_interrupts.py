"""Slow waits in which interrupts had the CPU."""

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
    assert verdict.headline == "Interrupts had the CPU for 75 % of the slow waits, up to 8.00 ms, most: softirq NET_RX"
    assert verdict.evidence[:2] == (
        "softirq NET_RX had the CPU for 50 % of these waits",
        "irq eth0 had the CPU for 25 % of these waits",
    )
    assert "packets" in verdict.action


def test_what_a_task_raised_itself_is_told_as_its_doing() -> None:
    rows = interrupted()
    rows["interrupt_raiser"][:, 0] = b"iperf (1234)"
    verdict = judged(frame(rows))
    assert verdict.headline.endswith("most: softirq NET_RX, raised by iperf (1234)")
    assert "iperf (1234) raised softirqs for 50 % of these waits" in verdict.evidence
    assert verdict.action.startswith("No device asks for this, iperf (1234) does")
    rows["interrupt_raiser"][:, 0] = b"irq eth0"
    verdict = judged(frame(rows))
    assert verdict.headline.endswith("raised by irq eth0") and "packets" in verdict.action


def test_a_few_waits_behind_interrupts_are_no_verdict() -> None:
    assert judged(frame(interrupted(count=2, wait_ns=6 * MS))).rule != "interrupts"
