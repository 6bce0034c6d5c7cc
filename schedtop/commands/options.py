"""What options of several commands have in common: their types, and what is made of their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from schedtop.base.units import (
    NS_PER_MS,
    NS_PER_S,
    NS_PER_US,
    format_bytes,
    format_round_ns,
    parse_duration,
    parse_size,
)
from schedtop.config.schema import THEME_NAMES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from schedtop.history.view import ViewSettings
    from schedtop.model.source import Source
    from schedtop.sources.scope import Scope

GROUP_NAMES = ("thread", "process", "cgroup", "container", "pidns")
"""`rows.GROUPS` as words of a command line; its module would bring numpy with it."""

_FAR_NS = 10**18  # thirty years: no recording is longer

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


class Size(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A size within bounds, in bytes."""

    name = "size"

    def __init__(self, least: int, most: int) -> None:
        self.least = least
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            size = parse_size(value)
        except OverflowError:
            size = self.most + 1
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if not self.least <= size <= self.most:
            self.fail(f"{value} is outside of {format_bytes(self.least)} to {format_bytes(self.most)}", param, ctx)
        return size


class Number(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number that the kernel may use for a task or a CPU, or a word that stands for one."""

    name = "number"

    def __init__(self, words: Mapping[str, int] = MappingProxyType({}), *, least: int = 0) -> None:
        self.words = words
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if value in self.words:
            return self.words[value]
        if not (value.isascii() and value.isdigit() and len(value) < 10):
            if self.least and value.lstrip("-").isdecimal():
                self.fail(f"{value} is not a number from {self.least} on", param, ctx)
            self.fail(f"{value!r} is not a number" + "".join(f" (or {word})" for word in self.words), param, ctx)
        if int(value) < self.least:
            self.fail(f"{value} is not a number from {self.least} on", param, ctx)
        return int(value)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a recording: nanoseconds after its beginning, a time of day, or a time. One of them is there."""

    text: str
    offset_ns: int | None = None
    clock: datetime | None = None
    """A time of day, local unless it has a zone; its date says nothing."""
    moment: datetime | None = None

    def time_ns(self, start_time_ns: int) -> int:
        """The wall-clock time it means in a recording that begins then; a time of day is the first one after that."""
        if self.offset_ns is not None:
            return start_time_ns + self.offset_ns
        if self.moment is not None:
            return _ns_of(self.moment)
        assert self.clock is not None
        start = datetime.fromtimestamp(start_time_ns // NS_PER_S, self.clock.tzinfo)
        that_day = datetime.combine(start.date(), self.clock.timetz())
        # A second less: people read the beginning without its fraction.
        return _ns_of(that_day if that_day >= start - timedelta(seconds=1) else that_day + timedelta(days=1))


class Moment(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A place in a recording, as a Place: `90s`, `2m` (a bare number: seconds), `14:03:10`, or an ISO 8601 time."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Place:
        if isinstance(value, Place):
            return value
        text = value.strip()
        try:
            offset_ns = parse_duration(text)
            if offset_ns < _FAR_NS:
                return Place(text, offset_ns=offset_ns)
        except (ValueError, OverflowError):
            pass
        try:
            if "-" in text[:8]:
                moment = datetime.fromisoformat(text)
                _ns_of(moment)
                return Place(text, moment=moment)
            if ":" in text[:3]:
                return Place(text, clock=datetime.fromisoformat(f"2000-01-01T{text}"))
        except (ValueError, OverflowError, OSError):
            pass
        wanted = "write 90s or 2m (from the beginning), 14:03:10 or 2026-07-01T14:03:10Z"
        self.fail(f"{value!r} is no moment: {wanted}", param, ctx)


def _ns_of(moment: datetime) -> int:
    return round(moment.replace(microsecond=0).timestamp()) * NS_PER_S + moment.microsecond * NS_PER_US


class SourceName(click.Choice):  # type: ignore[type-arg,unused-ignore]
    """Where the data comes from; the help leaves out the made-up host that demos and tests use."""

    def __init__(self) -> None:
        super().__init__(["auto", "btf", "tracepoint", "proc", "synthetic"])

    def get_metavar(self, *_args: Any, **_kwargs: Any) -> str:
        return "[auto|btf|tracepoint|proc]"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [item for item in super().shell_complete(ctx, param, incomplete) if item.value != "synthetic"]


def source_options(command: Command) -> Command:
    """The options of every command that opens a source."""
    for option in reversed((
        click.option("--threshold", type=Duration(10 * NS_PER_US, 100 * NS_PER_S, bare=False), default=5 * NS_PER_MS,
                     metavar="TIME", help="Waits at least this long are slow waits, 10us to 100s.  [default: 5ms]"),
        click.option("--source", type=SourceName(), default="auto",
                     help="How to see what the kernel does; proc needs no privileges.  [default: auto]"),
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


def scope_of(options: dict[str, Any]) -> Scope:
    from schedtop.sources.scope import find_scope

    tasks = (options["pid"], options["tid"], options["comm"])
    if options["source"] == "synthetic":  # its tasks are not this host's
        tasks = ((), (), ())
    try:
        return find_scope(*tasks, options["cgroup"], options["pidns"], numbers_of(options))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def numbers_of(options: Mapping[str, Any]) -> str:
    """The source whose numbers of tasks are meant: `proc` also where `auto` will be that."""
    from schedtop.run.session import is_proc

    return "proc" if is_proc(options["source"]) else str(options["source"])


def group_of(options: Mapping[str, Any]) -> str:
    """One of GROUPS, empty if none was asked for."""
    return "pid namespace" if options["group"] == "pidns" else options["group"] or ""


def settings_of(options: dict[str, Any], **more: Any) -> ViewSettings:
    from schedtop.history.view import ViewSettings
    from schedtop.model.filters import Filter
    from schedtop.sources.host.proc import possible_cpus

    possible = possible_cpus()
    for cpu in options["cpu"]:
        if cpu >= possible and options["source"] != "synthetic":
            raise click.BadParameter(f"there is no CPU {cpu}: this host has 0 to {possible - 1}", param_hint="'--cpu'")
    chosen = Filter(cpus=options["cpu"])
    if options["source"] == "synthetic":  # others filter by task in the kernel
        chosen = Filter(comms=options["comm"], tids=options["tid"], tgids=options["pid"], cpus=options["cpu"])
    hidden = (_own_tgid(numbers_of(options)),) if options["hide_self"] else ()
    return ViewSettings(filter=chosen, hidden_tgids=hidden, group=group_of(options) or "thread", **more)


def _own_tgid(source: str) -> int:
    from schedtop.sources.kernel.pid_numbers import own_tgid

    own = own_tgid(source)
    if not own:
        raise click.UsageError("--hide-self: it cannot be told which number the host has for schedtop; use --pid=host")
    return own


def source_of(
    options: dict[str, Any], interval_ns: int, *, paced: bool = True, sampled: bool = True, quiet: bool = False
) -> Source:
    """The source that the options ask for, not yet open; `sampled`: with samples of the run queues.

    `quiet`: there is a screen that says what is missing.
    """
    from schedtop.run.session import complain, make_source

    return make_source(
        options["source"],
        interval_ns,
        options["threshold"],
        scope=scope_of(options),
        group=group_of(options),
        paced=paced,
        measured=options["measure_overhead"],
        sampled=sampled,
        **({} if quiet else {"say": complain}),
    )


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


def output_path(options: dict[str, Any]) -> Path | None:
    """The file that `--output` names; `None`: standard output."""
    return None if options["output"] in (None, "-") else Path(options["output"])


def _no_empty_path(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.BadParameter("the name is empty")
    return value
