"""What is added up of many CPUs: the same numbers, whichever way, and in as little room."""

import threading

import numpy as np
import pytest

from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.folding import cpus_words, fold_cpus
from schedtop.model.frame import Frame, merge
from schedtop.model.latency import LatencySum, LatencyTable, merge_latency
from schedtop.panes.scheduler.cpus.forms import Picture, folded, gridded
from schedtop.panes.scheduler.cpus.trend import MEASURES
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource, hot_cpus, make_topology
from schedtop.verdict.engine import judge
from schedtop.widgets.bars import level_glyphs


def frames(count: int, **scenario: int) -> list[Frame]:
    return list(SyntheticSource(Scenario(frames=count, **scenario)).frames(threading.Event()))


def test_a_sum_of_tables_has_the_histograms_of_the_tables_added_up() -> None:
    narrow, wide = ([frame.latency for frame in frames(2, cpus=cpus)] for cpus in (3, 4))
    tables = [*narrow, LatencySum(wide)]
    light, whole = LatencySum(tables), merge_latency(tables)
    for kind in (None, "wakeup", "preemption", "fork"):
        for cpus in (None, 3, (0, 3), (3, 900)):
            one, other = light.histogram(kind, cpus), whole.histogram(kind, cpus)
            assert np.array_equal(one.counts, other.counts)
            assert (one.sum_ns, one.max_ns) == (other.sum_ns, other.max_ns)
    assert np.array_equal(light.counts, whole.counts)
    assert np.array_equal(light.max_ns, whole.max_ns)


def test_counts_stay_narrow_while_they_fit() -> None:
    table = LatencyTable.empty(2, np.uint32)
    table.counts[0, 1, 5] = 3_000_000_000
    small = LatencyTable.empty(2, np.uint32)
    small.counts[0, 1, 5] = 7
    assert merge_latency([small, small]).counts.dtype == np.uint32
    whole = merge_latency([table, small, table])
    assert (whole.counts.dtype, int(whole.counts[0, 1, 5])) == (np.int64, 6_000_000_007)


def test_a_window_is_what_its_frames_are_together() -> None:
    source = SyntheticSource(Scenario(cpus=4, frames=14))
    history = History(source.host, made := list(source.frames(threading.Event())))
    view = history.view(ViewSettings(window_ns=10 * 10**9, selected_cpus=(1, 2)))
    whole = merge(made[-10:])
    assert np.array_equal(view.latency().counts, whole.latency.histogram(None, (1, 2)).counts)
    assert np.array_equal(view.frame.latency.counts, whole.latency.counts)


@pytest.mark.parametrize("cpus", [8, 64, 256, 1024])
def test_a_made_up_host_is_built_as_machines_are(cpus: int) -> None:
    topology, ids = make_topology(cpus), range(cpus)
    cores, caches, nodes = (fold_cpus(topology, kind, ids) for kind in ("core", "cache", "node"))
    assert {len(core.cpus) for core in cores} == {2}
    for small, large in ((cores, caches), (caches, nodes)):
        inside = [any(set(one.cpus) <= set(other.cpus) for other in large) for one in small]
        assert all(inside), "a core is in one cache, a cache in one node"
    assert hot_cpus(cpus)
    assert hot_cpus(cpus)[-1] < cpus


def test_cpus_are_named_by_what_they_are_all_of() -> None:
    topology, ids = make_topology(64), tuple(range(64))
    assert cpus_words((3,), topology, ids) == "CPU 3"
    assert cpus_words((0, 32), topology, ids) == "CPUs 0,32 (core 0)"
    assert cpus_words((0, 1, 2), topology, ids) == "CPUs 0-2"
    node = fold_cpus(topology, "node", ids)[1].cpus
    assert cpus_words(node, topology, ids) == "CPUs 16-31,48-63 (node 1)"
    # CPU 48 is offline: the others are all of the node that there is.
    rest = tuple(cpu for cpu in node if cpu != 48)
    assert cpus_words(rest, topology, tuple(cpu for cpu in ids if cpu != 48)) == "CPUs 16-31,49-63 (node 1)"
    assert cpus_words((0, 1), None, (0, 1)) == "CPUs 0-1"


def test_a_verdict_on_selected_cpus_is_about_these() -> None:
    source = SyntheticSource(Scenario(cpus=8, frames=1, slow_waits=0))
    frame = next(source.frames(threading.Event()))
    column = frame.cpus.column
    column("steal_ns")[:] = 0
    column("steal_ns")[2] = frame.interval_ns // 2
    frame.tasks["waiting_ns"] = 0
    history = History(source.host, [frame])
    assert "steal is 50" in judge(history.view(ViewSettings(selected_cpus=(2,)))).sentences()
    assert "steal" not in judge(history.view(ViewSettings(selected_cpus=(3,)))).sentences()


def picture(size: tuple[int, int], cursor: int, window_s: int = 1) -> Picture:
    source = SyntheticSource(Scenario(cpus=256, frames=12, tasks=5))
    past = History(source.host, source.frames(threading.Event()))
    view = past.view(ViewSettings(window_ns=window_s * 10**9))
    return Picture.of(view, view.all_cpu_ids, MEASURES[0], size, cursor)


def test_a_cpu_under_the_cursor_stands_once_where_there_is_no_room_for_histories() -> None:
    size = (80, 24)
    lines = {cursor: gridded(picture(size, cursor)).draw(0) for cursor in (-1, 1)}
    texts = {cursor: ["".join(text for text, _ in line) for line in drawn] for cursor, drawn in lines.items()}
    assert texts[-1] == texts[1]
    assert any(style == "cursor" for line in lines[1] for _, style in line)


def test_the_cells_of_a_fold_are_of_the_window_as_its_worst_cpu_is() -> None:
    shown = picture((160, 30), -1, window_s=10)
    values, (fold, *_) = MEASURES[0].values(shown.view.frame), folded(shown, "node").items
    drawn = "".join(line[-1][0] for line in folded(shown, "node").draw(0)[2:])
    assert drawn.startswith(level_glyphs(values[list(fold)])[:20])
    assert level_glyphs(MEASURES[0].values(shown.view.series[-1])[list(fold)])[:20] not in drawn
