"""At which level two tasks meet, and what they weigh there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from schedtop.base.breath import Breath
from schedtop.model.rows import BLOCKERS, SLOW_WAIT_DTYPE, TASK_DTYPE, TASK_NAME_DTYPE
from schedtop.model.sched_class import Level, Policy, SchedClass, Treatment
from schedtop.model.short_lived import SHORT_LIVED_DTYPE
from schedtop.model.weights import nice_weight
from schedtop.sources.host.weights import read_group_weight
from schedtop.sources.scheduler.weights import (
    KEEP_NS,
    MOST_READ,
    Meeting,
    Member,
    WeightFiles,
    meet,
    note_group_weights,
    note_session_weights,
    note_weights,
)

UNKNOWN = Meeting()


def fair(nice: int = 0, policy: Policy = Policy.OTHER) -> Treatment:
    return Treatment(SchedClass.FAIR, policy, 0, nice)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two groups of version 2, one of them with one inside."""
    root = tmp_path / "cgroup"
    for path, weight in (("low", 50), ("high", 400), ("high/inner", 100)):
        (root / path).mkdir(parents=True)
        (root / path / "cpu.weight").write_text(f"{weight}\n")
    return root


@pytest.fixture
def files(root: Path, tmp_path: Path) -> WeightFiles:
    proc = tmp_path / "proc"
    (proc / "sys/kernel").mkdir(parents=True)
    (proc / "sys/kernel/sched_autogroup_enabled").write_text("1\n")
    for tgid, words in (
        (1, "/autogroup-12 nice 0\n"),
        (2, "/autogroup-12 nice 0\n"),
        (3, "/autogroup-40 nice 5\n"),
        (9, ""),
    ):
        (proc / str(tgid)).mkdir()
        (proc / str(tgid) / "autogroup").write_text(words)
    made = WeightFiles(root, True, proc)
    made.begin(KEEP_NS)
    return made


def both(level: Level, own: int, against: int) -> Meeting:
    """The same kind of thing is compared of both."""
    return Meeting(level, own, level, against)


def test_tasks_of_one_group_meet_by_their_own_weights(files: WeightFiles) -> None:
    one, other = Member(10, 1, "/low", fair(19)), Member(11, 2, "/low", fair())
    assert meet(one, other, files) == both(Level.TASK, 15, 1024)
    idle = Member(11, 2, "/", fair(policy=Policy.IDLE))
    assert meet(Member(10, 1, "/", fair(5)), idle, files) == both(Level.TASK, 335, 3)


def test_tasks_of_two_groups_meet_by_those_of_the_groups(files: WeightFiles) -> None:
    one, other = Member(10, 1, "/low", fair(-20)), Member(11, 2, "/high/inner", fair(19))
    assert meet(one, other, files) == both(Level.CGROUP, 512, 4096)
    # A task beside a group: its own weight against that of the group.
    beside = Member(10, 1, "/high", fair(19))
    assert meet(beside, other, files) == Meeting(Level.TASK, 15, Level.CGROUP, 1024)
    assert meet(other, beside, files) == Meeting(Level.CGROUP, 1024, Level.TASK, 15)


def test_tasks_of_two_sessions_meet_by_their_autogroups(files: WeightFiles) -> None:
    one, other = Member(10, 1, "/", fair(19)), Member(11, 3, "/", fair())
    assert meet(one, other, files) == both(Level.AUTOGROUP, 1024, 335)
    assert meet(one, Member(12, 2, "/", fair()), files) == both(Level.TASK, 15, 1024)
    kernel_thread = Member(13, 9, "/", fair())  # in no session
    assert meet(one, kernel_thread, files) == Meeting(Level.AUTOGROUP, 1024, Level.TASK, 1024)
    ended = Member(14, 4, "/", fair())  # nobody knows which one it was in
    assert meet(one, ended, files) == UNKNOWN


