"""The session's nice value, over a made-up /proc; the real one is in tests/root."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from schedtop.base import session_nice
from schedtop.base.session_nice import Process, SessionNice, ancestors, calm_at_first, used_between

OWN, SHELL, SUDO = 30, 10, 20


def process(parent: int, cpu_s: float, age_s: float = 100.0) -> Process:
    return parent, cpu_s, age_s


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionNice:
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "autogroup").write_text("/autogroup-13 nice 0\n")
    one = SessionNice(str(tmp_path))
    monkeypatch.setattr(one, "others", dict)
    monkeypatch.setattr(session_nice.os, "geteuid", lambda: 0)
    one.begin()
    return one


def value(session: SessionNice) -> str:
    return Path(session._file).read_text()


def kernel_writes(session: SessionNice, nice: int) -> None:
    """What the kernel makes of the number that was written."""
    Path(session._file).write_text(f"/autogroup-13 nice {nice}\n")


def test_session_is_raised_and_given_back(session: SessionNice) -> None:
    session.take(-10)
    assert value(session) == "-10"
    kernel_writes(session, -10)
    session.give_back()
    assert (value(session), session.raised) == ("0", False)


def test_session_that_is_raised_further_already_is_left_alone(session: SessionNice) -> None:
    kernel_writes(session, -15)
    session.take(-10)
    session.give_back()
    assert value(session) == "/autogroup-13 nice -15\n"


def test_what_a_killed_schedtop_has_left_is_given_back(session: SessionNice) -> None:
    kernel_writes(session, -10)
    session.take(-10)
    kernel_writes(session, -10)
    session.give_back()
    assert value(session) == "0"


def test_value_that_another_program_has_set_meanwhile_stays(session: SessionNice) -> None:
    session.take(-10)
    kernel_writes(session, 5)
    session.give_back()
    assert value(session) == "/autogroup-13 nice 5\n"


def test_suspended_session_is_not_taken_before_it_goes_on(session: SessionNice) -> None:
    session.take(-10)
    kernel_writes(session, -10)
    with session.given_back():
        assert value(session) == "0"
        kernel_writes(session, 0)
        session.take(-10)
        assert value(session) == "/autogroup-13 nice 0\n"
    assert value(session) == "-10"


def test_session_that_was_not_raised_is_not_raised_by_going_on(session: SessionNice) -> None:
    with session.given_back():
        pass
    assert value(session) == "/autogroup-13 nice 0\n"


def test_session_is_not_taken_after_the_end(session: SessionNice) -> None:
    session.end()
    session.take(-10)
    assert value(session) == "/autogroup-13 nice 0\n"


def test_session_is_given_back_if_it_ends_while_a_thread_takes_it(
    session: SessionNice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended between the thread's look and its write: the process was gone, and the session stayed raised."""
    looked, ended = threading.Event(), threading.Event()
    done = []

    def write(nice: int) -> None:
        if nice == -10:
            looked.set()
            ended.wait(0.05)
        kernel_writes(session, nice)
        done.append(nice)

    monkeypatch.setattr(session, "_write", write)
    thread = threading.Thread(target=session.take, args=(-10,))
    thread.start()
    looked.wait()
    session.end()
    done_by_then = done.copy()
    ended.set()
    thread.join()
    assert done_by_then == done == [-10, 0], "the process would be gone, and its session raised"
    assert value(session) == "/autogroup-13 nice 0\n"


def test_kernel_without_groups_by_session_raises_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="group"):
        SessionNice(str(tmp_path)).begin()


def test_others_are_found_in_a_real_session_without_ourselves() -> None:
    """In a session of its own: that of the tests may have begun outside of their namespace of processes."""
    leader = """
import os, signal
from schedtop.base.session_nice import SessionNice
neighbour = os.fork() or signal.pause()
own = os.fork()
if own:
    os.waitpid(own, 0)
    os.kill(neighbour, 9)
else:
    started = os.fork() or signal.pause()
    others = SessionNice().others()
    os.kill(started, 9)
    print([pid in others for pid in (neighbour, os.getpid(), started)], flush=True)
    print(all(cpu_s >= 0 and age_s >= 0 for _, cpu_s, age_s in others.values()), flush=True)
    os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", leader], start_new_session=True, capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["[True, False, False]", "True"], done.stderr


def test_all_processes_are_looked_at_only_when_one_has_been_started(tmp_path: Path) -> None:
    for name in ("7", "12", "self"):
        (tmp_path / name).mkdir()
    session = SessionNice(str(tmp_path))
    found = []
    for newest in (12, 12, 13):
        (tmp_path / "loadavg").write_text(f"0.00 0.01 0.05 1/80 {newest}\n")
        found.append(sorted(session._candidates()))
        session._pids = ["7"]
    assert found == [["12", "7"], ["7"], ["12", "7"]]


@pytest.mark.skipif(os.geteuid() != 0, reason="a namespace of processes of its own needs root")
def test_session_that_began_outside_of_our_namespace_is_left_alone() -> None:
    code = "from schedtop.base.session_nice import SessionNice; SessionNice().others()"
    unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
    done = subprocess.run([*unshare, sys.executable, "-c", code], capture_output=True, text=True)
    assert "OSError: the session began outside of our namespace" in done.stderr


def test_shell_and_sudo_wait_for_us_whatever_they_did_before() -> None:
    others = {SHELL: process(1, 90), SUDO: process(SHELL, 50)}
    assert calm_at_first(others, OWN, SUDO)
    assert not calm_at_first(others, OWN, 1), "they are not our ancestors"


@pytest.mark.parametrize(
    ("others", "calm"),
    [
        ({}, True),
        ({40: process(SHELL, 1)}, True),  # an editor that is stopped
        ({40: process(SHELL, 50)}, False),
        ({pid: process(SHELL, 0.3, 10) for pid in range(40, 60)}, False),  # many that get little each
        ({40: process(SHELL, 0.05, 0.05)}, True),  # what reads our output has just started
    ],
)
def test_session_is_calm_if_the_rest_takes_little(others: dict[int, Process], calm: bool) -> None:
    assert calm_at_first({SHELL: process(1, 90), **others}, OWN, SHELL) == calm


def test_work_of_ended_children_counts_once() -> None:
    earlier = {SHELL: process(1, 1), 40: process(SHELL, 3)}
    assert used_between(earlier, {SHELL: process(1, 4.5)}) == 0.5
    assert used_between(earlier, {40: process(SHELL, 3)}) == 0


def test_ancestors_end_at_the_session_and_at_a_circle() -> None:
    assert ancestors(OWN, {OWN: process(SUDO, 0), SUDO: process(SHELL, 0), SHELL: process(1, 0)}) == [SUDO, SHELL]
    assert ancestors(1, {1: process(2, 0), 2: process(1, 0)}) == [2, 1]
