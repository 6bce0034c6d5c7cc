"""`schedtop doctor` on the real kernel: as root, without rights, without tracefs, and its errors in other commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import schedtop
from schedtop.checks.tracefs import tracefs
from schedtop.sources.kernel.cache_directory import DIRECTORY_VARIABLE
from schedtop.sources.kernel.findings import privileges
from schedtop.sources.kernel.findings.repairs import schedtop_as_root

pytestmark = pytest.mark.beside

COMMAND = [sys.executable, "-m", "schedtop"]
UNMOUNT = "for place in /sys/kernel/tracing /sys/kernel/debug; do umount -l $place 2>/dev/null; done"
Examined = dict[str, Future[subprocess.CompletedProcess[str]]]
CAPS = "cap_bpf,cap_perfmon,cap_sys_admin"


def run(*arguments: str, prefix: tuple[str, ...] = (), **variables: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(Path(schedtop.__file__).parents[1]), *sys.path])
    return subprocess.run(
        [*prefix, *COMMAND, *arguments],
        env=os.environ | {"PYTHONPATH": paths} | variables,
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip


def without_tracefs() -> tuple[str, ...]:
    return ("unshare", "--mount", "--propagation", "private", "sh", "-c", f'{UNMOUNT}; exec "$@"', "-")


ORDINARY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
DROPPED = ("capsh", f"--drop={CAPS}", "--", "-c", 'exec "$@"', "-")
IN_A_NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc")


@pytest.fixture(scope="module")
def examined() -> Iterator[Examined]:
    """The doctor's JSON in each surrounding. It mostly waits for its self-tests, so that they run side by side."""
    nowhere = {"HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"}
    with ThreadPoolExecutor(3) as pool:
        yield {
            "root": pool.submit(run, "doctor", "--json"),
            "namespace": pool.submit(run, "doctor", "--json", prefix=IN_A_NAMESPACE),
            "ordinary": pool.submit(run, "doctor", "--json", prefix=("nice", *ORDINARY), **nowhere),
        }


def states(done: subprocess.CompletedProcess[str]) -> tuple[dict[str, Any], dict[str, str]]:
    assert done.stderr == ""
    data = json.loads(done.stdout)
    assert data["status"] == done.returncode
    return data, {one["name"]: one["state"] for one in data["findings"] if one["group"] != "self_test_proc"}


def test_the_self_test_reconciles_with_the_kernel(examined: Examined) -> None:
    data, found = states(examined["root"].result())
    assert data["status"] == 0 and data["counts"]["missing"] == 0
    tested = {one["name"]: one for one in data["findings"] if one["group"] == "self_test"}
    assert tested["source"]["state"] == found["sched_switch"] == found["capabilities"] == "ok"
    assert tested["source"]["details"]["source"] == "btf"
    # Whatever the load: over the whole life of the workload nothing may be lost.
    for name in ("workload_voluntary", "workload_forced", "workload_timeslices"):
        assert tested[name]["state"] == "ok", tested[name]
    # A wait that ends with a switch that the kernel does not report is lost, and only such a one.
    delay = tested["workload_run_delay"]
    assert delay["state"] == "ok" or "did not report" in delay["lost"]
    assert delay["details"]["ours"] > 0.5 * delay["details"]["kernel"] > 0
    assert tested["workload_voluntary"]["details"]["ours"] > 0
    assert tested["switches"]["state"] != "missing"
    switch = next(one for one in data["findings"] if one["name"] == "sched_switch")
    fields = {field["name"]: field for field in switch["details"]["fields"]}
    text = Path("/sys/kernel/tracing/events/sched/sched_switch/format").read_text()
    assert f"prev_pid;\toffset:{fields['prev_pid']['offset']};\tsize:{fields['prev_pid']['size']};" in text


def test_doctor_without_tracefs_works_through_btf() -> None:
    data, found = states(run("doctor", "--json", "--no-self-test", prefix=without_tracefs()))
    assert (data["status"], found["tracefs"], found["sched_switch"]) == (0, "degraded", "ok")
    started = run("snapshot", "--source", "tracepoint", prefix=without_tracefs())
    assert started.stderr == f"schedtop: {tracefs((Path('/none'),))[0].error}\n"


def test_doctor_and_start_report_missing_rights() -> None:
    data, found = states(run("doctor", "--json", "--no-self-test", prefix=DROPPED))
    assert (data["status"], data["first"], found["capabilities"]) == (1, "capabilities", "missing")
    error = privileges.programs(frozenset(), first=True).error
    # With programs that were compiled before, and with a compiler that makes their maps.
    for variables in ({}, {DIRECTORY_VARIABLE: ""}):
        started = run("snapshot", "--source", "btf", prefix=DROPPED, **variables)
        assert (started.returncode, started.stderr) == (1, f"schedtop: {error}\n")


def test_doctor_names_the_command_to_an_ordinary_user(examined: Examined) -> None:
    data, found = states(examined["ordinary"].result())
    assert (data["status"], data["first"], found["source"]) == (1, "capabilities", "missing")
    polled = {one["name"]: one["state"] for one in data["findings"] if one["group"] == "self_test_proc"}
    assert {polled.get(name) for name in ("source", "workload_voluntary", "workload_run_delay")} == {"ok"}, data
    assert found["tracefs"] == found["perf_event_paranoid"] == "degraded"
    assert next(one for one in data["findings"] if one["name"] == "capabilities")["repair"] == schedtop_as_root()


def test_doctor_finds_capabilities_of_a_user_namespace_worthless() -> None:
    prefix = ("unshare", "--user", "--map-root-user")
    done = run("doctor", "--no-self-test", prefix=prefix)
    if done.returncode and "unshare" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 1
    assert "missing   user_namespace" in done.stdout and "outside of the user namespace" in done.stdout


def test_self_test_in_a_pid_namespace_finds_its_load_by_name(examined: Examined) -> None:
    data, found = states(examined["namespace"].result())
    assert (data["status"], found["workload_voluntary"], found["pid_namespace"]) == (0, "ok", "ok")
