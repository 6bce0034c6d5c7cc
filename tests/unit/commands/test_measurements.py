"""Commands that measure for a while (activity, offcpu, path, capture): what they refuse before anything is measured."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tests.unit.commands.running import run_in

FLAMES = [
    (["--min", "soon"], "not a duration"),
    (["--format", "png"], "'png' is not one of"),
    (["--pid", "0"], "from 1 on"),
    (["--pid", "999999999"], "there is no task 999999999"),
    (["--comm", ""], "empty"),
    (["--comm", "longer than the kernel keeps"], "15 bytes"),
]
"""What `offcpu` and `path` have alike."""

REFUSED = {
    "activity": [
        (["--duration", "1ms"], "outside of"),
        (["--only", "syscalls,disks"], "'disks' is none of syscalls, files, memory, network"),
        (["--sort", "speed"], "'speed' is none of"),
        (["--only", "files", "--sort", "tcp_rtt_ns"], "is not measured with this --only"),
        (["--by", "disk"], "'disk' is not one of"),
        (["--format", "svg"], "'svg' is not one of"),
        (["--pid", "999999999"], "there is no task 999999999"),
        (["--comm", ""], "empty"),
        (["--top", "0"], "from 1 on"),
    ],
    "offcpu": [
        *FLAMES,
        (["--duration", "1ms"], "outside of"),
        (["--state", "dead"], "'dead' is not one of"),
        (["--tid", "1", *["--tid", "1"] * 8], "at most 8"),
        (["--top", "0"], "from 1 on"),
    ],
    "path": [
        *FLAMES,
        (["--duration", "2h"], "outside of"),
    ],
    "capture": [
        (["--duration", "70s"], "70s is outside of"),
        (["--duration", "10ms"], "outside of"),
        (["--buffer", "1KiB"], "outside of 4 KiB to 1 GiB"),
        (["--buffer", "much"], "is not a size"),
        (["-o", "-"], "needs a name"),
        (["-o", ""], "needs a name"),
        (["-o", "trace.json", "--format", "perfetto"], "ends like a chrome trace"),
        (["--source", "synthetic"], "'synthetic' is not one of"),
    ],
}


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [(command, arguments, words) for command, refused in REFUSED.items() for arguments, words in refused],
)
def test_bad_usage(command: str, arguments: list[str], words: str, tmp_path: Path) -> None:
    done = run_in(tmp_path, command, *arguments)
    assert done.returncode == 2
    assert words in done.stderr and len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "output", "taken"),
    [
        ("activity", "out", "out"),
        ("offcpu", "out", "out"),
        ("path", "out", "out"),
        ("capture", "trace", "trace.json"),
        ("capture", "trace", "trace.perfetto-trace"),
    ],
)
def test_an_existing_file_is_seen_before_the_work(command: str, output: str, taken: str, tmp_path: Path) -> None:
    (tmp_path / taken).write_text("mine")
    done = run_in(tmp_path, command, "-o", output)
    assert done.returncode == 1
    assert f"{taken}: it exists (--force overwrites it)" in done.stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("command", ["activity", "offcpu", "path"])
def test_a_thread_is_no_process(command: str, tmp_path: Path) -> None:
    going_on = threading.Event()
    thread = threading.Thread(target=going_on.wait)
    thread.start()
    try:
        done = run_in(tmp_path, command, "--pid", str(thread.native_id))
    finally:
        going_on.set()
    assert done.returncode == 2
    assert f"is a thread of process {os.getpid()}: use --tid" in done.stderr and len(done.stderr.splitlines()) == 1
