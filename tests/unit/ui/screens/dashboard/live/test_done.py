"""A command that has been typed is not proposed again for waits from before, and what undoes it is told."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.filters import Filter
from schedtop.ui.screens.dashboard.live.done import AGAIN, CHECKING, UNDONE
from schedtop.ui.screens.dashboard.live.told import LEAVE_IT, Told
from schedtop.ui.screens.dashboard.live.undo import undo
from schedtop.verdict.verdict import Late, Verdict
from tests.unit.verdict.frames import HOST, MS, frame, tasks, waits

HERE = replace(HOST, boot_id="this one")


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process that may run on CPU 0 alone."""
    process = subprocess.Popen(["sleep", "60"])
    os.sched_setaffinity(process.pid, {0})
    yield process.pid
    process.kill()
    process.wait()


def view(second: float, settings: ViewSettings | None = None, **changes: object) -> View:
    made = frame(tasks=tasks(tid=7, comm=b"api", run_delay_ns=300 * MS), end_ns=round(second * NS_PER_S))
    return History(replace(HERE, **changes), [made]).view(settings or ViewSettings())  # type: ignore[arg-type]


def alarm(command: str, headline: str = "web is pinned") -> Verdict:
    return Verdict("alarm", "pinned", headline, ("50 slow waits",), f"Widen it: {command}", command)


