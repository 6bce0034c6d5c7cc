"""`schedtop convert`: recordings as tables, for databases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import click

from schedtop.base.units import format_bytes, plural, printable
from schedtop.commands.recorded import open_recording
from schedtop.model.source import SourceError
from schedtop.outputs.convert.columns import TABLES
from schedtop.outputs.convert.rows import Interval
from schedtop.outputs.files import OutputError, check_directory, check_target
from schedtop.run.errors import complain
from schedtop.run.memory import bounded
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.sources.replay.recorded import Recording

MISSING = "convert needs pyarrow, which is not installed: pip install 'schedtop[parquet]', or pip install pyarrow"


def run(signals: Signals, files: Sequence[Path], options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    target = Path(options["output"])
    one = options["table"] is not None and not options["partition"] and len(files) == 1 and not target.is_dir()
    try:
        # Late: it is an extra.
        from schedtop.outputs.convert import parquet
    except ImportError as error:
        raise OutputError(MISSING) from error
    tables = [options["table"]] if options["table"] else list(TABLES)
    if one:
        check_target(target, force=options["force"])
    else:
        check_directory(target if target.exists() else target.absolute().parent)
    with signals.raising():
        for path in files:
            with progress(f"reading {path.name}"), bounded(path), open_recording(path) as recording:
                place: Callable[[str, date], Path] = (
                    (lambda _table, _day: target)
                    if one
                    else parquet.place_below(target, recording.header, options["partition"])
                )
                with parquet.ParquetWriter(tables, place, force=options["force"]) as writer:
                    damage = _fill(writer, recording)
                    written = writer.finish()
            if damage:
                complain(f"{path}: {damage}")
            rows, size = sum(file.rows for file in written), sum(file.bytes for file in written)
            made = f"{len(written)} {plural(len(written), 'file')}"
            click.echo(f"{path}: {rows:,} {plural(rows, 'row')} in {made}, {format_bytes(size)}", err=True)
    return 0


def _fill(writer: Any, recording: Recording) -> str:
    """Gives the intervals to a writer, and what is wrong with the recording. Raises SourceError without any."""
    name, unread = printable(recording.path.name), []
    for number in range(len(recording)):
        try:
            frame = recording.frame(number)
        except SourceError as error:
            unread.append(str(error))
            continue
        writer.add(Interval(recording.header, name, frame))
    if len(unread) == len(recording):
        raise SourceError(unread[0])
    within = f"{len(unread)} damaged {plural(len(unread), 'interval')} left out" if unread else ""
    return "; ".join(filter(None, (recording.damage, within)))
