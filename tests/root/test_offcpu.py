"""Off-CPU time against programs whose waits are known by construction, the kernel's run delay, and offcputime."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from conftest import mostly_btf
from loads import ended, kernel_numbers, python, stop_all
from scenarios import cgroup

from schedtop.base.stacks import Symbol
from schedtop.model.source import SourceError
from schedtop.offcpu.measurement import OffCpu, OffCpuRow, ThreadSummary, Wakers
from schedtop.offcpu.threads import measured as lists_of
from schedtop.offcpu.threads import top_rows, top_threads
from schedtop.outputs.offcpu.asked import ASKED
from schedtop.outputs.offcpu.formats import FORMATS
from schedtop.outputs.offcpu.text import to_text
from schedtop.sources.kernel.constants import OFFCPU
from schedtop.sources.offcpu.programs import Limits
from schedtop.sources.offcpu.source import LiveOffCpu
from schedtop.sources.scope import Scope, find_scope

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000

Blocker = Callable[[str], subprocess.Popen[bytes]]

front_end = mostly_btf


@pytest.fixture(scope="module")
def blocker(tmp_path_factory: pytest.TempPathFactory) -> Blocker:
    """Starts blocker.c in one of its ways."""
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if not compiler:
        pytest.skip("there is no C compiler")
    program = tmp_path_factory.mktemp("blocker") / "blocker"
    flags = ["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fcf-protection=none", "-pthread"]
    if os.uname().machine != "x86_64":
        flags.remove("-fcf-protection=none")
    subprocess.run([compiler, *flags, "-o", program, Path(__file__).with_name("blocker.c")], check=True)

    def start(how: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([program, how], stdout=subprocess.PIPE)
        assert process.stdout and process.stdout.readline() == b"ready\n"
        return process

    return start


def measured(*pids: int, source: str = "auto", duration_ns: int = NS_PER_S, **more: object) -> OffCpu:
    with LiveOffCpu(Scope(tgids=pids), source=source, **more) as opened:  # type: ignore[arg-type]
        return opened.take(duration_ns, threading.Event())


@contextmanager
def measuring(scope: Scope, **more: object) -> Iterator[list[OffCpu]]:
    """What happens within the block; the list has it afterwards."""
    stop, taken = threading.Event(), []

    def run() -> None:
        with LiveOffCpu(scope, **more) as opened:  # type: ignore[arg-type]
            is_open.set()
            taken.append(opened.take(60 * NS_PER_S, stop))

    is_open = threading.Event()
    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert is_open.wait(30)
        yield taken
    finally:
        stop.set()
        thread.join(30)


def thread_of(offcpu: OffCpu, tid: int) -> ThreadSummary:
    (found,) = (thread for thread in offcpu.threads if thread.tid == tid)
    return found


def names(symbols: tuple[Symbol, ...]) -> list[str]:
    return [symbol.name for symbol in symbols]


def heaviest(offcpu: OffCpu, tid: int, state: str = "blocked") -> OffCpuRow:
    return next(row for row in top_rows(lists_of(offcpu), state) if row.tid == tid)


def test_sleeps_are_as_long_as_they_were_asked_to_be(front_end: str, blocker: Blocker) -> None:
    process = blocker("nap")
    with ended(process):
        before = kernel_numbers(process.pid)
        offcpu = measured(process.pid, source=front_end)
        after = kernel_numbers(process.pid)
    thread = thread_of(offcpu, process.pid)
    assert thread.comm == thread.process == "blocker"
    assert thread.share == 1
    # Without a CPU, or with one: that is all of the time.
    run_ns = after.run_ns - before.run_ns
    whole = thread.total_ns + run_ns
    assert whole == pytest.approx(offcpu.duration_ns, rel=0.05)
    assert thread.blocked.total_ns == thread.sleeping.total_ns
    assert thread.blocked.average_ns == pytest.approx(10 * NS_PER_MS, rel=0.3)
    row = heaviest(offcpu, process.pid)
    # Only the first and the last one may be cut off.
    assert (row.times.average_ns or 0) > 9 * NS_PER_MS
    assert names(row.kernel.symbols)[0] in ("__schedule", "schedule") and "do_nanosleep" in names(row.kernel.symbols)
    # libc has no frame pointers: the function that calls it is not in the stack, those behind are.
    assert {"take_a_nap", "nap", "main"} <= set(names(row.user.symbols))
    assert any(symbol.module.endswith("/blocker") for symbol in row.user.symbols)
    assert not row.user.missing and not row.user.truncated


def test_task_asleep_all_the_time_is_measured_to_the_nanosecond(front_end: str) -> None:
    process = subprocess.Popen(["sleep", "60"])
    with ended(process):
        time.sleep(0.1)
        offcpu = measured(process.pid, source=front_end, duration_ns=NS_PER_S // 4)
    (row,) = offcpu.rows
    assert (row.state, row.times.count, row.times.under_way) == ("sleeping", 1, 1)
    assert row.total_ns == offcpu.duration_ns == NS_PER_S // 4
    assert row.user.missing == "not seen"
    assert any("nanosleep" in name for name in names(row.kernel.symbols))


def test_a_minimum_hides_nothing() -> None:
    # Real-time: what waits for a CPU after a short sleep is away for longer than that.
    process = python(
        "import os, time\nos.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))\n"
        "while True: time.sleep(0.001); time.sleep(0.02)"
    )
    with ended(process):
        time.sleep(0.2)
        offcpu = measured(process.pid, min_ns=10 * NS_PER_MS)
    thread = thread_of(offcpu, process.pid)
    assert thread.blocked.min_ns >= 10 * NS_PER_MS or thread.blocked.under_way
    # As many short ones as long ones.
    assert offcpu.below_count == pytest.approx(thread.blocked.count, rel=0.3, abs=3)
    assert NS_PER_MS <= offcpu.below_ns / offcpu.below_count < 10 * NS_PER_MS


def test_a_vfork_is_an_uninterruptible_wait(blocker: Blocker) -> None:
    process = blocker("vfork")
    with ended(process):
        offcpu = measured(process.pid, duration_ns=NS_PER_S // 2)
    thread = thread_of(offcpu, process.pid)
    assert thread.uninterruptible.total_ns > 0.5 * offcpu.duration_ns
    assert (thread.uninterruptible.average_ns or 0) > 25 * NS_PER_MS
    assert "fork_for_ever" in names(heaviest(offcpu, process.pid, "uninterruptible").user.symbols)


def test_a_sync_waits_for_the_disk(tmp_path: Path) -> None:
    code = "import os, sys\nfile = open(sys.argv[1], 'wb', 0)\nwhile True: file.write(b'x' * 4096); os.fsync(file)"
    process = python(code, str(tmp_path / "file"))
    with ended(process):
        time.sleep(0.2)
        offcpu = measured(process.pid, duration_ns=NS_PER_S // 2)
    waits = [row for row in offcpu.rows if row.state == "uninterruptible"]
    if not waits:
        pytest.skip(f"{tmp_path} is on no disk that one has to wait for")
    assert any("sync" in name for row in waits for name in names(row.kernel.symbols))


def test_lock_holder_is_the_waker(blocker: Blocker) -> None:
    process = blocker("lock")
    with ended(process):
        time.sleep(0.05)
        holder = next(int(tid) for tid in os.listdir(f"/proc/{process.pid}/task") if int(tid) != process.pid)
        offcpu = measured(process.pid, wakers=Wakers.STACKS, duration_ns=NS_PER_S // 2)
    waits = [row for row in offcpu.rows if row.tid == process.pid and "futex_wait" in " ".join(row.path)]
    blocked = max((row for row in waits if row.is_blocked), key=lambda row: row.total_ns)
    assert blocked.waker and (blocked.waker.tid, blocked.waker.comm) == (holder, "holder")
    assert blocked.path[-1] == f"woken by holder-{holder}"
    assert "want_the_lock" in names(blocked.user.symbols)
    assert any("futex_wake" in name for name in names(blocked.waker.kernel.symbols))
    assert blocked.waker.user.symbols
    # The holder itself is woken by its timer, whoever is interrupted by that.
    naps = [row for row in offcpu.rows if row.tid == holder and row.is_blocked and not row.times.under_way]
    assert naps and {row.waker.name for row in naps if row.waker} == {"[interrupt]"}


HAVE_LOCK = """
import fcntl, sys, time
with open(sys.argv[1], 'w') as file:
    fcntl.{how}(file, fcntl.LOCK_EX)
    print(1, flush=True)
    time.sleep(60)
