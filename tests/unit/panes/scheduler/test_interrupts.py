"""The pane of the interrupts: what it says of known ones, at the sizes it gets."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from schedtop.model.frame import Frame
from schedtop.model.interrupts import InterruptTable, SourceName
from schedtop.panes.scheduler.interrupts.pane import InterruptsPane
from tests.unit.panes.conftest import MakeView
from tests.unit.panes.screen import OnePane, lines_of, text

pytestmark = pytest.mark.asyncio

SECOND = 1_000_000_000
SOURCES = (SourceName("vector", "local_timer"), SourceName("softirq", "NET_RX"), SourceName("hardirq", "eth0"))


def known(*cpus: tuple[int, int, int]) -> Callable[[Frame], Frame]:
    """A change that gives a Frame so many of SOURCES on each CPU, of 0.1 ms each, the longest of 0.5 ms."""
    counts = np.array(cpus)
    table = InterruptTable.of(SOURCES, counts, counts * 100_000, np.where(counts > 0, 500_000, 0))
    return lambda frame: replace(frame, interrupts=table, interval_ns=SECOND)


async def shown(view: object, size: tuple[int, int] = (100, 12)) -> list[str]:
    return await lines_of(InterruptsPane(), view, size)


async def test_known_interrupts_are_told(make_view: MakeView) -> None:
    screen = await shown(make_view(frames=1, cpus=2, change=known((1000, 3000, 0), (1000, 0, 500))))
    assert re.search(r"interrupts 27\.5 % of the CPUs .* 5500/s .* softirqs 15\.0 % .* devices 2\.5 %", screen[1])
    sources = [line for line in screen if re.search(r"local_timer|NET_RX|eth0", line)]
    assert [re.search(r"\w+", line)[0] for line in sources] == ["NET_RX", "local_timer", "eth0"]  # type: ignore[index]
    assert re.search(r"NET_RX +softirq +3000 +15\.0 +100 µs +500 µs +0 +40\.0 +30\.0 +0 +10\.0", sources[0])
    assert re.search(r"eth0 +device +500 +2\.5 ", sources[2])
    assert re.search(r" 1 +15\.0 +0 +5\.0 +10\.0 +1500", sources[1])


async def test_what_raised_a_softirq_stands_beside_it_with_its_share(make_view: MakeView) -> None:
    screen = await shown(make_view(frames=1, cpus=2, interrupts=True), (160, 14))
    by_name = {line.split()[1]: line for line in screen if re.search(r"NET_RX|TIMER|eth0", line)}
    assert "80.0 % irq eth0-rx-0" in by_name["NET_RX"]
    assert "100 % local_timer" in by_name["TIMER"] or "100.0 % local_timer" in by_name["TIMER"]
    assert "%" not in by_name["eth0-rx-0"], "a device raises itself"


async def test_the_busiest_cpus_come_first_when_not_all_fit(make_view: MakeView) -> None:
    cpus = [(1, 1, 1)] * 128
    cpus[100] = (1, 5000, 1)
    screen = await shown(make_view(frames=1, cpus=128, change=known(*cpus)))
    assert re.search(r" 100 +50\.0 +50\.0", screen[3])


async def test_sources_scroll(make_view: MakeView) -> None:
    pane = InterruptsPane()
    app = OnePane(pane)
    async with app.run_test(size=(78, 7)) as pilot:
        pane.show(make_view(frames=2, cpus=2, interrupts=True))
        pane.focus()
        await pilot.press("end")
        await pilot.pause()
        assert "-8 of 8" in text(app)
        await pilot.press("home")
        assert pane.top == 0
