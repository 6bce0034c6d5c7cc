"""Takes out of a recording what is nobody's business: the names of all tasks and cgroups that are not of the scene.

Numbers stay as they were: who else ran, waited and had the CPU is still there, as OTHER.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from schedtop.model.frame import Frame
from schedtop.model.rows import Rows
from schedtop.outputs.recording.recorder import Recorder
from schedtop.recording.lines import Header
from schedtop.sources.replay.recorded import Recording

OTHER = b"other"
OWN = b"schedtop"
HOST = "demo"

KERNEL_THREADS = re.compile(
    rb"(swapper|kworker|ksoftirqd|kthreadd|rcu_|migration|cpuhp|idle_inject|khugepaged|kcompactd|kswapd|kdamond|jbd2"
    rb"|oom_reaper|watchdog|kauditd|irq/|pr/|writeback|hwrng)"
)
"""Names that every Linux host has."""

_ROWS = ("tasks", "slow_waits", "pairs", "short_lived")


def scrub(raw: Path, to: Path, kept: tuple[str, ...], cgroups: tuple[str, ...], own_tgid: int, shown: slice) -> None:
    """Writes intervals of a recording again without the names of others; `kept`: the names of the scene's tasks.

    `own_tgid` is the recorder's process: its threads are called by the name that it has when it is installed.
    """
    names = {OWN, *(name.encode() for name in kept)}
    with Recording(raw) as recording:
        own = {own_tgid} - {0}  # 0 is nobody, or several
        for frame in recording:
            own |= set(frame.tasks["tid"][frame.tasks["tgid"] == own_tgid].tolist())
        host = recording.header.host
        host = replace(host, name=HOST, kernel=(re.match(r"[\d.]+", host.kernel) or [host.kernel])[0])
        first = recording.frame(shown.indices(len(recording))[0])
        header = Header(host, first.start_time_ns)
        with Recorder(to, header, force=True) as recorder:
            for frame in list(recording)[shown]:
                recorder.write(_scrubbed(frame, names, {"", *cgroups}, own))


def is_of_scene(name: bytes, names: set[bytes]) -> bool:
    """Whether this is one of the scene's tasks, or one that every host has."""
    return not name or name in names or KERNEL_THREADS.match(name) is not None


def renamed(frame: Frame, names: set[bytes]) -> Frame:
    """A frame of the live kernel without the names of others; cgroups keep theirs."""
    return replace(frame, **{name: _renamed(getattr(frame, name), names, set()) for name in _ROWS})


def _scrubbed(frame: Frame, names: set[bytes], cgroups: set[str], own: set[int]) -> Frame:
    tables = {name: _renamed(getattr(frame, name), names, own) for name in _ROWS}
    paths = {id: path if path.strip("/") in cgroups else "/other" for id, path in frame.cgroups.items()}
    return replace(frame, cgroups=paths, **tables)


def _renamed(rows: Rows, names: set[bytes], own: set[int]) -> Rows:
    renamed = rows.copy()
    for field in rows.dtype.names or ():
        if rows.dtype[field].base.kind != "S" or field.endswith("interrupt"):
            continue
        if field.endswith("raiser"):
            for place, raiser in np.ndenumerate(rows[field]):
                renamed[field][place] = _raiser(raiser, names, own)
            continue
        numbers = rows[_number_field(field, rows.dtype.names or ())]
        for place, name in np.ndenumerate(rows[field]):
            number = int(numbers[place]) if numbers.ndim else 0
            renamed[field][place] = _name(name, number, names, own)
    return renamed


def _raiser(raiser: bytes, names: set[bytes], own: set[int]) -> bytes:
    """`name (tid)`, or an interrupt, which is nobody's."""
    found = re.fullmatch(rb"(.*) \((\d+)\)", raiser)
    return b"%s (%s)" % (_name(found[1], int(found[2]), names, own), found[2]) if found else raiser


def _number_field(field: str, fields: tuple[str, ...]) -> str:
    """The field with the number of whom a name is about."""
    wanted = {"comm": ("tid", "parent_tgid"), "process": ("tgid",), "parent": ("parent_tgid",)}
    prefix, _, last = field.rpartition("_")
    prefix = f"{prefix}_" if prefix else ""
    return next(number for name in wanted[last] if (number := prefix + name) in fields)


def _name(name: bytes, number: int, names: set[bytes], own: set[int]) -> bytes:
    if number in own:
        return OWN
    return name if is_of_scene(name, names) else OTHER
