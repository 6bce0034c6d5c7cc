"""What can go wrong between us and the kernel: each gives one line that says what to do, or less to see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from schedtop.model.source import SourceError
from schedtop.sources.host import proc
from schedtop.sources.kernel import front_end as front_ends
from schedtop.sources.kernel.bcc_child import DISTRIBUTION
from schedtop.sources.kernel.cache_directory import DIRECTORY_VARIABLE
from schedtop.sources.kernel.early_compiler import bcc_command
from schedtop.sources.kernel.front_end import FrontEnd, choose_front_end
from schedtop.sources.kernel.program_text import source_directory
from schedtop.sources.scheduler import programs as bpf
from schedtop.sources.scheduler.programs import Programs, build
from schedtop.sources.scheduler.source import LiveSource
from schedtop.sources.task.front_end import choose_task_front_end
from schedtop.sources.task.programs import TaskPrograms
from tests.bcc.checks import ATOMIC_ADD, atomics

pytestmark = pytest.mark.beside

NS_PER_MS = 1_000_000


def named_log(error: SourceError) -> str:
    """The text of the log that an error names."""
    path = Path(str(error).rsplit(" ", 1)[1])
    text = path.read_text()
    path.unlink()
    return text


def test_a_compile_error_names_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    text = bpf.program_text
    monkeypatch.setattr(
        bpf, "program_text", lambda *where: text(*where) + "\nint broken(void *ctx) { return nonsense; }"
    )
    with pytest.raises(SourceError) as failure:
        build(choose_front_end(), proc.possible_cpus())
    assert len(str(failure.value).splitlines()) == 1
    assert "nonsense" in named_log(failure.value)


def test_a_refusal_by_the_verifier_names_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    text = bpf.program_text
    wild = "int btf_sched_switch(u64 *ctx)\n{\n\tif (*(u64 *)(ctx[3] + 8) == 1)\n\t\treturn 1;\n"
    monkeypatch.setattr(
        bpf, "program_text", lambda *where: text(*where).replace("int btf_sched_switch(u64 *ctx)\n{\n", wild)
    )
    front_end = choose_front_end("btf")
    compiled = build(front_end, proc.possible_cpus())
    with pytest.raises(SourceError, match="verifier") as failure:
        Programs(front_end, compiled, threshold_ns=5 * NS_PER_MS)
    assert "R" in named_log(failure.value)


def test_no_header_comes_from_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(DIRECTORY_VARIABLE, "")
    (tmp_path / "linux").mkdir()
    for header in (source_directory() / "include/linux").iterdir():
        (tmp_path / "linux" / header.name).write_text("#error not ours\n")
    assert build(choose_front_end(), proc.possible_cpus()).programs


def snapshot_without_own_bcc(hidden: Path, *prefix: str) -> subprocess.CompletedProcess[str]:
    """A snapshot by an interpreter that has no bcc, as in an environment without the system's packages."""
    (hidden / "bcc.py").write_text("raise ImportError('hidden by a test')\n")
    return subprocess.run(
        [*prefix, sys.executable, "-m", "schedtop", "snapshot", "--duration", "300ms", "--format", "json"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(hidden), *sys.path]), DIRECTORY_VARIABLE: ""},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_bcc_of_the_distribution_will_do(tmp_path: Path) -> None:
    run = snapshot_without_own_bcc(tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    taken = json.loads(run.stdout)
    assert taken["source"] in ("btf", "tracepoint") and taken["totals"]["switches"] > 0


def test_start_without_bcc_names_the_packages(tmp_path: Path) -> None:
    binding = json.loads(subprocess.run(bcc_command("about"), capture_output=True, check=True).stdout)["binding"]
    (empty := tmp_path / "empty").mkdir()
    script = 'mount --bind "$0" "$1" && shift && exec "$@"'
    private = ("unshare", "--mount", "--propagation", "private", "sh", "-c", script, str(empty))
    run = snapshot_without_own_bcc(tmp_path, *private, str(Path(binding).parent))
    assert run.returncode == 1
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == 1
    assert "python3-bpfcc" in run.stderr and DISTRIBUTION in run.stderr


def test_no_program_needs_atomics_of_newer_kernels(front_end: str) -> None:
    """Before 5.12 there is only the addition that gives nothing back (Documentation/bpf/standardization)."""
    task = TaskPrograms(choose_task_front_end(front_end), proc.possible_cpus())
    task.close()
    for compiled in (task._compiled, build(choose_front_end(front_end), proc.possible_cpus())):
        assert atomics(compiled) == {ATOMIC_ADD}


def test_start_without_btf_falls_back_to_tracepoints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(front_ends, "KERNEL_BTF", tmp_path / "vmlinux")
    assert choose_front_end().name == "tracepoint"
    with pytest.raises(SourceError, match="--source tracepoint"):
        choose_front_end("btf")


@pytest.mark.parametrize(
    "hidden", [("sched_migrate_task",), ("sched_waking", "sched_wakeup_new", "sched_process_exec")]
)
def test_a_missing_tracepoint_takes_only_what_needs_it(
    monkeypatch: pytest.MonkeyPatch, front_end: str, hidden: tuple[str, ...]
) -> None:
    if front_end == "tracepoint":
        read = front_ends.read_fields
        missing = {f"sched:{event}" for event in hidden}
        monkeypatch.setattr(front_ends, "read_fields", lambda fs, event: None if event in missing else read(fs, event))
    else:
        has = front_ends.Btf.has_typedef
        types = {f"btf_trace_{event}" for event in hidden}
        monkeypatch.setattr(front_ends.Btf, "has_typedef", lambda btf, name: name not in types and has(btf, name))
    with LiveSource(200 * NS_PER_MS, 5 * NS_PER_MS, front_end) as source:
        frame = next(islice(source.frames(threading.Event()), 2, None))
    assert frame.total("switches") > 0
    assert len(frame.tasks)
    for event in hidden:
        assert event in frame.unavailable[front_ends.LOST_WITHOUT[event]]


def test_start_without_sched_switch_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_ends, "read_fields", lambda *_: None)
    with pytest.raises(SourceError, match="sched_switch"):
        choose_front_end("tracepoint")


def test_a_front_end_says_what_is_missing() -> None:
    front_end = FrontEnd("btf", ("-DTASK_EXIT_CODE_OFFSET=8",), {"sched_switch": 1}, ("sched_waking",))
    why = "this kernel has no tracepoint sched_waking"
    assert front_end.unavailable == {"latency": why, "run_delay": why}
    assert set(FrontEnd("tracepoint", (), {}, ("sched_wakeup_new",)).unavailable) == {
        "exit_codes",
        "new tasks",
        "short_lived",
    }
    assert set(replace(front_end, missing=("sched_process_exit",)).unavailable) == {"exits", "exit_codes"}
