"""Conditions about what tasks do."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from schedtop.activity.recorded import table_of
from schedtop.model.frame import Frame
from schedtop.sources.proc.source import LOST, lost_frame
from schedtop.sources.synthetic.scheduler import Scenario, make_frame
from schedtop.triggers.activity import FIELDS, NO_CLASSES, NOT_MEASURED
from schedtop.triggers.grammar import parse
from schedtop.triggers.measured import Measured
from schedtop.triggers.plan import Plan
from schedtop.triggers.watch import Watch
from tests.unit.activity.made import activity, row


def frame(**more: Any) -> Frame:
    numbers = {
        "syscalls": 900, "syscall_errors": 300, "major_faults": 40, "tcp_failures": 20, "tcp_retransmits": 30,
    }  # fmt: skip
    found = activity(
        row(5, 5, process=b"nginx", cgroup_id=7, **numbers),
        row(6, 6, process=b"rsync", cgroup_id=8, **{name: 2 * count for name, count in numbers.items()}),
        interval_ns=2_000_000_000,
        **more,
    )
    made = make_frame(Scenario(), 0, np.random.default_rng(0))
    return replace(made, activity=table_of(found), cgroups=found.cgroups)


def measured(text: str, of: Frame) -> Measured:
    (part,) = parse(text).comparisons
    return part.metric.measure((of,), part.argument)


@pytest.mark.parametrize(
    ("subject", "value"),
    [
        ("syscalls", 1350),
        ("syscall_errors", 450),
        ("major_faults", 60),
        ("tcp_failures", 30),
        ("retransmits", 45),
        ("syscall_errors(comm:nginx)", 150),
        ("retransmits(cgroup:web.service)", 15),
        ("major_faults(pid:6)", 40),
    ],
)
def test_rates_are_of_the_time_in_which_activity_was_measured(subject: str, value: float) -> None:
    assert measured(f"{subject} > 1/s", frame()) == Measured(value)


def test_a_process_that_is_not_there_matches_nothing() -> None:
    assert measured("syscalls(comm:nothing) > 1/s", frame()) == Measured(0, matched=False)


def test_what_is_not_measured_says_why() -> None:
    without = replace(frame(), activity=None)
    assert measured("syscalls > 1/s", without) == Measured(None, NOT_MEASURED)
    no_faults = frame(unavailable=MappingProxyType({"faults": "this kernel has no iterator"}))
    assert measured("major_faults > 1/s", no_faults) == Measured(None, "this kernel has no iterator")
    assert measured("syscalls > 1/s", no_faults).value == 1350
    assert measured("retransmits > 1/s", frame(only=("syscalls",))) == Measured(None, NOT_MEASURED)
    assert measured("syscalls(class:rt) > 1/s", frame()) == Measured(None, NO_CLASSES)
    assert measured("syscalls(pidns:4026531836) > 1/s", frame()) == Measured(None, NO_CLASSES)


@pytest.mark.parametrize("name", FIELDS)
def test_proc_alone_has_none(name: str) -> None:
    assert measured(f"{name} > 1/s", lost_frame()).why in LOST


def test_condition_fires() -> None:
    watch = Watch([parse("syscall_errors(comm:nginx) > 100/s"), parse("retransmits > 100/s")])
    (fired,) = watch.feed(frame())
    assert fired.values == (150,)


def test_only_conditions_about_activity_need_it() -> None:
    assert parse("steal > 5% and retransmits > 10/s").needs_activity
    assert not parse("p99 > 10ms").needs_activity
    assert Plan((parse("p99 > 10ms"), parse("syscalls > 1/s"))).needs_activity
    assert not Plan((parse("p99 > 10ms"),)).needs_activity
