"""Which sched_ext scheduler is loaded, by files as the kernel writes them."""

from pathlib import Path

import numpy as np
import pytest

from schedtop.checks import host
from schedtop.model.ext_scheduler import ExtScheduler
from schedtop.model.rows import SLOW_WAIT_DTYPE, TASK_DTYPE
from schedtop.model.sched_class import Policy, SchedClass, Treatment
from schedtop.sources.host.sched_ext import SchedExt, ext_queues, loaded_scheduler, note_ext, treatment_beside


def kernel(directory: Path, state: str, name: str = "", switch_all: str = "") -> Path:
    (directory / "root").mkdir(exist_ok=True)
    (directory / "state").write_text(f"{state}\n")
    for path, words in ((directory / "root/ops", name), (directory / "switch_all", switch_all)):
        path.unlink(missing_ok=True)
        if words:
            path.write_text(f"{words}\n")
    return directory


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (("disabled",), None),
        (("disabled", "rusty", "0"), None),
        (("enabled", "rusty", "1"), ExtScheduler("rusty", "enabled", True)),
        (("enabled", "layered", "0"), ExtScheduler("layered", "enabled", False)),
        (("enabling",), ExtScheduler("", "enabling")),
        (("disabling", "rusty"), ExtScheduler("rusty", "disabling")),
        (("bypassed", "rusty"), ExtScheduler("rusty", "enabled")),  # a state of a later kernel
    ],
)
def test_a_scheduler_is_known_by_its_name_and_state(
    tmp_path: Path, written: tuple[str, ...], found: ExtScheduler | None
) -> None:
    assert loaded_scheduler(kernel(tmp_path, *written)) == found
    finding = host.sched_ext(tmp_path)
    assert finding.state == ("degraded" if found else "ok")
    named = (found.name, found.state, found.takes_all) if found else (None, "disabled", None)
    assert tuple(finding.details[name] for name in ("scheduler", "state", "takes_all")) == named


def test_doctor_says_whose_tasks_it_has(tmp_path: Path) -> None:
    words = [host.sched_ext(kernel(tmp_path, "enabled", "rusty", some)).found for some in ("1", "0", "")]
    assert words[0].startswith("rusty is enabled, for all ordinary tasks: it may keep")
    assert words[1].startswith("rusty is enabled, for tasks of policy SCHED_EXT: it may keep")
    assert words[2].startswith("rusty is enabled: it may keep")


def test_a_scheduler_that_has_ended_counts_until_the_next_reading(tmp_path: Path) -> None:
    ext = SchedExt(kernel(tmp_path, "enabled", "rusty"))
    assert ext.since_last() == ExtScheduler("rusty")
    kernel(tmp_path, "disabled")
    assert [ext.since_last(), ext.since_last()] == [ExtScheduler("rusty", "disabled"), None]


def test_a_kernel_without_sched_ext_has_none(tmp_path: Path) -> None:
    assert SchedExt(tmp_path / "none").since_last() is None
    finding = host.sched_ext(tmp_path / "none")
    assert (finding.state, set(finding.details.values())) == ("ok", {None})


def test_one_without_a_name_is_told_all_the_same() -> None:
    assert ext_queues(ExtScheduler("")) == (
        "the sched_ext scheduler without a name may keep tasks in queues that are no CPU's"
    )


ALL, PARTIAL = ExtScheduler("rusty", takes_all=True), ExtScheduler("rusty", takes_all=False)
FAIR, RT, EXT, UNKNOWN = SchedClass.FAIR, SchedClass.RT, SchedClass.EXT, SchedClass.UNKNOWN


@pytest.mark.parametrize(
    ("told", "policy", "beside_none", "beside_all", "beside_partial"),
    [
        (FAIR, Policy.OTHER, FAIR, EXT, FAIR),
        (FAIR, Policy.BATCH, FAIR, EXT, FAIR),
        (FAIR, Policy.EXT, FAIR, EXT, EXT),
        (RT, Policy.FIFO, RT, RT, RT),
    ],
)
def test_a_task_is_of_the_class_that_the_scheduler_gives_it(
    told: SchedClass, policy: Policy, beside_none: SchedClass, beside_all: SchedClass, beside_partial: SchedClass
) -> None:
    for ext, expected in ((None, beside_none), (ALL, beside_all), (PARTIAL, beside_partial)):
        assert treatment_beside(Treatment(told, policy), ext).sched_class is expected
        rows = np.zeros(1, TASK_DTYPE)
        rows["sched_class"], rows["policy"] = told, policy
        note_ext(rows, ext)
        assert rows["sched_class"] == expected


def test_through_tracepoints_a_partial_scheduler_hides_the_class_of_fair_tasks() -> None:
    for ext, expected in ((ALL, EXT), (PARTIAL, UNKNOWN)):
        rows = np.zeros(1, SLOW_WAIT_DTYPE)
        rows["sched_class"], rows["blocker_sched_class"] = FAIR, [[FAIR, RT, UNKNOWN, UNKNOWN]]
        note_ext(rows, ext, ("", "blocker_"))
        assert rows["sched_class"] == expected
        assert rows["blocker_sched_class"].tolist() == [[expected, RT, UNKNOWN, UNKNOWN]]
