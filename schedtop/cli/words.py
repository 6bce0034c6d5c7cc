"""What may come next on a command line, for the shells' scripts in schedtop/completions.

A shell starts us at each Tab, so nothing slow is imported here: no numpy, no textual. click finds the option or
argument that is meant; our own are the words for its value, and the lines that the scripts read: kind, value and
meaning with tabs between them. click's scripts are not used: the one that was installed and the click that answers need
not be of one version, and its lines have changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click
from click.shell_completion import CompletionItem, ShellComplete, split_arg_string  # type: ignore[attr-defined,unused-ignore]

from schedtop.cli.program import GIVEN

VARIABLE = "_SCHEDTOP_COMPLETE"
"""Names the shell that asks; SCHEDTOP_LINE has what is before the cursor, SCHEDTOP_WORD what is to be replaced."""

METRICS = ("p50", "p90", "p99", "p99.9", "max", "slow_waits", "run_delay", "queue_length", "switches",
           "involuntary_switches", "busy", "steal", "throttled", "throttled_p99", "pressure", "syscalls",
           "syscall_errors", "major_faults", "tcp_failures", "retransmits", "lost")  # fmt: skip
"""`triggers.metrics.METRICS`; its module would bring numpy with it."""

ACTIONS = ("freeze", "export", "record", "path", "run")
"""`triggers.plan.ACTIONS`, likewise."""

_PLAIN = re.compile(r"[\w%+,./:@-]+", re.ASCII)
"""What no shell takes for anything but text: names of cgroups are anybody's."""

_MEANING_WIDTH = 70

Words = Callable[[click.Context, str], list[CompletionItem]]


class Offering(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Takes any text, and offers some."""

    name = "text"

    def __init__(self, words: Words) -> None:
        self.words = words

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return self.words(ctx, incomplete)


def _kind(kind: str) -> Words:
    """What the shell itself knows to list: files, directories, tasks."""
    return lambda _context, incomplete: [CompletionItem(incomplete, type=kind)]


def _metrics(_context: click.Context, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name, type="part") for name in METRICS if name.startswith(incomplete)]


def _actions(context: click.Context, incomplete: str) -> list[CompletionItem]:
    actions = ACTIONS[1:] if context.info_name == "watch" else ACTIONS  # without a screen nothing can freeze
    return [
        CompletionItem(name, type="part" if name == "run" else "word")
        for name in actions
        if name.startswith(incomplete)
    ]


def _cgroups(_context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Paths below the hierarchy, a level at a time; a name that begins otherwise is one of a unit."""
    # Late: for this question alone.
    from schedtop.sources.host.cgroups import cpu_hierarchy, read_mounts

    root = cpu_hierarchy(read_mounts())
    if root is None:
        return []
    if incomplete and not incomplete.startswith("/"):
        return [CompletionItem(name) for name in _groups_in(root / "system.slice") if name.startswith(incomplete)]
    above, _, begun = incomplete.rpartition("/")
    if ".." in above.split("/"):
        return []
    found = []
    for name in _groups_in(root / above.lstrip("/")):
        if name.startswith(begun):
            leaf = not _groups_in(root / above.lstrip("/") / name)
            found.append(CompletionItem(f"{above}/{name}", type="word" if leaf else "part"))
    return found


def _groups_in(directory: Path) -> list[str]:
    """Names of the groups in one, sorted; groups go at any time."""
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except (OSError, ValueError):
        return []
    return sorted(name for name in names if _PLAIN.fullmatch(name))


def _programs(context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Files, once there is a `--`."""
    return _kind("file")(context, incomplete) if GIVEN in context.meta else []


_BY_METAVAR: Mapping[str, Words] = {
    "FILE": _kind("file"),
    "NAME": _kind("file"),
    "DIR": _kind("directory"),
    "PATH": _cgroups,
    "CONDITION": _metrics,
    "ACTION": _actions,
}
_BY_NAME: Mapping[str, Words] = {
    "pid": _kind("task"), "tid": _kind("task"), "pidns": _kind("task"), "program": _programs
}  # fmt: skip


def values_of(param: click.Parameter) -> Words | None:
    """What knows the values of an option or argument; `None`: its type does, or nothing."""
    return _BY_NAME.get(param.name or "") or _BY_METAVAR.get(param.metavar or "")


def _prepare(command: click.Command) -> None:
    """Gives a command's options types that offer values. This process answers, and does nothing else."""
    for param in command.params:
        if isinstance(param.type, click.Path) or param.name == "file":
            param.type = Offering(_kind("file"))
        elif words := values_of(param):
            param.type = Offering(words)
    if isinstance(command, click.Group):
        for below in command.commands.values():
            _prepare(below)


def next_words(commands: click.Group, arguments: list[str], incomplete: str) -> list[CompletionItem]:
    """What may stand for `incomplete` after these arguments, whole words: `--theme=dark` for `--theme=d`."""
    _prepare(commands)
    option, equals, _ = incomplete.partition("=")
    before = f"{option}=" if equals and option.startswith("--") else ""
    items = ShellComplete(commands, {}, "schedtop", VARIABLE).get_completions(arguments, incomplete)
    return [CompletionItem(before + item.value, item.type, item.help) for item in items]


def answer(commands: click.Group, environment: Mapping[str, str]) -> Iterator[str]:
    """The lines for the shell that asks. Nothing for an unknown shell."""
    shell, line = environment[VARIABLE], environment.get("SCHEDTOP_LINE", "")
    asked = environment.get("SCHEDTOP_WORD", "")
    if shell == "bash":
        words = split_arg_string(line)
        incomplete = words.pop() if words and not line[-1:].isspace() else ""
        # = and : are words of their own to readline.
        asked = "" if asked in ("=", ":", "@") else asked.lstrip("'\"")
        cut = len(incomplete) - len(asked) if incomplete.endswith(asked) else 0
    elif shell in ("zsh", "fish"):
        words, incomplete, cut = line.split("\n"), "".join(split_arg_string(asked)[:1]), 0
    else:
        return
    for item in next_words(commands, words[1:], incomplete):
        kind = "word" if item.type == "plain" else item.type
        meaning = (item.help or "").split("  [")[0]
        if len(meaning) > _MEANING_WIDTH:
            meaning = meaning[: _MEANING_WIDTH - 3].rstrip() + "..."
        yield "\t".join((kind, item.value[cut:], " ".join(meaning.split())))


def print_answer(commands: click.Group) -> int:
    """Answers the shell on standard output; the exit status."""
    for line in answer(commands, os.environ):
        click.echo(line)
    return 0
