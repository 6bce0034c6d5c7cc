"""Breaths: when a thread gives the CPU away."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from schedtop.base import breath
from schedtop.base.breath import SLEEP_S, STRETCH_S, Breath, is_alone


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What stands for /proc/loadavg: two are runnable."""
    file = tmp_path / "loadavg"
    file.write_text("0.31 0.20 0.10 2/117 4711\n")
    monkeypatch.setattr(breath, "LOAD", str(file))
    breath._load_file.cache_clear()
    yield file
    breath._load_file.cache_clear()


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[float | str]:
    """What was done in one stretch after the other, sleeps among it."""
    now_s = [10.0]
    done: list[float | str] = []
    monkeypatch.setattr(breath, "time", SimpleNamespace(monotonic=lambda: now_s[0], sleep=done.append))
    one = Breath()
    one.begin()
    for item, takes_s in one.between([("a", 0), ("b", 2 * STRETCH_S), ("c", 0), ("d", STRETCH_S / 2)]):
        done.append(item)
        now_s[0] += takes_s
    return done


def test_breaths_are_taken_between_items_that_take_long(load: Path, done: list[float | str]) -> None:
    assert done == ["a", "b", SLEEP_S, "c", "d"]


class TestAlone:
    @pytest.fixture
    def load(self, load: Path) -> Path:
        load.write_text("0.31 0.20 0.10 1/117 4711\n")
        return load

    def test_nothing_is_given_away_where_nobody_waits(self, load: Path, done: list[float | str]) -> None:
        assert done == ["a", "b", "c", "d"]

    def test_others_are_seen_as_soon_as_they_come(self, load: Path) -> None:
        assert is_alone()
        load.write_text("0.31 0.20 0.10 11/117 4711\n")
        assert not is_alone()


def test_a_busy_machine_is_not_ours_alone() -> None:
    """By the kernel's own file, while a child computes."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            time.sleep(0.2)
            assert not is_alone()
        finally:
            other.kill()


def test_where_the_load_cannot_be_read_others_may_wait(load: Path) -> None:
    load.unlink()
    assert not is_alone()
