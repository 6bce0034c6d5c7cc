"""Every seed of `make fuzz`, among them each input that once broke a parser, is played through its parser."""

import tracemalloc
from pathlib import Path

import pytest

from tests.fuzz.targets import SEEDS, TARGETS

INPUTS = sorted(path for path in SEEDS.rglob("*") if path.is_file())
MOST_BYTES = 256 << 20
"""What reading a small file may need, also if it says that it holds millions of things."""


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_seed_does_no_harm(path: Path) -> None:
    target = TARGETS[path.parent.name]
    if not target.counts:
        target.run(path.read_bytes())
        return
    # Memory is counted where it is asked for, whether it is used or not.
    tracemalloc.start(1)
    try:
        target.run(path.read_bytes())
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def test_every_target_has_seeds() -> None:
    assert {path.parent.name for path in INPUTS} == set(TARGETS)
