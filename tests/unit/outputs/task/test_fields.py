"""A TaskFrame as data and as text: every field is in the document, what is missing is said, names cannot steer."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from schedtop.base.histogram import Histogram
from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.entitlement.report import report_on
from schedtop.model.host import Host
from schedtop.model.rows import SLOW_WAIT_DTYPE
from schedtop.model.waits import WokenBy
from schedtop.outputs.task.fields import to_json
from schedtop.outputs.task.states import STRIP_COLUMNS
from schedtop.outputs.task.text import to_text
from schedtop.task import (
    Attributes,
    Column,
    ConnectionChange,
    CpuUse,
    Faults,
    Io,
    OngoingCall,
    Peer,
    Quota,
    SlowCall,
    StateTimes,
    Syscall,
    TaskFrame,
    TaskLoss,
    Thread,
    Traffic,
    Transition,
)
from tests import ROOT
from tests.unit.entitlement.contenders import compete, contender

DOCUMENT = (ROOT / "docs/task.md").read_text(encoding="utf-8")
HOST = Host("host", "6.1", "btf")


def make_task() -> TaskFrame:
    """One with something in every part."""
    wait = np.zeros(1, SLOW_WAIT_DTYPE)
    wait["tid"], wait["tgid"], wait["comm"], wait["wait_ns"] = 7, 7, b"victim", 30 * NS_PER_MS
    wait["time_ns"] = 1_700_000_000 * NS_PER_S + 40 * NS_PER_MS
    wait["blocker_tid"][0, 0], wait["blocker_comm"][0, 0], wait["blocker_ns"][0, 0] = 8, b"hog", 20 * NS_PER_MS
    wait["covered_ns"], wait["waker_tid"], wait["waker_comm"] = 20 * NS_PER_MS, 9, b"waker"
    states = StateTimes(100 * NS_PER_MS, 200 * NS_PER_MS, 300 * NS_PER_MS, 100 * NS_PER_MS, 0, 300 * NS_PER_MS)
    return TaskFrame(
        start_time_ns=1_700_000_000 * NS_PER_S,
        end_ns=NS_PER_S,
        interval_ns=NS_PER_S,
        tid=7,
        tgid=7,
        whole_process=True,
        comm="victim",
        process="victim",
        states=states,
        strip=(Column(NS_PER_S, states),),
        waits=Histogram.of([1000, 30 * NS_PER_MS]),
        wakers=(Peer(9, "waker", 5), Peer(0, "", 2), Peer(0, "", 1, woken_by=WokenBy.SOFTIRQ)),
        wakees=(Peer(10, "wakee", 4), Peer(12, "reader", 3, woken_by=WokenBy.SOFTIRQ)),
        preemptors=(Peer(8, "hog", 3, 30 * NS_PER_MS),),
        cpus=(CpuUse(1, 100 * NS_PER_MS, 12),),
        migrations=2,
        voluntary_switches=10,
        involuntary_switches=3,
        attributes=Attributes("0-3", 4, "fifo", 50, 0, "/web", Quota("/", NS_PER_MS, 2 * NS_PER_MS, 10, 4, 5)),
        slow_waits=wait,
        syscalls=(Syscall(0, "read", 4, 900, 500, 300, MappingProxyType({"EAGAIN": 2})),),
        slow_calls=(SlowCall(1_700_000_000 * NS_PER_S, 7, 0, "read", 500, 300, -11, "EAGAIN"),),
        ongoing=(OngoingCall(7, 202, "futex", NS_PER_S, True), OngoingCall(11, 202, "futex", 5)),
        faults=Faults(11, 1, 12_000),
        io=(Io("file", "read", 4, 4096, 900, 1),),
        traffic=(Traffic("tcp", "ipv4", 1000, 2, 3000, 4),),
        connections=(ConnectionChange(NS_PER_S, "tcp", "CLOSED", "SYN_SENT", "127.0.0.1:0", "127.0.0.1:80"),),
        transitions=(Transition("CLOSED", "SYN_SENT", 1),),
        threads=(Thread(7, "victim", states, "running", 5, 1), Thread(11, "two", states, "ended", exit_code=0)),
        entitlement=report_on(compete(contender(7, 5, used=0.246), contender(8, used=0.754)), {7}),
        command_line="/usr/bin/victim --flag",
    )


def names_of(data: Any) -> set[str]:
    """All field names, at any depth."""
    if isinstance(data, dict):
        return set(data) | {name for value in data.values() for name in names_of(value)}
    if isinstance(data, list):
        return {name for value in data for name in names_of(value)}
    return set()


@pytest.mark.parametrize(("ended_ms", "before_ms"), [(40, 0), (30, 0), (10, 20), (0, 30)])
def test_a_wait_from_before_the_report_says_how_much_of_it(ended_ms: int, before_ms: int) -> None:
    """It is listed whole, and may be longer than the report: the states have only what lies within."""
    task = make_task()
    task.slow_waits["time_ns"] = task.start_time_ns + ended_ms * NS_PER_MS
    (wait,) = json.loads(to_json(task, HOST, NS_PER_MS))["slow_waits"]
    assert (wait["wait_ns"], wait["before_ns"]) == (30 * NS_PER_MS, before_ms * NS_PER_MS)
    words = re.findall(r"It began (\S+ ms) before this report", to_text(task, HOST, NS_PER_MS))
    assert words == ([f"{before_ms}.0 ms"] if before_ms else [])


def test_every_field_is_in_the_document() -> None:
    data = json.loads(to_json(make_task(), HOST, NS_PER_MS))
    data["syscalls"][0]["errors"] = data["unavailable"] = {}
    bucket = {"low_ns", "high_ns"}  # of a snapshot's histogram
    missing = {name for name in names_of(data) - bucket if not re.search(rf"`{name}`", DOCUMENT)}
    task_references = {"run_ns"}
    assert missing - task_references == set()
    fields = DOCUMENT.partition("## JSON")[2]
    rows = [line.partition(" | ")[0] for line in fields.splitlines() if line.startswith("|")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(data)


def test_task_json_can_be_read_back() -> None:
    data = json.loads(to_json(make_task(), HOST, NS_PER_MS))
    assert data["schema"] == "schedtop.task/1"
    assert data["start_time"].startswith("2023-11-14T22:13:20")
    assert data["syscalls"][0]["errors"] == {"EAGAIN": 2}
    assert data["slow_waits"][0]["blockers"] == [{"tid": 8, "comm": "hog", "run_ns": 20 * NS_PER_MS}]
    assert data["slow_waits"][0]["blockers_cover_ratio"] == pytest.approx(2 / 3, abs=1e-5)
    assert data["attributes"]["quota"]["throttled_periods"] == 4
    assert [peer["woken_by"] for peer in data["wakers"]] == ["task", "interrupt", "softirq"]
    assert [peer["woken_by"] for peer in data["wakees"]] == ["task", "softirq"]


def test_entitlement_is_told_with_its_action() -> None:
    found = json.loads(to_json(make_task(), HOST, NS_PER_MS))["entitlement"]
    assert (found["conclusion"], found["got_cpus"]) == ("weights", 0.246)
    assert found["entitled_cpus"] == pytest.approx(335 / 1359, abs=1e-6)
    assert found["action"] == {"command": "renice -n 0 -p 7", "expected_cpus": 0.5, "reason": None}
    assert [rival["tid"] for rival in found["rivals"]] == [8]
    told = to_text(make_task(), HOST, NS_PER_MS)
    assert "By weight: entitled to 24.7 % of a CPU, got 24.6 %: it is the weights, not the scheduler" in told
    assert "  to change it: renice -n 0 -p 7 (then 50.0 % of a CPU)" in told
    bare = replace(make_task(), entitlement=None)
    assert json.loads(to_json(bare, HOST, NS_PER_MS))["entitlement"] is None
    assert "By weight" not in to_text(bare, HOST, NS_PER_MS)


def test_unavailable_field_is_null_with_a_reason() -> None:
    parts = ("throttled", "syscalls", "network", "connections", "slow waits", "wakers", "migrations")
    task = replace(make_task(), unavailable=MappingProxyType(dict.fromkeys(parts, "no such luck")))
    data = json.loads(to_json(task, HOST, None))
    for name in ("syscalls", "slow_syscalls", "ongoing_syscalls", "io", "network", "connections", "slow_waits"):
        assert data[name] is None
    assert data["states"]["throttled_ns"] is None
    assert data["migrations"] is None
    told = to_text(task, HOST, None)
    assert f"not available: {', '.join(parts)}: no such luck" in told
    assert "throttled  " not in told
    assert "Now in" not in told


def test_the_text_says_it_all() -> None:
    told = to_text(make_task(), HOST, NS_PER_MS)
    for words in (
        "Process 7 (victim), all 2 threads",
        "/usr/bin/victim --flag",
        "policy fifo  priority 50",
        "quota 1 ms in each 2 ms (cgroup /): throttled in 4 of 10 periods",
        "Woken by: waker (9) ×5, an interrupt ×2, an interrupt (softirq) ×1",
        "Wakes: wakee (10) ×4, reader (12, softirq) ×3",
        "hog (8) ×3, 30.0 ms",
        "EAGAIN ×2",
        "futex (2 threads, at least 1.00 s so far)",
        "11 minor, 1 major, 12.0 µs",
        "tcp over ipv4: sent 1000 B in 2",
        "SYN_SENT",
        "nothing was lost",
    ):
        assert words in told
    assert max(map(len, told.splitlines())) < 250


def test_text_names_the_process_of_the_threads() -> None:
    task = make_task()
    told = to_text(replace(task, threads_started=1), HOST, None)
    assert "Process 7 (victim), all 2 threads, 1 of them started meanwhile\n" in told
    assert "Process 7 (victim), its only thread\n" in to_text(replace(task, threads=task.threads[:1]), HOST, None)
    alone = replace(task, whole_process=False)
    assert "Task 7 (victim), this thread alone\n" in to_text(replace(alone, process_threads=1), HOST, None)
    told = to_text(replace(alone, process_threads=2, threads_started=390), HOST, None)
    assert "this thread alone: the process has 2 threads and started 390 meanwhile (--process)\n" in told
    told = to_text(replace(alone, tid=11, process_threads=2), HOST, None)
    assert "Task 11 (victim), this thread of process 7 (victim) alone: the process has 2 threads" in told


def test_threads_have_their_run_time() -> None:
    told = to_text(make_task(), HOST, None)
    assert re.search(r"^ *7  victim  running +100 ms +200 ms +10.0 %", told, re.MULTILINE)


def test_connections_are_summed_up_first() -> None:
    counted = (
        Transition("SYN_RECV", "ESTABLISHED", 1500),
        Transition("FIN_WAIT_2", "CLOSED", 1400),
        Transition("LAST_ACK", "CLOSED", 99),
        Transition("SYN_SENT", "ESTABLISHED", 3),
        Transition("SYN_SENT", "CLOSED", 2),
        Transition("LISTEN", "CLOSED", 1),
    )
    change = ConnectionChange(NS_PER_S, "tcp", "CLOSED", "SYN_SENT", "127.0.0.1:0", "127.0.0.1:80")
    told = to_text(replace(make_task(), transitions=counted, connections=(change,) * 50), HOST, None)
    assert "Connections: 3 opened, 1,500 accepted, 1,499 closed, 2 failed" in told
    assert "changes to ESTABLISHED 1503, CLOSED 1502" in told
    assert "the last changes: 10 of 3005" in told
    assert told.count("SYN_SENT  -      127.0.0.1:80") == 10


def test_a_call_that_has_just_begun_has_no_time() -> None:
    task = replace(make_task(), ongoing=(OngoingCall(7, 202, "futex", 0),))
    assert "Now in: futex\n" in to_text(task, HOST, None)


def test_an_end_before_its_time_has_a_reason() -> None:
    task = make_task()
    assert json.loads(to_json(task, HOST, None))["ended_early"] is None
    assert json.loads(to_json(task, HOST, None, "it was interrupted"))["ended_early"] == "it was interrupted"
    killed = replace(task, ended=True, exit_code=-9)
    assert json.loads(to_json(killed, HOST, None))["ended_early"] == "it has ended by signal 9"
    assert json.loads(to_json(replace(killed, exit_code=None), HOST, None))["ended_early"] == "it has ended"


def test_ends_are_told() -> None:
    task = make_task()
    assert "ended with status 3" in to_text(replace(task, ended=True, exit_code=3), HOST, None)
    assert "ended by signal 9" in to_text(replace(task, ended=True, exit_code=-9), HOST, None)
    assert "it was interrupted" in to_text(task, HOST, None, "it was interrupted")
    assert "lost: events missed: 3" in to_text(replace(task, loss=TaskLoss(events_missed=3)), HOST, None)


def test_a_long_strip_is_drawn_in_few_columns() -> None:
    task = make_task()
    told = to_text(replace(task, strip=task.strip * 1000), HOST, None)
    bars = re.search(r"running .*\|(.*)\|", told)
    assert bars
    assert 0 < len(bars[1]) <= STRIP_COLUMNS


def test_a_name_cannot_steer_the_terminal() -> None:
    evil = "x\x1b[2J"
    task = make_task()
    task = replace(task, comm=evil, process=evil, whole_process=False, tid=11, wakers=(Peer(9, evil, 1),))
    task = replace(task, threads=(replace(task.threads[0], comm=evil),))
    assert "\x1b" not in to_text(task, HOST, None)
