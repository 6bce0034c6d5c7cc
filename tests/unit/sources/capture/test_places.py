"""Names of the functions that stacks of a capture hold."""

import numpy as np
import pytest

from schedtop.capture.events import PLACE_DTYPE
from schedtop.sources.capture.places import HIDDEN, KernelNames, Places
from schedtop.sources.kernel import symbols


class Known(KernelNames):
    """Names that are given."""

    def of(self, addresses: list[int]) -> dict[int, str]:
        """Of a few addresses."""
        return {1: "bpf_prog_run", 2: "", 3: "schedule", 4: "do_nanosleep"}


def named(*stacks: tuple[int, ...]) -> tuple[tuple[str, ...], ...]:
    places = Places()
    places.add(np.zeros(len(stacks), PLACE_DTYPE), np.array(stacks, np.uint64))
    return places.named(Known())[1]


def test_frames_without_a_name_are_left_out() -> None:
    assert named((1, 3, 4, 0)) == (("schedule", "do_nanosleep"),)
    assert named((2, 3, 2, 4)) == (("schedule", "do_nanosleep"),)
    assert named((2, 2, 0, 0)) == ((),)


def test_names_that_cannot_be_read_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbols, "_CHILD", "raise ImportError")
    names = KernelNames()
    try:
        assert not names.trouble
        assert names.of([1 << 63]) == {1 << 63: ""}
        assert names.trouble.startswith("the process that reads symbols failed")
    finally:
        names.close()


def test_hidden_symbols_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedtop.sources.capture.places.kernel_symbols_hidden", lambda: True)
    names = KernelNames()
    try:
        names.of([1 << 63])
        assert names.trouble == HIDDEN
    finally:
        names.close()
