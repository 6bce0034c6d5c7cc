"""The past of the activity screen: windows, steps, bounds, and what a window adds up to."""

from __future__ import annotations

import numpy as np
import pytest

from schedtop.activity.activity import Activity, total
from schedtop.activity.history import KEEP_NS, ActivityHistory
from schedtop.activity.view import ActivitySettings
from schedtop.base.units import NS_PER_S
from schedtop.model.activity import Call
from tests.unit.activity.made import activity, row


def second(number: int, calls: int = 1) -> Activity:
    """The second that ends at `number`."""
    return activity(
        row(5, 5, syscalls=calls, syscall_max_ns=number),
        start_time_ns=(number - 1) * NS_PER_S,
        end_ns=number * NS_PER_S,
        connections=row(5, 5, tcp_connections=number),
    )


def test_total_adds_counts_and_takes_the_last_gauges() -> None:
    one = total([second(1, 3), second(2, 4), second(3, 5)])
    assert one.rows["syscalls"].tolist() == [12] and one.rows["syscall_max_ns"].tolist() == [3]
    assert one.connections["tcp_connections"].tolist() == [3]
    assert (one.start_time_ns, one.end_ns, one.interval_ns) == (0, 3 * NS_PER_S, 3 * NS_PER_S)
    assert one.transitions["SYN_SENT", "ESTABLISHED"] == 12
    assert one.loss.events_untracked == 6
    assert [(call.name, call.count, call.errors["EAGAIN"]) for call in one.syscalls] == [("read", 9, 3)]
    added = second(1, 3) + second(2, 4)
    assert added.rows["syscalls"].tolist() == [7] and added.interval_ns == 2 * NS_PER_S


def test_total_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no interval"):
        total([])


def test_total_has_the_calls_of_the_process_that_is_selected_now() -> None:
    calls = (Call("write", 2, 0, 20, 15),)
    seconds = [activity(selected_tgid=tgid, selected_syscalls=calls) for tgid in (7, 5, 5)]
    one = total(seconds)
    assert one.selected_tgid == 5
    assert [(call.name, call.count, call.total_ns) for call in one.selected_syscalls] == [("write", 4, 40)]


@pytest.mark.parametrize(("window_s", "seconds"), [(1, 1), (10, 10), (60, 20)])
def test_window_reaches_back_as_far_as_there_is(window_s: int, seconds: int) -> None:
    history = ActivityHistory(second(number) for number in range(1, 21))
    view = history.view(ActivitySettings(window_ns=window_s * NS_PER_S))
    assert view.activity.interval_ns == seconds * NS_PER_S and view.rows["syscalls"].tolist() == [seconds]
    assert view.behind_ns is None


def test_window_of_a_second_takes_one_interval_that_is_a_little_shorter() -> None:
    short = [activity(row(5, 5, syscalls=1), interval_ns=NS_PER_S - 10_000_000, end_ns=n * NS_PER_S) for n in (1, 2)]
    assert ActivityHistory(short).view(ActivitySettings()).rows["syscalls"].tolist() == [1]


def test_step_stays_within_bounds_and_the_view_says_how_far_it_is_behind() -> None:
    history = ActivityHistory(second(number, number) for number in range(1, 6))
    assert history.step(5 * NS_PER_S, -2) == 3 * NS_PER_S
    assert history.step(5 * NS_PER_S, -100) == NS_PER_S and history.step(NS_PER_S, 100) == 5 * NS_PER_S
    view = history.view(ActivitySettings(), 3 * NS_PER_S, 9 * NS_PER_S)
    assert view.rows["syscalls"].tolist() == [3] and view.behind_ns == 6 * NS_PER_S


def test_copy_stays_as_it_was() -> None:
    history = ActivityHistory([second(1)])
    copy = history.copy()
    history.append(second(2))
    assert (len(copy), len(history)) == (1, 2) and copy.latest_ns == NS_PER_S


def test_old_intervals_go_and_the_reason_is_told() -> None:
    history = ActivityHistory([second(1), second(2)])
    assert history.beginning == "it was opened here"
    history.append(second(2 + KEEP_NS // NS_PER_S))
    assert len(history) == 2 and history.beginning == "10 minutes are kept"


def test_history_is_bounded_in_bytes_and_keeps_the_newest() -> None:
    many = np.concatenate([row(tid, tid, syscalls=1) for tid in range(1, 101)])
    storm = [activity(many, end_ns=number * NS_PER_S) for number in range(1, 10)]
    history = ActivityHistory(storm, keep_bytes=3 * many.nbytes)
    assert len(history) == 3 and history.latest_ns == 9 * NS_PER_S and "too much" in history.beginning
    assert len(ActivityHistory(storm, keep_bytes=1)) == 1


def test_view_without_intervals_is_an_error() -> None:
    with pytest.raises(ValueError, match="no data"):
        ActivityHistory().view(ActivitySettings())
