"""The dashboard: `schedtop` without a command, and how a source gets a screen."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.commands.options import Command, Duration, appearance_options, numbers_of, settings_of, source_of
from schedtop.commands.preferences import config_option
from schedtop.commands.triggers import plan_of, trigger_options

if TYPE_CHECKING:
    from schedtop.config.load import Config
    from schedtop.history.view import ViewSettings
    from schedtop.model.source import Source
    from schedtop.offcpu.measurement import OffCpuSource, Wakers
    from schedtop.run.session import Signals
    from schedtop.task import TaskSource
    from schedtop.triggers.plan import Plan
    from schedtop.ui.on_demand import OnDemand
    from schedtop.ui.preferences import Preferences
    from schedtop.ui.screens.triggers.screen import TriggeredDashboard


def dashboard_options(command: Command) -> Command:
    """The options that only the dashboard has."""
    for option in reversed((
        click.option("--interval", type=Duration(NS_PER_S // 5, 60 * NS_PER_S), default=NS_PER_S, metavar="TIME",
                     help="How often the screen is refreshed, 0.2s to 60s.  [default: 1s]"),
        click.option("--export-dir", default=".", metavar="DIR",
                     help="Where keys write files: what is shown, recordings, captures.  [default: .]"),
    )):  # fmt: skip
        command = option(command)
    return appearance_options(trigger_options(config_option(command)))


def dashboard(signals: Signals, options: dict[str, Any], config: Config, *, check_dir: bool) -> int:
    """Opens the source that the options ask for and shows it; `check_dir`: files must be possible in the directory."""
    from schedtop.commands.preferences import looks, preferences_of, preferred
    from schedtop.run.session import opening_words, raise_priority
    from schedtop.sources.kernel.pid_numbers import own_tgid

    export_dir = Path(options["export_dir"])
    plan = plan_of(options, screen=True)
    check_screen(export_dir if check_dir else None)
    if not options["no_renice"]:
        raise_priority()
    return show(
        signals,
        source_of(options, options["interval"], sampled=False, quiet=True),
        opening=opening_words(options["source"]),
        settings=preferred(settings_of(options), config),
        export_dir=export_dir,
        own_pid=own_tgid(numbers_of(options)) or None,
        make_screen=triggered(plan) if plan.conditions else None,
        on_demand=lambda: on_demand(options),
        goes_first=not options["no_renice"],
        preferences=lambda: preferences_of(config),
        **looks(options, config),
    )


def on_demand(options: dict[str, Any]) -> OnDemand:
    """What the keys of the dashboard open, by the options of its source."""
    from schedtop.commands.capture.files import capture_key
    from schedtop.ui.on_demand import OnDemand

    if options["source"] == "synthetic":
        from schedtop.sources.synthetic.offcpu import SyntheticOffCpu
        from schedtop.sources.synthetic.task import synthetic_task

        return OnDemand(make_offcpu=SyntheticOffCpu, make_task=synthetic_task)
    from schedtop.run.session import is_proc

    if is_proc(options["source"]):
        return OnDemand(
            why="needs privileges, run `sudo schedtop`" if os.geteuid() else "needs another --source than proc"
        )
    return OnDemand(
        take_capture=capture_key(options["source"]),
        make_offcpu=partial(live_offcpu, options),
        make_task=partial(live_task, options),
    )


def live_offcpu(options: dict[str, Any], min_ns: int, wakers: Wakers) -> OffCpuSource:
    """The off-CPU time of the live kernel: of the same tasks as the dashboard."""
    from schedtop.commands.options import scope_of
    from schedtop.sources.offcpu.source import LiveOffCpu

    return LiveOffCpu(scope_of(options), min_ns=min_ns, wakers=wakers, source=options["source"])


def live_task(options: dict[str, Any], tid: int, whole_process: bool) -> TaskSource:
    """The task view on the live kernel, through the front end that the dashboard has."""
    from schedtop.sources.task.source import LiveTaskSource

    return LiveTaskSource(tid, whole_process, source=options["source"])


def triggered(plan: Plan) -> Callable[..., Any]:
    """What makes a dashboard that watches for the plan's conditions."""

    def make(source: Source, settings: ViewSettings, export_dir: Path, own_pid: int | None) -> TriggeredDashboard:
        from schedtop.ui.screens.triggers.screen import TriggeredDashboard

        return TriggeredDashboard(source, settings, export_dir, own_pid, plan=plan)

    return make


def check_screen(export_dir: Path | None, instead: str = "schedtop snapshot") -> None:
    """That there is a terminal, and that the directory (if any) can be written. Raises ClickException.

    `instead`: the command to use where there is no terminal.
    """
    from schedtop.outputs.files import OutputError, check_directory
    from schedtop.ui.terminal.terminal import check_terminal

    try:
        if export_dir:
            check_directory(export_dir)
    except OutputError as error:
        raise click.BadParameter(str(error), param_hint="'--export-dir'") from error
    problem = check_terminal(instead)
    if problem:
        raise click.ClickException(problem)


def show(
    signals: Signals,
    source: Source,
    *,
    opening: str,
    settings: ViewSettings,
    export_dir: Path,
    own_pid: int | None = None,
    make_screen: Callable[..., Any] | None = None,
    on_demand: Callable[[], OnDemand] | None = None,
    goes_first: bool = False,
    preferences: Callable[[], Preferences] | None = None,
    theme: str = "auto",
    insists: bool = True,
    ascii_only: bool | None = None,
) -> int:
    """Opens a source, shows it until the user leaves, and gives the exit status.

    `own_pid`: our process, where the source shows it; `make_screen`: another dashboard; `on_demand`: gives what
    its keys open; `goes_first`: with a priority that no load keeps waiting, if we may; `preferences`: how it begins;
    `theme`, `insists`, `ascii_only`: as in `ui.appearance`.
    """
    from schedtop.run.session import in_thread, progress

    with progress(opening):
        # The screen's modules take a quarter of a second, too.
        in_thread(source.__enter__, signals, meanwhile=lambda: import_module("schedtop.ui.app"))
    from schedtop.ui.app import run
    from schedtop.ui.on_demand import NOTHING
    from schedtop.ui.preferences import NO_PREFERENCES
    from schedtop.ui.screens.dashboard.screen import Dashboard
    from schedtop.ui.terminal.appearance import appearance

    try:
        with signals.handed_over():
            return run(
                source,
                settings=settings,
                export_dir=export_dir,
                own_pid=own_pid,
                make_screen=make_screen or Dashboard,
                on_demand=on_demand() if on_demand else NOTHING,
                goes_first=goes_first,
                preferences=preferences() if preferences else NO_PREFERENCES,
                appearance=appearance(theme, ascii_only, insists=insists),
            )
    finally:
        source.__exit__(None, None, None)
