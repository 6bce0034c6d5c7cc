"""A few seconds of `make check-kernel`, without what takes the host's CPUs or needs minutes to show something."""

from __future__ import annotations

import pytest

from tests.check_kernel.__main__ import round_of

SEED = 17


@pytest.mark.parametrize("front_end", ["btf", "btf-clock", "tracepoint"])
def test_a_mix_has_the_kernels_numbers(front_end: str) -> None:
    told, wrong = round_of(front_end, SEED, 4, {"start", "end", "pin", "nice", "stop"})
    assert not wrong, f"{told}: {wrong}"
