import threading
from itertools import islice
from types import SimpleNamespace

import pytest

from schedtop.sources.ticks import Ticks, wait_until


class Clock:
    """Stands still but for waits, and for what a test adds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ns = 1000
        monkeypatch.setattr("schedtop.sources.ticks.time", SimpleNamespace(monotonic_ns=lambda: self.now_ns))

    def wait(self, moment_ns: int, stop: threading.Event) -> bool:
        self.now_ns = max(self.now_ns, moment_ns)
        return not stop.is_set()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_ticks_come_at_their_deadlines_however_long_each_takes(clock: Clock) -> None:
    ticks = Ticks(100, clock.wait)
    times = []
    for _ in islice(ticks.until(threading.Event(), 1020), 4):
        times.append(clock.now_ns)
        clock.now_ns += 99
    assert times == [1020, 1120, 1220, 1320]
    assert ticks.late == 0


@pytest.mark.parametrize(("taken_ns", "late"), [(99, 0), (100, 1), (199, 1), (200, 2), (555, 5)])
def test_a_late_tick_skips_to_the_next_deadline_and_is_counted(clock: Clock, taken_ns: int, late: int) -> None:
    ticks = Ticks(100, clock.wait)
    ticking = ticks.until(threading.Event(), 1000)
    next(ticking)
    clock.now_ns += taken_ns
    next(ticking)
    assert clock.now_ns == 1000 + (late + 1) * 100
    assert ticks.late == late
    next(ticking)
    assert ticks.late == late, "only what is late anew"


def test_ticks_add_up_over_several_runs(clock: Clock) -> None:
    ticks = Ticks(100, clock.wait)
    for _ in range(2):
        ticking = ticks.until(threading.Event(), clock.now_ns)
        next(ticking)
        clock.now_ns += 300
        next(ticking)
    assert ticks.late == 6


def test_ticks_end_when_asked_to_stop(clock: Clock) -> None:
    stop = threading.Event()
    ticking = Ticks(100, clock.wait).until(stop, 1000)
    next(ticking)
    stop.set()
    assert list(ticking) == []


def test_waiting_ends_at_once_when_asked_to_stop() -> None:
    stop = threading.Event()
    assert wait_until(0, stop), "the moment is past"
    stop.set()
    assert not wait_until(1 << 62, stop)
