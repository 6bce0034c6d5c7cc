"""The man page schedtop(1): what scripts/schedtop.1.in says, with the commands and options as click has them.

    python scripts/manual.py > schedtop.1

Our own: click-man writes a page for each command, cuts the NAME line off, and has no place for text of ours.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

TEMPLATE = Path(__file__).with_name("schedtop.1.in")
_MARKS = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq"}
_CODE = re.compile(r"`+([^`]+)`+")
_DOCUMENT = re.compile(r"docs/[a-z-]+\.md")


def escaped(text: str) -> str:
    """Text that roff shows as it is, in ASCII; not yet safe at the beginning of a line."""
    shown = "".join(_MARKS.get(character, character) for character in text)
    return "".join(character if character.isascii() else f"\\[u{ord(character):04X}]" for character in shown)


def prose(text: str) -> list[str]:
    """Lines of running text; what stands between backquotes is bold, and a file of the documentation italic."""
    whole = "\n".join(textwrap.wrap(" ".join(text.split()), 72, break_long_words=False, break_on_hyphens=False))
    parts = []
    for number, part in enumerate(_CODE.split(whole)):
        shown = escaped(part)
        if number % 2:
            shown = f"\\fB{shown}\\fR".replace("\n", "\\fR\n\\fB")
        else:
            shown = _DOCUMENT.sub(lambda found: f"\\fI{found[0]}\\fR", shown)
        parts.append(shown)
    # A dot or a quote would begin a request there.
    return ["\\&" + line if line.startswith((".", "'")) else line for line in "".join(parts).split("\n")]


def metavar(param: click.Parameter, context: click.Context) -> str:
    """What stands for the value of an option or argument; click 8.2 wants the context for it."""
    try:
        return param.make_metavar(context)
    except TypeError:
        return param.make_metavar()  # type: ignore[call-arg]


def heading(option: click.Option, context: click.Context) -> str:
    """Its names in bold and the word for its value in italics; of a choice, the words are in bold, too."""
    names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in sorted(option.opts, key=len))
    if option.secondary_opts:
        return names + " / " + ", ".join(f"\\fB{escaped(name)}\\fR" for name in option.secondary_opts)
    if option.is_flag or option.count:
        return names
    value = metavar(option, context)
    if value.startswith("["):
        return f"{names} " + "|".join(f"\\fB{escaped(word)}\\fR" for word in value.strip("[]").split("|"))
    return f"{names} \\fI{escaped(value)}\\fR"


def options_of(command: click.Command, context: click.Context) -> list[click.Option]:
    """All options that the help shows, --help the last."""
    return [param for param in command.get_params(context) if isinstance(param, click.Option) and not param.hidden]


def entry(option: click.Option, context: click.Context) -> Iterator[str]:
    yield ".TP"
    yield heading(option, context)
    yield from prose(option.help or "")


def synopsis(command: click.Command, context: click.Context) -> str:
    """`schedtop diff [OPTIONS] BEFORE AFTER`, with what has to be given."""
    words = [f"\\fBschedtop {escaped(command.name or '')}\\fR"]
    for option in options_of(command, context):
        if option.required:
            words.append(heading(option, context).split(", ")[0] + f" \\fI{escaped(metavar(option, context))}\\fR")
    words.append("[\\fIOPTIONS\\fR]")
    for param in command.get_params(context):
        if isinstance(param, click.Argument):
            words.append(f"\\fI{escaped(metavar(param, context))}\\fR")
    return " ".join(words)


def section(command: click.Command, parent: click.Context, known: dict[str, str]) -> Iterator[str]:
    """One command: how it is called, what it does, its options; those of `known` (heading: help) by name only."""
    context = click.Context(command, info_name=command.name, parent=parent)
    yield f'.SS "{escaped(command.name or "")}"'
    yield synopsis(command, context)
    for paragraph in (command.help or "").split("\f")[0].split("\n\n"):
        yield ".PP"
        yield from prose(paragraph.replace("\b\n", ""))
    shared = []
    for option in options_of(command, context):
        if known.get(heading(option, context)) == option.help:
            names = (max(names, key=len) for names in (option.opts, option.secondary_opts) if names)
            shared.append(" / ".join(f"\\fB{escaped(name)}\\fR" for name in names))
        else:
            yield from entry(option, context)
    if shared:
        yield ".PP"
        yield "Also, as in"
        yield ".BR OPTIONS :"
        yield from (name + ("," if number < len(shared) else ".") for number, name in enumerate(shared, 1))


def filled(template: str, commands: click.Group, version: str) -> Iterator[str]:
    """The lines of the page. Raises ValueError for a word of the template that nothing is known for."""
    context = click.Context(commands, info_name="schedtop", **commands.context_settings)
    own = options_of(commands, context)
    known = {heading(option, context): option.help or "" for option in own}
    for line in template.splitlines():
        if line == "@OPTIONS@":
            for option in own:
                yield from entry(option, context)
        elif line == "@COMMANDS@":
            for name in commands.list_commands(context):
                command = commands.get_command(context, name)
                if command and not command.hidden:
                    yield from section(command, context, known)
        elif line.startswith("@"):
            raise ValueError(f"{line}: nothing is known to fill in")
        elif not line.startswith('.\\" @'):
            yield line.replace("@VERSION@", escaped(version))


def page(commands: click.Group, version: str) -> str:
    """The whole page, in the man macros, as ASCII."""
    lines: Iterable[str] = filled(TEMPLATE.read_text(encoding="ascii"), commands, version)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Prints the page of the checkout that this file lies in."""
    # No files in a checkout that is only read.
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(TEMPLATE.parents[1]))
    from schedtop import __version__
    from schedtop.cli import commands

    sys.stdout.write(page(commands, __version__))


if __name__ == "__main__":
    main()
