"""When a path is called a priority inversion, and when it is not."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from schedtop.path.inversion import Inversion
from schedtop.path.traits import Traits
from tests.unit.path.recordings import FUTEX, READ, Recording
from tests.unit.path.test_walk import HOG, HOLDER, LATE, OTHER, held_lock

NICE_0, NICE_10, FIFO_50 = 120, 130, 49


def found_in(recording: Recording, *tids: int) -> Inversion | None:
    return recording.paths(*(tids or (LATE,))).inversion


def with_prios(recording: Recording, **prios: int) -> Recording:
    """The same, its switches with the priorities of the tasks by their names."""
    tids = {name: tid for tid, (_, name) in recording.names.items()}
    of = {tids[name.replace("_", "-")]: prio for name, prio in prios.items()}
    for row in recording.rows:
        row["prio"] = of.get(row["tid"], NICE_0)
        row["other_prio"] = of.get(row["other_tid"], NICE_0)
    return recording


def test_a_holder_that_is_queued_behind_a_third_task_is_one() -> None:
    found = found_in(with_prios(held_lock(), backup=NICE_10))
    assert found
    assert (found.late.comm, found.late.tid, found.holder.comm, found.holder.tid) == (
        "rpc-worker",
        LATE,
        "flusher",
        HOLDER,
    )
    assert [(part.tid, part.time_ns) for part in found.behind] == [(HOG, 300_000)]
    assert (found.time_ns, found.late_ns, found.episodes, found.where) == (300_000, 510_000, 1, "futex")
    assert found.headline == (
        "Priority inversion: flusher holds what rpc-worker waits for, and is itself queued behind backup"
    )
    assert found.evidence[0] == (
        "flusher was ready to run and had no CPU for 59 % of 510 µs, in 1 episode in which rpc-worker was blocked in "
        "futex"
    )
    assert "may be a condition" in found.evidence[-1]


def test_what_is_known_of_priorities_and_cpus_is_named() -> None:
    found = found_in(held_lock())
    assert found
    told = replace(found, traits={HOG: Traits(nice=10, cpus=(1,)), HOLDER: Traits(policy="SCHED_IDLE"), LATE: Traits()})
    assert told.headline == (
        "Priority inversion: flusher (SCHED_IDLE) holds what rpc-worker waits for, and is itself queued behind backup "
        "(nice 10, pinned to CPU 1)"
    )


BOUND = Traits(cpus=(1,))
FIFO = Traits(policy="SCHED_FIFO", rt_priority=50)


@pytest.mark.parametrize(
    ("late", "holder", "hog", "reason", "command"),
    [
        (FIFO, Traits(), Traits(), "Run flusher like rpc-worker", f"chrt -f -p 50 {HOLDER}"),
        (Traits(policy="SCHED_RR", rt_priority=9), Traits(policy="SCHED_FIFO", rt_priority=2), Traits(),
         "Run flusher like rpc-worker", f"chrt -r -p 9 {HOLDER}"),
        (Traits(nice=-5), Traits(nice=5), Traits(), "Run flusher like rpc-worker", f"renice -n -5 -p {HOLDER}"),
        (Traits(), Traits(policy="SCHED_IDLE"), Traits(), "Run flusher like rpc-worker", f"chrt -o -p 0 {HOLDER}"),
        (FIFO, FIFO, BOUND, "Move backup to other CPUs", f"taskset -cp 0,2-3 {HOG}"),
        (Traits(), Traits(), BOUND, "Move backup to other CPUs", f"taskset -cp 0,2-3 {HOG}"),
        (FIFO, FIFO, FIFO, "Make backup an ordinary task", f"chrt -o -p 0 {HOG}"),
        (Traits(), Traits(), Traits(), "Give backup less weight", f"renice -n 10 -p {HOG}"),
        (Traits(), Traits(), Traits(nice=10), "Give backup less weight", f"renice -n 19 -p {HOG}"),
        (Traits(), Traits(), Traits(cpus=(0, 1, 2, 3)), "Give backup less weight", f"renice -n 10 -p {HOG}"),
        (Traits(), Traits(), Traits(nice=19), "Give flusher more weight", f"renice -n -10 -p {HOLDER}"),
        (Traits(), Traits(), Traits(policy="SCHED_IDLE"), "Give flusher more weight", f"renice -n -10 -p {HOLDER}"),
        (Traits(nice=5), Traits(), None, "Give backup less weight", "renice -n 10 -p $(pgrep -wx backup)"),
    ],
)  # fmt: skip
def test_what_is_known_of_the_tasks_chooses_the_command(
    late: Traits, holder: Traits, hog: Traits | None, reason: str, command: str
) -> None:
    found = found_in(held_lock())
    assert found
    known = {LATE: late, HOLDER: holder} | ({HOG: hog} if hog else {})
    told = replace(found, traits=known, online=(0, 1, 2, 3))
    assert told.command == command
    assert told.action == f"{reason}, or use a lock with priority inheritance: {command}"


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        (Traits(), ""),
        (Traits(nice=-5), "nice -5"),
        (Traits(policy="SCHED_FIFO", rt_priority=50), "SCHED_FIFO 50"),
        (Traits(nice=3, policy="SCHED_BATCH", cpus=(0, 1, 3)), "SCHED_BATCH, nice 3, only on CPUs 0-1,3"),
    ],
)
def test_traits_in_words(traits: Traits, words: str) -> None:
    assert traits.words == words


def test_what_is_more_urgent_than_the_late_task_is_none() -> None:
    """It would go first anyway."""
    assert found_in(with_prios(held_lock(), backup=FIFO_50)) is None
    assert found_in(with_prios(held_lock(), backup=NICE_0))
    assert found_in(with_prios(held_lock(), rpc_worker=NICE_10)) is None


def test_a_pipe_is_held_by_nothing() -> None:
    recording = held_lock()
    for row in recording.rows:
        row["syscall"] = READ + 1 if row.get("syscall") else 0
    assert recording.episode(LATE).where == "read"
    assert found_in(recording) is None


def test_request_and_answer_are_none() -> None:
    """The late task had woken the one that wakes it: that is to answer, and holds nothing."""
    asked = held_lock().switch(20, HOLDER, 0, cpu=1, call=FUTEX).wake(40, HOLDER, LATE, target=1)
    assert asked.episode(LATE).same_chain
    assert found_in(asked) is None


def test_a_holder_that_runs_is_none() -> None:
    recording = (
        Recording()
        .name(LATE, "rpc-worker").name(HOLDER, "flusher")
        .switch(50, 0, HOLDER, cpu=1)
        .switch(100, LATE, 0, call=FUTEX)
        .wake(600, LATE, HOLDER, cpu=1)
        .switch(610, 0, LATE)
    )  # fmt: skip
    assert found_in(recording) is None


def test_a_small_part_of_the_lateness_is_none() -> None:
    """From 200 to 300 of 500: a fifth."""
    recording = (
        Recording()
        .switch(50, 0, HOLDER, cpu=1)
        .switch(100, LATE, 0, call=FUTEX)
        .switch(200, HOLDER, HOG, 0, cpu=1)
        .switch(300, HOG, HOLDER, 0, cpu=1)
        .wake(600, LATE, HOLDER, cpu=1)
        .switch(600, 0, LATE)
    )
    assert found_in(recording) is None


def test_an_idle_cpu_is_no_third_task() -> None:
    recording = (
        Recording()
        .switch(100, LATE, 0, call=FUTEX)
        .switch(110, HOLDER, 0, call=READ, cpu=1)
        .wake(120, HOLDER, OTHER, target=1)
        .switch(580, 0, HOLDER, cpu=1)
        .wake(600, LATE, HOLDER, cpu=1)
        .switch(610, 0, LATE)
    )
    assert found_in(recording) is None


def test_a_chain_of_locks_names_what_is_between() -> None:
    recording = (
        Recording()
        .name(LATE, "rpc-worker").name(HOLDER, "flusher").name(HOG, "backup").name(OTHER, "indexer")
        .switch(50, 0, HOLDER, cpu=1)
        .switch(90, OTHER, LATE, call=FUTEX)
        .switch(100, LATE, 0, call=FUTEX)
        .switch(150, HOLDER, HOG, 0, cpu=1)
        .switch(550, HOG, HOLDER, 0, cpu=1)
        .wake(580, OTHER, HOLDER, cpu=1)
        .switch(590, 0, OTHER)
        .wake(600, LATE, OTHER)
        .switch(610, OTHER, LATE)
    )  # fmt: skip
    found = found_in(recording)
    assert found and found.through == ("indexer",)
    assert "flusher holds what rpc-worker waits for (through indexer)" in found.headline


def test_names_from_outside_hold_no_control_characters() -> None:
    recording = held_lock().name(HOG, "x\x1b[31m;$(id)").name(HOLDER, "a\nb")
    found = found_in(recording)
    assert found
    assert shlex.split(found.command.partition("$(")[2].rstrip(")"))[:2] == ["pgrep", "-wx"]
    for words in (found.headline, found.action, *found.evidence):
        assert words.isprintable()
