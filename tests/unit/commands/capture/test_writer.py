"""Captures that another process writes: the same files, the same errors, and the work is not ours."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from pathlib import Path

import pytest

from schedtop.capture.events import Capture
from schedtop.commands.capture.writer import write_capture_elsewhere
from schedtop.outputs.capture.files import write_traces
from schedtop.outputs.files import OutputError
from tests.unit.outputs.capture.test_trace import FIRST, SECOND, capture_of, switch


def long_capture(switches: int) -> Capture:
    """Two tasks in turn on one CPU."""
    tasks = (FIRST, SECOND)
    return capture_of(*(switch(index, tasks[index % 2], tasks[1 - index % 2]) for index in range(switches)))


def paths_in(directory: Path) -> dict[str, Path]:
    return {"perfetto": directory / "trace.perfetto-trace", "chrome": directory / "trace.json"}


def cpu_s(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def test_the_files_are_the_same_and_the_work_is_another_process(tmp_path: Path) -> None:
    capture = long_capture(100_000)
    own, others = cpu_s(resource.RUSAGE_SELF), cpu_s(resource.RUSAGE_CHILDREN)
    written = write_capture_elsewhere(capture, paths_in(tmp_path))
    own, others = cpu_s(resource.RUSAGE_SELF) - own, cpu_s(resource.RUSAGE_CHILDREN) - others
    assert written == list(paths_in(tmp_path).values())
    assert own < others / 5
    (tmp_path / "here").mkdir()
    for path, here in zip(written, write_traces(capture, paths_in(tmp_path / "here")), strict=True):
        assert path.read_bytes() == here.read_bytes()


def test_writer_reports_errors_as_this_process_does(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text("mine")
    with pytest.raises(OutputError, match=r"trace.json: it exists \(--force overwrites it\)$"):
        write_capture_elsewhere(long_capture(10), {"chrome": tmp_path / "trace.json"})
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("switches", [10, 300_000], ids=["all in the pipe", "some in the pipe"])
def test_a_writer_that_dies_is_one_line(switches: int, tmp_path: Path) -> None:
    """Before it has taken the capture, or later."""
    capture, before = long_capture(switches), children()
    done = threading.Event()

    def kill() -> None:
        while not done.is_set():
            for child in children() - before:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        with pytest.raises(OutputError, match=r"^cannot write the trace: its writer ended with status -9$"):
            write_capture_elsewhere(capture, paths_in(tmp_path))
    finally:
        done.set()
        thread.join()
    assert not list(tmp_path.iterdir())


def children() -> set[int]:
    found = (path.read_text().split() for path in Path("/proc/self/task").glob("*/children"))
    return {int(number) for numbers in found for number in numbers}
