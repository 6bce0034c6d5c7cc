"""Commands without a screen: they collect for a while and write data."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from schedtop.base.units import NS_PER_S
from schedtop.charts.text import Piece, trends_text
from schedtop.charts.trends import values_of
from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.frame import Frame
from schedtop.model.source import Source, SourceError
from schedtop.outputs.files import check_target, write_file
from schedtop.outputs.scheduler.csv import to_csv
from schedtop.outputs.scheduler.snapshot import to_json
from schedtop.outputs.scheduler.text import to_text
from schedtop.run.garbage import set_aside
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.stdout import write_stdout
from schedtop.run.threads import in_thread

FORMATS: dict[str, Callable[[View, int | None], str]] = {"json": to_json, "text": to_text, "csv": to_csv}

PLOT_LEAST_NS = NS_PER_S // 10
PLOT_FRAMES = 60
"""Charts over less than so many seconds have a Frame each tenth of a second."""


def take_snapshot(
    signals: Signals,
    *,
    source: Source,
    opening: str,
    duration_ns: int,
    settings: ViewSettings,
    format_name: str,
    tasks: int | None,
    output: Path | None,
    force: bool,
    plot: bool = False,
) -> None:
    """Collects for `duration_ns` and writes one snapshot to `output` (`None`: standard output).

    `plot`: charts over the time come at the end of the text.

    Raises SourceError, OutputError, Interrupted.
    """
    if output:
        check_target(output, force=force)
    pieces: list[Piece] = []
    view = in_thread(lambda: _collect(source, opening, signals.stop, settings, pieces if plot else None), signals)
    signals.check()
    with signals.raising():
        data = FORMATS[format_name](view, tasks)
        if charts := trends_text(pieces, view.frame.start_time_ns):
            data = f"{data}\n{charts}\n"
        if output:
            write_file(output, data, force=force)
        else:
            write_stdout(data)


def interval_of(duration_ns: int) -> int:
    """The length of the Frames that fill a duration: a second, or the next shorter one that divides it."""
    return duration_ns // -(-duration_ns // NS_PER_S)


def plot_interval_of(duration_ns: int) -> int:
    """The same for charts over the duration: a tenth of a second for less than a minute."""
    return interval_of(duration_ns) if duration_ns >= PLOT_FRAMES * NS_PER_S else PLOT_LEAST_NS


def _collect(
    source: Source, opening: str, stop: threading.Event, settings: ViewSettings, pieces: list[Piece] | None
) -> View:
    """The View of the first Frames that fill the window; of what there is when the source ends or `stop` is set.

    `pieces`: what charts need of each Frame is put there, if they are wanted.
    """
    total: Frame | None = None
    with progress(opening):
        source.__enter__()
    try:
        set_aside()
        for frame in source.frames(stop):
            if pieces is not None:
                offset_ns = total.interval_ns if total else 0
                pieces.append(
                    Piece(offset_ns, frame.interval_ns, values_of([frame], settings.shown_filter.cpus or None))
                )
            total = total + frame if total else frame
            if total.interval_ns + frame.interval_ns / 2 > settings.window_ns:
                break
    finally:
        source.__exit__(None, None, None)
    if total is None:
        raise SourceError("the source ended before it gave any data")
    return History(source.host, [total]).view(settings)
