"""`schedtop` without a command: the dashboard on the live host."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedtop.commands.opening import numbers_of, settings_of, source_of
from schedtop.commands.preferences import config_of, fill, looks, preferences_of, preferred
from schedtop.commands.screen import check_screen, show
from schedtop.history.view import ViewSettings
from schedtop.model.source import Source
from schedtop.run.opening import opening_words
from schedtop.run.signals import Signals
from schedtop.sources.kernel.pid_numbers import own_tgid

if TYPE_CHECKING:
    from schedtop.triggers.plan import Plan
    from schedtop.ui.on_demand import OnDemand
    from schedtop.ui.screens.triggers.screen import TriggeredDashboard


def run(context: click.Context, options: dict[str, Any]) -> int:
    """Opens the source that the options ask for and shows it; gives the exit status."""
    signals: Signals = context.obj
    # A default directory need not be writable: the key says so when it cannot write.
    chosen_dir = context.get_parameter_source("export_dir") is click.core.ParameterSource.COMMANDLINE
    config = config_of(options)
    fill(options, context, config)
    export_dir = Path(options["export_dir"])
    plan = _plan_of(options)
    check_screen(export_dir if chosen_dir else None)
    return show(
        signals,
        source_of(
            options, options["interval"], sampled=False, quiet=True, activity=plan is not None and plan.needs_activity
        ),
        opening=opening_words(options["source"]),
        settings=preferred(settings_of(options), config),
        export_dir=export_dir,
        own_pid=own_tgid(numbers_of(options)) or None,
        make_screen=partial(triggered, plan) if plan else None,
        on_demand=partial(on_demand_of, options),
        preferences=lambda: preferences_of(config),
        **looks(options, config),
    )


def _plan_of(options: dict[str, Any]) -> Plan | None:
    """What is to be done when conditions come true, if there are any."""
    if not options["conditions"] and not options["actions"] and not options["run_as_root"]:
        return None
    # Late: few dashboards have conditions, and none shall wait for them before its source is opened.
    from schedtop.commands.triggers import plan_of

    return plan_of(options, screen=True)


def on_demand_of(options: dict[str, Any]) -> OnDemand:
    """What keys open in the kernel, by the options."""
    # Late: needed when the source is open.
    from schedtop.commands.on_demand import on_demand

    return on_demand(options)


def triggered(
    plan: Plan,
    source: Source,
    settings: ViewSettings,
    export_dir: Path,
    own_pid: int | None,
    *,
    on_demand: OnDemand,
) -> TriggeredDashboard:
    """A dashboard that watches for the plan's conditions."""
    # Late: the screen's modules are imported while the source opens.
    from schedtop.ui.screens.triggers.screen import TriggeredDashboard

    return TriggeredDashboard(source, settings, export_dir, own_pid, on_demand=on_demand, plan=plan)
