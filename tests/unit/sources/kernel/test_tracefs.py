"""The format files of tracepoints."""

from pathlib import Path

import pytest

from schedtop.sources.kernel.tracefs import Field, TracefsError, find_tracefs, parse_format, read_fields

SWITCH = """name: sched_switch
ID: 314
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:__data_loc char[] next_comm;\toffset:40;\tsize:4;\tsigned:0;
\tfield:char name[TASK_COMM_LEN];\toffset:44;\tsize:16;\tsigned:0;

print fmt: "prev_comm=%s field:bogus", REC->prev_comm
"""


def test_fields_have_type_offset_and_size() -> None:
    fields = parse_format(SWITCH)
    assert fields["prev_pid"] == Field("prev_pid", "pid_t", 24, 4)
    assert fields["prev_state"] == Field("prev_state", "long", 32, 8)
    assert fields["common_type"] == Field("common_type", "unsigned short", 0, 2)


def test_arrays_are_named_without_their_length() -> None:
    fields = parse_format(SWITCH)
    assert fields["prev_comm"] == Field("prev_comm", "char", 8, 16)
    assert fields["name"].size == 16


def test_a_name_behind_the_record_is_told_by_its_size() -> None:
    assert parse_format(SWITCH)["next_comm"] == Field("next_comm", "__data_loc char[]", 40, 4)


def test_the_print_format_is_no_field() -> None:
    assert "bogus" not in parse_format(SWITCH)
    assert parse_format("name: nothing\n") == {}


@pytest.fixture
def tracefs(tmp_path: Path) -> Path:
    event = tmp_path / "events" / "sched" / "sched_switch"
    event.mkdir(parents=True)
    (event / "format").write_text(SWITCH)
    return tmp_path


def test_a_tracepoint_is_read_by_category_and_name(tracefs: Path) -> None:
    assert (read_fields(tracefs, "sched:sched_switch") or {})["prev_pid"].offset == 24


def test_a_tracepoint_that_the_kernel_lacks_is_none(tracefs: Path) -> None:
    assert read_fields(tracefs, "sched:sched_nothing") is None


def test_an_unreadable_format_names_the_file(tracefs: Path) -> None:
    path = tracefs / "events" / "sched" / "sched_bad" / "format"
    path.mkdir(parents=True)
    with pytest.raises(TracefsError, match="sched_bad/format"):
        read_fields(tracefs, "sched:sched_bad")


def test_the_first_mounted_tracefs_is_taken(tracefs: Path, tmp_path: Path) -> None:
    assert find_tracefs((tmp_path / "no", tracefs)) == tracefs


def test_missing_tracefs_names_the_mount_command(tmp_path: Path) -> None:
    with pytest.raises(TracefsError, match="mount -t tracefs"):
        find_tracefs((tmp_path,))
