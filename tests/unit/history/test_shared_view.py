"""One View in two threads: the screen draws it while an export writes it."""

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.rows import WAIT_KINDS
from schedtop.outputs.scheduler.snapshot import to_json
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource

CPUS = 12
ROUNDS = 20


@pytest.fixture
def often_switched() -> Iterator[None]:
    """Threads take turns as often as the interpreter lets them."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def wide_view() -> View:
    source = SyntheticSource(Scenario(cpus=CPUS, frames=2, tasks=4, slow_waits=2))
    history = History(source.host, source.frames(threading.Event()))
    return history.view(ViewSettings(window_ns=10 * 10**9))


def selections(view: View) -> list[View]:
    """The same Frames with other CPUs selected: more than are remembered."""
    chosen = [(first, last) for first in range(CPUS) for last in range(first + 1, CPUS)]
    return [replace(view, settings=replace(view.settings, selected_cpus=cpus)) for cpus in chosen[:12]]


def draw(views: list[View]) -> None:
    """What panes ask of a View, of each in turn."""
    for view in views:
        for kind in (None, *WAIT_KINDS):
            view.latency(kind)


def side_by_side(work: Callable[[], object], *beside: Callable[[], object]) -> list[BaseException]:
    """Does the one ROUNDS times and the others until that is done, all at once; what was raised."""
    problems: list[BaseException] = []
    done = threading.Event()

    def try_once(what: Callable[[], object]) -> None:
        try:
            what()
        except Exception as problem:
            problems.append(problem)
            done.set()

    def repeat(what: Callable[[], object]) -> None:
        while not done.is_set():
            try_once(what)

    threads = [threading.Thread(target=repeat, args=(what,)) for what in beside]
    for thread in threads:
        thread.start()
    for _ in range(ROUNDS):
        if not done.is_set():
            try_once(work)
    done.set()
    for thread in threads:
        thread.join()
    return problems


@pytest.mark.usefixtures("often_switched")
def test_a_view_is_exported_in_a_loop_while_the_screen_draws_it() -> None:
    views = selections(wide_view())
    expected = [to_json(view) for view in selections(wide_view())]
    exported: list[list[str]] = []
    problems = side_by_side(
        lambda: exported.append([to_json(view) for view in views]),
        *(partial(draw, order) for order in (views, views[::-1], views[1::2] + views[::2])),
    )
    assert problems == []
    assert all(texts == expected for texts in exported)


@pytest.mark.usefixtures("often_switched")
def test_the_whole_counts_of_a_window_are_the_same_in_every_thread() -> None:
    view = wide_view()
    expected = sum(frame.latency.counts.astype(np.int64) for frame in view.series)
    found: list[bool] = []
    problems = side_by_side(*[lambda: found.append(np.array_equal(view.frame.latency.counts, expected))] * 3)
    assert problems == []
    assert all(found)
