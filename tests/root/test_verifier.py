"""How much the verifier goes through at each start: a program that branches too much takes it half a second."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from schedtop.base.units import NS_PER_MS
from schedtop.sources.capture.source import CaptureSource
from schedtop.sources.kernel import bpf_syscall as calls
from schedtop.sources.offcpu.source import LiveOffCpu
from schedtop.sources.scheduler.source import LiveSource
from schedtop.sources.scope import Scope
from schedtop.sources.task.source import LiveTaskSource

pytestmark = pytest.mark.beside

MOST_INSTRUCTIONS = 100_000
"""A tenth of what the verifier gives up at."""

SOURCES: dict[str, Callable[[str], Any]] = {
    "scheduler": lambda front_end: LiveSource(200 * NS_PER_MS, NS_PER_MS, source=front_end),
    "task": lambda front_end: LiveTaskSource(os.getpid(), True, source=front_end),
    "offcpu": lambda front_end: LiveOffCpu(Scope(tgids=(os.getpid(),)), source=front_end),
    "path": lambda front_end: CaptureSource(front_end, path_ns=NS_PER_MS),
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("front_end", ["btf", "tracepoint"])
def test_programs_are_verified_within_a_tenth_of_the_limit(
    name: str, front_end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, int] = {}
    load = calls.load_program

    def load_and_ask(kind: int, program: str, *rest: Any) -> int:
        fd = load(kind, program, *rest)
        found[program] = calls.ProgramInfo(fd).verified_instructions()
        return fd

    monkeypatch.setattr(calls, "load_program", load_and_ask)
    with SOURCES[name](front_end) as source:
        if hasattr(source, "frames"):
            next(source.frames(threading.Event()))
    if not any(found.values()):
        pytest.skip("this kernel does not tell what it has verified")
    print(found)
    assert max(found.values()) <= MOST_INSTRUCTIONS
