"""The slice of a thread: what was asked for is what the kernel tells."""

import os
import threading

import pytest

from schedtop.base.time_slice import LONG_NS, set_slice, slice_of

pytestmark = pytest.mark.skipif(not slice_of(0), reason="this kernel tells no slices (6.12 does)")


def test_a_thread_has_the_slice_that_it_asked_for() -> None:
    found: list[int] = []

    def ask() -> None:
        for slice_ns in (LONG_NS, 100_000, 0):
            set_slice(0, slice_ns)
            found.append(slice_of(0))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert found[:2] == [LONG_NS, 100_000]
    assert 0 < found[2] < LONG_NS, "the kernel's own again"


def test_a_task_that_has_ended_has_none() -> None:
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    assert slice_of(pid) == 0