"""


def test_wakers_have_the_same_names_without_stacks(blocker: Blocker, front_end: str) -> None:
    process = blocker("lock")
    with ended(process):
        time.sleep(0.05)
        holder = next(int(tid) for tid in os.listdir(f"/proc/{process.pid}/task") if int(tid) != process.pid)
        # Real-time: one that comes late finds the lock free.
        for tid in (process.pid, holder):
            os.sched_setscheduler(tid, os.SCHED_FIFO, os.sched_param(1))
        named = measured(process.pid, wakers=Wakers.NAMES, source=front_end, duration_ns=NS_PER_S // 2)
        bare = measured(process.pid, source=front_end, duration_ns=NS_PER_S // 4)
    blocked = [row for row in named.rows if row.is_blocked and not row.times.under_way]
    by_waker: dict[int, set[str]] = {process.pid: set(), holder: set()}
    for row in blocked:
        if row.waker:
            assert not row.waker.user.symbols and not row.waker.kernel.symbols
            by_waker[row.tid].add(row.waker.name)
    # Through tracepoints one program keeps the others out, and a wakeup is not seen now and then: it is counted.
    assert sum(row.times.count for row in blocked if not row.waker) <= named.loss.wakeups
    # A timer wakes the holder; one gives the lock to the other.
    assert f"holder-{holder}" in by_waker[process.pid] and "[interrupt]" in by_waker[holder]
    assert not named.loss.waker_stacks
    kept = {row.waker.name if row.waker else "" for row in bare.rows if row.is_blocked}
    assert kept == ({"", "[interrupt]"} if front_end == "btf" else {""})
    assert not any("woken by" in line for line in FORMATS["folded"](bare, ASKED).splitlines())


@pytest.mark.parametrize("how", ["flock", "lockf"])
def test_holder_of_a_file_lock_is_named_to_an_endless_wait(how: str, tmp_path: Path) -> None:
    code, file = HAVE_LOCK.format(how=how), str(tmp_path / "file")
    holder = subprocess.Popen([sys.executable, "-c", code, file], stdout=subprocess.PIPE)
    with ended(holder):
        assert holder.stdout and holder.stdout.readline() == b"1\n"
        waiter = subprocess.Popen([sys.executable, "-c", code, file])
        with ended(waiter):
            until(lambda: re.search("lock|setlk", Path(f"/proc/{waiter.pid}/stack").read_text()))
            offcpu = measured(duration_ns=NS_PER_S // 4)
    (found,) = offcpu.lock_holders[waiter.pid]
    assert found.pid == holder.pid and found.comm.startswith("python")
    # It comes before all that only waited for work.
    first = [line.thread.tid for line in top_threads(lists_of(offcpu), idle=False) if not line.slept]
    assert waiter.pid in first[:3]
    assert f"the lock is held by {found.name}" in to_text(offcpu)


PING_PONG = """
import os
(a, b), (c, d) = os.pipe(), os.pipe()
if os.fork():
    while True: os.write(b, b"x"); os.read(c, 1)
