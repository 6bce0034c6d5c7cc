"""Where a stream is from: the running kernel, or a recording (`--replay`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from schedtop.commands.opening import settings_of, source_of
from schedtop.commands.recorded import check_cpus, open_recording, recorded_settings
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.source import Source
from schedtop.run.errors import complain
from schedtop.run.memory import bounded
from schedtop.run.opening import opening_words
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.streaming import Streaming
from schedtop.run.threads import in_thread
from schedtop.sources.replay.whole import WholeRecording

OF_THE_KERNEL = (
    "source", "threshold", "measure_overhead", "interrupts", "no_renice", "hide_self", "cgroup", "pidns", "only"
)  # fmt: skip
"""Options that a recording has answered already."""


def streaming(
    signals: Signals, options: Mapping[str, Any], interval_ns: int, **what: Any
) -> tuple[Streaming, WholeRecording | None]:
    """A stream of what the options name, and the recording if that is one. Raises UsageError, SourceError.

    `interval_ns`: the length of an interval; of a recording 0 takes each as it was recorded. `what`: see Streaming.
    """
    if options["replay"] is None:
        # A made-up host takes its time only where nothing else ends the stream.
        paced = options["source"] == "synthetic" and what["count"] is None
        source: Source = source_of(dict(options), interval_ns, paced=paced)
        settings = settings_of(dict(options))
        return Streaming(source, opening_words(options["source"]), settings, **what), None
    refuse_given(OF_THE_KERNEL, "--replay: a recording has what it was made with")
    path = Path(options["replay"])
    with progress(f"reading {path}"), bounded(path):
        recording = in_thread(lambda: open_recording(path), signals)
        check_cpus(recording, options["cpu"])
    signals.check()
    settings = _recorded(recorded_settings(recording, options), options)
    whole = WholeRecording(recording)
    return Streaming(whole, "", settings, interval_ns=interval_ns, is_live=False, **what), whole


def refuse_given(names: tuple[str, ...], what: str) -> None:
    """Raises UsageError if one of these options is on the command line: it does not go with `what`."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with {what}")


def say_damage(recording: WholeRecording | None) -> None:
    """Says on standard error how many intervals of the recording were left out."""
    if recording and recording.damaged:
        complain(f"intervals of the recording that are damaged and left out: {recording.damaged}")


def _recorded(settings: ViewSettings, options: Mapping[str, Any]) -> ViewSettings:
    """With the numbers of tasks that were asked for, which `schedtop replay` does not take."""
    if not (options["tid"] or options["pid"]):
        return settings
    chosen = Filter(comms=options["comm"], tids=options["tid"], tgids=options["pid"], cpus=options["cpu"])
    return replace(settings, filter=chosen)
