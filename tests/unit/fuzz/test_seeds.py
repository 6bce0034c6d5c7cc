"""Every seed of `make fuzz`, among them each input that once broke a parser, is played through its parser."""

import gc
from pathlib import Path

import pytest

from tests.fuzz.targets import SEEDS, TARGETS, Target

INPUTS = sorted(path for path in SEEDS.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_seed_does_no_harm(path: Path) -> None:
    TARGETS[path.parent.name].run_within(path.read_bytes())


def test_an_input_that_takes_too_much_memory_is_a_finding() -> None:
    target = Target("greedy", lambda data: print(len(bytearray(400 << 20))), most_bytes=64 << 20)
    gc.collect()  # what other tests left would make room
    with pytest.raises(MemoryError):
        target.run_within(b"")


def test_every_target_has_seeds() -> None:
    assert {path.parent.name for path in INPUTS} == set(TARGETS)
