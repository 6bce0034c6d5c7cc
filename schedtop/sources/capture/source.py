"""Captures the live kernel: a ring of events for each CPU, emptied while it lasts (bpf/capture/capture.h)."""

from __future__ import annotations

import platform
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np

from schedtop.base.cpu_lists import cpus_text
from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.capture import events as model
from schedtop.capture.events import (
    EVENT_DTYPE,
    HELD_DTYPE,
    LOSS_DTYPE,
    NAME_DTYPE,
    PLACE_DTYPE,
    Capture,
    Clocks,
    reported_states,
)
from schedtop.model.host import Host
from schedtop.model.rows import Integers, Rows
from schedtop.sources.capture.front_end import PATH_UNKNOWN, choose_capture_front_end, tells_path
from schedtop.sources.capture.places import Addresses, Places
from schedtop.sources.host import proc
from schedtop.sources.host.topology import online_cpus, present_cpus
from schedtop.sources.kernel.compiler import Compiled, compile_programs
from schedtop.sources.kernel.constants import CAPTURE, CAPTURE_PATH
from schedtop.sources.kernel.front_end import FrontEnd
from schedtop.sources.kernel.loader import Loader
from schedtop.sources.kernel.offsets import INTERRUPTS_UNKNOWN, tells_interrupts
from schedtop.sources.kernel.pid_numbers import numbers_in, pid_numbers
from schedtop.sources.kernel.program_cache import compiled_before
from schedtop.sources.kernel.program_text import program_text, source_directory
from schedtop.sources.kernel.syscalls import syscall_names

DEFAULT_BUFFER_BYTES = 64 << 20
MOST_EVENTS = 4_000_000
"""What a capture holds: then it ends. That is 128 MB in a ring's form, and about 1 GB of Chrome's JSON on disk."""

POLL_NS = 20 * NS_PER_MS
LEAD_NS = 2 * NS_PER_MS
"""How long before its start a capture is announced: no CPU may hear of it late."""

SAME = {
    "time_ns": "time_ns",
    "other_tid": "other_tid",
    "prio": "prio",
    "other_prio": "other_prio",
    "from_cpu": "cpu",
    "to_cpu": "other_cpu",
    "woken_by": "woken_by",
}
"""Fields of EVENT_DTYPE, and those of `struct capture_event` that they are."""


