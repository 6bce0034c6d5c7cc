"""Scenes of docs/rules.md: a load whose cause is known, the verdict on it, and what is left after its command is typed.

Each is made by the shell commands that the page shows, and recorded for LENGTH_S: from about a second on the load runs,
after BEFORE the command of the verdict on BEFORE is typed, and AFTER is what was left.
"""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.frame import merge
from schedtop.sources.host.cgroups import cpu_hierarchy, read_mounts
from schedtop.sources.replay.recorded import Recording
from schedtop.verdict.engine import judge
from schedtop.verdict.verdict import Verdict

BEFORE, AFTER = (2, 7), (13, 17)
"""Seconds of a recording, from and to. A weight that was changed is believed for 5 s more, so it goes on later."""

LENGTH_S = 18
MOST_CPU_S = 60
"""A loop that nobody ends does so itself after so much CPU time."""

LOOP = """loop() {
    name=$1; shift
    "$@" sh -c 'printf %s $0 > /proc/self/comm; while :; do :; done' $name &
}"""
IN_GROUP = """in_group() {
    echo 0 > /sys/fs/cgroup/cpu/$1/cgroup.procs; shift
    exec "$@"
}"""
IN_SESSION = """in_session() {
    exec setsid sh -c 'echo $0 > /proc/self/autogroup; exec "$@"' "$@"
}"""
"""The functions that the commands of scenes use."""


@dataclass(frozen=True, slots=True)
class RulesScene:
    """`rule`: of the verdict before the command is typed, and not after; `kept`: the names of its tasks; `cgroups`: its
    groups, below the root of the cpu controller; `comm`: the verdict is on this task alone; `threshold`: of slow waits,
    as a rule below the turns of two busy tasks.
    """

    name: str
    rule: str
    kept: tuple[str, ...]
    commands: str
    cgroups: tuple[str, ...] = ()
    comm: str = ""
    threshold: str = "2ms"


RULES_SCENES = (
    RulesScene("rt-hog", "behind-rt", ("video", "web"), "loop video taskset -c 1 chrt -f 50\nloop web taskset -c 1"),
    RulesScene(
        "rt-throttled",
        "rt-runtime",
        ("video", "web"),
        "loop video taskset -c 1 chrt -r 7\nloop web taskset -c 1",
        comm="video",
    ),
    RulesScene(
        "deadline",
        "deadline-runtime",
        ("control",),
        """\
chrt -d -T 5000000 -D 20000000 -P 20000000 0 /usr/bin/python3 -c '
import time
open("/proc/self/comm", "w").write("control")
while True:
    due, end = time.monotonic() + 0.020, time.thread_time() + 0.008
    while time.thread_time() < end: pass
    time.sleep(max(0, due - time.monotonic()))' &""",
    ),
    RulesScene(
        "deadline-miss",
        "behind-deadline",
        ("video", "control"),
        """\
job='
import sys, time
open("/proc/self/comm", "w").write(sys.argv[1])
while True:
    due = (time.monotonic() // 0.1 + 1) * 0.1
    time.sleep(due - time.monotonic())
    end = time.thread_time() + float(sys.argv[2])
    while time.thread_time() < end: pass'
for i in 1 2 3 4; do
    chrt -d -T 10000000 -D 12000000 -P 90000000 0 /usr/bin/python3 -c "$job" video 0.009 &
done
chrt -d -T 5000000 -D 13000000 -P 90000000 0 /usr/bin/python3 -c "$job" control 0.001 &""",
        comm="control",
        threshold="12ms",
    ),
    RulesScene(
        "nice",
        "lower-weight",
        ("report", "web"),
        "loop report taskset -c 1 nice -n 19\nloop web taskset -c 1",
    ),
    RulesScene(
        "groups",
        "lower-weight",
        ("report", "web"),
        """\
mkdir /sys/fs/cgroup/cpu/batch /sys/fs/cgroup/cpu/front
echo 4096 > /sys/fs/cgroup/cpu/front/cpu.shares
loop report in_group batch taskset -c 1
loop web in_group front taskset -c 1""",
        cgroups=("batch", "front"),
    ),
    RulesScene(
        "autogroup",
        "lower-weight",
        ("report", "web"),
        "loop report in_session 10 taskset -c 1 nice -n -10\nloop web in_session 0 taskset -c 1",
    ),
    RulesScene(
        "quota-20",
        "throttled",
        ("web",),
        """\
mkdir /sys/fs/cgroup/cpu/front
echo 20000 > /sys/fs/cgroup/cpu/front/cpu.cfs_quota_us
for i in 1 2 3 4; do loop web in_group front; done""",
        cgroups=("front",),
    ),
    RulesScene(
        "idle-class",
        "lower-weight",
        ("backup", "web"),
        "loop backup taskset -c 1 chrt -i 0\nloop web taskset -c 1",
    ),
    RulesScene(
        "batch-class",
        "pinned",
        ("report", "web"),
        "loop report taskset -c 1 chrt -b 0\nloop web taskset -c 1",
    ),
)


