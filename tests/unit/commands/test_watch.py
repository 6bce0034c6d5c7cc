"""`schedtop watch` as a user meets it, on the made-up host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import schedtop

WATCH = [sys.executable, "-m", "schedtop", "watch", "--source", "synthetic"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(schedtop.__file__).parents[1])}


def run(*arguments: str, command: list[str] = WATCH) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *arguments],
        env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip


def test_a_line_for_each_firing_and_nothing_else() -> None:
    done = run("--on", "p99 > 1ms", "--on", "steal > 8% for 2s", "--duration", "1m")
    assert (done.returncode, done.stderr) == (0, "schedtop: watching for p99 > 1ms, or steal > 8% for 2s\n")
    assert [line.split("\t")[:2] for line in done.stdout.splitlines()] == [
        ["2026-09-21T14:13:21.000000Z", "p99 > 1ms"],
        ["2026-09-21T14:13:43.000000Z", "steal > 8% for 2s"],
    ]


def test_a_condition_about_activity_has_it_measured() -> None:
    done = run("--on", "syscall_errors(comm:nginx) > 100/s", "--on", "retransmits > 1000/s", "--duration", "20s")
    assert [line.split("\t")[1] for line in done.stdout.splitlines()] == ["syscall_errors(comm:nginx) > 100/s"]
    assert "not available" not in done.stderr


def test_watch_reports_its_actions_on_stderr(tmp_path: Path) -> None:
    then = ["--then", "export", "--then", "record", "--around", "5s", "--then", "run false"]
    done = run("--on", "p99 > 1ms", *then, "--once", "--duration", "5m", "--export-dir", str(tmp_path))
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    for words in ("recording ", "exported ", "false: failed with status 1", "recorded "):
        assert f"schedtop: {words}" in done.stderr
    assert sorted("".join(path.suffixes[-2:]) for path in tmp_path.iterdir()) == [".json", ".rec.gz"]
    assert all(path.stat().st_mode & 0o077 == 0 or os.geteuid() for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("--on", "p99 > 900s", "--duration", "1m"), 3),
        (("--on", "p99 > 1ms", "--duration", "1m"), 0),
        (("--on", "p99 > 1ms", "--count", "2", "--duration", "1m"), 3),
        (("--on", "steal > 1%", "--count", "2", "--duration", "5m"), 0),
    ],
)
def test_the_status_says_whether_it_happened(arguments: tuple[str, ...], status: int) -> None:
    assert run(*arguments).returncode == status


def test_the_help_offers_only_what_it_does() -> None:
    text = " ".join(run("--help").stdout.split())
    assert "What to do then: export, record, path or 'run COMMAND'" in text
    assert "freeze" not in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "nothing to watch for: add --on"),
        (("--on", "p99 > 10"), "'--on': 'p99 > 10', column 7: 10 needs a unit (ns, us, ms or s), like 10ms"),
        (("--on", "p98 > 10ms"), "column 1: 'p98' cannot be watched; did you mean p99?"),
        (("--on", "p99 > 1ms", "--then", "freeze"), "'--then': only the dashboard can freeze"),
        (("--on", "p99 > 1ms", "--then", "exprot"), "did you mean export?"),
        (("--on", "p99 > 1ms", "--then", "run ./no-such"), "'./no-such': there is no such command"),
        (
            ("--on", "p99 > 1ms", "--then", "export", "--export-dir", "/no/such"),
            "'--export-dir': /no/such: there is no",
        ),
        (("--on", "p99 > 1ms", "--around", "1h"), "'--around': 1h is outside of 1 s to 600 s"),
        (("--on", "p99 > 1ms", "--count", "0"), "'--count'"),
        (("--on", "p99 > 1ms", "--count", "2", "--once"), "--once is --count 1"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--on", "p98 > 10ms"), "did you mean p99?"),
        (("--then", "freeze"), "--then needs --on"),
        (("--on", "p99 > 1ms", "snapshot"), "is an option of the dashboard"),
    ],
)
def test_bad_input_to_the_dashboard(arguments: tuple[str, ...], words: str) -> None:
    done = run("--source", "synthetic", *arguments, command=[sys.executable, "-m", "schedtop"])
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_watch_with_a_closed_pipe_prints_no_error() -> None:
    watch = subprocess.Popen(
        [*WATCH, "--on", "steal > 1%", "--interval", "0.2s", "--duration", "10m"],
        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert watch.stdout
    watch.stdout.close()
    assert watch.stderr
    assert watch.stderr.read().count("\n") == 1
    watch.stderr.close()
    assert watch.wait(20) == 128 + signal.SIGPIPE


def test_watch_with_a_closed_pipe_still_acts(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*WATCH, "--on", "p99 > 1ms", "--then", "export", "--duration", "1m", "--export-dir", str(tmp_path)],
            env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=30, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert "cannot write standard output: no space left on device" in done.stderr
    assert len([*tmp_path.iterdir()]) == 1
