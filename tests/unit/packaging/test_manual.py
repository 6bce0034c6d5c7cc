"""The man page is made from the commands: nothing is missing in it, and it can be read without a warning."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

import schedtop
from schedtop.cli import commands

ROOT = Path(schedtop.__file__).parents[1]
MAN, MANDOC = shutil.which("man"), shutil.which("mandoc")
COMMANDS = sorted(commands.commands)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("manual") / "schedtop.1"
    done = subprocess.run([sys.executable, ROOT / "scripts" / "manual.py"], capture_output=True, timeout=60, check=True)
    path.write_bytes(done.stdout)
    return path


@pytest.fixture(scope="module")
def plain(page: Path) -> str:
    """The source without its marks."""
    text = re.sub(r"\\f[BIRP]", "", page.read_text(encoding="ascii"))
    for mark, character in ((r"\-", "-"), (r"\(aq", "'"), (r"\(ga", "`"), (r"\(dq", '"'), (r"\e", "\\")):
        text = text.replace(mark, character)
    return text


def names(command: click.Command) -> list[str]:
    context = click.Context(command, **commands.context_settings)
    options = [param for param in command.get_params(context) if isinstance(param, click.Option) and not param.hidden]
    return [max(names, key=len) for option in options for names in (option.opts, option.secondary_opts) if names]


def test_every_option_of_the_dashboard_is_in_it(plain: str) -> None:
    options = plain.split(".SH OPTIONS")[1].split(".SH COMMANDS")[0]
    assert len(names(commands)) > 20
    assert [name for name in names(commands) if not re.search(rf"(^|[ /]){name}\b", options, re.M)] == []
    assert "Waits at least this long are slow waits, 10us to 100s." in " ".join(options.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_its_options_are_in_it(plain: str, name: str) -> None:
    section = plain.split(f'.SS "{name}"\n')[1].split("\n.S")[0]
    command = commands.commands[name]
    assert f"schedtop {name}" in section
    assert [option for option in names(command) if not re.search(rf"(^|[ /]){option}\b", section, re.M)] == []
    # Only what the dashboard says in the same words is left out.
    assert " ".join((command.help or "").split("\n\n")[0].replace("`", "").split()) in " ".join(section.split())


def test_sections_by_hand(plain: str) -> None:
    for heading in ("EXIT STATUS", "ENVIRONMENT", "FILES", "PRIVILEGES", "SECURITY", "EXAMPLES", "SEE ALSO"):
        assert f".SH {heading}\n" in plain
    assert "@" not in plain.replace("@0.service", "")


@pytest.mark.skipif(not MANDOC, reason="mandoc is not installed")
def test_mandoc_has_nothing_to_say(page: Path) -> None:
    done = subprocess.run(
        [MANDOC or "", "-T", "lint", "-W", "warning", page], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.skipif(not MAN, reason="man is not installed")
def test_man_shows_it_in_80_columns(page: Path) -> None:
    done = subprocess.run(
        [MAN or "", "--warnings", "-P", "cat", "-l", page],
        env={"MANWIDTH": "80", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "MAN_KEEP_FORMATTING": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
    assert "Three seconds as JSON" in text
    assert "sudo schedtop watch --on 'p99 > 10ms for 5s' --then record" in text
    assert max(len(line) for line in text.splitlines()) <= 80
