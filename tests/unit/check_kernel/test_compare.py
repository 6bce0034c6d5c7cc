"""What `make check-kernel` takes for a difference. The mixes themselves need root and minutes."""

from dataclasses import replace

import numpy as np
import pytest

from schedtop.model.counts import Loss
from schedtop.model.frame import Frame
from schedtop.model.rows import TASK_DTYPE
from schedtop.sources.synthetic.scheduler import Scenario, make_frame
from tests.check_kernel.compare import differences
from tests.check_kernel.mix import Truth

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
