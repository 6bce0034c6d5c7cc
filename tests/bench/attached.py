"""What can be attached to the scheduler's events while context switches are timed."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache

from schedtop.base.units import NS_PER_MS
from schedtop.model.source import SourceError
from schedtop.sources.capture.source import CaptureSource
from schedtop.sources.host import proc
from schedtop.sources.kernel import bpf_syscall as calls
from schedtop.sources.kernel.btf import KERNEL_BTF, Btf, BtfError
from schedtop.sources.kernel.compiler import Compiled, compile_programs
from schedtop.sources.kernel.front_end import BY_CLOCK, FrontEnd, choose_front_end
from schedtop.sources.kernel.program_text import source_directory
from schedtop.sources.scheduler.programs import Programs, build
from tests.bench import tools
from tests.bench.tools import NotHere

Tend = Callable[[], None]
"""To be called before each batch: empties what an attached collector has gathered."""

_FLOOR = """
int empty_switch(u64 *ctx) { return 0; }
int empty_waking(u64 *ctx) { return 0; }
int clock_switch(u64 *ctx) { bpf_ktime_get_ns(); bpf_ktime_get_ns(); return 0; }
"""


PERF_START_S = 1.0


@dataclass(frozen=True, slots=True)
class Attachment:
    """A name, its words for people, and how to attach; attaching raises NotHere."""

    name: str
    words: str
    attach: Callable[[], AbstractContextManager[Tend]]


def attachments() -> list[Attachment]:
    """Everything that is compared, in the order of the table."""
    return [
        Attachment("nothing", "nothing", _nothing),
        Attachment("floor", "two empty raw tracepoints (floor)", lambda: _typed(floor_programs(clocks=False))),
        Attachment("floor_clocks", "floor + two clock reads", lambda: _typed(floor_programs(clocks=True))),
        Attachment("collector_btf", "schedtop, everything, btf", lambda: _collector("btf")),
        Attachment("collector_btf_clock", "schedtop, everything, btf by clock", lambda: _collector(BY_CLOCK)),
        Attachment("collector_tracepoint", "schedtop, everything, tracepoint", lambda: _collector("tracepoint")),
        Attachment("capture_btf", "schedtop capture, btf", lambda: _capture("btf")),
        Attachment("capture_tracepoint", "schedtop capture, tracepoint", lambda: _capture("tracepoint")),
        Attachment("perf_sched", "perf sched record", _perf_sched),
        Attachment("runqlat", "libbpf-tools runqlat", lambda: _tools(tools.runqlat)),
        Attachment("runqslower", "libbpf-tools runqslower", lambda: _tools(tools.runqslower)),
        Attachment("runqlat_runqslower", "runqlat + runqslower", lambda: _tools(tools.runqlat, tools.runqslower)),
        Attachment("bpftrace", "bpftrace runqlat.bt", lambda: _tools(tools.bpftrace_runqlat)),
        Attachment("bcc_runqlat", "bcc's Python runqlat", lambda: _tools(tools.bcc_runqlat)),
    ]


def floor_programs(*, clocks: bool) -> Mapping[str, str]:
    """Function by event."""
    return {"sched_switch": "clock_switch" if clocks else "empty_switch", "sched_waking": "empty_waking"}


@contextmanager
def _nothing() -> Iterator[Tend]:
    yield lambda: None


@cache
def _compiled_floor() -> Compiled:
    return compile_programs(_FLOOR, (), source_directory())


@contextmanager
def _typed(functions: Mapping[str, str]) -> Iterator[Tend]:
    with ExitStack() as stack:
        try:
            btf = Btf.of_kernel(KERNEL_BTF)
            for event, function in functions.items():
                target = btf.typedef_id(f"btf_trace_{event}")
                code = _compiled_floor().programs[function]
                program = calls.load_program(calls.PROG_TRACING, function, code, calls.TYPED_TRACEPOINT, target)
                stack.callback(os.close, program)
                stack.callback(os.close, calls.attach_tracing(program))
        except (BtfError, SourceError, OSError) as error:
            raise NotHere(str(error)) from error
        yield lambda: None


@cache
def _compiled_collector(name: str) -> tuple[FrontEnd, Compiled]:
    front_end = choose_front_end(name)
    return front_end, build(front_end, proc.possible_cpus())


@contextmanager
def _collector(name: str) -> Iterator[Tend]:
    """The kernel side alone. Its ring is emptied between batches: one that is full would cost less."""
    try:
        programs = Programs(*_compiled_collector(name), 5_000_000)
    except SourceError as error:
        raise NotHere(str(error)) from error
    try:
        yield lambda: _drop(programs)
    finally:
        programs.close()


def _drop(programs: Programs) -> None:
    programs.slow_waits()


@contextmanager
def path_recording() -> Iterator[Tend]:
    """A recording for the path across tasks, likewise for ever."""
    with _capture("btf", path_ns=NS_PER_MS) as tend:
        yield tend


@contextmanager
def _capture(name: str, path_ns: int | None = None) -> Iterator[Tend]:
    """A capture that goes on for ever: its events are taken out as always, and then dropped."""
    try:
        source = CaptureSource(name, path_ns=path_ns)
        source.__enter__()
    except SourceError as error:
        raise NotHere(str(error)) from error
    stop = threading.Event()
    thread = threading.Thread(target=source.drop, args=(stop,))
    thread.start()
    try:
        yield lambda: None
    finally:
        stop.set()
        thread.join()
        source.__exit__(None, None, None)


@contextmanager
def _perf_sched() -> Iterator[Tend]:
    with tempfile.TemporaryDirectory() as directory:
        command = [tools.find("perf"), "sched", "record", "-m", "16M", "-o", f"{directory}/perf.data"]
        with tools.ended(tools.start(command, subprocess.DEVNULL)) as process:
            time.sleep(PERF_START_S)
            if process.poll() is not None:
                raise NotHere("perf sched record does not start")
            yield lambda: None


@contextmanager
def _tools(*commands: Callable[[], list[str]]) -> Iterator[Tend]:
    with ExitStack() as stack:
        for command in commands:
            stack.enter_context(tools.running(command()))
        yield lambda: None
