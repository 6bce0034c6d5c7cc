"""The command line: options are read here, everything slow is imported when it is needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from schedtop import __version__
from schedtop.units import NS_PER_MS, NS_PER_S, NS_PER_US, format_round_ns, parse_duration

if TYPE_CHECKING:
    from schedtop.history import ViewSettings
    from schedtop.session import Signals
    from schedtop.sources.scope import Scope

ALL_TASKS = -1
"""What `--tasks all` is: click takes `None` for an option that is not there."""

GROUP_NAMES = ("thread", "process", "cgroup", "container", "pidns")
"""`rows.GROUPS` as words of a command line; its module would bring numpy with it."""

Command = TypeVar("Command", bound=Callable[..., Any])


class Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A duration within bounds, in nanoseconds; a bare number is in seconds, if it may be bare."""

    name = "duration"

    def __init__(self, least_ns: int, most_ns: int, *, bare: bool = True) -> None:
        self.least_ns = least_ns
        self.most_ns = most_ns
        self.bare = bare

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            ns = parse_duration(value)
        except OverflowError:
            ns = self.most_ns + 1
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if not self.bare and value.strip()[-1:].isdigit():
            self.fail(f"{value!r} needs a unit, like 500us or 5ms", param, ctx)
        if not self.least_ns <= ns <= self.most_ns:
            bounds = f"{format_round_ns(self.least_ns)} to {format_round_ns(self.most_ns)}"
            self.fail(f"{value} is outside of {bounds}", param, ctx)
        return ns


