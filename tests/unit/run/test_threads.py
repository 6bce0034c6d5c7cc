"""Work in a thread, and the main thread that sleeps meanwhile."""

import os
import select
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from schedtop.base import turn
from schedtop.run import threads
from schedtop.run.signals import Interrupted, Signals
from schedtop.run.threads import Bell, in_thread


@pytest.fixture
def signals() -> Iterator[Signals]:
    """Signals of a process that has taken SIGTERM; afterwards all is as before."""
    before = signal.getsignal(signal.SIGTERM)
    taken = Signals()
    signal.signal(signal.SIGTERM, taken._handle)
    yield taken
    signal.signal(signal.SIGTERM, before)


def test_the_result_of_the_work_is_given_back(signals: Signals) -> None:
    here: list[int] = []
    assert in_thread(lambda: threading.get_ident(), signals, lambda: here.append(1)) != threading.get_ident()
    assert here == [1]


def test_a_failure_of_the_work_is_raised(signals: Signals) -> None:
    with pytest.raises(ZeroDivisionError):
        in_thread(lambda: 1 // 0, signals)


def test_a_signal_asks_the_work_to_end(signals: Signals) -> None:
    def work() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        assert signals.stop.wait(10)
        raise ValueError

    with pytest.raises(Interrupted):
        in_thread(work, signals)


def test_the_main_thread_does_not_wake_up_while_the_work_lasts(
    signals: Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float | None] = []
    wait = Bell.wait
    monkeypatch.setattr(Bell, "wait", lambda bell, timeout_s: (waits.append(timeout_s), wait(bell, timeout_s))[1])
    in_thread(lambda: time.sleep(5 * threads.PATIENCE_S), signals)
    assert waits == [None]


def test_work_that_outlives_an_exception_rings_no_closed_bell(signals: Signals) -> None:
    go, ended = threading.Event(), threading.Event()

    def work() -> None:
        go.wait(10)
        ended.set()

    def fails() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        in_thread(work, signals, fails)
    # What is opened next gets the number of the bell's descriptor.
    read, write = os.pipe()
    go.set()
    assert ended.wait(10)
    for thread in threading.enumerate():
        if thread.name == "schedtop-work":
            thread.join(10)
    assert not select.select([read], [], [], 0)[0]
    os.close(read)
    os.close(write)


@pytest.mark.parametrize("gives", [True, False])
def test_work_that_goes_first_has_python_to_itself_until_it_waits(
    signals: Signals, monkeypatch: pytest.MonkeyPatch, gives: bool
) -> None:
    monkeypatch.setattr(threads, "FIRST_S", 30)
    order: list[str] = []
    begun = threading.Event()

    def work() -> None:
        time.sleep(0.1)
        order.append("work")
        if gives:
            turn.give()
            assert begun.wait(10)

    def meanwhile() -> None:
        order.append("meanwhile")
        begun.set()

    in_thread(work, signals, meanwhile, first=True)
    assert order == ["work", "meanwhile"]


def test_work_goes_first_for_a_while_only(signals: Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "FIRST_S", 0.01)
    begun = threading.Event()
    in_thread(lambda: begun.wait(10), signals, begun.set, first=True)
    assert begun.is_set()


def test_without_another_thread_there_is_nobody_to_give_a_turn_to() -> None:
    turn.give()
