"""What is done when triggers fire: files, their limits, and commands that fail, hang or stay."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schedtop.base.time_slice import DEFAULT, LONG_NS, set_slice
from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.outputs.triggers.commands import Commands, environment_of
from schedtop.outputs.triggers.recordings import LONGEST_NS, FileRecordings, event_of
from schedtop.outputs.triggers.work import MOST_SETS, TriggerActions
from schedtop.sources.replay.recorded import Recording
from schedtop.triggers.grammar import parse
from schedtop.triggers.plan import Plan
from schedtop.triggers.watch import Fired
from tests import time_slices
from tests.time_slices import slice_ns
from tests.unit.triggers.frames import p99_frames

HOST = Host("db 1/a", "6.18.0", "btf")
SLOW, QUIET = 40.0, 1.0


class Run:
    """Actions over Frames that a test gives, as `schedtop watch` has them."""

    def __init__(self, directory: Path, *texts: str, **plan: Any) -> None:
        self.said: list[tuple[str, bool]] = []
        made = Plan(tuple(map(parse, texts or ("p99 > 20ms",))), export_dir=directory, **plan)
        self.files = FileRecordings(HOST, directory, [str(one) for one in made.conditions])
        self.actions = TriggerActions(made, ViewSettings(), self.files, self.say, "tid:7")
        self.history = History(HOST)
        self.fired: list[Fired] = []
        self.number = 0

    def say(self, text: str, problem: bool) -> None:
        self.said.append((text, problem))

    @property
    def words(self) -> str:
        return "\n".join(text for text, _ in self.said)

    def give(self, waits_ms: list[float]) -> None:
        for frame in p99_frames(waits_ms, first=self.number):
            self.give_frame(frame)

    def give_frame(self, frame: Frame) -> None:
        self.number += 1
        self.history.append(frame)
        self.files.record(frame)
        fired = self.actions.feed(frame)
        self.fired += fired
        for event in fired:
            self.files.record_event(event_of(event))
        for work in self.actions.act(fired, self.history):
            work.do()

    def end(self) -> None:
        self.actions.close("done")
        for line in self.files.ended(10):
            self.say(line, False)


def recorded(path: Path) -> tuple[list[int], list[int]]:
    """The seconds of the Frames and of the events in a recording."""
    with Recording(path) as recording:
        assert recording.end is not None
        assert not recording.damage
        return [frame.end_ns // NS_PER_S for frame in recording], [one.end_ns // NS_PER_S for one in recording.events]


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_export_is_the_window_that_the_condition_names(tmp_path: Path) -> None:
    run = Run(tmp_path, "p99 > 20ms for 3s", export=True)
    run.give([QUIET, SLOW, SLOW, SLOW, QUIET])
    run.end()
    (path,) = tmp_path.glob("*.json")
    assert path.name.startswith("schedtop-db_1_a-")
    data = json.loads(path.read_text())
    assert data["interval_ns"] == 3 * NS_PER_S
    assert data["runqueue_latency"]["all"]["count"] == 3
    assert data["trigger"]["condition"] == "p99 > 20ms for 3s"
    assert data["trigger"]["time"] == "2026-09-21T14:13:24.000000Z"
    assert (f"exported {path}", False) in run.said


def test_triggers_that_fire_meanwhile_extend_one_recording(tmp_path: Path) -> None:
    run = Run(tmp_path, "p99 > 20ms", "p99 > 100ms", record=True, around_ns=5 * NS_PER_S)
    run.give([QUIET] * 9 + [SLOW] + [QUIET] * 3 + [200.0] + [QUIET] * 20)
    run.end()
    (path,) = tmp_path.iterdir()
    assert recorded(path) == ([*range(6, 20)], [10, 14])
    assert f"recorded {path}: 14 intervals" in run.words


def test_a_recording_does_not_grow_for_ever(tmp_path: Path) -> None:
    run = Run(tmp_path, record=True, around_ns=60 * NS_PER_S)
    run.give(([SLOW] + [QUIET] * 29) * 40)
    run.end()
    first, second = sorted(tmp_path.iterdir())
    frames, events = recorded(first)
    assert frames == [*range(1, LONGEST_NS // NS_PER_S + 2)]
    assert events == [*range(1, 602, 30)]
    # What fires at the very end of the one begins the next.
    assert recorded(second)[1][0] == 601


def test_files_are_written_once_a_minute_for_each_trigger(tmp_path: Path) -> None:
    run = Run(tmp_path, "p99 > 20ms", "max > 100ms", export=True)
    run.give(([SLOW] + [QUIET] * 14) * 5)
    run.give([200.0])
    run.end()
    assert [one.end_ns // NS_PER_S for one in run.fired] == [1, 16, 31, 46, 61, 76, 76]
    times = sorted(json.loads(path.read_text())["trigger"]["time"][14:19] for path in tmp_path.iterdir())
    assert times == ["13:21", "14:21", "14:36"]
    assert sum("no files this time" in text for text, _ in run.said) == 4


def test_triggers_write_so_many_files_and_no_more(tmp_path: Path) -> None:
    run = Run(tmp_path, export=True)
    run.give(([SLOW] + [QUIET] * 60) * (MOST_SETS + 3))
    assert len([*tmp_path.iterdir()]) == MOST_SETS
    assert sum("no more files" in text for text, _ in run.said) == 1


def test_a_directory_that_is_gone_is_said_and_the_rest_is_done(tmp_path: Path) -> None:
    run = Run(tmp_path / "gone", export=True, record=True, commands=(("touch", str(tmp_path / "done")),))
    run.give([SLOW])
    wait_for((tmp_path / "done").exists)
    run.end()
    assert "not exported: cannot write" in run.words or "there is no such directory" in run.words
    assert "not recorded: " in run.words


def test_a_command_has_everything_in_its_environment(tmp_path: Path) -> None:
    code = "import os, json, sys; json.dump(dict(os.environ), open(sys.argv[1], 'w'))"
    target = tmp_path / "environment"
    command = (sys.executable, "-S", "-c", code, str(target))
    run = Run(tmp_path, "p99 > 20ms and p50 > 1ms", export=True, record=True, commands=(command,))
    run.give([SLOW])
    run.actions.join(threading.Event())
    run.end()
    heard = json.loads(target.read_text())
    assert heard["SCHEDTOP_TRIGGER"] == "p99 > 20ms and p50 > 1ms"
    assert heard["SCHEDTOP_VALUE"].startswith("p99 = ")
    assert heard["SCHEDTOP_TIME"] == "2026-09-21T14:13:21.000000Z"
    assert heard["SCHEDTOP_HOST"] == "db 1/a"
    assert Path(heard["SCHEDTOP_EXPORT"]).suffix == ".json"
    assert Path(heard["SCHEDTOP_EXPORT"]).exists()
    assert recorded(Path(heard["SCHEDTOP_RECORDING"])) == ([1], [1])
    assert "PATH" in heard


def test_a_command_is_told_where_files_are_wherever_it_goes(
    tmp_path: Path, fired: Fired, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    heard = environment_of(fired, "web-1", {"record": Path("a/r.rec.gz")})
    assert (heard["SCHEDTOP_RECORDING"], heard["SCHEDTOP_EXPORT"]) == (str(tmp_path / "a" / "r.rec.gz"), "")


class Heard(list[tuple[str, bool]]):
    def say(self, text: str, problem: bool) -> None:
        self.append((text, problem))


@pytest.fixture
def fired(tmp_path: Path) -> Fired:
    run = Run(tmp_path)
    run.give([SLOW])
    return run.fired[0]


def ran(fired: Fired, *words: str, limit_s: float = 20) -> tuple[str, bool]:
    """What is said of a command that was run to its end."""
    heard = Heard()
    commands = Commands(heard.say, limit_s=limit_s)
    commands.start(words, fired, environment_of(fired, "here", {}))
    commands.join(threading.Event())
    (said,) = heard
    return said


def test_a_command_that_works_is_done(fired: Fired) -> None:
    text, problem = ran(fired, "true")
    assert text.startswith("true: done in ")
    assert not problem


def test_a_command_that_fails_is_told_with_its_last_words(fired: Fired) -> None:
    text, problem = ran(fired, "sh", "-c", "echo one; echo two >&2; echo; exit 3")
    assert text.endswith("failed with status 3: two")
    assert problem


def test_a_command_that_dies_of_a_signal_is_told(fired: Fired) -> None:
    assert ran(fired, "sh", "-c", "kill -9 $$")[0].endswith("failed with signal SIGKILL")
    assert ran(fired, "sh", "-c", "kill -35 $$")[0].endswith("failed with signal 35"), "it has no name"


def test_output_of_a_command_cannot_steer_the_terminal(fired: Fired) -> None:
    assert ran(fired, "sh", "-c", r"printf '\033]0;x\007y'; exit 1")[0].endswith(": ?]0;x?y")


def test_a_command_that_does_not_exist_is_told(fired: Fired) -> None:
    assert ran(fired, "/no/such/command") == ("cannot run /no/such/command: no such file or directory", True)


def test_a_command_that_hangs_is_killed_with_all_that_it_started(fired: Fired, tmp_path: Path) -> None:
    text, _ = ran(fired, "sh", "-c", f"sleep 1000 & echo $! > {tmp_path}/pid; trap '' TERM; while :; do sleep 1; done",
                  limit_s=1)  # fmt: skip
    assert text.endswith("killed, it took longer than 1 s")
    wait_for(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_a_command_that_talks_much_neither_blocks_nor_fills_the_memory(fired: Fired) -> None:
    text, _ = ran(fired, "sh", "-c", "yes | head -c 20000000; echo the end; exit 1")
    assert text.endswith("failed with status 1: the end")


def test_a_command_that_leaves_something_running_is_done_when_it_ends(fired: Fired, tmp_path: Path) -> None:
    text, _ = ran(fired, "sh", "-c", f"sleep 1000 & echo $! > {tmp_path}/pid")
    left = int((tmp_path / "pid").read_text())
    try:
        assert ": done in " in text
        assert alive(left)
    finally:
        os.kill(left, signal.SIGKILL)


def test_the_same_command_does_not_run_twice_at_once(fired: Fired) -> None:
    heard = Heard()
    commands = Commands(heard.say)
    for _ in range(2):
        commands.start(("sleep", "1000"), fired, {})
    assert heard == [("not run, it still runs since the last time: sleep 1000", True)]
    commands.close()
    assert heard[1:] == [("sleep 1000: killed, schedtop ended", True)]


def test_commands_have_the_priority_that_the_user_has(fired: Fired, tmp_path: Path) -> None:
    heard = Heard()
    commands = Commands(heard.say, nice=os.getpriority(os.PRIO_PROCESS, 0) + 3)
    commands.start(("sh", "-c", f"nice > {tmp_path}/nice"), fired, {})
    commands.join(threading.Event())
    assert int((tmp_path / "nice").read_text()) == os.getpriority(os.PRIO_PROCESS, 0) + 3


def test_commands_have_the_slice_that_others_have(fired: Fired, tmp_path: Path) -> None:
    ordinary = slice_ns(0)
    set_slice(0, LONG_NS)
    try:
        commands = Commands(Heard().say)
        commands.start(("sh", "-c", f"{sys.executable} {time_slices.__file__} > {tmp_path}/slice"), fired, {})
        commands.join(threading.Event())
        assert slice_ns(0) == (LONG_NS if ordinary else 0)
    finally:
        set_slice(0, DEFAULT)
    assert int((tmp_path / "slice").read_text()) == ordinary == slice_ns(0)


def test_commands_read_nothing_and_are_in_a_session_of_their_own(fired: Fired, tmp_path: Path) -> None:
    heard = Heard()
    commands = Commands(heard.say)
    commands.start(("sh", "-c", f"cat; ps -o sid= -p $$ > {tmp_path}/session"), fired, {})
    commands.join(threading.Event())
    assert int((tmp_path / "session").read_text()) != os.getsid(0)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Seconds:
    """What keeps the last seconds, without a kernel: it notes what it is asked for."""

    def __init__(self, *, can: bool = True) -> None:
        self.asked: list[str] = []
        self.can = can

    def open(self, say: Any) -> None:
        self.asked.append("open")

    def write(self, json: Path, text: Path, about: Any, done: Callable[[], None]) -> bool:
        assert (json.name, text.name) == (f"{text.stem}.json", f"{json.stem}.txt")
        self.asked.append(f"{json.name} {about['condition']}")
        done()
        return self.can

    def close(self) -> None:
        self.asked.append("close")


def test_paths_are_written_once_a_minute_at_most(tmp_path: Path) -> None:
    seconds = Seconds()
    run = Run(tmp_path, "p99 > 20ms", last_seconds=seconds)
    run.give([SLOW] + [QUIET] * 20 + [SLOW] + [QUIET] * 60 + [SLOW])
    run.end()
    assert len(run.fired) == 3
    first, begun, again, last = seconds.asked
    assert (first, last) == ("open", "close")
    assert all(one.startswith("schedtop-db_1_a-") and one.endswith(" p99 > 20ms") for one in (begun, again))


@pytest.mark.parametrize("can", [True, False])
def test_command_is_told_where_the_paths_will_be_unless_there_are_none(tmp_path: Path, *, can: bool) -> None:
    words = ("sh", "-c", f'echo "$SCHEDTOP_PATH" > {tmp_path}/heard')
    run = Run(tmp_path, last_seconds=Seconds(can=can), commands=(words,))
    run.give([SLOW])
    run.actions.join(threading.Event())
    run.end()
    heard = (tmp_path / "heard").read_text().strip()
    assert bool(heard) == can
    if can:
        assert Path(heard).parent == tmp_path and heard.endswith("-path.json")


def test_recordings_of_one_second_have_names_of_their_own(tmp_path: Path) -> None:
    """Many programs open one at once, as two dashboards may; each has its own file, and no other is left."""
    frames, paths, together = p99_frames([SLOW]), [], threading.Barrier(16)

    def start() -> None:
        files = FileRecordings(HOST, tmp_path, [])
        together.wait()
        recorder = files.start_recording(frames)
        paths.append(recorder.path)
        files.stop_recording(recorder, "done")
        files.ended(10)

    threads = [threading.Thread(target=start) for _ in range(together.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({*paths}) == together.parties
    assert {*tmp_path.iterdir()} == {*paths}
    assert all(recorded(path) == ([1], []) for path in paths)
