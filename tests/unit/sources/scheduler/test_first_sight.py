"""The place of a task at its first sight, when events of it come on two CPUs at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.sources.scheduler.host_program import run_on_host


@pytest.mark.parametrize("arguments", [(), ("start",)], ids=["tracepoint", "btf"])
def test_a_task_has_one_place_however_its_first_events_interleave(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """It had two, of which one waited for ever, or what one CPU had written was wiped by the other."""
    run = run_on_host("first_sight.c", tmp_path, *arguments)
    assert not run.stdout
    assert run.returncode == 0
