"""The command line: what can be written on it. What a command does is imported when it runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from schedtop import __version__
from schedtop.base.ascii import soften_outputs
from schedtop.cli.activity import activity
from schedtop.cli.advise import advise
from schedtop.cli.capture import capture
from schedtop.cli.completion import completion
from schedtop.cli.config import config
from schedtop.cli.convert import convert
from schedtop.cli.diff import diff
from schedtop.cli.doctor import doctor
from schedtop.cli.metrics import metrics
from schedtop.cli.offcpu import offcpu
from schedtop.cli.options import dashboard_options, source_options
from schedtop.cli.path import path
from schedtop.cli.record import record
from schedtop.cli.replay import replay
from schedtop.cli.report import report
from schedtop.cli.schema import schema
from schedtop.cli.snapshot import snapshot
from schedtop.cli.task import task
from schedtop.cli.waits import waits
from schedtop.cli.watch import watch
from schedtop.outputs.files import OutputError
from schedtop.run.errors import complain, report_crash
from schedtop.run.signals import Interrupted, Signals


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@dashboard_options
@source_options
@click.version_option(__version__, prog_name="schedtop", message="%(prog)s %(version)s")
@click.pass_context
def commands(context: click.Context, /, **options: Any) -> int | None:
    """What the Linux scheduler does, live: which tasks wait for a CPU, how long, and which tasks hold it meanwhile.

    Without a command it shows the dashboard; press ? there for its keys.
    """
    if context.invoked_subcommand is None:
        from schedtop.commands.dashboard import run  # late: --help and completion need only what stands above

        return run(context, options)
    for name in options:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = "--" + name.replace("_", "-")
            raise click.UsageError(f"{option} before `{context.invoked_subcommand}` is an option of the dashboard")
    return None


for _command in (
    activity,
    advise,
    capture,
    completion,
    config,
    convert,
    diff,
    doctor,
    metrics,
    offcpu,
    path,
    record,
    replay,
    report,
    schema,
    snapshot,
    task,
    waits,
    watch,
):
    commands.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and gives the exit status: 0, 1 (it failed), 2 (bad usage), 128 + a signal's number."""
    if "_SCHEDTOP_COMPLETE" in os.environ:
        from schedtop.cli.words import print_answer  # late: only a shell asks for it

        return print_answer(commands)
    soften_outputs()
    signals = Signals()
    signals.install()
    try:
        return int(commands.main(arguments, "schedtop", standalone_mode=False, obj=signals) or 0)
    except BaseException as error:
        return _status_of(error)


def _status_of(error: BaseException) -> int:
    """The exit status of what ended the program, after saying why."""
    if isinstance(error, Interrupted):
        return error.status
    if isinstance(error, click.ClickException):
        complain(error.format_message())
        return error.exit_code
    # Late: it brings numpy, which an error on the command line need not wait for.
    from schedtop.model.source import SourceError

    if isinstance(error, (SourceError, OutputError)):
        complain(str(error))
        return 1
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    report_crash(error)
    return 1
