"""In real namespaces: the kernel programs' numbers are the host's, /proc has those of the container, or does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from loads import ended, python

from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.source import SourceError
from schedtop.outputs.scheduler.snapshot import snapshot
from schedtop.sources.scheduler.source import LiveSource
from schedtop.sources.scope import Scope

PROGRAM = """
import json, os, subprocess, sys, threading
from schedtop.commands.opening import _own_tgid
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.outputs.scheduler.snapshot import snapshot
from schedtop.sources.scheduler.source import LiveSource
from schedtop.sources.scheduler.names import allowed_cpus
from schedtop.sources.kernel.pid_numbers import pid_numbers
from schedtop.sources.scope import Scope, find_scope

stop, said = threading.Event(), {}
asleep = subprocess.Popen(["sleep", "60"])
busy = subprocess.Popen(["sh", "-c", "while :; do sleep 0.01; done"])
ticks = "import time\\nwhile True: time.sleep(0.01)"
others = [subprocess.Popen([sys.executable, "-I", "-S", "-c", ticks]) for _ in range(2)]
os.sched_setaffinity(asleep.pid, {0})
for source in sys.argv[1:]:
    with LiveSource(300_000_000, 1_000_000, source) as live:
        frame = next(live.frames(stop))
        said[source] = snapshot(History(live.host, [frame]).view(ViewSettings(hidden_tgids=(_own_tgid(source),))))
numbers = pid_numbers()
pids = {name: process.pid for name, process in (("asleep", asleep), ("busy", busy))}
if not numbers.for_calls:  # this /proc has the host's numbers for what we have started
    children = open(f"/proc/self/task/{os.readlink('/proc/self')}/children").read().split()
    pids = {open(f"/proc/{pid}/comm").read().strip(): int(pid) for pid in children}
    pids = {"asleep": pids["sleep"], "busy": pids["sh"]}
scope = find_scope((pids["asleep"], pids["busy"]), (), (), None, None)
try:
    affinity_outside = list(allowed_cpus(1))
except OSError:
    affinity_outside = None
json.dump({"own": numbers.own, "pid": os.getpid(), "pids": list(scope.tgids), "snapshots": said,
           "inside": [numbers.inside(pid) for pid in scope.tgids], "outside": numbers.inside(1),
           "affinity": list(allowed_cpus(scope.tgids[0])), "affinity_outside": affinity_outside}, sys.stdout)
print(flush=True)
sys.stdin.read()
for process in (asleep, busy, *others):
    process.kill()
"""

CAPABILITIES = ["setpriv", "--bounding-set=-all,+bpf,+perfmon", "--inh-caps=-all,+bpf,+perfmon"]
"""As root in a container that has these alone."""


@contextmanager
def within(*unshare: str, sources: tuple[str, ...] = ("btf",)) -> Iterator[dict[str, Any]]:
    """What the program says in such namespaces; while it lasts all processes are there to be compared with."""
    command = ["unshare", *unshare, "--fork", *CAPABILITIES, sys.executable, "-c", PROGRAM, *sources]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(20)


def comm(pid: int) -> str:
    """A name as the host's /proc has it, empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().rstrip("\n")
    except OSError:
        return ""


