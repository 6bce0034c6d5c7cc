"""Recordings: whole files, packed ones, and single lines; what was read is shown and written like any other."""

from __future__ import annotations

import gzip
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from schedtop.commands.evidence import read_evidence
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.model.source import SourceError
from schedtop.outputs.report.text import to_text as report_text
from schedtop.outputs.scheduler.csv import to_csv
from schedtop.outputs.scheduler.text import to_text
from schedtop.recording.lines import RecordingError, frame_line, read_entry, read_frame, read_header
from schedtop.sources.replay.recorded import Recording
from tests.fuzz.targets.inflating import inflated as inflate
from tests.fuzz.targets.promises import plain

_HOST = Host("fuzzed", "6.18.0", "recording")


@cache
def _place() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="schedtop-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    return directory / "recording.rec"


def recording(data: bytes) -> None:
    """A file of lines: opened, every interval read, and reported on."""
    path = _place()
    path.write_bytes(data)
    try:
        with Recording(path) as opened:
            plain(opened.damage, opened.header.asked, opened.header.host.name, *opened.header.triggers)
            plain(*(event.text for event in opened.events))
            for number in range(min(len(opened), 20)):
                with suppress(SourceError):
                    opened.frame(number)
        plain(report_text(read_evidence(path, Filter()), 20))
    except SourceError as error:
        plain(str(error))


def packed(data: bytes) -> None:
    """A file that gzip packed: what it holds, damaged by the fuzzer; whatever does not begin so is packed first."""
    path = _place()
    path.write_bytes(data if data[:2] == b"\x1f\x8b" else gzip.compress(data, 1, mtime=0))
    try:
        with Recording(path) as opened:
            for number in range(min(len(opened), 20)):
                with suppress(SourceError):
                    opened.frame(number)
    except SourceError as error:
        plain(str(error))


def inflated(data: bytes) -> None:
    """A recording that was packed well: few bytes stand for ten million."""
    recording("".join(inflate(data)).encode(errors="replace"))


def frame(data: bytes) -> None:
    """A line: what can be read can be shown, and written and read again."""
    for read in (read_header, read_entry):
        with suppress(RecordingError):
            read(data)
    try:
        found = read_frame(data)
    except RecordingError as error:
        plain(str(error))
        return
    _show(found)
    again = read_frame(frame_line(found))
    assert again.tasks.tobytes() == found.tasks.tobytes()
    assert (again.latency.counts == found.latency.counts).all()


def _show(found: Frame) -> None:
    for group in ("thread", "process", "container"):
        settings = ViewSettings(group=group)
        view = History(_HOST, [found]).view(settings)
        plain(to_text(view), to_csv(view))
    History(_HOST, [found + found]).view(ViewSettings())
