"""Filter: which tasks are shown, read from text and written back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.base.cpu_lists import cpu_list, cpus_text
from schedtop.base.units import printable
from schedtop.model.containers import cgroup_label, container_label
from schedtop.model.rows import Rows, rows_where, text
from schedtop.model.sched_class import CLASS_WORDS

NO_CGROUPS: Mapping[int, str] = MappingProxyType({})

FIELDS = {
    "comm": "comms",
    "tid": "tids",
    "tgid": "tgids",
    "cpu": "cpus",
    "number": "numbers",
    "cgroup": "cgroups",
    "pidns": "pid_namespaces",
    "class": "classes",
}
"""The words of a filter, and where a Filter keeps their values."""

_chosen = attrgetter(*FIELDS.values())
_chosen_of_tasks = attrgetter(*(name for key, name in FIELDS.items() if key != "cpu"))

TEXTS = ("comm", "cgroup", "class")
WORDS = "comm: tid: tgid: cpu: cgroup: class: pidns:"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which tasks, waits and CPUs are shown. Every given part must hold; within a part one value is enough."""

    comms: tuple[str, ...] = ()
    tids: tuple[int, ...] = ()
    tgids: tuple[int, ...] = ()
    cpus: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    """Bare numbers: a tid or a tgid."""

    cgroups: tuple[str, ...] = ()
    """Parts of a cgroup's path, or of its name on the screen."""
    pid_namespaces: tuple[int, ...] = ()
    classes: tuple[str, ...] = ()
    """Of CLASS_WORDS: scheduling classes and policies."""

    @classmethod
    def parse(cls, source: str) -> Filter:
        """A filter from text: words `comm:NAME`, `tid:N`, `tgid:N` (or `pid:N`), `cpu:N`, `cgroup:TEXT`, `pidns:N`,
        `class:rt` (a scheduling class or a policy); a bare word is part of a comm, a bare number a tid or tgid. `=`
        does for `:`; commas separate alternatives; CPUs may be ranges: `cpu:0-7,12`.

        Raises ValueError with a sentence for the user.
        """
        parts: dict[str, list[str]] = {}
        for word in source.split():
            match = re.fullmatch(r"(\w+)[:=](.+)", word)
            key, value = (match[1].lower(), match[2]) if match else ("number" if _is_number(word) else "comm", word)
            key = "tgid" if key == "pid" else key
            if key not in FIELDS:
                raise ValueError(f"{_short(key)!r} is not a filter: {WORDS}")
            parts.setdefault(key, []).extend(item for item in value.split(",") if item)
        values: dict[str, tuple[str, ...] | tuple[int, ...]] = {}
        for key, items in parts.items():
            if key == "cpu":
                items = [number for item in items for number in _cpu_numbers(item)]
            items = [item.lower() for item in items] if key == "class" else items
            strange = [item for item in items if key == "class" and item not in CLASS_WORDS]
            if strange:
                raise ValueError(
                    f"class:{_short(strange[0])} is no scheduling class or policy: {' '.join(CLASS_WORDS)}"
                )
            wrong = [] if key in TEXTS else [item for item in items if not _is_number(item)]
            if wrong:
                raise ValueError(f"{key}:{_short(wrong[0])} is not a number")
            values[FIELDS[key]] = tuple(items) if key in TEXTS else tuple(map(int, items))
        return cls(**values)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return any(_chosen(self))

    def __str__(self) -> str:
        """Text that `parse` reads back."""
        parts = [(key, getattr(self, name)) for key, name in FIELDS.items() if key != "number"]
        texts = [(key, cpus_text(values) if key == "cpu" else ",".join(map(str, values))) for key, values in parts]
        words = [f"{key}:{values}" for key, values in texts if values]
        return " ".join(words + [str(number) for number in self.numbers])

    @property
    def names_tasks(self) -> bool:
        """Whether it tells tasks apart, so that per-CPU data cannot follow it."""
        return any(_chosen_of_tasks(self))

    def rows(
        self,
        rows: Rows,
        cpu_field: str,
        cgroups: Mapping[int, str] = NO_CGROUPS,
        role: str = "",
        number_field: str = "",
    ) -> Rows:
        """The rows that it lets through.

        `cpu_field` names their CPU column (empty: they have none, and no CPU keeps them out), `cgroups` has the
        paths by id, `role` (`victim_`) is what their other columns begin with, `number_field` the one that has the
        number of a process where they are not of one task.
        """
        if not self or not len(rows):
            return rows
        keep = np.ones(len(rows), bool)
        tid, tgid = (number_field or f"{role}{name}" for name in ("tid", "tgid"))
        for field, wanted in ((tid, self.tids), (tgid, self.tgids), (f"{role}pid_namespace", self.pid_namespaces)):
            if wanted:
                keep &= np.isin(rows[field], wanted)
        if self.numbers:
            keep &= np.isin(rows[tid], self.numbers) | np.isin(rows[tgid], self.numbers)
        if self.cpus and cpu_field:
            keep &= np.isin(rows[cpu_field], self.cpus)
        if self.classes:
            keep &= _is_of_class(rows, role, self.classes)
        if self.comms:
            keep &= _any_part(rows[role + "comm"], text, self.comms)
        if self.cgroups:
            keep &= _any_part(rows[role + "cgroup_id"], lambda cgroup: _cgroup_text(cgroup, cgroups), self.cgroups)
        return rows_where(rows, keep)

    def on_cpus(self, cpus: tuple[int, ...]) -> Filter:
        """The same on these CPUs alone, of those that it lets through; the same if there are none of them."""
        chosen = tuple(self.cpu_ids(cpus))
        return replace(self, cpus=chosen) if chosen else self

    def cpu_ids(self, ids: Iterable[int]) -> list[int]:
        """The CPUs that it lets through."""
        wanted = frozenset(self.cpus)
        return [cpu for cpu in ids if not wanted or cpu in wanted]


