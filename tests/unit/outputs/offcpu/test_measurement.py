"""Off-CPU data as JSON, text, folded stacks and picture."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from schedtop.base.stacks import Stack, Symbol, Waker
from schedtop.model.host import Host
from schedtop.offcpu.loss import OffCpuLoss
from schedtop.offcpu.measurement import LockHolder, OffCpu, OffCpuRow, Times, Wakers
from schedtop.outputs.offcpu.asked import Asked
from schedtop.outputs.offcpu.document import document, to_json
from schedtop.outputs.offcpu.formats import FORMATS
from schedtop.outputs.offcpu.stacks import to_folded, to_svg
from schedtop.outputs.offcpu.text import to_text
from tests import ROOT

KERNEL = Stack((Symbol("__schedule", "[kernel]", 5, True), Symbol("futex_wait", "[kernel]", 9, True)))
USER = Stack((Symbol("", "/usr/lib/libc.so.6", 0x1234, False), Symbol("ns::Lock<int>::take()", "/bin/app", 1, False)))
EVIL = "a\x1b[31m;<b>\nc"

ROWS = (
    OffCpuRow(11, 10, "worker", "app", "sleeping", USER, KERNEL, Times(4, 8_000_000, 1_000_000, 5_000_000, 1)),
    OffCpuRow(11, 10, "worker", "app", "runnable", USER, KERNEL, Times(3, 3_000, 500, 2_000)),
    OffCpuRow(
        12, 10, EVIL, "", "uninterruptible", Stack(missing="lost"), KERNEL, Times(1, 2_000_000, 2_000_000, 2_000_000),
        Waker(0, "[interrupt]", kernel=KERNEL),
    ),
    OffCpuRow(2, 2, "kworker", "kworker", "idle", Stack(), KERNEL, Times(1, 9_000_000, 9_000_000, 9_000_000, 1)),
)  # fmt: skip
DATA = OffCpu(
    Host("box", "6.18", "btf", scope="pid:10"), 1_700_000_000_000_000_000, 10_000_000, ROWS, 1_000, 7, 3_500,
    wakers=Wakers.STACKS, loss=OffCpuLoss(kernel_stacks=2), notes=("it was interrupted, and ended early",),
)  # fmt: skip


def test_json_has_the_issues_numbers() -> None:
    data = json.loads(to_json(DATA))
    assert data["schema"] == "schedtop.offcpu/1" and data["start_time"] == "2023-11-14T22:13:20.000000Z"
    assert (data["duration_ns"], data["min_ns"], data["below_min"]) == (
        10_000_000,
        1_000,
        {"count": 7, "total_ns": 3_500},
    )
    assert data["totals"]["blocked_ns"] == 10_000_000 and data["totals"]["runnable_ns"] == 3_000
    assert data["totals"]["by_state_ns"]["idle"] == 9_000_000
    assert data["totals"]["blocked"] == {
        "count": 5, "under_way": 1, "total_ns": 10_000_000, "average_ns": 2_000_000, "min_ns": 1_000_000,
        "max_ns": 5_000_000,
    }  # fmt: skip
    assert data["totals"]["by_state"]["runnable"] == {
        "count": 3, "under_way": 0, "total_ns": 3_000, "average_ns": 1_000, "min_ns": 500, "max_ns": 2_000,
    }  # fmt: skip
    assert data["top_blocking"] == [
        {"tid": 11, "comm": "worker", "blocked_ns": 8_000_000, "share": 0.8},
        {"tid": 12, "comm": "a?[31m;<b>?c", "blocked_ns": 2_000_000, "share": 0.2},
    ]
    first = data["threads"][0]
    assert (first["tid"], first["comm"], first["blocked_share_ratio"]) == (11, "worker", 0.8)
    assert first["blocked"] == {
        "count": 4, "under_way": 1, "total_ns": 8_000_000, "average_ns": 2_000_000, "min_ns": 1_000_000,
        "max_ns": 5_000_000,
    }  # fmt: skip
    assert first["uninterruptible"]["average_ns"] is None and first["uninterruptible"]["total_ns"] == 0
    assert data["loss"]["kernel_stacks"] == 2
    lost = next(row for row in data["stacks"] if row["tid"] == 12)
    assert lost["user"] == {"symbols": [], "missing": "lost", "truncated": False}
    assert lost["waker"]["tid"] == 0 and lost["waker"]["kernel"]["symbols"][0]["name"] == "__schedule"


def test_a_state_and_a_number_choose_rows() -> None:
    data = document(DATA, Asked("runnable", 1))
    assert [(row["tid"], row["state"]) for row in data["stacks"]] == [(11, "runnable")]
    assert [thread["tid"] for thread in data["threads"]] == [11]
    assert (data["thread_count"], data["stack_count"]) == (1, 1)
    assert len(document(DATA)["stacks"]) == 4


def test_text_says_what_was_measured_and_what_was_lost() -> None:
    text = to_text(DATA)
    for words in (
        "only pid:10", "over 10.0 ms", "waits of 1 µs and longer (--min 1us)", "7 shorter ones, 3.50 µs in all",
        "blocked 10.0 ms in all (sleeping 8.00 ms, uninterruptible 2.00 ms)", "runnable without a CPU 3.00 µs",
        "idle kernel threads 9.00 ms", "blocked 5 times: average 2.00 ms, min 1.00 ms, max 5.00 ms; runnable 3 times: "
        "average 1.00 µs, min 500 ns, max 2.00 µs",
        "Top threads by held up: 2 of 2", "80.0 %", "    ns::Lock<int>::take()",
        "    libc.so.6+0x1234", "    [lost]", "woken by [interrupt]", "note: it was interrupted",
        "lost: kernel stacks: 2",
    ):  # fmt: skip
        assert words in text
    assert "\x1b" not in text and "\n".join(text.splitlines()[:1]).count("schedtop") == 1
    assert "no minimum" in to_text(OffCpu(DATA.host, 0, 1, ()))


def test_folded_and_picture_hold_any_name() -> None:
    lines = to_folded(DATA).splitlines()
    assert len(lines) == 4 and all(re.fullmatch(r"[^;]+(;[^;]+)* [0-9]+", line) for line in lines)
    assert "app;worker-11;ns::Lock<int>::take();libc.so.6+0x1234;-;futex_wait;__schedule;[sleeping] 8000" in lines
    assert to_folded(DATA, Asked("uninterruptible")).count("\n") == 1
    picture = to_svg(DATA)
    assert "<svg" in picture and "\x1b" not in picture and "<b>" not in picture
    assert "only pid:10" in picture and "kernel stacks: 2" in picture
    assert set(FORMATS) == {"text", "json", "folded", "svg"}


def fields_of(data: Any) -> set[str]:
    if isinstance(data, dict):
        return set(data).union(*(fields_of(value) for key, value in data.items() if not key.startswith("by_state")))
    return set().union(*map(fields_of, data)) if isinstance(data, list) else set()


def test_the_document_names_every_field() -> None:
    page = (ROOT / "docs" / "offcpu.md").read_text()
    told = set(re.findall(r"`(\w+)`", page))
    assert not fields_of(document(DATA)) - told


EPOLL = Stack((Symbol("__schedule", "[kernel]", 5, True), Symbol("ep_poll", "[kernel]", 5, True)))
FLOCK = Stack((Symbol("locks_lock_inode_wait", "[kernel]", 5, True),))
WHOLE = Times(1, 10_000_000, 10_000_000, 10_000_000, 1)
EVERYBODY = OffCpu(
    Host("box", "6.18", "btf"), 0, 10_000_000,
    (
        *(OffCpuRow(tid, tid, "daemon", "daemon", "sleeping", USER, EPOLL, WHOLE) for tid in range(100, 200)),
        OffCpuRow(11, 10, "worker", "app", "sleeping", USER, KERNEL, Times(4, 8_000_000, 1_000_000, 5_000_000)),
        OffCpuRow(12, 12, "stuck", "stuck", "sleeping", USER, FLOCK, WHOLE),
    ),
    lock_holders={12: (LockHolder(77, "holder"),)},
)  # fmt: skip


def test_text_of_all_tasks_counts_idle_threads_without_listing_them() -> None:
    text, picture = to_text(EVERYBODY), to_svg(EVERYBODY)
    assert "Top threads by held up: 2 of 2" in text and "daemon" not in text and "ep_poll" not in text
    assert text.index("stuck") < text.index("worker")
    for words in (text, picture):
        assert "100 that only waited for work are not shown (--idle shows them)" in words
    assert "daemon" not in picture and "worker" in picture
    everything = Asked(idle=True, top=0)
    assert to_text(EVERYBODY, everything).count(" daemon (1") == 100
    assert "daemon" in to_svg(EVERYBODY, everything) and "not shown" not in to_text(EVERYBODY, everything)
    # Who asks for some threads gets them.
    assert "daemon" in to_text(replace(EVERYBODY, host=replace(EVERYBODY.host, scope="comm:daemon")))


def test_json_has_all_threads_with_what_lists_make_of_them() -> None:
    data = document(EVERYBODY, Asked(top=2))
    assert (data["thread_count"], data["idle_thread_count"], len(data["threads"])) == (102, 100, 102)
    stuck, worker, first = data["threads"][:3]
    assert (stuck["tid"], stuck["held_up_ns"], stuck["idle"], stuck["mostly_in"]) == (12, 10**7, False, "file lock")
    assert stuck["lock_holders"] == [{"pid": 77, "comm": "holder"}] and worker["lock_holders"] is None
    assert (first["idle"], first["held_up_ns"], first["mostly_in"]) == (True, 0, "epoll")
    assert [one["tid"] for one in data["top_blocking"]] == [12, 11]
    assert (len(data["stacks"]), data["stack_count"]) == (2, 102)
    assert data["stacks_left_out"] == {"count": 100, "total_ns": 10**9}
    assert len(document(EVERYBODY)["stacks"]) == 102


def test_text_names_the_lock_holder() -> None:
    assert "  the lock is held by holder-77" in to_text(EVERYBODY)


def test_stacks_that_look_the_same_are_one_in_text() -> None:
    elsewhere = Stack((replace(KERNEL.symbols[0], offset=77), KERNEL.symbols[1]))
    row = EVERYBODY.rows[100]
    text = to_text(replace(EVERYBODY, rows=(row, replace(row, kernel=elsewhere))))
    assert text.count("futex_wait") == 1 and "16.0 ms sleeping  8 waits" in text
