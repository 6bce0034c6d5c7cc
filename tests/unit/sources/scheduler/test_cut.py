"""Where an interval of a CPU ends: rows as the kernel side leaves them."""

from collections.abc import Callable

import numpy as np
import pytest

from schedtop.model.rows import Rows
from schedtop.sources.scheduler import cut
from schedtop.sources.scheduler.cut import OF_ENDED_WAITS, copy_at_cut
from tests.unit.sources.scheduler.test_reading import CPU_STATE

EPOCH = 7


@pytest.fixture
def cpus() -> Rows:
    """Two CPUs that have counted waits in the interval that ends."""
    rows = np.zeros(2, CPU_STATE)
    rows["cut_epoch"] = EPOCH
    rows["wait_ends"] = [4, 6]
    for name in (*OF_ENDED_WAITS, "switches"):
        rows[name] = 10
    return rows


def on_pause(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> list[float]:
    """Has a CPU do something whenever it is waited for; how often that was."""
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        act()

    monkeypatch.setattr(cut.time, "sleep", pause)
    return pauses


def test_a_cpu_without_a_wait_since_is_copied_as_it_is(cpus: Rows) -> None:
    copy = copy_at_cut(cpus, np.zeros_like(cpus), EPOCH)
    assert copy.tobytes() == cpus.tobytes()
    cpus["switches"] = 11
    assert copy["switches"].tolist() == [10, 10]


def test_a_wait_of_the_next_interval_is_left_out_of_all_sums(cpus: Rows) -> None:
    cuts = cpus.copy()
    cpus["cut_epoch"][1] = EPOCH + 1
    for name in OF_ENDED_WAITS:
        cpus[name][1] = 99
    cpus["switches"][1] = 12
    copy = copy_at_cut(cpus, cuts, EPOCH)
    assert [copy[name].tolist() for name in OF_ENDED_WAITS] == [cuts[name].tolist() for name in OF_ENDED_WAITS]
    # All else is as of now.
    assert copy["switches"].tolist() == [10, 12]


def test_a_cpu_amid_the_end_of_a_wait_is_read_again(cpus: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    cpus["wait_ends"][0], cpus["wait_sum_ns"][0] = 5, 30

    def finish() -> None:
        cpus["wait_ends"][0], cpus["looked_at_ns"][0] = 6, 30

    pauses = on_pause(monkeypatch, finish)
    assert copy_at_cut(cpus, np.zeros_like(cpus), EPOCH)["looked_at_ns"].tolist() == [30, 10]
    assert len(pauses) == 1


def test_a_cpu_that_stands_still_is_not_waited_for(cpus: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    cpus["wait_ends"][0] = 5
    pauses = on_pause(monkeypatch, lambda: None)
    assert copy_at_cut(cpus, np.zeros_like(cpus), EPOCH)["looked_at_ns"].tolist() == [10, 10]
    assert len(pauses) == cut.TRIES


def test_a_cpu_in_the_next_interval_is_not_waited_for(cpus: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    cuts = cpus.copy()
    cpus["wait_ends"][0], cpus["cut_epoch"][0] = 5, EPOCH + 1
    pauses = on_pause(monkeypatch, lambda: None)
    assert copy_at_cut(cpus, cuts, EPOCH)["looked_at_ns"].tolist() == [10, 10]
    assert not pauses
