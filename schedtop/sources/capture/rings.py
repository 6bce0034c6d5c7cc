"""The rings of a capture, one for each CPU, and what was taken out of them (bpf/capture/capture.h)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.base.breath import keep_on
from schedtop.capture import events as model
from schedtop.capture.events import (
    EVENT_DTYPE,
    HELD_DTYPE,
    LOSS_DTYPE,
    NAME_DTYPE,
    PLACE_DTYPE,
    Lost,
    reported_states,
)
from schedtop.model.rows import Integers, Rows, join_rows, rows_where, take_many
from schedtop.sources.capture.places import Addresses, Places
from schedtop.sources.host.topology import online_cpus
from schedtop.sources.kernel import bpf_syscall as calls
from schedtop.sources.kernel.compiler import Compiled
from schedtop.sources.kernel.constants import CAPTURE, CAPTURE_PATH
from schedtop.sources.kernel.front_end import FrontEnd
from schedtop.sources.kernel.loader import Loader

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


_ALL_TASKS = "iter_task"
IDLE_PRIO = 120
"""Of the idle tasks (init_idle() of kernel/sched/core.c)."""


@dataclass(frozen=True, slots=True, eq=False)
class LossCounts:
    """What was lost: `by_kind`, shape (cpus, kinds); `interrupting`: events that came while another one was being
    written on their CPU; `refused`: stacks that the kernel did not give."""

    by_kind: Integers
    interrupting: int
    refused: int

    def __sub__(self, before: LossCounts) -> LossCounts:
        by_kind: Integers = self.by_kind - before.by_kind
        return LossCounts(by_kind, self.interrupting - before.interrupting, self.refused - before.refused)

    @property
    def stacks(self) -> int:
        """Those that found no room."""
        return int(self.by_kind[:, model.STACK].sum())

    def all_with(self, lost_stacks: int) -> Lost:
        """In all, with stacks that were lost later."""
        events = int(self.by_kind[:, list(model.KIND_WORDS)].sum())
        return Lost(events, self.interrupting, self.stacks + lost_stacks, self.refused)


class Rings(Loader):
    """The attached programs and the rings that they fill, one for each CPU id below `cpus`."""

    def __init__(self, front_end: FrontEnd, compiled: Compiled, cpus: int, buffer_bytes: int) -> None:
        """Loads and attaches; nothing is captured until `open`. Raises SourceError."""
        super().__init__(compiled, front_end.hooks, optional=(_ALL_TASKS,))
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
            self._start()

    def close(self) -> None:
        """Detaches, and unmaps the rings: whoever held this while they were open may hold it for long."""
        super().close()
        self._events = self._stacks = np.empty(0, np.void)

    def open(self, start_ns: int, end_ns: int) -> None:
        """Has the kernel side write what happens between two times of CLOCK_MONOTONIC."""
        self._config["ring_events"] = self.size
        # In this order: with the end first, it would be open until the start is known.
        self._config["start_ns"] = start_ns
        self._config["end_ns"] = end_ns

    def take_stacks_from(self, least_ns: int) -> None:
        """Has the kernel side take the stacks of sleeps that are at least so long."""
        self._config["least_sleep_ns"] = least_ns

    def running(self) -> dict[int, tuple[int, int]]:
        """By CPU what has it now: tid and priority, tid 0 for idle. Nothing if this kernel cannot be asked."""
        links = self._attached.get(_ALL_TASKS, ())
        self._config["look"] = look = int(self._config["look"][0]) + 1
        online = online_cpus() if links else ()
        for link in links:
            calls.read_iterator(link)
        had = self.cpus["look"] == look
        return {
            cpu: (int(self.cpus["had_by"][cpu]), int(self.cpus["had_prio"][cpu])) if had[cpu] else (0, IDLE_PRIO)
            for cpu in online
            if cpu < len(self.cpus)
        }

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

    def pending_losses(self, cpus: Iterable[int]) -> Rows:
        """Rows of LOSS_DTYPE: the last losses on these CPUs, if no event came after them."""
        states = [(cpu, self.cpus[cpu]) for cpu in cpus if self.cpus["pending"][cpu]]
        rows = np.zeros(len(states), LOSS_DTYPE)
        for row, (cpu, state) in zip(rows, states, strict=True):
            row["cpu"], row["count"] = cpu, state["pending"]
            row["first_ns"], row["last_ns"] = state["first_lost_ns"], state["last_lost_ns"]
        return rows

    def losses(self) -> LossCounts:
        """What was lost so far."""
        return LossCounts(
            self.cpus["lost"].astype(np.int64),
            self.misses() + int(self.cpus["interrupting"].sum()),
            int(self.cpus["stacks_refused"].sum()),
        )

    def take(self, cpu: int) -> Rows:
        """The events of a CPU up to where its ring was at the call before; their places are free again.

        Those after may not be all written yet, as seen from here: some processors reorder writes.
        """
        start, end = int(self._readers["tail"][cpu]), int(self._heads[cpu])
        self._heads[cpu] = self.cpus["head"][cpu]
        base, at = cpu * self.size, start & (self.size - 1)
        count = end - start
        first = min(count, self.size - at)
        rows = join_rows((self._events[base + at : base + at + first], self._events[base : base + count - first]))
        self._readers["tail"][cpu] = end
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What the rings told, in rows of EVENT_DTYPE, NAME_DTYPE, LOSS_DTYPE and HELD_DTYPE, CPU by CPU."""

    events: Rows
    names: Rows
    losses: Rows
    held: Rows

    def within(
        self, cpus: tuple[int, ...], start_ns: int, end_ns: int, breathe: Callable[[], object] = keep_on
    ) -> Told:
        """Its events of these CPUs and a span of time, and its losses cut to that, all in the order of time.

        `breathe` is called in between.
        """
        events, losses = self.events, self.losses
        here = (events["time_ns"] >= start_ns) & (events["time_ns"] < end_ns) & np.isin(events["seen_on"], cpus)
        breathe()
        events = _in_order(events, "time_ns", here, breathe)
        here = (losses["last_ns"] >= start_ns) & (losses["first_ns"] < end_ns) & np.isin(losses["cpu"], cpus)
        losses = _in_order(losses, "first_ns", here)
        losses["first_ns"] = np.maximum(losses["first_ns"], start_ns)
        losses["last_ns"] = np.minimum(losses["last_ns"], end_ns - 1)
        names = _in_order(self.names, "time_ns", np.ones(len(self.names), bool))
        return Told(events, names, losses, self.held)


