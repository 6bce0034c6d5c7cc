"""A few seconds of `make check-kernel`: quotas need minutes to show something. Guests play them, too, and lose CPUs."""

from __future__ import annotations

import pytest
from loads import load_share

from tests.check_kernel.__main__ import round_of
from tests.check_kernel.mix import ACTIONS

SEED = 17


OTHERS = [pytest.param(front_end, marks=pytest.mark.stress) for front_end in ("btf-clock", "tracepoint")]


@pytest.mark.parametrize("front_end", ["btf", *OTHERS])
def test_a_mix_has_the_kernels_numbers(front_end: str) -> None:
    actions = {"start", "end", "pin", "nice", "stop"}
    alone = load_share() < 1  # an emulated processor, and slow: nothing else is disturbed
    told, wrong = round_of(front_end, SEED, 10 if alone else 4, set(ACTIONS) if alone else actions, emulated=alone)
    assert not wrong, f"{told}: {wrong}"
