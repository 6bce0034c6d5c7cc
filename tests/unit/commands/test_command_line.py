"""The command line as a user meets it: a process of its own, the made-up host, and bad input."""

import csv
import fcntl
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import schedtop
from schedtop import cli
from schedtop.cli import options
from schedtop.model.rows import GROUPS

COMMAND = [sys.executable, "-m", "schedtop"]
SNAPSHOT = [*COMMAND, "snapshot", "--source", "synthetic"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(schedtop.__file__).parents[1])}


def run(*arguments: str, command: list[str] = SNAPSHOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *arguments],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def test_json_is_all_that_standard_output_holds() -> None:
    done = run("--duration", "2500ms", "--tasks", "3")
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert data["schema"] == "schedtop.snapshot/1"
    assert data["interval_ns"] == 2_499_999_999
    assert len(data["tasks"]) == 3


def test_text_and_csv() -> None:
    report = run("--format", "text", "--duration", "1s")
    assert report.stdout.startswith(f"schedtop {schedtop.__version__}  host synthetic")
    lines = io.StringIO(run("--format", "csv", "--tasks", "all").stdout)
    rows = list(csv.DictReader(line for line in lines if not line.startswith("# ")))
    assert len(rows) == 40


def test_filters_and_threshold_reach_the_data() -> None:
    chosen = ["--tid", "4240", "--tid", "4241", "--pid", "4240", "--comm", "STRESS", "--cpu", "0", "--cpu", "1"]
    data = json.loads(run(*chosen, "--threshold", "1ms").stdout)
    assert data["threshold_ns"] == 1_000_000
    assert data["filters"] == {
        "comm": ["STRESS"],
        "tid": [4240, 4241],
        "tgid": [4240],
        "cpu": [0, 1],
        "tid_or_tgid": [],
        "cgroup": [],
        "pid_namespace": [],
        "class": [],
        "not_tgid": [],
        "scope": "",
    }
    assert [task["tid"] for task in data["tasks"]] == [4240]