class Number(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number that the kernel may use for a task or a CPU, or a word that stands for one."""

    name = "number"

    def __init__(self, words: Mapping[str, int] = MappingProxyType({})) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if value in self.words:
            return self.words[value]
        if not (value.isascii() and value.isdigit() and len(value) < 10):
            self.fail(f"{value!r} is not a number" + "".join(f" (or {word})" for word in self.words), param, ctx)
        return int(value)


class SourceName(click.Choice):  # type: ignore[type-arg,unused-ignore]
    """Where the data comes from; the help leaves out the made-up host that demos and tests use."""

    def __init__(self) -> None:
        super().__init__(["auto", "btf", "tracepoint", "synthetic"])

    def get_metavar(self, *_args: Any, **_kwargs: Any) -> str:
        return "[auto|btf|tracepoint]"


def _common(command: Command) -> Command:
    """The options of every command that opens a source."""
    for option in reversed((
        click.option("--threshold", type=Duration(10 * NS_PER_US, 100 * NS_PER_S, bare=False), default=5 * NS_PER_MS,
                     metavar="TIME", help="Waits at least this long are slow waits, 10us to 100s.  [default: 5ms]"),
        click.option("--source", type=SourceName(), default="auto",
                     help="How to see the kernel's events.  [default: auto]"),
        click.option("--measure-overhead", is_flag=True,
                     help="Time the kernel programs; that makes every BPF program of the host a little slower."),
        click.option("--no-renice", is_flag=True,
                     help="Leave the priority alone; as root it is raised, or a saturated host delays the start."),
        click.option("--hide-self", is_flag=True, help="Leave schedtop itself out of every table."),
        click.option("--pid", type=Number(), multiple=True, metavar="N",
                     help="Only waits of this process's tasks (repeatable, as the next three)."),
        click.option("--tid", type=Number(), multiple=True, metavar="N", help="Only waits of this thread."),
        click.option("--comm", multiple=True, metavar="TEXT", callback=_no_empty,
                     help="Only waits of tasks with this in their name."),
        click.option("--cpu", type=Number(), multiple=True, metavar="N", help="Only this CPU."),
        click.option("--cgroup", metavar="PATH",
                     help="Only waits of tasks in this cgroup and below: a path, a unit, a container's id."),
        click.option("--pidns", metavar="N", help="Only waits of tasks in this pid namespace: a pid, or its inode."),
        click.option("--group", type=click.Choice(GROUP_NAMES),
                     help="Add tasks up, and keep a histogram of each group (of each thread, too)."),
    )):  # fmt: skip
        command = option(command)
    return command


def _no_empty(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    if not all(value.strip() for value in values):
        raise click.BadParameter("the name is empty")
    return values


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--interval", type=Duration(NS_PER_S // 5, 60 * NS_PER_S), default=NS_PER_S, metavar="TIME",
              help="How often the screen is refreshed, 0.2s to 60s.  [default: 1s]")  # fmt: skip
@click.option("--export-dir", default=".", metavar="DIR",
              help="Where the key `e` writes what is shown.  [default: .]")  # fmt: skip
@_common
@click.version_option(__version__, prog_name="schedtop", message="%(prog)s %(version)s")
@click.pass_context
def commands(context: click.Context, /, **options: Any) -> int | None:
    """What the Linux scheduler does, live: who waits for a CPU, how long, and who has it meanwhile.

    Without a command it shows the dashboard; press ? there for its keys.
    """
    if context.invoked_subcommand is None:
        # A directory that nobody chose need not be writable: the key says so when it cannot write.
        chosen_dir = context.get_parameter_source("export_dir") is click.core.ParameterSource.COMMANDLINE
        return _dashboard(context.obj, options, check_dir=chosen_dir)
    for name in options:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = "--" + name.replace("_", "-")
            raise click.UsageError(f"{option} before `{context.invoked_subcommand}` is an option of the dashboard")
    return None


@commands.command("snapshot")
@click.option("--duration", type=Duration(NS_PER_S // 10, 600 * NS_PER_S), default=3 * NS_PER_S, metavar="TIME",
              help="How long to collect, 0.1s to 10min.  [default: 3s]")  # fmt: skip
@click.option("--format", "format_name", type=click.Choice(["json", "text", "csv"]), default="json",
              help="What to write.  [default: json]")  # fmt: skip
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to standard output.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@click.option("--tasks", type=Number({"all": ALL_TASKS}), default=50, metavar="N|all",
              help="How many tasks, by run delay.  [default: 50]")  # fmt: skip
@_common
@click.pass_obj
def _snapshot(signals: Signals, /, **options: Any) -> int:
    """Collects for a while and writes one snapshot as data."""
    from schedtop.headless import interval_of, take_snapshot
    from schedtop.session import make_source, opening_words, raise_priority

    output = options["output"]
    if output == "":
        raise click.BadParameter("the name is empty", param_hint="'-o' / '--output'")
    if not options["no_renice"]:
        raise_priority()
    take_snapshot(
        signals,
        source=make_source(
            options["source"],
            interval_of(options["duration"]),
            options["threshold"],
            scope=_scope(options),
            group=_group(options),
            paced=False,
            measured=options["measure_overhead"],
        ),
        opening=opening_words(options["source"]),
        duration_ns=options["duration"],
        settings=_settings(options, window_ns=options["duration"]),
        format_name=options["format_name"],
        tasks=None if options["tasks"] == ALL_TASKS else options["tasks"],
        output=None if output in (None, "-") else Path(output),
        force=options["force"],
    )
    return 0


def _dashboard(signals: Signals, options: dict[str, Any], *, check_dir: bool) -> int:
    from schedtop.outputs.files import OutputError, check_directory
    from schedtop.ui.terminal import check_terminal

    export_dir = Path(options["export_dir"])
    try:
        if check_dir:
            check_directory(export_dir)
    except OutputError as error:
        raise click.BadParameter(str(error), param_hint="'--export-dir'") from error
    problem = check_terminal()
    if problem:
        raise click.ClickException(problem)
    from schedtop.session import in_thread, make_source, opening_words, progress, raise_priority

    if not options["no_renice"]:
        raise_priority()
    source = make_source(
        options["source"],
        options["interval"],
        options["threshold"],
        scope=_scope(options),
        group=_group(options),
        measured=options["measure_overhead"],
    )
    with progress(opening_words(options["source"])):
        # The screen's modules take a quarter of a second, too.
        in_thread(source.__enter__, signals, meanwhile=lambda: import_module("schedtop.ui.app"))
    from schedtop.ui.app import run

    try:
        with signals.handed_over():
            return run(
                source,
                settings=_settings(options),
                export_dir=export_dir,
                own_pid=os.getpid(),
            )
    finally:
        source.__exit__(None, None, None)


def _scope(options: dict[str, Any]) -> Scope:
    from schedtop.session import make_scope

    tasks = (options["pid"], options["tid"], options["comm"])
    if options["source"] == "synthetic":  # its tasks are not this host's
        tasks = ((), (), ())
    try:
        return make_scope(*tasks, options["cgroup"], options["pidns"])
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _group(options: dict[str, Any]) -> str:
    """One of GROUPS, empty if none was asked for."""
    return "pid namespace" if options["group"] == "pidns" else options["group"] or ""


def _settings(options: dict[str, Any], **more: Any) -> ViewSettings:
    from schedtop.filters import Filter
    from schedtop.history import ViewSettings
    from schedtop.sources.proc import possible_cpus

    possible = possible_cpus()
    for cpu in options["cpu"]:
        if cpu >= possible and options["source"] != "synthetic":
            raise click.BadParameter(f"there is no CPU {cpu}: this host has 0 to {possible - 1}", param_hint="'--cpu'")
    chosen = Filter(cpus=options["cpu"])
    if options["source"] == "synthetic":  # others filter by task in the kernel
        chosen = Filter(comms=options["comm"], tids=options["tid"], tgids=options["pid"], cpus=options["cpu"])
    hidden = (os.getpid(),) if options["hide_self"] else ()
    return ViewSettings(filter=chosen, hidden_tgids=hidden, group=_group(options) or "thread", **more)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and gives the exit status: 0, 1 (it failed), 2 (bad usage), 128 + a signal's number."""
    from schedtop.session import Signals

    signals = Signals()
    signals.install()
    try:
        return int(commands.main(arguments, "schedtop", standalone_mode=False, obj=signals) or 0)
    except BaseException as error:
        return _status_of(error)


def _status_of(error: BaseException) -> int:
    """The exit status of what ended the program, after saying why."""
    from schedtop.model import SourceError
    from schedtop.outputs.files import OutputError
    from schedtop.session import Interrupted, complain, report_crash

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
