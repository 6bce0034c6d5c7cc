"""What the programs read of tracepoints' records, and whether a kernel's records have it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from schedtop.model.source import SourceError
from schedtop.sources.kernel.program_text import program_text, source_directory
from schedtop.sources.kernel.records import Load, check_records, loads_in, loads_of
from schedtop.sources.kernel.tracefs import Field, parse_format
from schedtop.sources.offcpu.front_end import EVENTS

PROGRAMS = [path.relative_to(source_directory()).as_posix() for path in source_directory().glob("*/tracepoint.c")]

SWITCH = """
\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;
\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;
\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;
"""


def test_programs_with_records_are_found() -> None:
    assert len(PROGRAMS) == 5


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_load_of_a_record_is_known(program: str) -> None:
    text = program_text(source_directory(), program)
    macros = set(re.findall(r"\b([A-Z0-9_]+)_FIELD\b", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)))
    assert len({(load.event, load.field) for load in loads_of(program)}) == len(macros) > 4


def test_fields_of_one_tracepoint_are_not_those_of_another() -> None:
    text = "int tracepoint_sched_wakeup(void *ctx)\nint tracepoint_sched_wakeup_new(void *ctx)\n"
    text += "FIELD(u32, ctx, WAKEUP_PID_FIELD) FIELD(s32, ctx,\n\tWAKEUP_NEW_PRIO_FIELD)"
    text += "FIELD(u64, ctx, WAKEUP_X_FIELD + 8)"
    assert loads_in(text) == (
        Load("sched_wakeup", "pid", 4, 4),
        Load("sched_wakeup_new", "prio", 4, 4),
        Load("sched_wakeup", "x", 8, 16),
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("pid_t prev_pid;\toffset:24;\tsize:4", "u16 prev_pid;\toffset:24;\tsize:2", "prev_pid as 2 bytes, not 4"),
        ("prev_state;\toffset:32", "prev_state;\toffset:34", "prev_state at byte 34, where 4 bytes cannot be read"),
        ("next_pid", "next_tid", "no next_pid"),
        ("prev_comm[16];\toffset:8", "prev_comm[16];\toffset:12", "prev_comm at byte 12, where 8 bytes cannot be read"),
    ],
)
def test_a_record_that_cannot_be_read_is_refused_in_one_line(old: str, new: str, said: str) -> None:
    assert old in SWITCH
    with pytest.raises(SourceError) as failure:
        check_records("scheduler/tracepoint.c", {"sched_switch": parse_format(SWITCH.replace(old, new))})
    assert said in str(failure.value) and "sched_switch" in str(failure.value)
    assert "\n" not in str(failure.value)


def test_names_behind_the_record_are_not_read() -> None:
    """Newer kernels have them there; then there is no name."""
    fields = parse_format(SWITCH) | {"prev_comm": Field("prev_comm", "__data_loc char[]", 4, 4)}
    check_records("scheduler/tracepoint.c", {"sched_switch": fields})


def test_a_tracepoint_that_is_not_there_is_not_read() -> None:
    check_records("scheduler/tracepoint.c", {})


def test_where_the_high_bytes_come_first_a_part_of_a_number_is_not_read() -> None:
    state = Field("prev_state", "long", 32, 8)
    load = Load("sched_switch", "prev_state", 4, 4)
    assert not load.misfit(state, "little")
    assert load.misfit(state, "big")
    assert not Load("s", "saddr_v6", 8, 8).misfit(Field("saddr_v6", "__u8", 40, 16), "big")


@pytest.mark.skipif(not Path("/sys/kernel/tracing/events").is_dir(), reason="tracefs is not readable here")
def test_this_kernels_records_can_be_read() -> None:
    for event in EVENTS:
        path = Path("/sys/kernel/tracing/events/sched") / event / "format"
        check_records("scheduler/tracepoint.c", {event: parse_format(path.read_text())})
