"""The command line: options are read here, everything slow is imported when it is needed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from schedtop import __version__
from schedtop.commands.capture.command import capture
from schedtop.commands.completion.command import completion
from schedtop.commands.config import config as config_command
from schedtop.commands.dashboard import dashboard, dashboard_options
from schedtop.commands.diff import diff
from schedtop.commands.doctor import doctor
from schedtop.commands.metrics import metrics
from schedtop.commands.offcpu import offcpu
from schedtop.commands.options import source_options
from schedtop.commands.preferences import config_of, fill
from schedtop.commands.record import record
from schedtop.commands.replay import replay
from schedtop.commands.report import report
from schedtop.commands.snapshot import snapshot
from schedtop.commands.task.command import task
from schedtop.commands.watch import watch


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@dashboard_options
@source_options
@click.version_option(__version__, prog_name="schedtop", message="%(prog)s %(version)s")
@click.pass_context
def commands(context: click.Context, /, **options: Any) -> int | None:
    """What the Linux scheduler does, live: who waits for a CPU, how long, and who has it meanwhile.

    Without a command it shows the dashboard; press ? there for its keys.
    """
    if context.invoked_subcommand is None:
        # A directory that nobody chose need not be writable: the key says so when it cannot write.
        chosen_dir = context.get_parameter_source("export_dir") is click.core.ParameterSource.COMMANDLINE
        config = config_of(options)
        fill(options, context, config)
        return dashboard(context.obj, options, config, check_dir=chosen_dir)
    for name in options:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = "--" + name.replace("_", "-")
            raise click.UsageError(f"{option} before `{context.invoked_subcommand}` is an option of the dashboard")
    return None


for _command in (
    capture,
    completion,
    config_command,
    diff,
    doctor,
    metrics,
    offcpu,
    record,
    replay,
    report,
    snapshot,
    task,
    watch,
):
    commands.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and gives the exit status: 0, 1 (it failed), 2 (bad usage), 128 + a signal's number."""
    if "_SCHEDTOP_COMPLETE" in os.environ:
        from schedtop.commands.completion.words import print_answer

        return print_answer(commands)
    from schedtop.base.ascii import soften_outputs
    from schedtop.run.session import Signals

    soften_outputs()
    signals = Signals()
    signals.install()
    try:
        return int(commands.main(arguments, "schedtop", standalone_mode=False, obj=signals) or 0)
    except BaseException as error:
        return _status_of(error)


def _status_of(error: BaseException) -> int:
    """The exit status of what ended the program, after saying why."""
    from schedtop.model.source import SourceError
    from schedtop.outputs.files import OutputError
    from schedtop.run.session import Interrupted, complain, report_crash

    if isinstance(error, Interrupted):
        return error.status
    if isinstance(error, click.ClickException):
        complain(error.format_message())
        return error.exit_code
    if isinstance(error, (SourceError, OutputError)):
        complain(str(error))
        return 1
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    report_crash(error)
    return 1
