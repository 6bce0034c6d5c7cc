"""Writes the seeds that come from this host and from the package itself: `python -m tests.fuzz.make_seeds`.

Those of bugs, once found and mended, were put beside them by hand; they are not touched.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from schedtop.config.load import Config
from schedtop.config.text import config_text
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.host import Host
from schedtop.outputs.scheduler.snapshot import to_json
from schedtop.recording.lines import End, Event, Header, end_line, event_line, frame_line, header_line
from schedtop.sources.synthetic.scheduler import Scenario, make_frame, make_topology
from tests.fuzz.targets import SEEDS
from tests.fuzz.targets.inflating import TIMES
from tests.unit.sources.kernel.test_btf import example

_CONDITIONS = (
    "p99 > 10ms", "p99(preemption) >= 1.5ms and steal > 5% for 3s", "queue(cpu:1) > 4", "switches > 10000/s for 1m",
    "run_delay(comm:nginx) > 500ms/s", "throttled(web.service) > 20% for 10s", "max < 5 ms",
)  # fmt: skip
_FILTERS = ("comm:nginx,post tid:1,2 pid:7", "cpu:0-3,8 cgroup:web.service", "pidns:4026531836 bash", "tgid=3 class:rt")
_KEYS = ("space,F9", "ctrl+s alt+x , ?", "shift+a pgup esc", "é ß 漢")
_UNITS = (
    "500us", "1.5s", "2m", ".5h", "500MiB", "1.5G", "64k", "0-3,8,10-12", "14:03:10", "2026-07-01T14:03:10Z", "7",
    "2026-07-01T14:03:10+02:00",
)  # fmt: skip
_MOUNTS = """\
proc /proc proc rw,relatime 0 0
tmpfs /sys/fs/cgroup tmpfs rw,relatime,mode=755 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
gvfsd-fuse /home/me/a\\040b fuse.gvfsd-fuse rw,user_id=1000 0 0
"""
_GROUPS = "3:cpu,cpuacct:/user.slice\n1:name=systemd:/x\n0::/user.slice/user-1000.slice/a\x0cb.scope\n"
_NAMES = (
    b"bash", b"kworker/0:1H-kb", b"\x1b[31mred\x1b]0;t\x07", b"[bold]x[/bold]", b"\xc3\x28\xff\x00z",
    "漢字\u202eabc".encode(),
    b"kubepods.slice/kubepods-pod12345678_1234_1234_1234_123456789012.slice/cri-containerd-" + b"a" * 64 + b".scope",
    b"system.slice/system-getty.slice/getty@tty1.service", b"machine.slice/machine-a\\x2db\\x1b.scope", b"lxc/a\x9b31m",
)  # fmt: skip


def lines() -> list[str]:
    """A recording of three intervals of a small made-up host, with all that a recording can hold."""
    scenario = Scenario(cpus=2, tasks=4)
    rng = np.random.default_rng(1)
    host = Host("made-up", "6.18.0", "synthetic", True, ("a note",), make_topology(2))
    start_ns = 1_700_000_000_000_000_000
    head = Header(host, start_ns, filters="comm:a not_tgid:7", triggers=("p99 > 10ms",))
    frames = [make_frame(scenario, number, rng, 1_000_000, "tgid", sampling=True) for number in range(3)]
    return [
        header_line(head),
        *map(frame_line, frames),
        event_line(Event(frames[-1].end_ns, "trigger", "p99 > 10ms")),
        end_line(End(3, "closed")),
    ]


def bombs(line: str) -> list[list[str]]:
    """Few bytes that stand for much: a long name, long names of cgroups, long events, lists under an unknown key."""
    frame = json.loads(line)

    def changed(**parts: Any) -> str:
        return json.dumps(frame | parts) + "\n"

    names = [json.loads(_many(3_000_000, "x")), *"y" * 99]
    cgroups = {str(number): json.loads(_many(1_000_000, "x")) for number in range(9)}
    event = json.dumps({"event": {"end_ns": 5, "kind": "note", "text": json.loads(_many(1_000_000, "x"))}}) + "\n"
    return [
        [changed(tasks={"rows": 100, "comm": names})],
        [changed(interval=frame["interval"] | {"cgroups": cgroups})],
        [line, *[event] * 9],
        [f'{line.rstrip()[:-1]}, "later": {_many(2_400_000, [])}}}\n'],
        [changed(tasks={"rows": 4_000_000, "tid": json.loads(_many(4_000_000, 0))})],
    ]


def _many(times: int, thing: Any) -> str:
    return json.dumps({TIMES: times, "of": thing})


def saved_text() -> str:
    """A snapshot of a small made-up host."""
    frame = make_frame(Scenario(cpus=2, tasks=4), 0, np.random.default_rng(2), 1_000_000)
    return to_json(History(Host("a", "6.1", "btf"), [frame]).view(ViewSettings(filter=Filter(cpus=(0,)))), 3)


def main() -> None:
    """Writes them all."""
    whole = lines()
    _write("recording", "".join(whole), "".join(whole[:2]))
    _write("packed", b"".join(gzip.compress(line.encode(), 3, mtime=0) for line in whole))
    _write("frame", *whole)
    _write("saved", saved_text())
    _write("inflated", *("".join((whole[0], *bomb)) for bomb in bombs(whole[1])))
    _write("inflated-saved", f'{saved_text().replace(chr(10), "").rstrip()[:-1]}, "later": {_many(10**6, [])}}}\n')
    _write("config", config_text(Config(), (), {}), 'theme = "light"\nwindow = 3\n[keys]\nfreeze = ["space", "F9"]\n')
    _write("trigger", *_CONDITIONS)
    _write("filter", *_FILTERS)
    _write("keys", *_KEYS)
    _write("units", *_UNITS)
    _write("names", *_NAMES)
    _write("btf", example().bytes())
    tracepoint = Path("/sys/kernel/tracing/events/sched/sched_switch/format")
    _write("tracefs", tracepoint.read_bytes())
    own = Path("/proc/self")
    files = ["stat", "status", "cmdline", "schedstat", "syscall", "stack"]
    _write(
        "tasks",
        *((own / name).read_bytes() for name in files),
        _GROUPS.encode(),
        b"1: POSIX  ADVISORY  WRITE 7 00:1:2 0 EOF\n1: -> x",
    )
    host = ["/proc/stat", "/proc/pressure/cpu"]
    group = b"nr_periods 3\nnr_throttled 1\nthrottled_usec 12\n"
    _write(
        "proc",
        *(Path(name).read_bytes() for name in host),
        _MOUNTS,
        _GROUPS,
        group,
        b"50000 100000\n",
        b"0-3,8\n",
        b"max 100000\n",
    )


def _write(name: str, *contents: str | bytes) -> None:
    place = SEEDS / name
    place.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(contents):
        (place / f"seed-{number}").write_bytes(content if isinstance(content, bytes) else content.encode())


if __name__ == "__main__":
    main()
