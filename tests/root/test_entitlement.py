"""What weights give a task against what the kernel gave it, in scenes of known weights; and that the advice holds.

Most scenes are inside of a cgroup that outweighs all else on the host by far, so that only its own tasks matter.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loads import ended, load_share, python
from scenarios import cgroup, set_shares

from schedtop.commands.task.command import _look as look_at
from schedtop.commands.task.group import look_at_group, named_group
from schedtop.entitlement.times import Times
from schedtop.model.rows import TASK_DTYPE, Rows
from schedtop.model.weights import MOST_SHARES
from schedtop.sources.host.competition import CompetitionReader

pytestmark = pytest.mark.beside

CPU = 1
LIGHT_SHARES = 8192
"""Where the group has all CPUs and this test is to get one of them, too."""

NEAR = 0.01 if load_share() == 1 else 0.03  # an emulated processor has coarse ticks
MS = 1_000_000

# Whatever happens to those who should stop it.
HOG = "import signal\nsignal.alarm(60)\nwhile True: pass"


@pytest.fixture
def heavy() -> Iterator[Path]:
    """A group with the greatest weight there is: what is outside of it hardly counts."""
    with cgroup("entitled") as group:
        set_shares(group, MOST_SHARES)
        yield group


def hog(
    group: Path | None = None, nice: int = 0, cpus: set[int] | None = None, **options: Any
) -> subprocess.Popen[bytes]:
    """A busy loop on CPU 1, or others."""

    def prepare() -> None:
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))
        os.sched_setaffinity(0, cpus or {CPU})
        os.setpriority(os.PRIO_PROCESS, 0, nice)

    return python(HOG, preexec_fn=prepare, **options)


def answer(tid: int, seconds: float = 2.5) -> dict[str, Any]:
    """What `schedtop task` says of its weights."""
    options = {"tid": tid, "whole_process": None, "duration": int(seconds * 1e9), "interval": 100 * MS}
    options |= {"threshold": MS, "slow_waits": True, "source": "auto", "format_name": "json"}
    report = json.loads(look_at(options, threading.Event()))
    assert report["entitlement"] is not None, report["unavailable"]
    found: dict[str, Any] = report["entitlement"]
    return found


def undisturbed(
    subject: subprocess.Popen[bytes], *rivals: subprocess.Popen[bytes], cpus: int = 1, seconds: float = 2.5
) -> dict[str, Any]:
    """The answer of a window in which nothing else had much of the CPUs: real-time tasks outweigh any group."""
    for _ in range(4):
        found = answer(subject.pid, seconds)
        together = sum(one["got_cpus"] for one in (found, *found["rivals"]) if one.get("tid") in (None, *_tids(rivals)))
        if together > 0.8 * cpus:
            return found
    pytest.skip(f"others have the CPU: the tasks of this test had {together:.0%} of {cpus}")


def _tids(processes: tuple[subprocess.Popen[bytes], ...]) -> set[int]:
    return {process.pid for process in processes}


def shares(found: dict[str, Any], *rivals: subprocess.Popen[bytes]) -> tuple[float, float]:
    """What the subject is entitled to and got, as shares of what it and these rivals have together."""
    tids = {rival.pid for rival in rivals}
    rows = [found, *(one for one in found["rivals"] if one["tid"] in tids)]
    assert len(rows) == 1 + len(rivals)
    entitled, got = (sum(row[name] for row in rows) for name in ("entitled_cpus", "got_cpus"))
    return found["entitled_cpus"] / entitled, found["got_cpus"] / got


def follow(found: dict[str, Any]) -> float:
    """Types the advice; the share that it promises, in CPUs."""
    subprocess.run(found["action"]["command"], shell=True, check=True, stdout=subprocess.DEVNULL)
    expected: float = found["action"]["expected_cpus"]
    return expected


@pytest.mark.parametrize(("nice", "share"), [(5, 0.2465), (19, 0.0144)])
def test_two_nice_values_on_one_cpu(heavy: Path, nice: int, share: float) -> None:
    light, other = hog(heavy, nice), hog(heavy)
    with ended(light, other):
        time.sleep(0.3)
        found = undisturbed(light, other)
        assert shares(found, other) == pytest.approx((share, share), abs=NEAR)
        assert found["conclusion"] == "weights"
        assert found["words"].endswith("it is the weights, not the scheduler")
        assert found["action"]["command"] == f"renice -n 0 -p {light.pid}"
        expected = follow(found)
        assert expected == pytest.approx(0.5, abs=0.1)
        assert undisturbed(light, other)["got_cpus"] == pytest.approx(expected, abs=0.05)


def test_two_groups_of_one_and_four_times_the_weight(heavy: Path) -> None:
    with cgroup("one", parent=heavy) as one, cgroup("four", parent=heavy) as four:
        set_shares(four, 4096)
        mine, others = hog(one), [hog(four), hog(four)]
        with ended(mine, *others):
            time.sleep(0.3)
            found = undisturbed(mine, *others)
            assert shares(found, *others) == pytest.approx((0.2, 0.2), abs=NEAR)
            assert found["conclusion"] == "weights"
            assert [(level["weight"], level["weights"]) for level in found["levels"][1:]] == [
                (1024, 5120),
                (1024, 1024),
            ]
            command = set_shares(one, 4096)
            set_shares(one, 1024)
            assert found["action"]["command"] == command
            expected = follow(found)
            assert undisturbed(mine, *others)["got_cpus"] == pytest.approx(expected, abs=0.05)


def test_two_groups_are_entitled_by_their_weights(heavy: Path) -> None:
    """With the weights of v2: 100 and 400."""
    with cgroup("one", parent=heavy) as one, cgroup("four", parent=heavy) as four:
        set_shares(four, 4096)
        hogs = [hog(one), *(hog(four) for _ in range(3))]
        with ended(*hogs):
            time.sleep(0.3)
            found = {group: answer_of_group(group) for group in (one, four)}
            entitled, got = (sum(each[name] for each in found.values()) for name in ("entitled_cpus", "got_cpus"))
            if got < 0.8:
                pytest.skip(f"others have the CPU: the groups of this test had {got:.0%}")
            for group, share in ((one, 0.2), (four, 0.8)):
                assert found[group]["entitled_cpus"] / entitled == pytest.approx(share, abs=NEAR)
                assert found[group]["got_cpus"] / got == pytest.approx(share, abs=NEAR)
                assert found[group]["levels"][-1]["weights"] == 5120
            assert found[one]["conclusion"] == "weights"
            command = set_shares(one, 4096)
            set_shares(one, 1024)
            assert found[one]["action"]["command"] == command
            expected = follow(found[one])
            assert answer_of_group(one)["got_cpus"] == pytest.approx(expected, abs=0.05)


def answer_of_group(group: Path) -> dict[str, Any]:
    """What `schedtop task --cgroup` says of its weight."""
    options = {"duration": 2_000_000_000, "program": (), "threshold": MS, "source": "auto", "format_name": "json"}
    report = json.loads(look_at_group(named_group(str(group)), options, threading.Event()))
    found: dict[str, Any] = report["entitlement"]
    return found


@pytest.mark.alone
def test_a_nice_value_acts_only_inside_of_its_autogroup() -> None:
    if not Path("/proc/self/autogroup").exists():
        pytest.skip("this kernel has no autogroups")
    # The sessions of others count here: both are made heavy in the same way.
    mine, other = hog(nice=-10, start_new_session=True), hog(start_new_session=True)
    with ended(mine, other):
        for each in (mine, other):
            Path(f"/proc/{each.pid}/autogroup").write_text("-5")
        time.sleep(0.3)
        found = answer(mine.pid)
        assert shares(found, other) == pytest.approx((0.5, 0.5), abs=2 * NEAR)
        assert found["nice_is_idle"]
        assert found["levels"][-1]["ratio"] == 1
        assert found["action"]["reason"] == "nice -10 acts only inside of its autogroup; change the group's weight"
        assert found["action"]["command"] == f"echo -10 > /proc/{mine.pid}/autogroup"
        expected = follow(found)
        assert expected > found["entitled_cpus"]
        after = answer(mine.pid)
        assert after["got_cpus"] == pytest.approx(after["entitled_cpus"], abs=0.05)
        share = 9548 / (9548 + 3121)
        assert shares(after, other) == pytest.approx((share, share), abs=2 * NEAR)


def test_the_policy_idle_has_a_weight_of_three(heavy: Path) -> None:
    idle, other = hog(heavy), hog(heavy)
    with ended(idle, other):
        os.sched_setscheduler(idle.pid, os.SCHED_IDLE, os.sched_param(0))
        time.sleep(0.3)
        found = undisturbed(idle, other, seconds=5)  # it may have to wait for seconds
        assert shares(found, other) == pytest.approx((3 / 1027, 3 / 1027), abs=NEAR)
        assert found["action"]["command"] == f"chrt --other --pid 0 {idle.pid}"
        expected = follow(found)
        assert undisturbed(idle, other)["got_cpus"] == pytest.approx(expected, abs=0.05)


@pytest.mark.stress
@pytest.mark.alone
def test_three_tasks_on_two_cpus(heavy: Path) -> None:
    set_shares(heavy, LIGHT_SHARES)
    hogs = [hog(heavy, cpus={0, 1}) for _ in range(3)]
    with ended(*hogs):
        time.sleep(0.5)
        found = undisturbed(*hogs, cpus=2, seconds=4)
        assert found["cpus"] == [0, 1]
        entitled, got = shares(found, *hogs[1:])
        assert entitled == pytest.approx(1 / 3, abs=2 * NEAR)
        # The kernel moves tasks now and then only: what it got is not as near as on one CPU.
        assert got == pytest.approx(1 / 3, abs=0.12)


@pytest.mark.stress
@pytest.mark.alone
def test_pinned_apart_they_do_not_compete(heavy: Path) -> None:
    set_shares(heavy, LIGHT_SHARES)
    one, other = hog(heavy), hog(heavy, cpus={0})
    with ended(one, other):
        time.sleep(0.3)
        found = undisturbed(one)
        assert other.pid not in {rival["tid"] for rival in found["rivals"]}
        assert found["got_cpus"] > 0.8
        assert found["entitled_cpus"] == pytest.approx(found["got_cpus"], abs=0.1)


@pytest.mark.stress
@pytest.mark.alone
def test_real_time_tasks_come_first() -> None:
    mine, first = hog(start_new_session=True), hog()
    with ended(mine, first):
        os.sched_setscheduler(first.pid, os.SCHED_FIFO, os.sched_param(50))
        time.sleep(0.3)
        found = answer(mine.pid)
        assert found["conclusion"] == "behind real-time"
        assert [(one["tid"], one["policy"], one["rt_priority"]) for one in found["first"][:1]] == [
            (first.pid, "fifo", 50)
        ]
        assert found["first_cpus"] > 0.8
        assert found["action"]["command"] == f"chrt --other --pid 0 {first.pid}"
        expected = follow(found)
        after = answer(mine.pid)
        # Threads of the kernel that starved meanwhile seem to want more than they take then.
        assert after["got_cpus"] > expected - 0.1
        assert after["got_cpus"] == pytest.approx(after["entitled_cpus"], abs=0.1)


def _sched(tid: int) -> dict[str, str]:
    file = Path(f"/proc/{tid}/sched")
    if not file.exists():
        pytest.skip("this kernel has no /proc/PID/sched (CONFIG_SCHED_DEBUG)")
    lines = (line.partition(":") for line in file.read_text().splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}


@contextmanager
def _sleeper(policy: int, priority: int, nice: int) -> Iterator[int]:
    sleeper = python("import signal\nsignal.alarm(30)\nsignal.pause()")
    with ended(sleeper):
        os.setpriority(os.PRIO_PROCESS, sleeper.pid, nice)
        os.sched_setscheduler(sleeper.pid, policy, os.sched_param(priority))
        yield sleeper.pid


@pytest.mark.parametrize(("policy", "priority", "nice"), [
    *((os.SCHED_OTHER, 0, nice) for nice in (-20, -10, 0, 5, 19)),
    (os.SCHED_BATCH, 0, 3), (os.SCHED_IDLE, 0, 0), (os.SCHED_FIFO, 50, 0), (os.SCHED_RR, 1, 0),
])  # fmt: skip
def test_weight_policy_and_priority_are_the_kernels(policy: int, priority: int, nice: int) -> None:
    with _sleeper(policy, priority, nice) as tid:
        kernel = _sched(tid)
        times = Times()
        times.interval_ns, times.cpus = 10**9, (0, 1)
        times.rows = _row(tid)
        one = CompetitionReader().read(times, {tid}).contenders[0]
    words = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle"}
    assert one.policy == words[int(kernel["policy"])]
    if one.is_fair:
        assert one.weight == int(kernel["se.load.weight"]) // 1024  # scale_load() of a 64-bit kernel
        assert int(kernel["prio"]) == 120 + one.nice
    else:
        assert int(kernel["prio"]) == 99 - one.rt_priority


def _row(tid: int) -> Rows:
    row = np.zeros(1, TASK_DTYPE)
    row["tid"] = row["tgid"] = tid
    row["run_ns"] = 10**8
    return row
