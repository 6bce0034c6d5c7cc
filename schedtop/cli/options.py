"""Options that several commands have, each under one name with one meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from schedtop.base.units import NS_PER_MS, NS_PER_S, NS_PER_US
from schedtop.cli.types import Duration, Number, Size, SourceName
from schedtop.commands.grouping import GROUP_NAMES
from schedtop.config.theme_names import THEME_NAMES

Command = TypeVar("Command", bound=Callable[..., Any])


def source_options(command: Command) -> Command:
    """The options of every command that opens a source."""
    for option in reversed((
        click.option("--threshold", type=Duration(10 * NS_PER_US, 100 * NS_PER_S, bare=False), default=5 * NS_PER_MS,
                     metavar="TIME", help="Waits at least this long are slow waits, 10us to 100s.  [default: 5ms]"),
        click.option("--source", type=SourceName(), default="auto",
                     help="How to see what the kernel does; proc needs no privileges.  [default: auto]"),
        click.option("--measure-overhead", is_flag=True,
                     help="Time the kernel programs; that makes every BPF program of the host a little slower."),
        click.option("--interrupts", is_flag=True,
                     help="Time interrupts, by CPU and source; that makes each of them a little slower."),
        click.option("--no-renice", is_flag=True,
                     help="Leave the priority alone; as root it is raised, or a saturated host delays the start."),
        click.option("--hide-self", is_flag=True, help="Leave schedtop itself out of every table."),
        click.option("--pid", type=Number(), multiple=True, metavar="N",
                     help="Only waits of this process's tasks (repeatable, as the next three)."),
        click.option("--tid", type=Number(), multiple=True, metavar="N", help="Only waits of this thread."),
        click.option("--comm", multiple=True, metavar="TEXT", callback=no_empty,
                     help="Only waits of tasks with this in their name."),
        click.option("--cpu", type=Number(), multiple=True, metavar="N", help="Only this CPU."),
        click.option("--cgroup", metavar="PATH",
                     help="Only waits of tasks in this cgroup and below: a path, a unit, a container's id."),
        click.option("--pidns", metavar="N", help="Only waits of tasks in this pid namespace: a pid, or its inode."),
        click.option("--group", "--by", type=click.Choice(GROUP_NAMES),
                     help="Group tasks, and keep a histogram of each group (also of each thread)."),
    )):  # fmt: skip
        command = option(command)
    return command


def thread_options(command: Command) -> Command:
    """Which threads a measurement is of: `--pid`, `--tid`, `--comm` and `--cgroup`."""
    for option in reversed((
        click.option("--pid", type=Number(least=1), multiple=True, metavar="N",
                     help="Only threads of this process (repeatable, as the next two)."),
        click.option("--tid", type=Number(least=1), multiple=True, metavar="N", help="Only this thread."),
        click.option("--comm", multiple=True, metavar="TEXT", help="Only threads with this in their name."),
        click.option("--cgroup", metavar="PATH",
                     help="Only threads in this cgroup and below: a path, a unit, a container."),
    )):  # fmt: skip
        command = option(command)
    return command


def flame_format_option(command: Command) -> Command:
    """`--format`, of measurements that can be drawn as a flame graph."""
    return click.option(
        "--format", "format_name", type=click.Choice(["text", "json", "folded", "svg"]), default="text",
        help="svg: a flame graph; folded: for flamegraph.pl, in microseconds.  [default: text]",
    )(command)  # fmt: skip


def buffer_option(command: Command) -> Command:
    """`--buffer`, of commands that record every event."""
    return click.option(
        "--buffer", type=Size(4 << 10, 1 << 30), default="64MiB", metavar="SIZE",
        help="Kernel memory for events, of all CPUs, 4KiB to 1GiB.  [default: 64MiB]",
    )(command)  # fmt: skip


def measuring_options(command: Command, *, otherwise: str = "") -> Command:
    """`--source` and `--no-renice`, of commands that measure for a while. `otherwise`: why the priority is raised."""
    for option in reversed((
        click.option("--source", type=click.Choice(["auto", "btf", "tracepoint"]), default="auto",
                     help="How to see the kernel's events.  [default: auto]"),
        click.option("--no-renice", is_flag=True, help=f"Leave the priority alone; as root it is raised{otherwise}."),
    )):  # fmt: skip
        command = option(command)
    return command


def recording_options(command: Command) -> Command:
    """`measuring_options` of commands that record every event."""
    return measuring_options(command, otherwise=", or a saturated host loses events")


def no_empty(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Refuses names without a letter."""
    if not all(value.strip() for value in values):
        raise click.BadParameter("the name is empty")
    return values