def _is_number(item: str) -> bool:
    """Whether it may be the number of anything: numpy compares 64 bits."""
    return item.isascii() and item.isdecimal() and len(item) < 19


def _short(word: str) -> str:
    """What a user typed or pasted, in a message of one line."""
    return printable(word if len(word) <= 40 else f"{word[:37]}...")


def _cpu_numbers(item: str) -> list[str]:
    """The numbers of a range of CPUs, as text; what is none stays as it is."""
    if re.fullmatch(r"[0-9]+-[0-9]+", item):
        try:
            return [str(cpu) for cpu in cpu_list(item)]
        except ValueError as error:
            raise ValueError(f"cpu:{_short(item)} is not a range of CPUs") from error
    return [item]


def _any_part(values: npt.NDArray[Any], name: Callable[[Any], str], wanted: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Where the name of a value contains one of the wanted parts, whatever the case."""
    parts = [part.lower() for part in wanted]
    distinct, inverse = np.unique(values, return_inverse=True)
    found = [any(part in name(value).lower() for part in parts) for value in distinct.tolist()]
    return np.array(found, bool)[inverse]


def _is_of_class(rows: Rows, role: str, wanted: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Where class or policy is one of CLASS_WORDS; nothing of rows that tell neither."""
    found = np.zeros(len(rows), bool)
    if f"{role}sched_class" not in (rows.dtype.names or ()):
        return found
    for word in wanted:
        classes, policies = CLASS_WORDS[word]
        found |= np.isin(rows[f"{role}sched_class"], classes) | np.isin(rows[f"{role}policy"], policies)
    return found


def _cgroup_text(cgroup: int, cgroups: Mapping[int, str]) -> str:
    path = cgroups.get(cgroup, "")
    return f"{path} {cgroup_label(path)} {container_label(path)}" if path else ""