def test_a_task_of_the_root_meets_a_group_by_its_session(files: WeightFiles) -> None:
    group = Member(11, 2, "/high", fair())
    assert meet(Member(10, 3, "/", fair(-5)), group, files) == Meeting(Level.AUTOGROUP, 335, Level.CGROUP, 4096)
    kernel_thread = Member(13, 9, "/", fair(-20))
    assert meet(kernel_thread, group, files) == Meeting(Level.TASK, 88761, Level.CGROUP, 4096)


def test_levels_end_where_the_controller_is_not_enabled(files: WeightFiles, root: Path) -> None:
    for path in ("high/one.service", "high/two.service/deeper", "session.scope"):
        (root / path).mkdir(parents=True)
    one, other = (Member(tid, tid, f"/high/{name}.service", fair(19 * tid)) for tid, name in ((0, "one"), (1, "two")))
    assert meet(one, other, files) == both(Level.TASK, 1024, 15)
    deeper = Member(12, 3, "/high/two.service/deeper", fair(19))
    assert meet(one, deeper, files) == both(Level.TASK, 1024, 15)
    assert meet(deeper, Member(13, 3, "/low", fair()), files) == both(Level.CGROUP, 4096, 512)


def test_sessions_count_where_no_group_has_the_controller(files: WeightFiles, root: Path) -> None:
    for path in ("user/one", "user/two"):
        (root / path).mkdir(parents=True)
    one, other = Member(10, 1, "/user/one", fair(19)), Member(11, 3, "/user/one", fair())
    assert meet(one, other, files) == both(Level.AUTOGROUP, 1024, 335)
    assert meet(one, Member(12, 2, "/user/two", fair()), files) == both(Level.TASK, 15, 1024)


def test_version_1_has_the_controller_everywhere(root: Path, tmp_path: Path) -> None:
    files = WeightFiles(root, False, tmp_path / "proc")
    files.begin(KEEP_NS)
    assert meet(Member(10, 1, "/low", fair()), Member(11, 2, "/high", fair()), files) == UNKNOWN
    (root / "low/cpu.shares").write_text("512\n")
    (root / "high/cpu.shares").write_text("2048\n")
    files.begin(3 * KEEP_NS)
    assert meet(Member(10, 1, "/low", fair()), Member(11, 2, "/high", fair()), files) == both(Level.CGROUP, 512, 2048)


def test_nothing_is_said_of_what_is_not_known(files: WeightFiles, tmp_path: Path) -> None:
    one = Member(10, 1, "/low", fair())
    assert meet(one, Member(11, 2, "", fair()), files) == UNKNOWN
    assert meet(one, Member(11, 2, "/gone", fair()), files) == UNKNOWN
    assert meet(one, Member(11, 2, "/low", Treatment(SchedClass.RT, Policy.FIFO, 1)), files) == UNKNOWN


def test_tasks_have_the_weights_of_their_groups(files: WeightFiles, root: Path) -> None:
    (root / "session.scope").mkdir()
    tasks = np.zeros(6, TASK_DTYPE)
    tasks["cgroup_id"] = [8, 1, 9, 8, 7, 4]
    note_group_weights(tasks, {1: "/", 7: "/session.scope", 8: "/low", 9: "/high/inner"}, files)
    assert tasks["cgroup_weight"].tolist() == [512, 0, 1024, 512, 0, 0]


