"""Which sched_ext scheduler is loaded, by files as the kernel writes them."""

from pathlib import Path

import pytest

from schedtop.checks import host
from schedtop.sources.host.sched_ext import SchedExt, loaded_scheduler


def kernel(directory: Path, state: str, name: str = "") -> Path:
    (directory / "root").mkdir(exist_ok=True)
    (directory / "state").write_text(f"{state}\n")
    (directory / "root/ops").unlink(missing_ok=True)
    if name:
        (directory / "root/ops").write_text(f"{name}\n")
    return directory


@pytest.mark.parametrize(
    ("state", "name", "found"),
    [
        ("disabled", "", ""),
        ("disabled", "rusty", ""),
        ("enabled", "rusty", "rusty"),
        ("enabling", "", "unnamed"),
        ("disabling", "rusty", "rusty"),
    ],
)
def test_a_scheduler_is_known_by_its_name(tmp_path: Path, state: str, name: str, found: str) -> None:
    assert loaded_scheduler(kernel(tmp_path, state, name)) == found
    assert host.sched_ext(tmp_path).state == ("degraded" if found else "ok")
    assert host.sched_ext(tmp_path).details == {"scheduler": found or None}


def test_a_scheduler_that_has_ended_counts_until_the_next_reading(tmp_path: Path) -> None:
    ext = SchedExt(kernel(tmp_path, "enabled", "rusty"))
    assert ext.since_last() == "rusty"
    kernel(tmp_path, "disabled")
    assert [ext.since_last(), ext.since_last()] == ["rusty", ""]


def test_a_kernel_without_sched_ext_has_none(tmp_path: Path) -> None:
    assert SchedExt(tmp_path / "none").since_last() == ""
    assert host.sched_ext(tmp_path / "none").state == "ok"
