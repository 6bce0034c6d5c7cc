"""The state of a thread that leaves its CPU while its cgroup has no quota."""

from __future__ import annotations

from pathlib import Path

from tests.unit.sources.scheduler.host_program import run_on_host


def test_a_thread_that_is_woken_on_its_way_out_is_held_by_its_quota(tmp_path: Path) -> None:
    """It was taken for one that waits for a CPU."""
    run = run_on_host("way_out.c", tmp_path)
    assert not run.stdout
    assert run.returncode == 0
