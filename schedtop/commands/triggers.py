"""What `--on` and `--then` ask for: conditions, and the plan of what is done when they come true."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from schedtop.base.invoker import UnclearInvoker, invoker
from schedtop.commands.conditions import conditions_of
from schedtop.commands.last_seconds import KernelEvents
from schedtop.commands.opening import scope_of
from schedtop.outputs.files import OutputError, check_directory
from schedtop.run.opening import is_proc
from schedtop.run.priority import STARTED_NICE
from schedtop.triggers.grammar import Comparison, Condition
from schedtop.triggers.measured import Argument
from schedtop.triggers.metrics import METRICS, Metric
from schedtop.triggers.plan import LastSeconds, Plan, parse_actions


def check_source(conditions: tuple[Condition, ...], source: str) -> None:
    """That the source of that name can measure what the conditions ask for. Raises UsageError, which names what can be.

    Only /proc alone is known beforehand; of any other what cannot be had is said when it is missing.
    """

    if not conditions or not is_proc(source):
        return

    # Late: few dashboards have conditions, and all would wait for it before their source is opened.
    from schedtop.sources.proc.source import LOST, lost_frame

    frame = lost_frame()

    def can(metric: Metric, argument: Argument) -> bool:
        return metric.measure((frame,), argument).why not in LOST

    asked: list[Comparison] = [one for condition in conditions for one in condition.comparisons]
    wrong = next((one for one in asked if not can(one.metric, one.argument)), None)
    if wrong:
        names = [name for name, metric in METRICS.items() if can(metric, Argument())]
        words = f"{wrong.subject} cannot be had from /proc, only {', '.join(names)}; run `sudo schedtop` for all"
        raise click.BadParameter(words, param_hint="'--on'")


def plan_of(options: dict[str, Any], *, screen: bool) -> Plan:
    """What the options ask for. `screen`: whether there is one to freeze.

    Raises ClickException.
    """

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
    if options["run_as_root"]:
        _check_root(commands)
    plan = Plan(
        conditions,
        freeze="freeze" in names,
        export="export" in names,
        record="record" in names,
        last_seconds=_last_seconds(options) if "path" in names else None,
        commands=commands,
        export_dir=Path(options["export_dir"]),
        around_ns=options["around"],
        nice=STARTED_NICE,
        run_as_root=options["run_as_root"],
    )
    if commands and not plan.run_as_root:
        try:
            invoker()
        except UnclearInvoker as error:
            raise click.BadParameter(str(error), param_hint="'--then'") from error
    if plan.writes:
        try:
            check_directory(plan.export_dir)
        except OutputError as error:
            raise click.BadParameter(str(error), param_hint="'--export-dir'") from error
    return plan


def _last_seconds(options: dict[str, Any]) -> LastSeconds:
    """What keeps the events for `--then path`. Raises ClickException where there is no live kernel."""
    if is_proc(options["source"]) or options["source"] == "synthetic":
        raise click.BadParameter("path needs the events of the live kernel: run `sudo schedtop`", param_hint="'--then'")
    return KernelEvents(options["source"], scope_of(options), bool(options.get("interrupts")))


def _check_root(commands: tuple[tuple[str, ...], ...]) -> None:
    """Raises ClickException if `--run-as-root` says nothing, or cannot be."""
    if not commands:
        raise click.UsageError("--run-as-root needs --then 'run COMMAND'")
    if os.geteuid():
        raise click.BadParameter("only root can run commands as root", param_hint="'--run-as-root'")