while True: os.read(a, 1); os.write(d, b"x")
"""


def test_two_wake_each_other(front_end: str) -> None:
    process = python(PING_PONG, process_group=0)
    try:
        time.sleep(0.2)
        child = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
        offcpu = measured(process.pid, child, source=front_end, wakers=Wakers.STACKS, duration_ns=NS_PER_S // 2)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for one, other in ((process.pid, child), (child, process.pid)):
        rows = [row for row in offcpu.rows if row.tid == one and row.state == "sleeping" and row.waker]
        by_other = sum(row.times.count for row in rows if row.waker and row.waker.tid == other)
        assert by_other > 100 and by_other > 0.95 * sum(row.times.count for row in rows)
        assert "pipe_read" in " ".join(names(max(rows, key=lambda row: row.total_ns).kernel.symbols))


def test_run_delay_is_the_kernels(front_end: str) -> None:
    """Busy loops on one CPU, all their lives inside the measurement."""
    hogs: list[subprocess.Popen[bytes]] = []
    with ExitStack() as stack, measuring(Scope(), source=front_end) as taken:
        hogs += [python("import os; os.sched_setaffinity(0, {1})\nwhile True: pass") for _ in range(2)]
        stack.enter_context(ended(*hogs))
        time.sleep(1.2)
        kernel = stop_all(hogs)
    (offcpu,) = taken
    for hog in hogs:
        thread = thread_of(offcpu, hog.pid)
        assert thread.runnable.total_ns == pytest.approx(kernel[hog.pid].run_delay_ns, rel=0.05, abs=10 * NS_PER_MS)
        assert thread.runnable.total_ns > 0.3 * NS_PER_S
        stopped = [row for row in offcpu.rows if row.tid == hog.pid and row.state == "stopped"]
        assert len(stopped) == 1 and stopped[0].times.under_way == 1


@pytest.mark.beside
def test_code_made_at_run_time_has_its_names(blocker: Blocker) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("the made code is for x86-64")
    process = blocker("jit")
    path = Path(f"/tmp/perf-{process.pid}.map")
    try:
        with ended(process):
            offcpu = measured(process.pid, duration_ns=NS_PER_S // 4)
    finally:
        path.unlink(missing_ok=True)
    found = names(heaviest(offcpu, process.pid).user.symbols)
    assert found.index("made_at_run_time") < found.index("run_made_code") < found.index("main")


@pytest.mark.beside
def test_a_stripped_program_has_modules_and_offsets(blocker: Blocker, tmp_path: Path) -> None:
    if not shutil.which("strip"):
        pytest.skip("there is no strip")
    process = blocker("nap")
    with ended(process):
        program = Path(os.readlink(f"/proc/{process.pid}/exe"))
    subprocess.run(["strip", "-o", tmp_path / "bare", program], check=True)
    with subprocess.Popen([tmp_path / "bare", "nap"], stdout=subprocess.PIPE) as bare, ended(bare):
        offcpu = measured(bare.pid, duration_ns=NS_PER_S // 4)
    labels = [symbol.label for symbol in heaviest(offcpu, bare.pid).user.symbols]
    assert any(re.fullmatch(r"bare\+0x[0-9a-f]+", label) for label in labels), labels


def test_scope_of_a_cgroup_and_a_name_measures_only_these() -> None:
    nap = "import os, time\nopen('/proc/self/comm', 'w').write('{}')\nwhile True: time.sleep(0.005)"
    with cgroup("offcpu") as directory, ExitStack() as stack:
        inside, other_name, outside = (python(nap.format(name)) for name in ("wanted", "other", "wanted"))
        stack.enter_context(ended(inside, other_name, outside))
        for process in (inside, other_name):
            (directory / "cgroup.procs").write_text(str(process.pid))
        time.sleep(0.1)
        scope = find_scope((), (), ("Want",), str(directory), None)
        with LiveOffCpu(scope, source="btf") as source:
            offcpu = source.take(NS_PER_S // 4, threading.Event())
    assert {row.tid for row in offcpu.rows} == {inside.pid}
    assert thread_of(offcpu, inside.pid).blocked.count > 10


def test_scope_of_a_pid_namespace_measures_only_its_tasks() -> None:
    nap = "import time\nwhile True: time.sleep(0.005)"
    alone = ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", nap]
    with subprocess.Popen(alone) as parent, ended(parent), ended(python(nap)):
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        while not (inside := children.read_text().split()):
            time.sleep(0.01)
        time.sleep(0.1)
        scope = find_scope((), (), (), None, inside[0])
        with LiveOffCpu(scope, source="btf") as source:
            offcpu = source.take(NS_PER_S // 4, threading.Event())
    # unshare itself stays outside; its children are inside, as its own link pid_for_children says.
    assert {row.tid for row in offcpu.rows} <= {parent.pid, int(inside[0])}
    assert thread_of(offcpu, int(inside[0])).blocked.count > 10


def test_scope_of_a_pid_namespace_is_refused_where_no_event_tells_it() -> None:
    scope = find_scope((), (), (), None, str(os.getpid()))
    with pytest.raises(SourceError, match="--pidns needs a kernel with BTF"), LiveOffCpu(scope, source="tracepoint"):
        pass


STORM = "import subprocess\nwhile True: subprocess.run(['/bin/true'])"


def test_all_tasks_at_once_with_short_lived_ones(front_end: str) -> None:
    with ended(python(STORM)):
        offcpu = measured(source=front_end, duration_ns=NS_PER_S // 2)
    # Whoever was there before has all of the time, asleep or not; nobody has more.
    for thread in offcpu.threads:
        assert thread.total_ns <= offcpu.duration_ns
    assert not {row.tid for row in offcpu.rows} & {0}
    assert {row.comm for row in offcpu.rows} >= {"kthreadd", "true"}
    kernel_threads = [row for row in offcpu.rows if row.comm == "kthreadd"]
    assert all(not row.user.symbols and not row.user.missing for row in kernel_threads)
    assert offcpu.loss.rows == offcpu.loss.tasks == 0


def test_measurement_counts_blocks_that_find_no_room() -> None:
    with ended(python(STORM), python("import time\nwhile True: time.sleep(0.001)")):
        with LiveOffCpu(limits=Limits(stacks=8)) as source:
            few_stacks = source.take(NS_PER_S // 2, threading.Event())
            # What meets another one in the first table is found in the second one.
            rows = source._programs.rows()
            seen = {stack for side in ("user_stack", "kernel_stack") for stack in rows[side].tolist()}
            second = [stack for stack in seen if stack >= OFFCPU.MORE_STACKS]
            assert second and all(map(source._programs.addresses, second))
        few_rows = measured(duration_ns=NS_PER_S // 4, limits=Limits(rows=4))
        few_tasks = measured(duration_ns=NS_PER_S // 4, limits=Limits(tasks=4))
    assert few_stacks.loss.kernel_stacks > 0 and "lost" in {row.kernel.missing for row in few_stacks.rows}
    assert few_stacks.loss.rows == 0
    assert few_rows.loss.rows > 0
    assert few_tasks.loss.tasks > 0


BORN_AND_GONE = """
import os
while True:
    if not os.fork(): os._exit(0)
    os.wait()