def replay_option(command: Command) -> Command:
    """`--replay`, for commands that write a stream."""
    return click.option(
        "--replay", metavar="FILE", help="Of a recording instead of the kernel; needs no root."
    )(command)  # fmt: skip


def only_option(command: Command) -> Command:
    """`--only`, for what may go on for weeks."""
    return click.option(
        "--only", type=click.Choice(["queue"]),
        help="queue: samples of the run queues alone; nothing runs on a switch. For watching at no cost.",
    )(command)  # fmt: skip


def condition_option(command: Command) -> Command:
    """`--on`, for commands that only mark what fires."""
    return click.option(
        "--on", "conditions", multiple=True, metavar="CONDITION",
        help="What to watch for, like 'p99 > 10ms for 5s' (repeatable); see docs/triggers.md.",
    )(command)  # fmt: skip


def trigger_options(command: Command, *, screen: bool = True) -> Command:
    """`--on`, and what is done then. `screen`: whether there is one to freeze."""
    actions = f"{'freeze, ' if screen else ''}export, record, path or 'run COMMAND'"
    for option in reversed((
        condition_option,
        click.option("--then", "actions", multiple=True, metavar="ACTION",
                     help=f"What to do then: {actions} (repeatable)."),
        click.option("--run-as-root", is_flag=True,
                     help="Run commands as root even under sudo, which otherwise runs them as the invoking user."),
        click.option("--around", type=Duration(NS_PER_S, 600 * NS_PER_S), default=60 * NS_PER_S, metavar="TIME",
                     help="How much before and after `--then record` keeps, 1s to 10min.  [default: 1min]"),
    )):  # fmt: skip
        command = option(command)
    return command


def dashboard_options(command: Command) -> Command:
    """The options that only the dashboard has."""
    for option in reversed((
        click.option("--interval", type=Duration(NS_PER_S // 5, 60 * NS_PER_S), default=NS_PER_S, metavar="TIME",
                     help="How often the kernel is read, 0.2s to 60s; the screen is drawn twice a second at most.  "
                          "[default: 1s]"),
        click.option("--export-dir", default=".", metavar="DIR",
                     help="Where keys write files: what is shown, recordings, captures.  [default: .]"),
    )):  # fmt: skip
        command = option(command)
    return appearance_options(trigger_options(config_option(command)))


def config_option(command: Command) -> Command:
    """`--no-config`."""
    return click.option(
        "--no-config", is_flag=True, help="Start with the defaults, and save nothing; see `schedtop config`."
    )(command)


def appearance_options(command: Command) -> Command:
    """The options of every command that has a screen."""
    for option in reversed((
        click.option("--theme", type=click.Choice(("auto", *THEME_NAMES)),
                     help="The colours; mono has none.  [default: auto, by TERM and NO_COLOR]"),
        click.option("--ascii/--no-ascii", "ascii", default=None,
                     help="Draw with ASCII characters only.  [default: where the locale is not UTF-8]"),
    )):  # fmt: skip
        command = option(command)
    return command


def output_options(command: Command) -> Command:
    """`-o FILE` and `--force`."""
    for option in reversed((
        click.option("-o", "--output", metavar="FILE", callback=_no_empty_path,
                     help="Write there instead of to standard output."),
        click.option("--force", is_flag=True, help="Overwrite FILE."),
    )):  # fmt: skip
        command = option(command)
    return command


def _no_empty_path(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.BadParameter("the name is empty")
    return value
