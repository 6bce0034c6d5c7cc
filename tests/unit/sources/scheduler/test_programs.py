"""How large the kernel side's tables are."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedtop.sources.host.pid_numbers import highest_tid
from schedtop.sources.scheduler.programs import MOST_SLOTS, event_pages, task_slots


@pytest.mark.parametrize(
    ("highest", "slots"), [(32_768, 32_768), (32_769, 65_536), (4_194_304, MOST_SLOTS), (301, 1024), (None, MOST_SLOTS)]
)
def test_each_tid_has_a_slot_of_its_own_up_to_the_most(highest: int | None, slots: int) -> None:
    assert task_slots(highest) == slots


@pytest.mark.parametrize(("text", "highest"), [("32768\n", 32_768), ("", None), ("many\n", None)])
def test_highest_tid_is_the_hosts_or_unknown(tmp_path: Path, text: str, highest: int | None) -> None:
    (tmp_path / "self/ns").mkdir(parents=True)
    (tmp_path / "self/ns/pid").symlink_to("pid:[4026531836]")
    (tmp_path / "sys/kernel").mkdir(parents=True)
    (tmp_path / "sys/kernel/pid_max").write_text(text)
    assert highest_tid(tmp_path) == highest


def test_highest_tid_of_another_pid_namespace_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "sys/kernel").mkdir(parents=True)
    (tmp_path / "sys/kernel/pid_max").write_text("32768\n")
    assert highest_tid(tmp_path) is None


@pytest.mark.parametrize(("cpus", "pages"), [(1, 512), (4, 512), (5, 1024), (512, 1024)])
def test_small_hosts_have_a_small_ring_of_slow_waits(cpus: int, pages: int) -> None:
    assert event_pages(cpus) == pages
