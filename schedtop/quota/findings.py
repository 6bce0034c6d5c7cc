"""Findings: the advice on all throttled cgroups of a recording, or of the live kernel, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from schedtop.model.containers import cgroup_label
from schedtop.model.counts import Loss
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.quota.advice import Advice, advise
from schedtop.quota.record import QuotaRecords


@dataclass(frozen=True, slots=True)
class Findings:
    """What was looked at, and the Advice on each throttled cgroup, the most throttled first.

    `file`: the recording, empty if it was live; `damage`: what of it could not be read; `wanted`: only cgroups with
    this in their path or name; `quotas`: how many cgroups had a quota; `changed`: those whose quota was changed
    meanwhile, by id; `without_waits`: why single waits are not known, empty if they are.
    """

    host: Host
    file: str
    damage: str
    wanted: str
    start_time_ns: int
    interval_ns: int
    threshold_ns: int
    loss: Loss
    quotas: int
    changed: frozenset[int]
    without_waits: str
    advices: tuple[Advice, ...]


class Study:
    """Adds up Frames, in order of time, to Findings."""

    def __init__(self, wanted: str = "") -> None:
        self._wanted = wanted
        self._records = QuotaRecords()
        self._start_time_ns = self._threshold_ns = 0
        self._without_waits = ""
        self._loss = Loss()
        self._quotas: set[int] = set()
        self.interval_ns = 0

    def add(self, frame: Frame) -> None:
        """One more interval."""
        self._start_time_ns = self._start_time_ns or frame.start_time_ns
        self._threshold_ns = frame.threshold_ns
        self._without_waits = frame.unavailable.get("slow_waits", "")
        self._loss += frame.loss
        self._quotas |= set(frame.throttling["cgroup_id"].tolist())
        self.interval_ns += frame.interval_ns
        self._records.add(frame)

    def findings(self, host: Host, file: str = "", damage: str = "") -> Findings:
        """Of what was added so far."""
        records = [record for record in self._records.records() if self._is_wanted(record.path)]
        return Findings(
            host=host,
            file=file,
            damage=damage,
            wanted=self._wanted,
            start_time_ns=self._start_time_ns,
            interval_ns=self.interval_ns,
            threshold_ns=self._threshold_ns,
            loss=self._loss,
            quotas=len(self._quotas),
            changed=frozenset(self._records.changed),
            without_waits=self._without_waits,
            advices=tuple(map(advise, records)),
        )

    def _is_wanted(self, path: str) -> bool:
        return self._wanted in path or self._wanted in cgroup_label(path)