def test_the_sessions_of_what_starts_most_are_told(files: WeightFiles, tmp_path: Path) -> None:
    rows = np.zeros(7, SHORT_LIVED_DTYPE)
    rows["parent"] = [b"make", b"sh", b"sh", b"", b"gone", b"least", b"boxed"]
    rows["count"] = [9, 20, 30, 99, 5, 1, 7]
    tasks = np.zeros(7, TASK_DTYPE)
    tasks["comm"] = [b"make", b"sh", b"sh", b"", b"make", b"least", b"boxed"]
    tasks["tgid"] = [3, 3, 1, 9, 1, 1, 2]
    tasks["tid"] = [3, 3, 1, 9, 77, 1, 2]  # 77 is a thread
    tasks["cgroup_id"] = [1, 1, 1, 1, 1, 1, 8]
    note_session_weights(rows, tasks, {1: "/", 8: "/low"}, int, files)
    assert rows["session_weight"].tolist() == [nice_weight(5), 1024, 1024, 0, 0, 0, 0], "the heaviest of several"
    note_session_weights(rows[:0], tasks, {1: "/"}, int, files)


def test_files_are_read_anew_after_a_while_and_not_without_end(files: WeightFiles, root: Path) -> None:
    assert files.of_group("/low") == 512
    (root / "low/cpu.weight").write_text("100\n")
    files.begin(KEEP_NS + 1)
    assert files.of_group("/low") == 512
    files.begin(2 * KEEP_NS + 1)
    assert files.of_group("/low") == 1024
    for number in range(MOST_READ):
        files.of_group(f"/made/{number}")
    assert files.of_group("/high") == 0
    files.begin(2 * KEEP_NS + 2)
    assert files.of_group("/high") == 4096


def test_weights_of_both_versions(tmp_path: Path) -> None:
    (tmp_path / "cpu.shares").write_text("2048\n")
    (tmp_path / "cpu.weight").write_text("1\n")
    assert read_group_weight(str(tmp_path), unified=False) == 2048
    assert read_group_weight(str(tmp_path), unified=True) == 10
    (tmp_path / "cpu.idle").write_text("1\n")
    assert read_group_weight(str(tmp_path), unified=True) == 3
    assert read_group_weight(str(tmp_path / "gone"), unified=True) == 0


def test_each_task_of_many_waits_is_looked_at_once_with_breaths(files: WeightFiles) -> None:
    rows, blockers = np.zeros(100, SLOW_WAIT_DTYPE), np.zeros((100, BLOCKERS), TASK_NAME_DTYPE)
    rows["tid"], rows["tgid"], rows["cgroup_id"], rows["sched_class"] = 10, 1, 7, SchedClass.FAIR
    rows["policy"], rows["nice"] = Policy.OTHER, 19
    rows["nice"][50:] = 5  # it was changed meanwhile
    rows["blocker_ns"][:, :2], rows["blocker_sched_class"][:, :3] = 1, SchedClass.FAIR
    rows["blocker_sched_class"][0, 1] = SchedClass.RT
    blockers["tid"], blockers["tgid"], blockers["cgroup_id"] = (11, 12, 13, 0), 3, (7, 8, 7, 0)
    blockers["sched_class"], blockers["policy"] = SchedClass.FAIR, Policy.OTHER
    asked: list[int] = []
    breath = Counted()
    note_weights(rows, blockers, {7: "/low", 8: "/high"}, lambda tgid: asked.append(tgid) or tgid, files, breath)  # type: ignore[func-returns-value]
    assert rows["blocker_level"][0].tolist() == [Level.TASK, 0, 0, 0], "not of one that is not fair, or did not run"
    assert rows["blocker_level"][1].tolist() == [Level.TASK, Level.CGROUP, 0, 0]
    assert rows["victim_level"][1].tolist() == [Level.TASK, Level.CGROUP, 0, 0]
    assert rows["victim_weight"][[1, 99]].tolist() == [[15, 512, 0, 0], [335, 512, 0, 0]]
    assert rows["blocker_weight"][1].tolist() == [1024, 4096, 0, 0]
    assert asked == [3, 3, 1, 1], "those with most waits first: not all files are read"
    assert breath.taken == 1 + 1 + 4 + 1, "one each for taking them together, one a task, one for all that met"


class Counted(Breath):
    def __init__(self) -> None:
        super().__init__()
        self.taken = 0

    def take(self) -> None:
        self.taken += 1