def joined(parts: Sequence[Told], breathe: Callable[[], object] = keep_on) -> Told:
    """All of them in one. `breathe` is called in between."""
    if not parts:
        return Told(*(np.empty(0, dtype) for dtype in (EVENT_DTYPE, NAME_DTYPE, LOSS_DTYPE, HELD_DTYPE)))
    events = np.empty(sum(len(part.events) for part in parts), EVENT_DTYPE)
    whole, at = events.view((np.void, EVENT_DTYPE.itemsize)), 0
    for part in parts:
        whole[at : at + len(part.events)] = part.events.view(whole.dtype)
        at += len(part.events)
        breathe()
    return Told(events, *(join_rows([getattr(part, name) for part in parts]) for name in ("names", "losses", "held")))


def _in_order(rows: Rows, at: str, chosen: npt.NDArray[np.bool_], breathe: Callable[[], object] = keep_on) -> Rows:
    """The chosen ones in the order of time; many rows are copied once."""
    places = np.flatnonzero(chosen)
    breathe()
    places = places[np.argsort(rows[at][places], kind="stable")]
    breathe()
    return take_many(rows, places, breathe)


class Taken:
    """What was taken out of the rings so far, as it was there, by CPU."""

    def __init__(self) -> None:
        self.count = 0
        self.places = Places()
        self.pieces: dict[int, list[Rows]] = {}

    def add(self, rings: Rings) -> None:
        """Empties all rings."""
        for cpu in rings.active():
            rows = rings.take(cpu)
            if len(rows):
                self.pieces.setdefault(cpu, []).append(rows)
                self.count += len(rows)
                self._take_places(rings, cpu, rows_where(rows, _kinds(rows) == model.STACK))

    def switched(self, cpu: int, since_ns: int) -> bool:
        """Whether that CPU has a switch in it since then; the last ones are looked at first."""
        for rows in reversed(self.pieces.get(cpu, ())):
            if ((_kinds(rows) == model.SWITCH) & (rows["time_ns"] >= since_ns)).any():
                return True
        return False

    def _take_places(self, rings: Rings, cpu: int, rows: Rows) -> None:
        """Their ring is small: before it goes round."""
        if len(rows):
            places, addresses = rings.places(cpu, rows)
            self.places.add(places, addresses)
            self.places.lost += len(rows) - len(places)

    def names(self) -> Rows:
        """The names that are told in it, rows of NAME_DTYPE."""
        found = [_names(rows) for pieces in self.pieces.values() for rows in pieces]
        return join_rows(found) if found else np.empty(0, NAME_DTYPE)

    def told(self, reported: bool, breathe: Callable[[], object] = keep_on) -> Told:
        """What is told in it; its raw rows are gone then, names and stacks stay.

        `reported`: prev_state is already what the kernel's tracepoint reports. `breathe` is called in between.
        """
        found = []
        for cpu in sorted(self.pieces):
            raw = join_rows(self.pieces[cpu])
            # Names are told once, and may be asked for again.
            self.pieces[cpu] = [rows_where(raw, _kinds(raw) == model.NAME)]
            found.append(Told(_events(raw, cpu, reported), _names(raw), _losses(raw, cpu), _held(raw)))
            breathe()
        return joined(found)


