"""What `make check-kernel` takes for a difference. The mixes themselves need root and minutes."""

from dataclasses import replace

import numpy as np
import pytest

from schedtop.model.counts import Loss
from schedtop.model.frame import Frame
from schedtop.model.rows import TASK_DTYPE
from schedtop.sources.synthetic.scheduler import Scenario, make_frame
from tests.check_kernel.compare import CpuCounts, cpu_differences, differences
from tests.check_kernel.mix import Truth, with_execs

TRUTH = Truth(run_ns=10**9, run_delay_ns=2 * 10**9, timeslices=1000, comm="one")


def frame(
    run_delay_ns: int = TRUTH.run_delay_ns,
    timeslices: int = TRUTH.timeslices,
    waiting_ns: int = 0,
    run_ns: int = TRUTH.run_ns,
) -> Frame:
    rows = np.zeros(1, TASK_DTYPE)
    rows[0]["run_ns"] = run_ns
    rows[0]["tid"], rows[0]["run_delay_ns"] = 7, run_delay_ns
    rows[0]["timeslices"], rows[0]["waiting_ns"] = timeslices, waiting_ns
    made = make_frame(Scenario(), 0, np.random.default_rng(0))
    return replace(made, tasks=rows, loss=Loss(), kernel_switches=made.total("switches"))


@pytest.mark.parametrize(
    ("made", "truth", "by_account", "words"),
    [
        (frame(), TRUTH, True, []),
        (frame(run_delay_ns=2 * 10**9 + 1), TRUTH, True, ["run delay"]),
        (frame(run_delay_ns=2 * 10**9 + 1), TRUTH, False, []),
        (frame(run_delay_ns=10**9), TRUTH, False, ["run delay"]),
        (frame(run_delay_ns=10**9), replace(TRUTH, throttled_ns=10**9), True, []),
        (frame(run_delay_ns=10**9), replace(TRUTH, throttled_ns=10**9 - 1), True, ["run delay"]),
        (frame(timeslices=900), TRUTH, True, ["timeslices"]),
        (frame(run_ns=970_000_000), TRUTH, True, ["run time"]),
        (frame(run_ns=970_000_000), TRUTH, False, []),
        (frame(run_ns=985_000_000), TRUTH, True, []),
        (frame(waiting_ns=1), TRUTH, True, ["said to wait"]),
        (replace(frame(), kernel_switches=0), TRUTH, True, ["by ctxt 0"]),
        (replace(frame(), tasks=np.zeros(0, TASK_DTYPE)), TRUTH, True, ["not seen"]),
    ],
)
def test_what_differs_is_told(made: Frame, truth: Truth, by_account: bool, words: list[str]) -> None:
    told = list(differences([made], {7: truth}, by_account))
    assert len(told) == len(words)
    assert all(word in line for word, line in zip(words, told, strict=True))


def test_an_emulated_processor_takes_its_time_on_the_way_to_a_switch() -> None:
    """Not where the kernel's account is ours."""
    truth = {7: replace(TRUTH, timeslices=4)}

    def told(by_account: bool, **changes: int) -> list[str]:
        return list(differences([frame(timeslices=4, **changes)], truth, by_account, emulated=True))

    assert not told(True, run_ns=952_000_000) and told(True, run_ns=950_000_000)
    assert not told(False, run_delay_ns=2_139_000_000) and told(False, run_delay_ns=2_141_000_000)
    assert told(True, run_delay_ns=2 * 10**9 + 1)


def test_an_exec_by_a_thread_leaves_room_for_the_way_to_it() -> None:
    truth = with_execs(replace(TRUTH, timeslices=400), ["5 6 700 3 2 100", "done"])
    assert truth == replace(TRUTH, run_ns=10**9 + 2, run_delay_ns=2 * 10**9 + 4, execs=1)
    assert not list(differences([frame(timeslices=1012)], {7: replace(TRUTH, execs=1)}, True))
    assert list(differences([frame(timeslices=1013)], {7: replace(TRUTH, execs=1)}, True))
    assert with_execs(TRUTH, ["5 6 700 3 2 100"]) is None, "it was under way"
    assert with_execs(TRUTH, []) == TRUTH


@pytest.mark.parametrize(("more", "apart", "found"), [(0, 0, 0), (101, 0, 1), (101, 50, 0), (151, 50, 1)])
def test_switches_have_to_be_those_of_each_cpu(more: int, apart: int, found: int) -> None:
    made = frame()
    first = CpuCounts({0: 10, 1: 20}, 5)
    ours = made.cpus.column("switches")
    share = ours[1] // 1000
    last = CpuCounts({0: 10 + int(ours[0]), 1: 20 + int(ours[1] - share) - more}, 5 + made.kernel_switches + apart)
    told = list(cpu_differences([made], first, last, {0, 1}))
    assert len(told) == found
    assert all("CPU 1" in line for line in told)
    assert not list(cpu_differences([made], first, last, {0}))