def widen(pid: int) -> str:
    """All CPUs of the test, as schedtop writes them."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2 or cpus != list(range(len(cpus))):
        pytest.skip("needs the CPUs 0 and 1")
    return f"taskset -cp 0-{len(cpus) - 1} {pid}"


def test_the_alarm_tells_what_undoes_its_command(sleeper: int) -> None:
    shown = Told().shown(alarm(widen(sleeper)), view(1))
    assert (shown.evidence, shown.live.undo) == (("50 slow waits",), f"To undo it: taskset -cp 0 {sleeper}")
    assert (shown.level, shown.command) == ("alarm", widen(sleeper))
    assert "undo" not in shown.as_json()


@pytest.mark.parametrize("changes", [{"recorded_source": "btf"}, {"boot_id": ""}])
def test_tasks_of_another_host_are_not_looked_at(sleeper: int, changes: dict[str, str]) -> None:
    verdict = alarm(widen(sleeper))
    assert Told().shown(verdict, view(1, **changes)) == verdict


def test_once_it_is_typed_that_is_told_instead_of_the_alarm(sleeper: int) -> None:
    told, verdict, other = Told(), alarm(widen(sleeper)), alarm(f"renice -n 19 -p {os.getpid()}", "another")
    told.shown(verdict, view(1))
    subprocess.run(verdict.command.split(), check=True, stdout=subprocess.DEVNULL)
    back, was = f"To undo the last command: taskset -cp 0 {sleeper}", "before: web is pinned"
    for second, now in ((2, verdict), (3, other), (4, other)):
        shown = told.shown(now, view(second))
        assert (shown.level, shown.headline, shown.evidence) == ("notice", CHECKING, (was,))
        assert (shown.live.undo, shown.command) == (back, "")
    shown = told.shown(other, view(5))
    assert (shown.headline, shown.live.undo) == ("another", f"To undo it: renice -n {nice()} -p {os.getpid()}")
    assert told.shown(replace(other, action="", command=""), view(6)).live.undo == back


def test_what_is_in_order_is_told_at_once(sleeper: int) -> None:
    """The alarm stayed for three seconds more."""
    told, verdict = Told(), alarm(widen(sleeper))
    told.shown(verdict, view(1))
    subprocess.run(verdict.command.split(), check=True, stdout=subprocess.DEVNULL)
    shown = told.shown(Verdict("ok", "calm", "All is well"), view(2))
    assert (shown.headline, shown.live.end) == ("All is well", "The alarm ended 1 s ago")
    assert shown.live.undo == f"To undo the last command: taskset -cp 0 {sleeper}"


def test_what_did_not_help_is_not_proposed_again(sleeper: int) -> None:
    told, verdict = Told(), alarm(f"taskset -cp 0 {sleeper}")
    for second in (1, 2, 3):
        assert told.shown(verdict, view(second)).headline == CHECKING
    shown = told.shown(verdict, view(4))
    assert (shown.level, shown.headline, shown.command) == ("alarm", "web is pinned", f"schedtop task {sleeper}")


def test_a_long_window_has_waits_from_before(sleeper: int) -> None:
    told, verdict, settings = Told(), alarm(f"taskset -cp 0 {sleeper}"), ViewSettings(window_ns=60 * NS_PER_S)
    assert told.shown(verdict, view(1, settings)).headline == CHECKING
    assert told.shown(verdict, view(40, settings)).headline == CHECKING
    over = replace(verdict, level="notice", headline="No such wait for 20 s; before: web is pinned")
    shown = told.shown(over, view(45, settings))
    assert (shown.headline, shown.action, shown.command) == (over.headline, "", "")


def test_with_sudo_its_undo_has_it_too(sleeper: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", "1000")
    shown = Told().shown(alarm(widen(sleeper)), view(1))
    assert shown.live.undo == f"To undo it: sudo taskset -cp 0 {sleeper}"


def test_beside_what_has_helped_nothing_more_is_to_be_changed(sleeper: int) -> None:
    """The service that had just been helped was to be reniced, because others waited for it a little."""
    told, verdict = Told(), alarm(widen(sleeper))
    renice = f"renice -n 19 -p {os.getpid()}"
    left = Verdict("notice", "blocker", "web had the CPU", (), f"Let it wait: {renice}", renice)

    def later(second: int, relieved: str) -> Verdict:
        told._reliefs = (Relieved(relieved),)  # type: ignore[assignment]
        return told.shown(left, view(second))

    told.shown(verdict, view(1))
    shown = later(5, "web (7) no longer waits")
    assert (shown.level, shown.headline, *shown.evidence) == ("ok", "web (7) no longer waits", "web had the CPU")
    assert (shown.action, shown.command) == ("", "")
    assert shown.alternatives == (f"If this lasts, let it wait: {renice}",)
    for second in (6, 305):
        shown = later(second, "")
        assert (shown.level, shown.headline, shown.action, shown.command) == ("ok", "web had the CPU", LEAVE_IT, "")
    assert (later(306, "").level, later(306, "").command) == ("notice", renice)


def test_after_a_command_that_helped_another_kind_of_trouble_stays_a_notice(sleeper: int) -> None:
    told, quota = Told(), "echo 200000 > /sys/fs/cgroup/cpu/orders/cpu.cfs_quota_us"
    told.shown(alarm(widen(sleeper)), view(1))
    told._reliefs = (Relieved("web (7) no longer waits"),)  # type: ignore[assignment]
    told.shown(alarm(widen(sleeper)), view(5))
    shown = told.shown(
        Verdict("notice", "throttled", "/orders is throttled", (), f"Raise it: {quota}", quota), view(20)
    )
    assert (shown.level, shown.headline, shown.command) == ("notice", "/orders is throttled", "")


def test_after_a_command_that_helped_few_slow_waits_are_no_notice(sleeper: int) -> None:
    """Each kworker that waited once behind a real-time task made the band amber again."""
    told, verdict = Told(), alarm(widen(sleeper))
    look = "schedtop task 8"
    rare = Verdict("notice", "rare", "2 slow waits: too few to name a cause", (), f"Look: {look}", look)
    assert Told().shown(rare, view(1)).level == "notice"
    told.shown(verdict, view(1))
    told._reliefs = (Relieved("web (7) no longer waits"),)  # type: ignore[assignment]
    told.shown(rare, view(5))
    told._reliefs = ()
    shown = told.shown(rare, view(70))
    assert (shown.level, shown.headline) == ("ok", rare.headline)
    assert told.shown(rare, view(400)).level == "notice"


def test_what_was_typed_is_known_under_another_filter(sleeper: int) -> None:
    """Filtered by the task that had been helped, it was to be made slower for another one at once."""
    told, verdict, only = Told(), alarm(widen(sleeper)), ViewSettings(filter=Filter.parse("api"))
    renice = f"renice -n 19 -p {os.getpid()}"
    left = Verdict("notice", "blocker", "web had the CPU", (), f"Let it wait: {renice}", renice)
    told.shown(verdict, view(1))
    subprocess.run(verdict.command.split(), check=True, stdout=subprocess.DEVNULL)
    told.shown(verdict, view(2))
    told._reliefs = (Relieved("web (7) no longer waits"),)  # type: ignore[assignment]
    told.shown(left, view(4))
    told._reliefs = ()
    shown = told.shown(left, view(5, only))
    assert (shown.action, shown.command) == (LEAVE_IT, "")
    assert shown.live.undo == f"To undo the last command: taskset -cp 0 {sleeper}"
    past = told.frozen(left, view(4.5, only))
    assert (past.action, past.command) == (LEAVE_IT, ""), "in the past as well"
    assert told.frozen(left, view(0.5, only)).command == renice, "but not before it had helped"


def test_beside_what_has_helped_no_alarm_of_seconds_ago_is_held() -> None:
    """`✓ web no longer waits`, `ALARM … as of 3 s ago` and `now: 3 slow waits` stood in one band."""
    told, over = Told(), Verdict("ok", "rare", "3 slow waits: too few to name a cause")
    told.shown(alarm("x", "hog keeps api waiting"), view(1))
    assert told.shown(over, view(2)).headline == "hog keeps api waiting"
    told._reliefs = (Relieved("web (7) no longer waits"),)  # type: ignore[assignment]
    shown = told.shown(over, view(3))
    assert (shown.level, shown.headline, shown.command) == ("ok", "web (7) no longer waits", "")
    assert shown.evidence == (over.headline,)


def test_what_has_helped_is_told_instead_of_that_it_is_checked(sleeper: int) -> None:
    """`✓ web waits 3 %` and `checking whether it helps` stood in one line."""
    told, verdict = Told(), alarm(widen(sleeper))
    told.shown(verdict, view(1))
    subprocess.run(verdict.command.split(), check=True, stdout=subprocess.DEVNULL)
    assert told.shown(verdict, view(2)).headline == CHECKING
    told._reliefs = (Relieved("web (7) no longer waits"),)  # type: ignore[assignment]
    shown = told.shown(verdict, view(3))
    assert (shown.level, shown.headline, shown.live.relieved) == ("ok", "web (7) no longer waits", "")
    assert shown.live.undo == f"To undo the last command: taskset -cp 0 {sleeper}"


def test_a_moment_that_is_looked_at_again_is_as_it_was_told(sleeper: int) -> None:
    """The same moment told to leave it, and frozen to change what had just been helped."""
    told, verdict = Told(), alarm(widen(sleeper))
    first = told.shown(verdict, view(1))
    subprocess.run(verdict.command.split(), check=True, stdout=subprocess.DEVNULL)
    shown = told.shown(verdict, view(2))
    assert told.frozen(verdict, view(2)) == shown != verdict
    assert told.frozen(Verdict("notice", "few", "Few"), view(1)) == first
    assert told.frozen(verdict, view(3)) == verdict, "it was not told"
    assert told.frozen(verdict, view(2, ViewSettings(window_ns=60 * NS_PER_S))) == verdict, "another window"


def test_what_is_to_be_left_is_in_order_once_a_command_has_helped(sleeper: int) -> None:
    """A notice on hogs that had taken turns before stood there for ever, with a command that only looks."""
    told, look = Told(), "schedtop task 8"
    hogs = Verdict(
        "notice", "pinned", "hog ×2 take turns", (), f"Leave it unless it must be fast: {look}", look, may_stay=True
    )
    assert told.shown(hogs, view(1)).level == "notice"
    told._reliefs = (Relieved("web (7) no longer waits"),)  # type: ignore[assignment]
    assert told.shown(hogs, view(2)).level == "ok"
    told._reliefs = ()
    assert (told.shown(hogs, view(100)).level, told.shown(hogs, view(303)).level) == ("ok", "notice")


def test_beside_what_has_helped_no_task_has_another_number() -> None:
    """`✓ api waits 6 %` and `api waits 3 % of the time` stood in one line: of another span."""
    told = Told()
    told._reliefs = (Relieved("api (7) waits 6 % of the time (18 % before)"),)  # type: ignore[assignment]
    late = Late(7, "api (7) waits 3 % of the time")
    storm = Verdict("notice", "forks", f"true ×900/s take 50 %; {late.words}; also, S is throttled", late=late)
    assert told.shown(storm, view(1)).headline == "true ×900/s take 50 %; also, S is throttled"
    alarm_again = told.shown(replace(storm, level="alarm"), view(2))
    assert late.words in alarm_again.headline


def test_little_that_is_left_is_told_in_one_line_that_stays() -> None:
    """Waits of 5 ms were another notice each second, of `Mixed causes` and of pairs of tasks."""

    def shown(rule: str, count: int, level: str = "notice") -> tuple[str, ...]:
        told = Told()
        told._reliefs = (Relieved("web (7) no longer waits"),)  # type: ignore[assignment]
        made = frame(waits(count), end_ns=NS_PER_S)
        one = told.shown(Verdict(level, rule, "tasks wait"), History(HERE, [made]).view(ViewSettings()))
        return one.level, one.headline, *one.evidence

    helped = "web (7) no longer waits"
    assert shown("mixed", 10) == ("ok", helped, "little is left: 80.0 ms of slow waits a second")
    told = Told()
    told._reliefs = (Relieved("web (7) no longer waits"),)  # type: ignore[assignment]
    view = History(HERE, [frame(waits(10), end_ns=NS_PER_S)]).view(ViewSettings())
    mixed = Verdict("notice", "mixed", "tasks wait", ("Evidence",), "Do it: x", "x", ("Or do that",))
    # Its own evidence is of a second ago by now.
    assert told.shown(mixed, view).evidence == ("little is left: 80.0 ms of slow waits a second",)
    assert shown("mixed", 20) == ("notice", "tasks wait")
    assert shown("rare", 20) == ("ok", helped, "little is left: 160 ms of slow waits a second")
    assert shown("rare", 2, "ok") == ("ok", helped, "little is left: 16.0 ms of slow waits a second")
    assert shown("turns", 10) == ("notice", "tasks wait")
    assert shown("mixed", 10, "alarm") == ("alarm", "tasks wait")


def test_what_runs_most_is_no_alarm_once_another_has_been_helped() -> None:
    """`✓ web waits 3 %` and `More work than 2 CPUs` stood in one red band: only hogs waited for each other."""
    told = Told()
    told._reliefs = (Relieved("web (7) no longer waits"),)  # type: ignore[assignment]
    alone = Verdict("alarm", "saturated", "More work than 2 CPUs can do: 2 tasks wait on average")
    late = replace(alone, late=Late(8))
    assert told.shown(alone, view(1)).level == "notice"
    assert told.shown(late, view(2)).level == "alarm"


def test_a_storm_that_keeps_nobody_waiting_any_more_may_stay() -> None:
    """It was an alarm for ten seconds more: its own waits go on, and one of 3 % stood in the headline."""
    told = Told()
    told._reliefs = (Relieved("web (7) waits 4 % of the time (20 % before)"),)  # type: ignore[assignment]

    def shown(share: float, more: str = "") -> tuple[str, ...]:
        late = Late(7, f"web (7) waits {share:.0%} of the time", share)
        storm = Verdict("alarm", "forks", f"make starts 900 processes/s (sh); {late.words}{more}", late=late)
        one = told.shown(storm, view(1))
        return one.level, one.headline, *one.evidence

    assert shown(0.03) == (
        "ok",
        "web (7) waits 4 % of the time (20 % before)",
        "no other task waits much; make starts 900 processes/s (sh)",
    )
    assert shown(0.2)[0] == shown(0.03, "; also, S is throttled")[0] == "alarm"


def test_no_other_command_is_proposed_about_a_storm_that_has_been_told_to_wait(sleeper: int) -> None:
    """Until a slow wait tells where they meet now, the verdict asks for the nice value of its tasks."""
    told, before = Told(), nice_of(sleeper)
    first, more = (replace(alarm(f"renice -n {nice} -p {sleeper}"), rule="forks") for nice in (10, 19))
    other = replace(alarm(f"renice -n 10 -p {os.getpid()}"), rule="forks")
    told.shown(first, view(1))
    os.setpriority(os.PRIO_PROCESS, sleeper, 10)
    try:
        told.shown(first, view(2))
        assert told.shown(more, view(8)).command == f"schedtop task {sleeper}"
        assert told.shown(other, view(9)).command == other.command
    finally:
        os.setpriority(os.PRIO_PROCESS, sleeper, before)


def test_a_larger_quota_still_is_not_proposed_while_the_group_catches_up(tmp_path: Path) -> None:
    """Three seconds after the command it was to be raised once more; a moment later it throttled no longer."""
    told, file, other = Told(), tmp_path / "cpu.max", tmp_path / "other.max"
    file.write_text("30000 100000\n")
    other.write_text("30000 100000\n")
    first, more, another = (
        replace(alarm(f"echo {quota} > {path}"), rule="throttled")
        for quota, path in ((157_000, file), (200_000, file), (200_000, other))
    )
    told.shown(first, view(1))
    file.write_text("157000 100000\n")
    for second in range(2, 8):
        assert told.shown(more, view(second)).headline == CHECKING
    assert told.shown(another, view(7)).command == another.command
    assert told.shown(more, view(9)).command == more.command


def test_what_runs_most_may_stay_once_that_is_no_alarm() -> None:
    """`✓ web waits 4 %` and `! NOTICE More work than 2 CPUs` stood in one amber line: which is open?"""
    told = Told()
    told._reliefs = (Relieved("web (7) no longer waits"),)  # type: ignore[assignment]
    alone = Verdict("notice", "saturated", "More work than 2 CPUs can do: 2 tasks wait on average")
    one = told.shown(alone, view(1))
    assert (one.level, one.may_stay) == ("ok", True)
    assert one.headline == "web (7) no longer waits"
    assert one.evidence == ("no other task waits much; more work than 2 CPUs can do: 2 tasks wait on average",)
    assert told.shown(replace(alone, late=Late(8)), view(2)).level == "notice"
    filtered = view(3, ViewSettings(filter=Filter.parse("api")))
    assert told.shown(alone, filtered).evidence[0].startswith("more work"), "the others are left out there"


def test_the_way_back_is_to_what_was_before_the_first_command(sleeper: int) -> None:
    """After nice 10 and nice 19 it was nice 10."""
    told, before = Told(), nice_of(sleeper)
    first, second = (alarm(f"renice -n {number} -p {sleeper}") for number in (10, 19))
    told.shown(first, view(1))
    os.setpriority(os.PRIO_PROCESS, sleeper, 10)
    told.shown(first, view(2))
    told.shown(second, view(6))
    os.setpriority(os.PRIO_PROCESS, sleeper, 19)
    back = f"To undo the last command: renice -n {before} -p {sleeper}"
    assert told.shown(second, view(7)).live.undo == back
    assert told.shown(Verdict("ok", "calm", "All is well"), view(300)).live.undo == back


def test_an_undone_command_is_acknowledged(sleeper: int) -> None:
    """The alarm came back, and nothing said why."""
    told, before = Told(), nice_of(sleeper)
    one = alarm(f"renice -n 10 -p {sleeper}")
    told.shown(one, view(1))
    os.setpriority(os.PRIO_PROCESS, sleeper, 10)
    told.shown(one, view(2))
    os.setpriority(os.PRIO_PROCESS, sleeper, before)
    assert told.shown(one, view(8)).headline == told.shown(one, view(10)).headline == AGAIN
    again = told.shown(one, view(11))
    assert (again.command, again.live.kept) == (one.command, UNDONE)
    assert [told.shown(one, view(second)).live.kept for second in (13, 14)] == [UNDONE, ""]


def test_several_commands_are_undone_in_turn(sleeper: int) -> None:
    told, before = Told(), nice_of(sleeper)
    first, second = alarm(widen(sleeper)), alarm(f"renice -n 19 -p {sleeper}")
    for number, one in enumerate((first, second)):
        told.shown(one, view(4 * number + 1))
        subprocess.run(one.command.split(), check=True, stdout=subprocess.DEVNULL)
        told.shown(one, view(4 * number + 2))
    ways = f"renice -n {before} -p {sleeper}; taskset -cp 0 {sleeper}"
    calm = told.shown(Verdict("ok", "calm", "All is well"), view(60))
    assert calm.live.undo == f"To undo the last 2 commands, newest first: {ways}"


def nice_of(pid: int) -> int:
    return os.getpriority(os.PRIO_PROCESS, pid)


class Relieved:
    """Tells always the same."""

    def __init__(self, words: str) -> None:
        self._words = words

    def shown(self, verdict: Verdict, view: View) -> Verdict:
        return verdict.beside(relieved=self._words)


def test_of_a_storm_that_is_calmed_the_starters_are_to_be_looked_at(sleeper: int) -> None:
    """It said for ten seconds that the command had not helped, until the rule saw another weight."""
    loop = f"for p in {sleeper}; do renice -n {nice()} -p $p; done"
    told, storm = Told(), replace(alarm(loop), rule="forks")
    told.shown(storm, view(1))
    assert told.shown(storm, view(5)).headline == CHECKING, "it takes some seconds until it is known"
    shown = told.shown(storm, view(7))
    assert (shown.level, shown.command) == ("notice", f"ps -o pid,ppid,args {sleeper}")
    assert told.shown(storm, view(12)).level == "alarm"


def nice() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def test_affinity_nice_and_policy_are_undone(sleeper: int) -> None:
    assert undo(f"taskset -cp 0-7 {sleeper}") == f"taskset -cp 0 {sleeper}"
    assert undo(f"taskset -acp 0-7 {sleeper}") == f"taskset -acp 0 {sleeper}"
    nice = os.getpriority(os.PRIO_PROCESS, sleeper)
    assert undo(f"renice -n 19 -p {sleeper}") == f"renice -n {nice} -p {sleeper}"
    assert undo(f"renice -n 19 -p {sleeper} {sleeper}") == f"renice -n {nice} -p {sleeper} {sleeper}"
    os.setpriority(os.PRIO_PROCESS, sleeper, 19)
    assert undo(f"renice -n 19 -p {sleeper}") == f"renice -n 19 -p {sleeper}"
    assert undo(f"renice -n 19 -p {sleeper} {os.getpid()}") == "", "they differ"
    assert undo(f"chrt -o -p 0 {sleeper}") == f"chrt -o -p 0 {sleeper}"
    os.sched_setscheduler(sleeper, os.SCHED_BATCH, os.sched_param(0))
    assert undo(f"chrt -o -p 0 {sleeper}") == f"chrt -b -p 0 {sleeper}"


def test_files_are_undone(tmp_path) -> None:
    file = tmp_path / "cpu.max"
    file.write_text("30000 100000\n")
    assert undo(f"echo 124000 > {file}") == f"echo 30000 > {file}"
    (tmp_path / "a b").write_text("-1\n")
    assert undo(f"echo 50000 > '{tmp_path}/a b'") == f"echo -1 > '{tmp_path}/a b'"
    file.write_text("/autogroup-12 nice 5\n")
    assert undo(f"echo 19 > {file}") == f"echo 5 > {file}"


def test_a_loop_over_processes_is_undone(sleeper: int) -> None:
    loop = f"for p in {sleeper} {sleeper}; do renice -n 19 -p $p; done"
    nice = os.getpriority(os.PRIO_PROCESS, sleeper)
    assert undo(loop) == loop.replace("-n 19", f"-n {nice}")
    assert undo(loop.replace("renice", "nice")) == ""


@pytest.mark.parametrize(
    "command",
    ["", "schedtop task 12", "taskset -cp 0-1 4194305", "echo 1 > /no/such/file", "renice -n 10 -p $(pgrep -wx a)"],
)
def test_what_cannot_be_told_is_not_undone(command: str) -> None:
    assert undo(command) == ""


def test_it_is_noted_when_a_command_was_typed_and_undone(sleeper: int) -> None:
    told, command = Told(), widen(sleeper)
    told.shown(alarm(command), view(1))
    assert told.commands == ()
    os.sched_setaffinity(sleeper, os.sched_getaffinity(0))
    told.shown(alarm(command), view(2))
    assert told.commands == ((2 * NS_PER_S, "✓"),)
    os.sched_setaffinity(sleeper, {0})
    told.shown(alarm(command), view(3))
    noted = ((2 * NS_PER_S, "✓"), (3 * NS_PER_S, "×"))
    assert told.commands == noted
    told.shown(alarm(command), view(4, ViewSettings(window_ns=10 * NS_PER_S)))
    assert told.commands == noted, "with other settings, too"
