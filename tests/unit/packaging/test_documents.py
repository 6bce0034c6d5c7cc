"""What the documents for contributors say of the code is there: files, functions, links; and it stays short."""

import re
import shlex
from pathlib import Path

import click
import pytest

import schedtop
from schedtop.cli import commands

ROOT = Path(schedtop.__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
FOR_CONTRIBUTORS = [
    ROOT / "CONTRIBUTING.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("architecture", "decisions", "dependencies", "testing")),
]
PLACEHOLDER = re.compile(r"[A-Z]{3,}")
"""NAME and TARGET stand for something."""


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_contributing_can_be_read_in_a_few_minutes() -> None:
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split()) <= 900


def test_readme_can_be_read_in_a_few_minutes() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.split()) <= 1000
    assert "    sudo make run" in readme and "    make test" in readme


def test_index_of_docs_has_a_line_for_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert set(re.findall(r"^- \[[^]]+\]\(([a-z-]+\.md)\)", index, re.M)) == pages


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_of_a_page_lead_to_files_and_headings(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        if heading and file.suffix == ".md":
            assert heading in headings(file), target


def headings(page: Path) -> set[str]:
    """As GitHub makes anchors of them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "decisions.md"], ids=named)
def test_command_lines_of_a_page_are_understood(page: Path) -> None:
    """Every option that a page types exists, and takes that value; nothing is run."""
    for line in command_lines(page.read_text(encoding="utf-8")):
        if "[-" in line:  # a synopsis
            continue
        words = shlex.split(line, comments=True)
        _, *arguments = words[words.index("schedtop") :]
        end = next((at for at, word in enumerate(arguments) if word in ("|", ">", "2>&1", "&", "&&", ";")), None)
        try:
            understand(arguments[:end])
        except click.UsageError as error:
            if "is not a file" not in error.message and "there is no task" not in error.message:
                raise AssertionError(f"{line}: {error.message}") from error


UNWANTED = re.compile(
    r"\b(came and went|who \w+ whom|somebody|goes this way|that can be had|robbed|put off the cpu|one step back)\b",
    re.I,
)
"""Phrases for which there is a better one: short-lived, Blame, a task."""


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "decisions.md"], ids=named)
def test_page_has_no_unwanted_phrase(page: Path) -> None:
    assert not UNWANTED.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", commands.commands.values(), ids=lambda command: command.name)
def test_help_of_a_command_has_no_unwanted_phrase(command: click.Command) -> None:
    assert not UNWANTED.findall(" ".join(command.get_help(click.Context(command)).split()))


def test_list_of_commands_has_whole_sentences() -> None:
    listed = commands.get_help(click.Context(commands)).partition("\nCommands:\n")[2].splitlines()
    assert len(listed) == len(commands.commands)
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


def command_lines(text: str) -> list[str]:
    """The lines of code blocks that run schedtop; a line that ends in a backslash and the next are one."""
    text = re.sub(r"\\\n\s*", " ", text)
    return re.findall(r"^(?:    |)((?:sudo )?(?:nohup )?schedtop(?: .*)?)$", "\n".join(code_lines(text)), re.M)


def code_lines(text: str) -> list[str]:
    lines, fenced = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            lines.append(line)
    return lines


def understand(arguments: list[str]) -> None:
    """As click reads a command line. Raises click.UsageError."""
    command: click.Command = commands
    if arguments and not arguments[0].startswith("-"):
        command, arguments = commands.commands[arguments[0]], arguments[1:]
    command.make_context("schedtop", list(arguments))


@pytest.mark.parametrize("page", FOR_CONTRIBUTORS, ids=named)
def test_files_that_a_page_names_exist(page: Path) -> None:
    names = re.findall(r"`((?:bpf|schedtop|tests|docs|scripts)/[\w./*-]*)`", page.read_text(encoding="utf-8"))
    assert [name for name in names if not PLACEHOLDER.search(name) and not (ROOT / name).exists()] == []


def test_every_hop_of_the_walks_is_in_the_file_that_is_named() -> None:
    hops = [
        (file, re.findall(r"`(\w+)`", names))
        for file, names in re.findall(r"`([\w/]+\.(?:[ch]|py))`: ((?:`\w+`(?:, )?)+)", architecture())
    ]
    assert len(hops) > 40
    missing = [f"{file}: {name}" for file, names in hops for name in names if not defines(ROOT / file, name)]
    assert missing == []


def architecture() -> str:
    return (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def defines(file: Path, name: str) -> bool:
    """Whether a function, class, struct or limit of this name is defined there."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        return re.search(rf"^\s*(?:def|class) {name}\b|^{name}\b.* = ", text, re.M) is not None
    return re.search(rf"^(?:[\w ]+\*?\b{name}\(.*[^;]|struct {name} {{|#define {name} .*)$", text, re.M) is not None