def test_a_file_is_written_once_and_again_only_with_force(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    assert run("-o", str(path)).stdout == ""
    first = path.read_text()
    again = run("-o", str(path), "--tasks", "1")
    assert (again.returncode, again.stdout, path.read_text()) == (1, "", first)
    assert again.stderr == f"schedtop: cannot write {path}: it exists (--force overwrites it)\n"
    assert run("-o", str(path), "--tasks", "1", "--force").returncode == 0
    assert len(json.loads(path.read_text())["tasks"]) == 1
    assert os.listdir(tmp_path) == ["snapshot.json"]


def test_a_file_that_cannot_be_written_is_said_before_anything_is_collected(tmp_path: Path) -> None:
    done = run("-o", str(tmp_path / "no" / "x"), "--source", "btf")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"schedtop: {tmp_path}/no: there is no such directory\n"


def test_a_full_disk_behind_standard_output() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(SNAPSHOT, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "schedtop: cannot write standard output: no space left on device\n"


def small_pipe(process: subprocess.Popen[bytes]) -> None:
    """Makes the pipe behind a process so small that it blocks."""
    assert process.stdout
    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)


def test_a_reader_that_leaves_is_no_error() -> None:
    with subprocess.Popen(SNAPSHOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        small_pipe(process)
        assert process.stdout
        assert process.stderr
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 141


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_signal_ends_a_write_that_blocks(number: signal.Signals, status: int) -> None:
    with subprocess.Popen(SNAPSHOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        small_pipe(process)
        assert process.stdout
        assert process.stderr
        process.stdout.read(1)
        time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(30) == status
        assert process.stderr.read() == b""


def test_a_signal_that_was_ignored_stays_so() -> None:
    command = ["nohup", *SNAPSHOT]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        small_pipe(process)
        assert process.stdout
        start = process.stdout.read(1)
        process.send_signal(signal.SIGHUP)
        assert json.loads(start + process.stdout.read())["schema"]
        assert process.wait(30) == 0


BAD = [
    (("--duration", "soon"), "'soon' is not a duration"),
    (("--duration", "1ms"), "1ms is outside of 100 ms to 600 s"),
    (("--duration", "9" * 400), "9 is outside of 100 ms to 600 s"),
    (("--threshold", "9us"), "9us is outside of 10 µs to 100 s"),
    (("--threshold", "101s"), "101s is outside of 10 µs to 100 s"),
    (("--threshold", "5"), "'5' needs a unit"),
    (("--source", "magic"), "'magic' is not one of"),
    (("--format", "xml"), "'xml' is not one of"),
    (("--tasks", "-1"), "'-1' is not a number (or all)"),
    (("--tasks", "some"), "'some' is not a number (or all)"),
    (("--tid", "abc"), "'abc' is not a number"),
    (("--pid", "-5"), "'-5' is not a number"),
    (("--cpu", "²"), "'²' is not a number"),
    (("--comm", ""), "the name is empty"),
    (("-o", ""), "the name is empty"),
    (("--nothing",), "No such option"),
    (("surplus",), "unexpected extra argument"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=lambda value: " ".join(value)[:30] if value else "")
def test_bad_input_is_one_line_and_status_2(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str], signals_kept: None
) -> None:
    assert cli.main(["snapshot", "--source", "synthetic", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.startswith("schedtop: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--interval", "0.1"), "0.1 is outside of 200 ms to 60 s"),
        (("--interval", "61s"), "61s is outside of 200 ms to 60 s"),
        (("--export-dir", "/no/such"), "/no/such: there is no such directory"),
        (("--export-dir", "/proc/version"), "is not a directory"),
        (("wait",), "No such command 'wait'"),
        (("--interval", "2", "snapshot"), "--interval before `snapshot` is an option of the dashboard"),
        (("--export-dir", "/", "snapshot"), "--export-dir before `snapshot`"),
    ],
)
def test_bad_input_to_the_dashboard(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str], signals_kept: None
) -> None:
    assert cli.main(list(arguments)) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert words in err


@pytest.fixture
def signals_kept() -> Iterator[None]:
    """Gives the signals back that a command has taken in this process."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def test_bad_input_ends_the_process_with_status_2_too() -> None:
    done = run("--threshold", "1us")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_the_dashboard_needs_a_terminal() -> None:
    done = run(command=COMMAND)
    assert (done.returncode, done.stdout) == (1, "")
    assert "schedtop snapshot" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_version() -> None:
    assert run("--version", command=COMMAND).stdout == f"schedtop {schedtop.__version__}\n"


def test_groups_are_those_that_tasks_can_be_added_up_by() -> None:
    assert [name.replace("pidns", "pid namespace") for name in options.GROUP_NAMES] == [*GROUPS]
    data = json.loads(run("--group", "pidns", "--duration", "1s").stdout)
    assert {group["by"] for group in data["groups"]} == {"pid namespace"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--cgroup", "/no/such/group"), "no/such/group"),
        (("--pidns", "nothing"), "'nothing' is no PID"),
        (("--group", "color"), "'color' is not one of"),
    ],
)
def test_a_group_that_is_not_there_is_one_line(arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_is_quick_because_it_loads_nothing_slow() -> None:
    show = "import sys; from schedtop.cli import main; main(['--help']); print(sorted(sys.modules))"
    done = run("-c", show, command=[sys.executable])
    assert "snapshot" in done.stdout
    assert not {name for name in ("numpy", "textual", "rich", "bcc", "tomlkit") if f"'{name}'" in done.stdout}


def test_help_does_not_advertise_the_made_up_host() -> None:
    assert "synthetic" not in run("snapshot", "--help", command=COMMAND).stdout


CRASH = """
import sys
from schedtop import cli
from schedtop.run import headless
def fail(*args, **kwargs):
    raise ZeroDivisionError("one\\ntwo")
headless.take_snapshot = fail
sys.exit(cli.main(["snapshot"]))
"""


def test_an_internal_error_is_one_line_and_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "TMPDIR", str(tmp_path))
    done = run("-c", CRASH, command=[sys.executable])
    (log,) = tmp_path.iterdir()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"schedtop: internal error: ZeroDivisionError: one two; please report it with {log}\n"
    assert "Traceback" in log.read_text()
