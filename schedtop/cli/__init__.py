"""The command line: what can be written on it. What a command does is imported when it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping, Sequence
from importlib import import_module
from typing import Any

import click

from schedtop import __version__
from schedtop.base.ascii import soften_outputs
from schedtop.cli.options import dashboard_options, source_options
from schedtop.outputs.files import OutputError
from schedtop.run.errors import complain, report_crash
from schedtop.run.signals import Interrupted, Signals

COMMANDS = (
    "activity", "advise", "capture", "completion", "config", "convert", "diff", "doctor", "metrics", "offcpu", "path",
    "record", "replay", "report", "schema", "snapshot", "task", "waits", "watch",
)  # fmt: skip
"""Each is defined in a module of its name beside this one, under its name."""


class LateCommands(MutableMapping[str, click.Command]):
    """Commands by name, each imported when it is looked up: a run needs one of them, or none."""

    def __init__(self, names: Sequence[str]) -> None:
        self._found: dict[str, click.Command | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> click.Command:
        found = self._found[name]
        if found is None:
            found = self._found[name] = getattr(import_module(f"schedtop.cli.{name}"), name)
        return found

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._found[name] = command

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


@click.group(
    commands=LateCommands(COMMANDS),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
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
