"""Blame: the rows and what is not in them are exactly all waits, in every grouping and both modes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from schedtop.base.units import format_ns
from schedtop.history.view import View, ViewSettings
from schedtop.model.counts import Attribution
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.rows import GROUPS, PAIR_DTYPE
from schedtop.model.short_lived import SHORT_LIVED_DTYPE
from schedtop.model.waits import CAUSES
from schedtop.panes.scheduler.blame.pane import BlamePane
from schedtop.panes.scheduler.blame.rows import FIELDS, account, with_short_turns
from tests.unit.panes.conftest import MakeView
from tests.unit.panes.screen import OnePane, assert_drawn_whole, assert_widths, lines, text
from tests.unit.ui.drive import until

SIZES = [(80, 24), (120, 40), (160, 48), (200, 60), (40, 8), (24, 4)]


def sum_of(view: View) -> int:
    made = account(view)
    return int(made.pairs[FIELDS[view.settings.blame][0]].sum()) + made.rest_ns


@pytest.mark.parametrize("blame", FIELDS)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("frames", [1, 10])
def test_the_sum_of_all_rows_is_the_run_delay_of_all_ended_waits(
    blame: str, group: str, frames: int, make_view: MakeView
) -> None:
    settings = ViewSettings(blame=blame, group=group, window_ns=frames * 10**9)
    view = make_view(settings=settings, frames=frames)
    assert account(view).total_ns == view.frame.ended_wait_ns == sum_of(view)
    hidden = make_view(settings=replace(settings, hidden_tgids=(4240, 4244)), frames=frames)
    assert account(hidden).total_ns == hidden.frame.ended_wait_ns == sum_of(hidden)
    assert "hidden tasks" in {part.words for part in account(hidden).rest}


@pytest.mark.parametrize("blame", FIELDS)
def test_blame_adds_up_even_if_its_parts_contradict(blame: str, make_view: MakeView) -> None:
    def change(frame):  # type: ignore[no-untyped-def]
        return replace(frame, attribution=Attribution(10**12, 5, 7, 9, 11, 13))

    view = make_view(settings=ViewSettings(blame=blame), change=change)
    assert account(view).total_ns == sum_of(view)


@pytest.mark.parametrize("blame", FIELDS)
def test_pairs_above_the_total_leave_no_negative_rest(blame: str, make_view: MakeView) -> None:
    """In an old recording a wait may be in the pairs of this interval and the total of the one before."""

    def change(frame):  # type: ignore[no-untyped-def]
        pairs = frame.pairs.copy()
        pairs[FIELDS[blame][0]] *= 1000
        return replace(frame, pairs=pairs)

    made = account(make_view(settings=ViewSettings(blame=blame), change=change))
    assert made.rest_ns == 0
    assert all(part.ns > 0 for part in made.rest)


def test_under_a_filter_the_whole_is_what_its_victims_waited(make_view: MakeView) -> None:
    """It was what its pairs stand for: 4 ms beside a run delay of 14."""

    def longer(frame: Frame) -> Frame:
        rows = frame.tasks.copy()
        rows["run_delay_ns"] *= 1000
        return replace(frame, tasks=rows)

    settings = ViewSettings(filter=Filter.parse("nginx"))
    for view in (make_view(settings=settings), make_view(settings=settings, change=longer)):
        made, in_pairs = account(view), int(view.pairs["blocked_ns"].sum())
        assert {row["victim_name"] for row in made.pairs} == {b"nginx"}
        assert made.total_ns == max(in_pairs, view.tasks["run_delay_ns"].sum()) > 0
        assert made.rest_ns == sum(part.ns for part in made.rest) == made.total_ns - in_pairs
    assert made.rest and made.total_ns == view.tasks["run_delay_ns"].sum()
    assert {row["comm"] for row in view.tasks} == {b"nginx"}


def test_the_order_is_that_of_time_or_of_count(make_view: MakeView) -> None:
    by_time = account(make_view()).pairs
    assert (np.diff(by_time["blocked_ns"]) <= 0).all()
    by_count = account(make_view(settings=ViewSettings(pair_sort="count", blame="preemptor"))).pairs
    assert (np.diff(by_count["preemptions"]) <= 0).all()


def throttled(frame: Frame) -> Frame:
    """The first two slow waits are for a quota: all of the first, and a millisecond of the second."""
    rows = frame.slow_waits.copy()
    rows["cause"][:2], rows["evidence"][:2] = CAUSES.index("throttled"), 0
    rows["wait_ns"][:2], rows["throttled_ns"][:2] = 5_000_000, (0, 1_000_000)
    rows["cause"][2:] = CAUSES.index("preemption")
    return replace(frame, slow_waits=rows)


async def test_waits_for_a_quota_stand_outside_of_the_sum(make_view: MakeView) -> None:
    pane = BlamePane()
    async with OnePane(pane).run_test(size=(80, 24)) as pilot:
        view = make_view(change=throttled)
        pane.show(view)
        await pilot.pause()
        assert account(view).total_ns == account(make_view()).total_ns
        (line,) = [line for line in text(pilot.app).splitlines() if "for a quota" in line]
        assert re.search("not in the sum: waits for a quota +6.00 ms +-", line)
        pane.show(make_view(change=lambda frame: replace(frame, slow_waits=frame.slow_waits[:0])))
        await pilot.pause()
        assert "for a quota" not in text(pilot.app)


def test_a_quota_is_named_at_a_glance_where_it_cost_more_than_any_task(make_view: MakeView) -> None:
    """The strip blamed the service that its own quota held."""
    few = make_view(change=lambda frame: replace(throttled(frame), pairs=frame.pairs[:0]))
    assert "".join(text for text, _ in BlamePane().view_glance(few)) == "a quota 6.00 ms"
    assert not "".join(text for text, _ in BlamePane().view_glance(make_view(change=throttled))).startswith("a quota")


async def test_a_quota_that_cost_more_than_any_task_stands_first(make_view: MakeView) -> None:
    """It was the last line, below pairs that hardly cost anything; a click finds the pair that is seen there."""
    few = make_view(change=lambda frame: throttled(replace(frame, pairs=frame.pairs[-2:])))
    pane = BlamePane()
    async with OnePane(pane).run_test(size=(80, 24)) as pilot:
        pane.show(few)
        await pilot.pause()
        assert pane.rows is not None
        head, first = lines(pilot.app)[1:3]  # the border is on top
        assert head.strip("│ ").startswith("victim") and "for a quota" in first
        shown = lines(pilot.app)
        for row in (3, 4):
            await pilot.click(pane, offset=(5, row))
            assert pane.selected_key is not None and f"({pane.selected_key[0]})" in shown[row]
        pane.clear_selection()
        await pilot.click(pane, offset=(5, 2))
        assert pane.selected_key is None, "no pair"


async def test_the_task_that_the_verdict_is_about_comes_first(make_view: MakeView) -> None:
    pane, view = BlamePane(), make_view()
    everywhere = account(view).pairs
    notable = everywhere[everywhere["blocked_ns"] >= 0.01 * everywhere["blocked_ns"].max()]
    last = int(notable["victim_id"][-1])
    assert last != everywhere["victim_id"][0]
    async with OnePane(pane).run_test(size=(120, 40)) as pilot:
        pane.look_at(last)
        pane.show(view)
        await pilot.pause()
        assert pane.rows is not None and len(pane.rows) == len(everywhere)
        times = pane.rows["blocked_ns"].astype(np.int64)
        first = int(np.flatnonzero(pane.rows["victim_id"] != last)[0])
        assert 1 <= first <= 3, "its own lines, and no more than three"
        assert (times[:first] >= 0.01 * times.max()).all()
        assert (np.diff(times[first:]) <= 0).all(), "the others as ever"


def storm(frame: Frame) -> Frame:
    """Short-lived tasks of one name that waited, and held the CPU; one of that name lives on, as does their parent."""
    pairs = frame.pairs[:1].repeat(30)
    pairs["victim_tid"] = pairs["victim_tgid"] = pairs["other_tid"] = pairs["other_tgid"] = 9000 + np.arange(30)
    pairs["victim_comm"], pairs["other_comm"] = b"cat", b"make"
    pairs["other_tid"] = pairs["other_tgid"] = 8000
    pairs[20:]["other_comm"] = b"cat"
    pairs[20:]["other_tid"] = pairs[20:]["other_tgid"] = 9000 + np.arange(5, 15)
    tasks = frame.tasks[:2].copy()
    tasks["tid"] = tasks["tgid"] = 8000, 9029
    short = np.zeros(1, SHORT_LIVED_DTYPE)
    short["comm"], short["parent"], short["count"] = b"cat", b"make", 40
    return replace(frame, pairs=pairs, short_lived=short, tasks=np.concatenate((frame.tasks, tasks)))


async def test_the_many_tasks_of_a_storm_are_lines_by_name(make_view: MakeView) -> None:
    pane = BlamePane()
    async with OnePane(pane).run_test(size=(120, 24)) as pilot:
        pane.show(make_view(change=storm))
        await pilot.pause()
        screen = text(pilot.app)
        for line in (r"cat ×20 +make \(8000\) ", r"cat ×9 +cat ×9 ", r"cat \(9029\) +cat ×1 "):
            assert re.search(line, screen), line
        assert len(account(make_view(change=storm)).pairs) == 3
        few = make_view(change=lambda frame: replace(storm(frame), short_lived=storm(frame).short_lived[:0]))
        assert len(account(few).pairs) == 30
        by_cgroup = make_view(change=storm, settings=ViewSettings(group="cgroup"))
        assert not account(by_cgroup).pairs["victim_tasks"].any()
        assert account(make_view(change=storm)).total_ns == account(few).total_ns


def in_short_turns(frame: Frame) -> Frame:
    """Of what the task of the first pair waits, its pairs know a tenth; the rest went to many, mostly to cc1."""
    tasks, pairs, short = frame.tasks.copy(), frame.pairs.copy(), np.zeros(2, SHORT_LIVED_DTYPE)
    victim = int(pairs["victim_tid"][0])
    known = int(pairs["blocked_ns"][pairs["victim_tid"] == victim].sum())
    tasks["run_delay_ns"][tasks["tid"] == victim] = 10 * known
    whole = int(pairs["blocked_ns"].sum())
    short["comm"], short["run_ns"], short["count"] = (b"as", b"cc1"), (1, 9), 1
    turns = Attribution(whole + 20 * known, others_ns=20 * known)
    frame.latency.sum_ns[:] = 0
    frame.latency.sum_ns.flat[0] = whole + 20 * known
    return replace(frame, tasks=tasks, pairs=pairs, short_lived=short, attribution=turns)


async def test_what_one_task_lost_to_short_turns_is_a_line_of_it(make_view: MakeView) -> None:
    view = make_view(frames=1, change=in_short_turns)
    before, victim = account(view), int(view.frame.pairs["victim_tid"][0])
    known = int(before.pairs["blocked_ns"][before.pairs["victim_id"] == victim].sum())
    after = with_short_turns(before, view, victim)
    assert len(after.pairs) == len(before.pairs) + 1
    line = after.pairs[after.pairs["other_name"] == b"short turns (cc1)"][0]
    assert (line["victim_id"], line["blocked_ns"]) == (victim, 9 * known)
    assert after.rest_ns == before.rest_ns - 9 * known
    assert (after.total_ns, sum(part.ns for part in after.rest)) == (before.total_ns, after.rest_ns)
    assert (np.diff(after.pairs["blocked_ns"]) <= 0).all()
    assert with_short_turns(before, view, 1) is before, "a task that is in no pair"
    pane = BlamePane()
    async with OnePane(pane).run_test(size=(120, 24)) as pilot:
        pane.look_at(victim)
        pane.show(view)
        await pilot.pause()
        assert re.search(rf"\({victim}\) +short turns \(cc1\) +{format_ns(9 * known)} +· ", text(pilot.app))


def test_a_name_of_short_turns_may_have_any_bytes(make_view: MakeView) -> None:
    def change(frame: Frame) -> Frame:
        changed = in_short_turns(frame)
        changed.short_lived["comm"][1] = "ü".encode() + b"\xff"
        return changed

    view = make_view(frames=1, change=change)
    after = with_short_turns(account(view), view, int(view.frame.pairs["victim_tid"][0]))
    assert after.pairs["other_name"].tolist().count("short turns (ü".encode() + b"\xff)") == 1


def test_where_little_went_to_short_turns_they_have_no_line(make_view: MakeView) -> None:
    def mostly_idle(frame: Frame) -> Frame:
        changed = in_short_turns(frame)
        turns = changed.attribution.others_ns
        changed.latency.sum_ns.flat[0] += 2 * turns
        looked_at = changed.attribution.looked_at_ns + 2 * turns
        return replace(changed, attribution=replace(changed.attribution, looked_at_ns=looked_at, idle_ns=2 * turns))

    view = make_view(frames=1, change=mostly_idle)
    found = account(view)
    assert with_short_turns(found, view, int(view.frame.pairs["victim_tid"][0])) is found


@pytest.mark.parametrize("blame", FIELDS)
@pytest.mark.parametrize("group", ["thread", "container"])
async def test_every_size(blame: str, group: str, make_view: MakeView) -> None:
    pane = BlamePane()
    app = OnePane(pane)
    async with app.run_test(size=SIZES[0]) as pilot:
        for size in SIZES:
            await pilot.resize_terminal(*size)
            view = make_view(settings=ViewSettings(blame=blame, group=group))
            pane.show(view)
            await pilot.pause()
            assert_widths(app)
            assert_drawn_whole(app)
            screen = text(app)
            if size[0] >= 80:
                assert f"Σ {format_ns(view.frame.ended_wait_ns)} = run delay of ended waits" in screen
                assert ("took the CPU" if blame == "preemptor" else "held the CPU") in screen
                assert ("by container" in screen) == (group == "container")
            assert "not attributed" in screen or size[1] >= 20 or size[1] < 6


async def test_blame_pane_with_room_gives_each_reason_a_line(make_view: MakeView) -> None:
    pane = BlamePane()
    app = OnePane(pane)
    async with app.run_test(size=(80, 24)) as pilot:
        view = make_view()
        pane.show(view)
        pane.focus()
        await pilot.press("end")
        screen = text(app)
        for part in account(view).rest:
            (line,) = [line for line in screen.splitlines() if part.words in line]
            assert format_ns(part.ns) in line
        assert re.search(r"\d+-(\d+) of \1", screen), "the last pair is above the reasons"


async def test_a_group_that_waits_for_itself_says_so(make_view: MakeView) -> None:
    pane = BlamePane()
    app = OnePane(pane)
    async with app.run_test(size=(80, 24)) as pilot:
        pane.show(make_view(settings=ViewSettings(group="process")))
        await pilot.pause()
        assert "itself" in text(app)


async def test_an_interrupt_that_had_the_cpu_is_named_without_a_number(make_view: MakeView) -> None:
    def interrupted(frame):  # type: ignore[no-untyped-def]
        pairs = frame.pairs.copy()
        row = pairs[np.argmax(pairs["blocked_ns"])]
        row["other_tid"], row["other_tgid"], row["other_comm"], row["other_interrupt"] = 0, 0, b"", b"softirq NET_RX"
        row["blocked_ns"] *= 10
        return replace(frame, pairs=pairs)

    pane = BlamePane()
    app = OnePane(pane)
    async with app.run_test(size=(80, 24)) as pilot:
        for group in ("thread", "process", "cgroup"):
            pane.show(make_view(settings=ViewSettings(group=group), change=interrupted))
            await pilot.pause()
            (line,) = [line for line in text(app).splitlines() if "softirq NET_RX" in line]
            assert "softirq NET_RX (" not in line


async def test_blame_pane_without_waits_says_so(make_view: MakeView) -> None:
    pane = BlamePane()
    app = OnePane(pane)
    async with app.run_test(size=(80, 24)) as pilot:

        def quiet(frame):  # type: ignore[no-untyped-def]
            frame.latency.sum_ns[:] = 0
            return replace(frame, pairs=np.zeros(0, PAIR_DTYPE), attribution=Attribution())

        pane.show(make_view(change=quiet))
        await pilot.pause()
        assert "no task waited for a CPU in the last 1 s" in text(app)
        pane.show(make_view(settings=ViewSettings(filter=Filter.parse("nobody"))))
        await pilot.pause()
        assert "passes the filter comm:nobody" in text(app)


@pytest.mark.parametrize(("blame", "other"), [("blocker", "took the CPU"), ("preemptor", "held the CPU")])
async def test_few_pairs_leave_room_for_the_other_way_to_blame(blame: str, other: str, make_view: MakeView) -> None:
    def change(frame: Frame) -> Frame:
        return replace(frame, pairs=frame.pairs[:2])

    view = make_view(settings=ViewSettings(blame=blame), change=change, frames=1)
    pane = BlamePane()
    app = OnePane(pane)
    async with app.run_test(size=(120, 30)) as pilot:
        pane.show(view)
        await until(pilot, lambda: other in text(app))
        assert_widths(app)
        await pilot.resize_terminal(120, 7)
        await until(pilot, lambda: other not in text(app))


@pytest.mark.parametrize("blame", FIELDS)
def test_its_cell_of_the_strip_says_what_had_the_cpu_most_and_how_long(blame: str, make_view: MakeView) -> None:
    view = make_view(settings=ViewSettings(blame=blame))
    name, took = "".join(text for text, _ in BlamePane().view_glance(view)).split(" ", 1)
    first = view.pairs[0]
    assert (name, took) == (first["other_comm"].decode(), format_ns(int(first[FIELDS[blame][0]])))
    assert int(first[FIELDS[blame][0]]) == int(view.pairs[FIELDS[blame][0]].max())


def test_no_task_is_named_at_a_glance_that_had_the_cpu_for_little(make_view: MakeView) -> None:
    """In a storm the first pair was one per cent of all waits, and its task looked like the one to blame."""
    view = make_view(frames=1)
    most = int(view.pairs[0]["blocked_ns"])

    def told(parts: int) -> str:
        sums = np.zeros_like(view.frame.latency.sum_ns)
        sums[0, 0] = parts * most
        frame = replace(view.frame, latency=replace(view.frame.latency, sum_ns=sums))
        return "".join(text for text, _ in BlamePane().view_glance(replace(view, frame=frame)))

    assert told(9).startswith(view.pairs[0]["other_comm"].decode())
    names, times = view.pairs["other_comm"], view.pairs["blocked_ns"]
    sums = {name: int(times[names == name].sum()) for name in set(names.tolist())}
    first = max(sums, key=lambda name: sums[name])
    count = len(set(view.pairs["other_tid"][names == first].tolist()))
    assert count > 1 and sums[first] > most
    assert told(11) == f"{first.decode()} ×{count} {format_ns(sums[first])}", "those of one name together"
    assert told(11 * sums[first] // most) == "many tasks"


def test_under_a_filter_the_glance_is_about_what_passes_it(make_view: MakeView) -> None:
    """`Blame many tasks` of one task whose waits were few beside those of all others."""
    victim = make_view(frames=1).pairs[0]["victim_comm"].decode()
    view = make_view(frames=1, settings=ViewSettings(filter=Filter.parse(f"comm:{victim}")))
    sums = np.zeros_like(view.frame.latency.sum_ns)
    sums[0, 0] = 100 * int(view.pairs["blocked_ns"].sum())
    view = replace(view, frame=replace(view.frame, latency=replace(view.frame.latency, sum_ns=sums)))
    assert int(view.pairs["blocked_ns"][0]) >= 0.1 * int(view.pairs["blocked_ns"].sum())
    glance = "".join(text for text, _ in BlamePane().view_glance(view))
    assert glance.startswith(view.pairs[0]["other_comm"].decode())
