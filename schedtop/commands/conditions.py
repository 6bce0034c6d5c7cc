"""What `--on` asks for, and when it came true in a recording."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import click

from schedtop.model.source import SourceError
from schedtop.triggers.grammar import Condition, TriggerError, parse

if TYPE_CHECKING:
    from schedtop.sources.replay.recorded import Recording


def conditions_of(options: dict[str, Any]) -> tuple[Condition, ...]:
    """What `--on` asks for. Raises BadParameter that says where it is wrong."""

    conditions = []
    for text in options["conditions"]:
        try:
            conditions.append(parse(text))
        except TriggerError as error:
            raise click.BadParameter(f"{text!r}, {error}", param_hint="'--on'") from error
    return tuple(conditions)


def mark(recording: Recording, conditions: tuple[Condition, ...], stop: threading.Event) -> None:
    """Adds to the events of a recording when the conditions came true in it; what it says already is not said twice.

    The Frames are those of the live run, and so are the moments. Ends early when `stop` is set.
    """
    # Late: what marks a recording is no business of a dashboard's start.
    from schedtop.outputs.triggers.recordings import event_of
    from schedtop.triggers.watch import Watch

    watch = Watch(conditions)
    found = dict.fromkeys(recording.events)
    for number in range(len(recording)):
        if stop.is_set():
            return
        try:
            frame = recording.frame(number)
        except SourceError:
            continue  # damaged: the player says so
        found.update((event_of(fired), None) for fired in watch.feed(frame))
    recording.events = sorted(found, key=lambda event: event.end_ns)
