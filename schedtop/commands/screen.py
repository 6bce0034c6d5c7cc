"""How a source gets a screen: the terminal is checked, the source opened, and then the screen's modules are needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedtop.base.lean import without
from schedtop.history.view import ViewSettings
from schedtop.model.source import Source
from schedtop.outputs.files import OutputError, check_directory
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.threads import in_thread
from schedtop.ui.terminal.terminal import check_terminal

if TYPE_CHECKING:
    from schedtop.ui.on_demand import OnDemand
    from schedtop.ui.preferences import Preferences


def check_screen(export_dir: Path | None, instead: str = "schedtop snapshot") -> None:
    """That there is a terminal, and that the directory (if any) can be written. Raises ClickException.

    `instead`: the command to use where there is no terminal.
    """
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
    preferences: Callable[[], Preferences] | None = None,
    theme: str = "auto",
    insists: bool = True,
    ascii_only: bool | None = None,
) -> int:
    """Opens a source, shows it until the user leaves, and gives the exit status.

    `own_pid`: our process, where the source shows it; `make_screen`: another dashboard; `on_demand`: gives what
    its keys open; `preferences`: how it begins; `theme`, `insists`, `ascii_only`: as in `ui.appearance`.
    """
    chosen: dict[str, Any] = {"make_screen": make_screen} if make_screen else {}

    def prepare() -> None:
        """What takes a quarter of a second, too: the screen's modules, and all that can be chosen beforehand."""
        with without("ssl"):
            import asyncio  # noqa: F401  late: textual brings it, and would bring OpenSSL with it
        import_module("schedtop.ui.app")
        if on_demand:
            chosen["on_demand"] = on_demand()
        if preferences:
            chosen["preferences"] = preferences()

    with progress(opening):
        in_thread(source.__enter__, signals, meanwhile=prepare, first=bool(opening))
    # Late: they were imported while the source opened.
    from schedtop.ui.app import run
    from schedtop.ui.terminal.appearance import appearance

    try:
        with signals.handed_over():
            return run(
                source,
                settings=settings,
                export_dir=export_dir,
                own_pid=own_pid,
                appearance=appearance(theme, ascii_only, insists=insists),
                **chosen,
            )
    finally:
        source.__exit__(None, None, None)
