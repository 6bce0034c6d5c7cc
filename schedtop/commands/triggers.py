"""`--on` and `--then`: the options of every command that watches for something."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.commands.options import Command, Duration

if TYPE_CHECKING:
    import threading

    from schedtop.sources.replay.recorded import Recording
    from schedtop.triggers.grammar import Condition
    from schedtop.triggers.metrics import Metric
    from schedtop.triggers.plan import Plan


def condition_option(command: Command) -> Command:
    """`--on`, for commands that only mark what fires."""
    return click.option(
        "--on", "conditions", multiple=True, metavar="CONDITION",
        help="What to watch for, like 'p99 > 10ms for 5s' (repeatable); see docs/triggers.md.",
    )(command)  # fmt: skip


def trigger_options(command: Command, *, screen: bool = True) -> Command:
    """`--on`, and what is done then. `screen`: whether there is one to freeze."""
    actions = f"{'freeze, ' if screen else ''}export, record or 'run COMMAND'"
    for option in reversed((
        condition_option,
        click.option("--then", "actions", multiple=True, metavar="ACTION",
                     help=f"What to do then: {actions} (repeatable)."),
        click.option("--around", type=Duration(NS_PER_S, 600 * NS_PER_S), default=60 * NS_PER_S, metavar="TIME",
                     help="How much before and after `--then record` keeps, 1s to 10min.  [default: 1min]"),
    )):  # fmt: skip
        command = option(command)
    return command


def conditions_of(options: dict[str, Any]) -> tuple[Condition, ...]:
    """What `--on` asks for. Raises BadParameter that says where it is wrong."""
    from schedtop.triggers.grammar import TriggerError, parse

    conditions = []
    for text in options["conditions"]:
        try:
            conditions.append(parse(text))
        except TriggerError as error:
            raise click.BadParameter(f"{text!r}, {error}", param_hint="'--on'") from error
    return tuple(conditions)


def check_source(conditions: tuple[Condition, ...], source: str) -> None:
    """That the source of that name can measure what the conditions ask for. Raises UsageError, which names what can be.

    Only /proc alone is known beforehand; of any other what cannot be had is said when it is missing.
    """
    from schedtop.run.session import is_proc

    if not conditions or not is_proc(source):
        return
    from schedtop.sources.proc.source import LOST, lost_frame
    from schedtop.triggers.grammar import Comparison
    from schedtop.triggers.metrics import METRICS, Argument

    frame = lost_frame()

    def can(metric: Metric, argument: Argument) -> bool:
        return metric.measure((frame,), argument).why not in LOST

    asked: list[Comparison] = [one for condition in conditions for one in condition.comparisons]
    wrong = next((one for one in asked if not can(one.metric, one.argument)), None)
    if wrong:
        names = [name for name, metric in METRICS.items() if can(metric, Argument())]
        words = f"{wrong.subject} cannot be had from /proc, only {', '.join(names)}; run `sudo schedtop` for all"
        raise click.BadParameter(words, param_hint="'--on'")


def mark(recording: Recording, conditions: tuple[Condition, ...], stop: threading.Event) -> None:
    """Adds to the events of a recording when the conditions came true in it; what it says already is not said twice.

    The Frames are those of the live run, and so are the moments. Ends early when `stop` is set.
    """
    from schedtop.model.source import SourceError
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


def plan_of(options: dict[str, Any], *, screen: bool) -> Plan:
    """What the options ask for. `screen`: whether there is one to freeze. Must come before the priority is raised.

    Raises ClickException.
    """
    from schedtop.outputs.files import OutputError, check_directory
    from schedtop.triggers.plan import Plan, parse_actions

    conditions = conditions_of(options)
    check_source(conditions, options["source"])
    if options["actions"] and not conditions:
        raise click.UsageError("--then needs --on: what to wait for, like --on 'p99 > 10ms for 5s'")
    try:
        names, commands = parse_actions(options["actions"])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--then'") from error
    if "freeze" in names and not screen:
        raise click.BadParameter("only the dashboard can freeze", param_hint="'--then'")
    plan = Plan(
        conditions,
        freeze="freeze" in names,
        export="export" in names,
        record="record" in names,
        commands=commands,
        export_dir=Path(options["export_dir"]),
        around_ns=options["around"],
        nice=os.getpriority(os.PRIO_PROCESS, 0),
    )
    if plan.writes:
        try:
            check_directory(plan.export_dir)
        except OutputError as error:
            raise click.BadParameter(str(error), param_hint="'--export-dir'") from error
    return plan
