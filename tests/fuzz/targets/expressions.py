"""What is typed: conditions of triggers, filters, keys, durations, sizes, moments, lists of CPUs; and names."""

from __future__ import annotations

from contextlib import suppress

import click
import numpy as np

from schedtop.base.cpu_lists import cpu_list, cpus_text
from schedtop.base.units import exact_duration, parse_duration, parse_size
from schedtop.cli.types import Duration, Moment, Number, Size
from schedtop.model.containers import cgroup_label, container_label, container_of
from schedtop.model.filters import Filter
from schedtop.model.rows import SLOW_WAIT_DTYPE, TASK_DTYPE, text
from schedtop.outputs.names import file_stem
from schedtop.triggers.grammar import TriggerError, parse
from schedtop.ui.keys.own_keys import key_named, make_keymap, split_keys
from tests.fuzz.targets.promises import plain

_TASKS, _WAITS = np.ones(3, TASK_DTYPE), np.ones(3, SLOW_WAIT_DTYPE)
_START_NS = 1_700_000_000_000_000_000


def trigger(data: bytes) -> None:
    """A condition: what it means is written so that the same is read back; what is wrong is said in one line."""
    source = data.decode(errors="replace")
    try:
        condition = parse(source)
    except TriggerError as error:
        plain(str(error))
        return
    plain(str(condition))
    assert parse(str(condition)) == condition


def filters(data: bytes) -> None:
    """A filter: the same after it was written, and rows can be asked for with it."""
    source = data.decode(errors="replace")
    try:
        chosen = Filter.parse(source)
    except ValueError as error:
        plain(str(error))
        return
    assert Filter.parse(str(chosen)) == chosen, (chosen, str(chosen))
    for rows, cpu in ((_TASKS, "last_cpu"), (_WAITS, "cpu")):
        assert len(chosen.rows(rows, cpu, {1: "/a.slice/b.service"})) in (0, 3)


def keys(data: bytes) -> None:
    """Keys of the config: a name of a key or one line."""
    source = data.decode(errors="replace")
    for word in split_keys(source):
        try:
            key_named(word)
        except ValueError as error:
            plain(str(error))
    keymap = make_keymap({"freeze": source, "quit": source[:20], source[:30]: source})
    plain(*keymap.problems, *keymap.written.values())


def units(data: bytes) -> None:
    """Durations, sizes, moments, numbers and lists of CPUs: ValueError, or what click says of an option."""
    source = data.decode(errors="replace")
    for read in (parse_duration, parse_size):
        with suppress(ValueError, OverflowError):
            assert read(source) >= 0
    with suppress(ValueError, OverflowError):
        ns = parse_duration(source)
        assert ns > 1 << 62 or parse_duration(exact_duration(ns)) == ns
    with suppress(ValueError):
        cpus = cpu_list(source)
        assert len(cpus) <= 1 << 20
        assert cpu_list(cpus_text(cpus)) == cpus
    # What click says is made plain where it is printed: errors.complain.
    for kind in (Duration(0, 10**18), Size(1, 1 << 40), Number()):
        with suppress(click.BadParameter):
            kind.convert(source, None, None)
    with suppress(click.BadParameter):
        Moment().convert(source, None, None).time_ns(_START_NS)


def names(data: bytes) -> None:
    """Names of tasks and cgroups as the kernel gives them: whatever is shown of them is plain."""
    plain(text(data))
    path = "/" + data.decode("utf-8", "surrogateescape")
    plain(cgroup_label(path), container_label(path))
    found = container_of(path)
    if found:
        plain(found.label, found.id)
    stem = file_stem(path, _START_NS)
    plain(stem)
    assert "/" not in stem