def _kinds(raw: Rows) -> Integers:
    """Numbers of `capture/events.py`."""
    kinds: Integers = raw["kind_and_tid"] >> CAPTURE.KIND_SHIFT
    return kinds


def _tids(raw: Rows) -> Integers:
    tids: Integers = raw["kind_and_tid"] & (1 << CAPTURE.KIND_SHIFT) - 1
    return tids


def _events(raw: Rows, cpu: int, reported: bool) -> Rows:
    kinds = _kinds(raw)
    raw, kinds = rows_where(raw, kinds < model.NAME), kinds[kinds < model.NAME]
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
    raw = rows_where(raw, _kinds(raw) == model.NAME)
    rows = np.zeros(len(raw), NAME_DTYPE)
    rows["time_ns"], rows["tgid"] = raw["time_ns"], raw["other_tid"]
    letters = _behind(raw, "(16,)u1").copy()
    letters[np.cumsum(letters == 0, axis=1) > 0] = 0  # behind a name that was copied whole is what was there before
    rows["comm"] = np.ascontiguousarray(letters).view("S16")[:, 0]
    rows["tid"] = _tids(raw)
    return rows


def _losses(raw: Rows, cpu: int) -> Rows:
    """Where events are missing."""
    raw = rows_where(raw, _kinds(raw) == model.LOST)
    rows = np.zeros(len(raw), LOSS_DTYPE)
    rows["first_ns"], rows["count"], rows["last_ns"] = raw["time_ns"], raw["other_tid"], _behind(raw, "<i8")
    rows["cpu"] = cpu
    return rows


def _held(raw: Rows) -> Rows:
    """The waits that a quota had a part in."""
    raw = rows_where(raw, _kinds(raw) == model.HELD)
    rows = np.zeros(len(raw), HELD_DTYPE)
    rows["time_ns"], rows["tid"], rows["held_ns"] = raw["time_ns"], _tids(raw), _behind(raw, "<i8")
    return rows


def _behind(raw: Rows, kind: str) -> Any:
    """What AFTER_OTHER_TID of bpf/capture/capture.h points to."""
    fields: Any = raw.dtype.fields
    start = fields["prev_state"][1]
    layout: Any = {"names": ["it"], "formats": [kind], "offsets": [start], "itemsize": raw.dtype.itemsize}
    return raw.view(np.dtype(layout))["it"]
