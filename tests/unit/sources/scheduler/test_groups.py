"""The latency of a group that two CPUs meet for the first time at once."""

from __future__ import annotations

from pathlib import Path

from tests.unit.sources.scheduler.host_program import run_on_host


def test_a_group_keeps_what_two_cpus_count_at_its_first_sight(tmp_path: Path) -> None:
    """One wiped what the other had counted."""
    run = run_on_host("groups.c", tmp_path)
    assert not run.stdout
    assert run.returncode == 0