def numbers_of(pid: int) -> list[int]:
    """A process's numbers in its namespaces, from the host's on (NSpid of man 5 proc)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next([int(number) for number in line.split()[1:]] for line in lines if line.startswith("NSpid:"))


def check_names(data: dict[str, Any]) -> int:
    """Every name of a process is its own or absent; how many could be compared."""
    compared = 0
    for task in data["tasks"]:
        name = comm(task["tgid"])
        # A child may have been between fork and exec then.
        if name and task["process"] and comm(task["tid"]):
            compared += 1
            # A worker of the kernel has more of a name in /proc.
            assert name.startswith(task["process"]) or name in ("sleep", "sh"), task
    return compared


def test_numbers_of_the_host_are_translated_in_a_pid_namespace() -> None:
    kinds = ("--pid", "--mount-proc", "--mount", "--uts", "--ipc", "--cgroup")
    with within(*kinds, sources=("btf", "tracepoint")) as found:
        assert numbers_of(found["own"])[1:] == [found["pid"]]
        assert [comm(pid) for pid in found["pids"]] == ["sleep", "sh"]
        assert [numbers_of(pid)[1] for pid in found["pids"]] == found["inside"]
        assert found["outside"] == 0  # the host's init is not the container's
        assert (found["affinity"], found["affinity_outside"]) == ([0], None)
        for data in found["snapshots"].values():
            assert data["notes"][0] == "tids are the host's, not those of this pid namespace"
            assert check_names(data) > 2
            tasks = {task["tid"]: task for task in data["tasks"]}
            assert tasks[found["pids"][1]]["process"] == "sh"
            assert data["filters"]["not_tgid"] == [found["own"]]
            assert found["own"] not in {task["tgid"] for task in data["tasks"]}


def test_the_hosts_proc_in_a_pid_namespace_has_the_hosts_numbers() -> None:
    # Affinity is told of tasks that wait.
    loops = [python("while True: pass") for _ in range(1 + (os.cpu_count() or 1))]
    with ended(*loops), within("--pid") as found:
        assert numbers_of(found["own"]) == [found["own"], found["pid"]]
        assert [comm(pid) for pid in found["pids"]] == ["sleep", "sh"]
        assert found["inside"] == found["pids"]
        assert found["affinity"] == [0]
        data = found["snapshots"]["btf"]
        assert data["notes"] == [note for note in data["notes"] if "tids" not in note]
        assert check_names(data) > 2
        assert found["own"] not in {task["tgid"] for task in data["tasks"]}
        assert os.cpu_count() in {task["allowed_cpus"] for task in data["tasks"]}


def test_each_front_end_tells_the_pid_namespace_or_that_it_cannot(collect: Callable[..., Any]) -> None:
    """The number of a namespace, or none: not that of another one."""
    own = os.stat("/proc/self/ns/pid").st_ino
    for front_end, told in (("btf", own), ("tracepoint", None)):
        with collect(front_end, threshold_ns=1000) as collector:
            time.sleep(0.3)
        view = History(collector.source.host, collector.frames).view(ViewSettings(group="pid namespace"))
        data = snapshot(view)
        assert {task["pid_namespace"] for task in data["tasks"] if task["tgid"] == os.getpid()} == {told}
        if told is None:
            assert {task["pid_namespace"] for task in [*data["tasks"], *data["slow_waits"]]} == {None}
            assert [(group["id"], group["name"]) for group in data["groups"]] == [(0, "?")]


@pytest.mark.beside
def test_a_scope_by_pid_namespace_is_refused_where_no_event_tells_it() -> None:
    scope = Scope(pid_namespace=os.stat("/proc/self/ns/pid").st_ino)
    source = LiveSource(10**8, 10**6, "tracepoint", scope=scope)
    with pytest.raises(SourceError, match="--pidns needs a kernel with BTF"), source:
        pass


def run(*unshare: str, command: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """A shell command in namespaces; `$schedtop` runs ours."""
    environment = os.environ | {"schedtop": f"{sys.executable} -m schedtop"} | more
    return subprocess.run(
        ["unshare", *unshare, "--fork", "sh", "-c", command],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
    )


@pytest.mark.beside
def test_impossible_commands_in_a_namespace_are_one_clear_line() -> None:
    asked = run("--user", "--map-root-user", command="$schedtop snapshot --source btf --duration 0.2s")
    assert (asked.returncode, asked.stdout) == (1, "")
    assert "user namespace" in asked.stderr and asked.stderr.count("\n") == 1
    kinds = ("--pid", "--mount-proc")
    asked = run(*kinds, command="$schedtop snapshot --pid 4000000; $schedtop task 1 --duration 0.2s")
    number, seen = asked.stderr.splitlines()
    assert "no task 4000000 in this pid namespace" in number
    assert "--pid=host" in seen and not asked.stdout