def verdict_on(recording: Path, scene: RulesScene, span: tuple[int, int]) -> Verdict:
    """The verdict on some seconds of a recording, as `schedtop report --from --to` gives it. Raises SourceError."""
    with Recording(recording) as recorded:
        first = recorded.intervals[0].entry
        begin_ns = first.end_ns - first.interval_ns
        seconds = [(place.entry.end_ns - begin_ns) / NS_PER_S for place in recorded.intervals]
        frames = [recorded.frame(at) for at, end in enumerate(seconds) if span[0] + 0.5 < end <= span[1] + 0.5]
        shown = ViewSettings(filter=Filter(comms=(scene.comm,) if scene.comm else ()))
        return judge(History(recorded.header.host, [merge(frames)]).view(shown))


def told(verdict: Verdict) -> str:
    """A verdict as the page shows it: the lines of the header, at any width, the evidence, what else can be done."""
    action = f"→ {verdict.action}" if verdict.action else ""
    evidence = [f"  · {item}" for item in verdict.evidence]
    also = [f"  {item}" for item in verdict.alternatives]
    return "\n".join(filter(None, (f"{verdict.level.upper()}  {verdict.headline}", action, *evidence, *also)))


def play_rules(scene: RulesScene, raw: Path) -> None:
    """Performs a scene while `raw` is recorded: the load, then the command of the verdict on what is there by then.

    Raises RuntimeError if the verdict is another one, subprocess.CalledProcessError if its command fails.
    """
    begin = time.monotonic()
    with _load(scene):
        _sleep_until(begin + BEFORE[1] - 0.6)
        verdict = verdict_on(raw, scene, BEFORE)
        if verdict.rule != scene.rule or not verdict.command:
            raise RuntimeError(f"the verdict is {verdict.rule}: {verdict.headline}; {verdict.action}")
        subprocess.run(verdict.command, shell=True, check=True, stdout=subprocess.DEVNULL)
        _sleep_until(begin + LENGTH_S)


@contextmanager
def _load(scene: RulesScene) -> Iterator[None]:
    """What the commands of a scene start, until the end of the block; the groups are removed then."""
    script = "\n".join((LOOP, IN_GROUP, IN_SESSION, scene.commands, "jobs -p", "echo", "wait"))
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True, preexec_fn=_limit) as shell:
        assert shell.stdout
        tids = [int(line) for line in iter(shell.stdout.readline, "\n")]
        try:
            yield
        finally:
            for tid in tids:
                # A deadline task that is killed may leave its bandwidth behind on some kernels.
                with suppress(ProcessLookupError):
                    os.sched_setscheduler(tid, os.SCHED_OTHER, os.sched_param(0))
                    os.kill(tid, 9)
    for name in scene.cgroups:
        _remove(name)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))


def _remove(cgroup: str) -> None:
    root = cpu_hierarchy(read_mounts())
    assert root is not None
    for _ in range(100):
        try:
            (root / cgroup).rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)  # it is busy for a moment after its last process has gone


def _sleep_until(moment: float) -> None:
    time.sleep(max(0, moment - time.monotonic()))
