"""Commands are imported when they are needed: a start waits for one of them at most."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from schedtop.cli import COMMANDS, LateCommands, commands

CLI = Path(__file__).parents[3] / "schedtop" / "cli"
LOADED = "sorted(name.rpartition('.')[2] for name in sys.modules if name.startswith('schedtop.cli.'))"


def loaded_after(*arguments: str) -> set[str]:
    """Names of modules of the command line, of commands and others, once these arguments were looked at."""
    code = f"import sys\nfrom schedtop.cli import main\nmain({list(arguments)!r})\nprint('loaded', *{LOADED})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_a_start_imports_the_command_that_it_needs_and_no_other() -> None:
    assert not loaded_after("--version") & set(COMMANDS)
    assert loaded_after("schema", "--help") & set(COMMANDS) == {"schema"}


def test_each_command_is_listed_and_has_its_name() -> None:
    defined = {path.stem for path in CLI.glob("*.py") if "@click.command(" in path.read_text()}
    defined |= {path.stem for path in CLI.glob("*.py") if "@click.group(" in path.read_text()} - {"__init__"}
    assert defined == set(COMMANDS) == set(commands.commands)
    assert all(commands.commands[name].name == name for name in COMMANDS)


def test_a_command_can_be_added_and_taken_away() -> None:
    found = LateCommands(("schema",))
    found["other"] = click.Command("other")
    assert list(found) == ["schema", "other"]
    assert found["other"].name == "other"
    del found["other"]
    assert len(found) == 1
    with pytest.raises(KeyError):
        found["other"]