class CaptureSource:
    """The programs of a capture, attached while it is open. One thread opens it, takes captures, and closes it.

    `source`: `auto`, `btf` or `tracepoint`; `buffer_bytes`: of kernel memory, for all CPUs together. `path_ns`: with
    what the path across tasks needs, and with the stacks of sleeps that are at least so long.
    """

    def __init__(
        self,
        source: str = "auto",
        buffer_bytes: int = DEFAULT_BUFFER_BYTES,
        most_events: int = MOST_EVENTS,
        *,
        path_ns: int | None = None,
    ) -> None:
        self._wanted = source
        self._path_ns = path_ns
        self._buffer_bytes = buffer_bytes
        self._most_events = most_events
        self.host: Host

    def __enter__(self) -> Self:
        self._front_end = choose_capture_front_end(self._wanted, path=self._path_ns is not None)
        self.host = proc.identify_host(self._front_end.name, pid_numbers().note)
        cpus = max(*present_cpus(), *online_cpus()) + 1
        self.rings = Rings(self._front_end, _build(self._front_end), cpus, self._buffer_bytes)
        self.rings.take_stacks_from(self._path_ns or 0)
        return self

    def __exit__(self, *exc: Any) -> None:
        self.rings.close()

    def take(self, duration_ns: int, stop: threading.Event) -> Capture:
        """What happens from now on for `duration_ns`; less if `stop` is set or there is too much. Once a source."""
        rings, taken, ended_early, online = self.rings, Taken(), "", set(online_cpus())
        start_ns = time.monotonic_ns() + LEAD_NS
        end_ns = start_ns + duration_ns
        clocks = read_clocks()
        interrupting = rings.interrupting()
        rings.open(start_ns, end_ns)
        while (rest := end_ns - time.monotonic_ns()) > 0 and not ended_early:
            if stop.wait(min(rest, POLL_NS) / NS_PER_S):
                ended_early = "it was interrupted"
            elif taken.count >= self._most_events:
                ended_early = f"it held {taken.count} events, and no more are kept"
            if ended_early:
                end_ns = max(start_ns + 1, min(end_ns, time.monotonic_ns()))
                rings.open(start_ns, end_ns)
            taken.add(rings)
        # An event that began before the end is written by then.
        time.sleep(LEAD_NS / NS_PER_S)
        taken.add(rings)
        taken.add(rings)
        interrupting = rings.interrupting() - interrupting
        return self.capture_of(
            taken, (start_ns, end_ns), online, clocks=clocks, lost=rings.cpus["lost"], interrupting=interrupting,
            ended_early=ended_early,
        )  # fmt: skip

    def capture_of(
        self,
        taken: Taken,
        span: tuple[int, int],
        online: set[int],
        *,
        clocks: Clocks,
        lost: Integers,
        interrupting: int,
        ended_early: str = "",
    ) -> Capture:
        """What was taken, from `span[0]` to `span[1]`; `lost`: by CPU and kind, meanwhile."""
        rings, (start_ns, end_ns) = self.rings, span
        told = self._front_end.name == "tracepoint"
        online |= {*online_cpus(), *np.flatnonzero(rings.cpus["head"]).tolist()}
        cpus = tuple(sorted(cpu for cpu in online if cpu < len(rings.cpus)))
        held = taken.held(rings)
        events, names, losses = taken.sorted(cpus, rings, told, start_ns, end_ns)
        places, stacks = taken.places.named()
        return Capture(
            host=self.host,
            start_ns=start_ns,
            end_ns=end_ns,
            clocks=clocks,
            cpus=cpus,
            events=events,
            names=with_missing_names(names, events, start_ns),
            losses=losses,
            lost={kind: lost[list(cpus), kind].astype(np.int64) for kind in range(model.LOST)},
            machine=platform.machine(),
            kernel_build=platform.version(),
            ended_early=ended_early,
            lost_in_interrupts=interrupting,
            missing=self._front_end.missing,
            unavailable=self._unavailable(sorted(online - set(cpus))),
            places=places,
            stacks=stacks,
            held=held,
            calls=syscall_names() if self._path_ns is not None else {},
            lost_places=taken.places.lost + int(lost[:, model.STACK].sum()),
        )

    def _unavailable(self, late: list[int]) -> dict[str, str]:
        """What a capture lacks, and why. `late`: CPUs that came up meanwhile and have no ring."""
        flags = self._front_end.flags
        found = {} if tells_interrupts(flags) else {"woken_by": INTERRUPTS_UNKNOWN}
        if self._path_ns is not None and not tells_path(self._front_end):
            found["places"] = PATH_UNKNOWN
        if late:
            found["cpus"] = f"CPU {cpus_text(late)} was added to this host after the programs were loaded"
        return found

    def drop(self, stop: threading.Event) -> None:
        """Takes events out and keeps none until `stop` is set: to measure what a capture costs."""
        self.rings.open(time.monotonic_ns(), (1 << 63) - 1)
        while not stop.wait(POLL_NS / NS_PER_S):
            Taken().add(self.rings)


