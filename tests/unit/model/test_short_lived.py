"""Short-lived tasks added up: nothing is lost by merging, folding, filtering or thinning but names."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedtop.history.history import SHRINK_STEPS, History
from schedtop.history.thinning import DETAILS, WHOLE, thinned
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame, frame_bytes, merge
from schedtop.model.host import Host
from schedtop.model.rows import Rows
from schedtop.model.short_lived import (
    EXIT_UNKNOWN,
    FOLDED,
    MOST_ROWS,
    SHORT_LIVED_DTYPE,
    SORTS,
    SUMS,
    by_command,
    by_exit_code,
    by_parent,
    command_name,
    ending_words,
    exit_signal,
    exit_status,
    folded,
    merge_short_lived,
    no_short_lived,
    often,
    parent_name,
    sort_commands,
)
from schedtop.recording.fields import frame_of
from schedtop.recording.lines import frame_line
from schedtop.sources.synthetic.scheduler import Scenario, make_frame

HOST = Host("test", "6.18.0", "synthetic")


def lives(*rows: dict[str, Any]) -> Rows:
    table = np.zeros(len(rows), SHORT_LIVED_DTYPE)
    table["count"] = 1
    for index, row in enumerate(rows):
        for name, value in row.items():
            table[name][index] = value
    return table


def many(count: int) -> Rows:
    return lives(*({"comm": f"job-{number}".encode(), "run_ns": number, "count": 2} for number in range(count)))


def frame(rows: Rows | None = None, number: int = 0) -> Frame:
    made = make_frame(Scenario(), number, np.random.default_rng(number))
    return made if rows is None else replace(made, short_lived=rows)


def sums(rows: Rows) -> tuple[int, ...]:
    return tuple(int(rows[name].sum()) for name in SUMS)


def test_alike_ones_are_added_and_others_are_not() -> None:
    one = {"comm": b"sh", "parent": b"make", "parent_tgid": 7, "count": 3, "run_ns": 10, "max_wait_ns": 5}
    rows = merge_short_lived([lives(one), no_short_lived(), lives(one | {"max_wait_ns": 9}, one | {"exit_code": 256})])
    assert len(rows) == 2
    good = rows[rows["exit_code"] == 0][0]
    assert (good["count"], good["run_ns"], good["max_wait_ns"], good["parent_tgid"]) == (6, 20, 9, 7)
    for different in ({"parent": b"sh"}, {"is_thread": 1}, {"cgroup_id": 4}, {"pid_namespace": 4}):
        assert len(merge_short_lived([lives(one), lives(one | different)])) == 2


def test_several_parents_of_one_name_have_no_number() -> None:
    rows = merge_short_lived([lives({"comm": b"ls", "parent": b"sh", "parent_tgid": tgid}) for tgid in (7, 8)])
    assert rows["parent_tgid"].tolist() == [0]
    # A number that was lost once does not come back.
    assert merge_short_lived([rows, lives({"comm": b"ls", "parent": b"sh", "parent_tgid": 8})])["parent_tgid"] == 0


names = st.sampled_from([b"a", b"b", b"a name of 15 by", b"a name of 15 bz", b""])
life = st.fixed_dictionaries(
    {
        "comm": names,
        "parent": names,
        "exit_code": st.sampled_from([-1, 0, 256, 9]),
        "is_thread": st.integers(0, 1),
        "parent_tgid": st.integers(0, 2),
        "count": st.integers(1, 5),
        "run_ns": st.integers(0, 1000),
        "max_wait_ns": st.integers(0, 100),
    }
)


@given(st.lists(st.lists(life, max_size=6), min_size=1, max_size=5))
def test_merging_in_any_grouping_is_the_same(tables: list[list[dict[str, Any]]]) -> None:
    parts = [lives(*table) for table in tables]
    at_once = merge_short_lived(parts)
    stepwise = no_short_lived()
    for part in parts:
        stepwise = merge_short_lived([stepwise, part])
    assert at_once.tolist() == stepwise.tolist()
    assert sums(at_once) == sums(np.concatenate(parts))
    commands = by_command(at_once)
    assert tuple(int(commands[name].sum()) for name in SUMS) == sums(at_once)
    ends = sum(int(commands[name].sum()) for name in ("succeeded", "failed", "killed", "unknown"))
    assert ends == int(at_once["count"].sum())


def test_folding_loses_names_alone() -> None:
    rows = np.concatenate((many(MOST_ROWS + 100), lives({"comm": b"t", "is_thread": 1, "count": 4})))
    few = folded(rows)
    assert len(few) == MOST_ROWS + 2
    assert sums(few) == sums(rows)
    rest = few[few["exit_code"] == FOLDED]
    assert sorted(rest["count"].tolist()) == [4, 200]
    assert set(rest["comm"]) == {b""}
    assert b"job-0" not in few["comm"], "those that ran least go first"
    assert folded(few) is few
    assert command_name(by_command(few)[0]) == "(other commands)"


def test_a_command_has_its_parents_and_endings() -> None:
    rows = lives(
        {"comm": b"sh", "parent": b"make", "parent_tgid": 7, "count": 9},
        {"comm": b"sh", "parent": b"make", "parent_tgid": 7, "count": 4, "exit_code": 1 << 8},
        {"comm": b"sh", "parent": b"cron", "parent_tgid": 3, "count": 2, "exit_code": 9},
        {"comm": b"sh", "parent": b"sh", "count": 30, "is_thread": 1, "exit_code": EXIT_UNKNOWN},
        {"comm": b"ls", "count": 1, "exit_code": EXIT_UNKNOWN},
    )
    threads, shell, ls = by_command(rows)
    assert (threads["is_thread"], threads["count"], threads["unknown"]) == (1, 30, 30)
    assert [int(shell[name]) for name in ("count", "succeeded", "failed", "killed", "unknown")] == [15, 9, 4, 2, 0]
    assert parent_name(shell) == "make (7) +1"
    assert parent_name(ls) == ""
    own = rows[:3]
    assert [(parent.comm, parent.tgid, parent.count) for parent in by_parent(own)] == [
        (b"make", 7, 13),
        (b"cron", 3, 2),
    ]
    assert by_exit_code(own) == [(0, 9), (256, 4), (9, 2)]
    assert not len(by_command(no_short_lived()))
    for key in SORTS:
        ordered = sort_commands(by_command(rows), key)[key].tolist()
        assert ordered == sorted(ordered, reverse=True)


@pytest.mark.parametrize(
    ("code", "status", "number", "words"),
    [
        (0, 0, None, "exit 0"),
        (3 << 8, 3, None, "exit 3"),
        (255 << 8, 255, None, "exit 255"),
        (int(signal.SIGKILL), None, 9, "SIGKILL"),
        (int(signal.SIGSEGV) | 0x80, None, 11, "SIGSEGV"),  # with a core dump
        (63, None, 63, "signal 63"),
        (EXIT_UNKNOWN, None, None, "?"),
    ],
)
def test_wait_statuses_are_read_as_the_shell_does(
    code: int, status: int | None, number: int | None, words: str
) -> None:
    assert (exit_status(code), exit_signal(code)) == (status, number)
    assert ending_words(status, number) == words


def test_a_window_has_those_of_its_intervals() -> None:
    frames = [frame(number=number) for number in range(10)]
    whole = merge(frames)
    assert sums(whole.short_lived) == tuple(
        sum(parts) for parts in zip(*map(sums, (f.short_lived for f in frames)), strict=True)
    )


def test_filter_holds_for_names_groups_and_parents() -> None:
    history = History(HOST, [frame()])

    def shown(words: str, **more: Any) -> set[bytes]:
        return set(history.view(ViewSettings(filter=Filter.parse(words), **more)).short_lived["comm"].tolist())

    assert shown("") == {b"sh", b"curl", b"gzip", b"java"}
    assert shown("comm:zip") == {b"gzip"}
    assert shown("tgid:4248") == shown("4248") == {b"sh"}
    assert shown("cgroup:nginx") == {b"sh", b"curl"}
    assert shown("cpu:1") == shown("")
    assert shown("pidns:1") == set()
    assert shown("", hidden_tgids=(5120,)) == {b"sh", b"curl", b"java"}


def test_a_recorded_frame_has_them_and_an_old_one_says_that_it_has_not() -> None:
    made = frame(lives({"comm": b"\xff\x01", "parent": b"sh", "exit_code": EXIT_UNKNOWN, "count": 2**40}))
    fields = json.loads(frame_line(made))
    times = {name: getattr(made, name) for name in ("start_time_ns", "end_ns", "interval_ns", "threshold_ns")}
    read = frame_of(fields, times, made.cgroups)
    assert read.short_lived.tolist() == made.short_lived.tolist()
    assert "short_lived" not in read.unavailable
    del fields["short_lived"]
    for column in ("parent", "parent_tgid", "exit_code", "ended"):
        fields["tasks"].pop(column, None)
    old = frame_of(fields, times, made.cgroups)
    assert not len(old.short_lived)
    assert "did not count them" in old.unavailable["short_lived"]
    fields["short_lived"] = {"rows": 1, "exit_code": [-3]}
    with pytest.raises(ValueError, match="exit code"):
        frame_of(fields, times, made.cgroups)


def test_rates_are_read_whole() -> None:
    counts = (0, 3, 62, 1200, 99_999, 120_000)
    assert [often(count, 10**9) for count in counts] == ["×0/s", "×3/s", "×62/s", "×1,200/s", "×99,999/s", "×120k/s"]
    assert often(3, 2 * 10**9) == "×1.5/s"
    assert often(1, 0) == "×-/s"


def test_a_storm_leaves_room_for_the_time_before_it() -> None:
    history, first = History(HOST), frame()
    storm = np.zeros(5000, first.tasks.dtype)
    storm["ended"] = 1
    storm["run_ns"] = 1 + np.arange(5000)
    living = first.tasks.copy()
    for second in range(300):
        storm["tid"] = storm["start_ns"] = 10_000 + second * 5000 + np.arange(5000)
        rows = np.concatenate((living, storm))
        history.append(replace(first, tasks=rows, end_ns=second * 10**9, start_time_ns=second * 10**9))
    frames = history.frames
    assert sum(map(frame_bytes, frames)) <= history.keep_bytes
    assert len(frames) >= 50
    assert max(each.interval_ns for each in frames) <= 20 * 10**9
    assert sum(each.interval_ns for each in frames) == 300 * 10**9
    # What lives on is in each of them, and nothing is forgotten without being counted.
    assert all(np.isin(living["tid"], each.tasks["tid"]).all() for each in frames)
    assert all(len(each.tasks) == 5040 for each in list(frames)[-3:])
    told = sum(np.count_nonzero(each.tasks["ended"]) + each.loss.tasks_forgotten for each in frames)
    assert told == 300 * 5000
    assert history.copy().view(ViewSettings()).frame.tasks.size == 5040


def test_the_begin_of_a_storm_costs_one_frame_no_more_than_any_other() -> None:
    history, first = History(HOST), frame()
    storm = np.zeros(30_000, first.tasks.dtype)
    storm["ended"] = 1
    for second in range(590):
        history.append(replace(first, end_ns=second * 10**9, start_time_ns=second * 10**9))
    before = len(history.frames)
    for second in range(590, 620):
        tasks = np.concatenate((first.tasks, storm)) if second == 590 else first.tasks
        history.append(replace(first, tasks=tasks, end_ns=second * 10**9, start_time_ns=second * 10**9))
        assert before + 1 - len(history.frames) <= SHRINK_STEPS, "the screen waits for each of them"
        before = len(history.frames)
    assert sum(map(frame_bytes, history.frames)) <= history.keep_bytes


def test_a_storm_of_ten_minutes_keeps_its_counts_in_bounded_memory() -> None:
    rows, history = many(2000), History(HOST)
    every = replace(frame(folded(rows)), tasks=np.zeros(3000, frame().tasks.dtype))
    for second in range(600):
        history.append(replace(every, end_ns=second * 10**9, start_time_ns=second * 10**9))
    assert sum(frame_bytes(each) for each in history.frames) <= history.keep_bytes
    kept = sum(int(each.short_lived["count"].sum()) for each in history.frames)
    seconds = sum(each.interval_ns for each in history.frames) // every.interval_ns
    assert kept == seconds * 4000
    old = thinned(every)
    assert len(old.short_lived) <= DETAILS[WHOLE].short_lived + 1
    assert sums(old.short_lived) == sums(rows)