"""


def test_threads_that_have_ended_make_room() -> None:
    """All of them have more rows than the map."""
    process = python(BORN_AND_GONE, process_group=0)
    try:
        with LiveOffCpu(limits=Limits(rows=512), interval_ns=NS_PER_S // 4) as source:
            deadline = time.monotonic() + 20
            for offcpu in source.frames(threading.Event()):
                if any(not row.tid and row.comm == "python" for row in offcpu.rows) or time.monotonic() > deadline:
                    break
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    rows = [row for row in offcpu.rows if not row.tid]
    assert "python (ended)" in {row.path[1] for row in rows}
    assert [thread.comm for thread in offcpu.threads if not thread.tid].count("python") == 1


def test_the_total_is_that_of_offcputime(blocker: Blocker) -> None:
    tool = shutil.which("offcputime", path=f"{os.environ['PATH']}:/usr/sbin:/usr/share/bcc/tools")
    if not tool:
        pytest.skip("there is no offcputime")
    process = blocker("nap")
    with ended(process):
        with measuring(Scope(tgids=(process.pid,))) as taken:
            done = subprocess.run([tool, "-p", str(process.pid), "2"], capture_output=True, text=True, timeout=30)
        (offcpu,) = taken
    theirs = sum(int(us) * 1000 for us in re.findall(r"^\s+(\d+)\s*$", done.stdout, re.MULTILINE))
    if not theirs:
        pytest.skip(f"offcputime measures nothing here: {done.stderr.strip()[:100]}")
    # Both see the same share of the time: theirs is two seconds without what was under way at the ends.
    ours = thread_of(offcpu, process.pid).total_ns / offcpu.duration_ns
    assert theirs / (2 * NS_PER_S) == pytest.approx(ours, rel=0.03)


def command(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", "schedtop", "offcpu", *arguments]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.beside
def test_the_command_and_all_forms(blocker: Blocker) -> None:
    process = blocker("nap")
    with ended(process):
        child = command("--pid", str(process.pid), "--duration", "0.3s")
        text, error = child.communicate(timeout=60)
        offcpu = measured(process.pid, duration_ns=NS_PER_S // 4)
    assert (child.returncode, error) == (0, b"")
    assert b"only pid:" in text and b"take_a_nap" in text and b"no minimum" in text
    data, folded, svg = (FORMATS[name](offcpu, ASKED) for name in ("json", "folded", "svg"))
    document = json.loads(data)
    assert document["schema"] == "schedtop.offcpu/1" and document["top_blocking"][0]["tid"] == process.pid
    assert document["totals"]["blocked"]["count"] >= document["threads"][0]["blocked"]["count"] > 0
    lines = [line.rsplit(" ", 1) for line in folded.splitlines()]
    assert all(path.startswith(f"blocker;blocker-{process.pid};") and int(us) > 0 for path, us in lines)
    assert any(path.endswith("[sleeping]") and ";take_a_nap;" in path for path, _ in lines)
    assert svg.startswith("<?xml") or "<svg" in svg[:200]
    assert "take_a_nap" in svg


def symbol_openers(pid: int) -> list[int]:
    found: list[int] = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with suppress(OSError):
            found += map(int, Path(f"/proc/{pid}/task/{tid}/children").read_text().split())
    return [child for child in found if is_symbol_opener(child)]


def is_symbol_opener(pid: int) -> bool:
    with suppress(OSError):
        return b"symbol_opener" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def until(happens: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.beside
def test_ctrl_c_writes_what_there_is(tmp_path: Path) -> None:
    with ended(python("import time\nwhile True: time.sleep(0.01)")):
        process = command("--duration", "60s", "--format", "json", "-o", "out.json", cwd=tmp_path)
        until(lambda: symbol_openers(process.pid))
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=20)
    assert (process.returncode, error) == (0, b"")
    data = json.loads((tmp_path / "out.json").read_text())
    assert 0.1 * NS_PER_S < data["duration_ns"] < 30 * NS_PER_S
    assert any("ended early" in note for note in data["notes"])
    assert data["threads"]


@pytest.mark.beside
def test_the_child_ends_with_us() -> None:
    process = command("--duration", "60s")
    until(lambda: symbol_openers(process.pid))
    (child,) = symbol_openers(process.pid)
    process.kill()
    process.wait()
    until(lambda: not Path(f"/proc/{child}").exists())