class Rings(Loader):
    """The attached programs and the rings that they fill, one for each CPU id below `cpus`."""

    def __init__(self, front_end: FrontEnd, compiled: Compiled, cpus: int, buffer_bytes: int) -> None:
        """Loads and attaches; nothing is captured until `open`. Raises SourceError."""
        super().__init__(compiled, front_end.hooks)
        share = max(2, buffer_bytes // compiled.maps["events"].value_bytes // cpus)
        self.size = 1 << share.bit_length() - 1
        with self._opening():
            sizes = {"events": self.size * cpus, "cpus": cpus, "readers": cpus}
            if "path_stacks" in compiled.maps:
                sizes["path_stacks"] = CAPTURE_PATH.STACKS_KEPT * cpus
            self._create_maps(sizes)
            self._stacks = self._view("path_stacks") if "path_stacks" in compiled.maps else None
            self.cpus = self._view("cpus")
            self._events = self._view("events")
            self._readers = self._view("readers", writable=True)
            self._config = self._view("config", writable=True)
            self._heads = np.zeros(cpus, np.int64)
            self.event_dtype = self._compiled.maps["events"].dtype
            self._start()

    def open(self, start_ns: int, end_ns: int) -> None:
        """Has the kernel side write what happens between two times of CLOCK_MONOTONIC."""
        self._config["ring_events"] = self.size
        # In this order: with the end first, it would be open until the start is known.
        self._config["start_ns"] = start_ns
        self._config["end_ns"] = end_ns

    def take_stacks_from(self, least_ns: int) -> None:
        """Has the kernel side take the stacks of sleeps that are at least so long."""
        self._config["least_sleep_ns"] = least_ns

    def places(self, cpu: int, rows: Rows) -> tuple[Rows, Addresses]:
        """The stacks that rows of a CPU tell of, as far as they are still there, in PLACE_DTYPE and by address."""
        told = _behind(rows, "(2,)u8")
        numbers, about = told[:, 0].astype(np.int64), told[:, 1].astype(np.int64)
        assert self._stacks is not None
        kept = CAPTURE_PATH.STACKS_KEPT
        addresses = self._stacks["address"][cpu * kept + (numbers & kept - 1)]
        depth = about >> 8 + 3
        addresses[np.arange(CAPTURE_PATH.PATH_DEPTH) >= depth[:, None]] = 0
        there = numbers + kept > int(self.cpus["stacks"][cpu])
        found = np.zeros(len(rows), PLACE_DTYPE)
        found["time_ns"], found["tid"], found["current_tid"] = rows["time_ns"], _tids(rows), rows["other_tid"]
        found["side"] = about & 0xFF
        return found[there], addresses[there]

    def active(self) -> list[int]:
        """The CPUs of which there may be events to take."""
        heads = self.cpus["head"].astype(np.int64)
        active: list[int] = np.flatnonzero((heads != self._heads) | (self._heads != self._readers["tail"])).tolist()
        return active

    def interrupting(self) -> int:
        """Events so far that came while another one was being written on their CPU: they are lost."""
        return self.misses() + int(self.cpus["interrupting"].sum())

    def take(self, cpu: int) -> Rows:
        """The events of a CPU up to where its ring was at the call before; their places are free again.

        Those after may not be all written yet, as seen from here: some processors reorder writes.
        """
        start, end = int(self._readers["tail"][cpu]), int(self._heads[cpu])
        self._heads[cpu] = self.cpus["head"][cpu]
        base, at = cpu * self.size, start & (self.size - 1)
        count = end - start
        first = min(count, self.size - at)
        rows = np.concatenate((self._events[base + at : base + at + first], self._events[base : base + count - first]))
        self._readers["tail"][cpu] = end
        return rows


class Taken:
    """What was taken out of the rings so far, as it was there, by CPU."""

    def __init__(self) -> None:
        self.count = 0
        self.places = Places()
        self._pieces: dict[int, list[Rows]] = {}

    def extend(self, later: Taken) -> None:
        """Adds what was taken after this; it stays there, too."""
        self.count += later.count
        for cpu, rows in later._pieces.items():
            self._pieces.setdefault(cpu, []).extend(rows)
        self.places.extend(later.places)

    def only_names(self, since_ns: int = 0) -> Taken:
        """The last name of each task in it, and nothing else; as if told at `since_ns` where that was before."""
        found = Taken()
        for cpu, pieces in self._pieces.items():
            rows = np.concatenate([rows[_kinds(rows) == model.NAME] for rows in pieces])
            # The last one of each: of the reversed ones the first.
            kept = rows[::-1][np.unique(_tids(rows[::-1]), return_index=True)[1]]
            if len(kept):
                kept["time_ns"] = np.maximum(kept["time_ns"], np.uint64(since_ns))
                found._pieces[cpu] = [kept[np.argsort(kept["time_ns"], kind="stable")]]
                found.count += len(kept)
        return found

    def add(self, rings: Rings) -> None:
        """Empties all rings."""
        for cpu in rings.active():
            rows = rings.take(cpu)
            if len(rows):
                self._pieces.setdefault(cpu, []).append(rows)
                self.count += len(rows)
                self._take_places(rings, cpu, rows[_kinds(rows) == model.STACK])

    def _take_places(self, rings: Rings, cpu: int, rows: Rows) -> None:
        """Their ring is small: before it goes round."""
        if len(rows):
            places, addresses = rings.places(cpu, rows)
            self.places.add(places, addresses)
            self.places.lost += len(rows) - len(places)

    def held(self, rings: Rings) -> Rows:
        """The waits that a quota had a part in; to be asked for before `sorted`."""
        pieces = [rows[_kinds(rows) == model.HELD] for of_cpu in self._pieces.values() for rows in of_cpu]
        rows = np.concatenate(pieces) if pieces else np.empty(0, rings.event_dtype)
        found = np.zeros(len(rows), HELD_DTYPE)
        found["time_ns"], found["tid"], found["held_ns"] = rows["time_ns"], _tids(rows), _behind(rows, "<i8")
        return found

    def sorted(
        self, cpus: tuple[int, ...], rings: Rings, reported: bool, start_ns: int, end_ns: int
    ) -> tuple[Rows, Rows, Rows]:
        """Events of the time on these CPUs, names and losses, in order; nothing is left here.

        `reported`: prev_state is already what the kernel's tracepoint reports.
        """
        found: list[tuple[Rows, Rows, Rows]] = []
        for cpu in cpus:
            pieces = self._pieces.pop(cpu, ())
            raw = np.concatenate(pieces) if pieces else np.empty(0, rings.event_dtype)
            del pieces
            found.append((_events(raw, cpu, reported), _names(raw), _losses(raw, cpu, rings.cpus[cpu])))
        events, names, losses = (np.concatenate(rows) for rows in zip(*found, strict=True))
        found.clear()
        events = events[(events["time_ns"] >= start_ns) & (events["time_ns"] < end_ns)]
        return (
            events[np.argsort(events["time_ns"], kind="stable")],
            names[np.argsort(names["time_ns"], kind="stable")],
            losses[np.argsort(losses["first_ns"], kind="stable")],
        )


def read_clocks() -> Clocks:
    """Now, on three clocks: the quickest of a few readings."""
    readings = []
    for _ in range(5):
        before = time.monotonic_ns()
        boottime, realtime = time.clock_gettime_ns(time.CLOCK_BOOTTIME), time.time_ns()
        after = time.monotonic_ns()
        readings.append((after - before, Clocks((before + after) // 2, boottime, realtime)))
    return min(readings, key=lambda reading: reading[0])[1]


def with_missing_names(names: Rows, events: Rows, time_ns: int, root: Path = Path("/proc")) -> Rows:
    """`names` and, from /proc, those of tasks that only woke, and of the leaders of processes that did nothing."""
    numbers = numbers_in(root)
    told = np.unique(names["tid"])
    seen = np.unique(np.concatenate((events["tid"], events["other_tid"], names["tgid"])))
    rows = []
    for tid in np.setdiff1d(seen, told).tolist():
        directory = root / str(numbers.inside(tid))  # there is no task 0
        with suppress(OSError, ValueError, StopIteration):
            # As bytes: a name may hold what ends a line of text, and say `Tgid:` after it.
            lines = (directory / "status").read_bytes().split(b"\n")
            tgid = numbers.of_host(next(int(line[5:]) for line in lines if line.startswith(b"Tgid:")))
            rows.append((time_ns, tid, tgid, (directory / "comm").read_bytes().rstrip(b"\n")))
    return np.concatenate((np.array(rows, NAME_DTYPE), names))


def _build(front_end: FrontEnd) -> Compiled:
    directory = source_directory()
    text = program_text(directory, f"capture/{front_end.name}.c")
    return compiled_before(text, front_end.flags, lambda: compile_programs(text, front_end.flags, directory))


def _kinds(raw: Rows) -> Integers:
    kinds: Integers = raw["kind_and_tid"] >> CAPTURE.KIND_SHIFT
    return kinds


def _tids(raw: Rows) -> Integers:
    tids: Integers = raw["kind_and_tid"] & (1 << CAPTURE.KIND_SHIFT) - 1
    return tids


def _events(raw: Rows, cpu: int, reported: bool) -> Rows:
    kinds = _kinds(raw)
    raw, kinds = raw[kinds < model.NAME], kinds[kinds < model.NAME]
    rows = np.zeros(len(raw), EVENT_DTYPE)
    rows["tid"], rows["kind"], rows["seen_on"] = _tids(raw), kinds, cpu
    for field, source in SAME.items():
        rows[field] = raw[source]
    switches = kinds == model.SWITCH
    left = np.where(switches, raw["woken_by"], 0)
    rows["syscall"] = left & CAPTURE_PATH.CALL_MASK
    rows["woken_by"][switches] = (left[switches] >> 16).astype(np.uint8)
    states = raw["prev_state"]
    rows["prev_state"] = states & 0x1FF if reported else reported_states(states)
    return rows


def _names(raw: Rows) -> Rows:
    raw = raw[_kinds(raw) == model.NAME]
    rows = np.zeros(len(raw), NAME_DTYPE)
    rows["time_ns"], rows["tgid"] = raw["time_ns"], raw["other_tid"]
    letters = _behind(raw, "(16,)u1").copy()
    letters[np.cumsum(letters == 0, axis=1) > 0] = 0  # behind a name that was copied whole is what was there before
    rows["comm"] = np.ascontiguousarray(letters).view("S16")[:, 0]
    rows["tid"] = _tids(raw)
    return rows


def _losses(raw: Rows, cpu: int, state: Any) -> Rows:
    """Where events are missing; the last place is still in the state of the CPU if no event came after it."""
    raw = raw[_kinds(raw) == model.LOST]
    rows = np.zeros(len(raw) + bool(state["pending"]), LOSS_DTYPE)
    rows["first_ns"][: len(raw)], rows["count"][: len(raw)] = raw["time_ns"], raw["other_tid"]
    rows["last_ns"][: len(raw)] = _behind(raw, "<i8")
    if state["pending"]:
        rows[-1:]["first_ns"], rows[-1:]["last_ns"] = state["first_lost_ns"], state["last_lost_ns"]
        rows[-1:]["count"] = state["pending"]
    rows["cpu"] = cpu
    return rows


def _behind(raw: Rows, kind: str) -> Any:
    """What AFTER_OTHER_TID of bpf/capture/capture.h points to."""
    fields: Any = raw.dtype.fields
    start = fields["prev_state"][1]
    layout: Any = {"names": ["it"], "formats": [kind], "offsets": [start], "itemsize": raw.dtype.itemsize}
    return raw.view(np.dtype(layout))["it"]
