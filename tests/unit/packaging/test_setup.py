"""What the set-up installs is what is locked, in wheels whose hashes are known."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOCKS = {"run": ["build"], "test": ["build", "dev"], "fuzz": ["build", "dev", "fuzz"]}
"""By file: the extras that are in it, beside what the program itself needs."""


def entries(name: str) -> list[str]:
    """The requirements of a file, each with its hashes."""
    text = (ROOT / "scripts" / "requirements" / f"{name}.txt").read_text().replace("\\\n", "")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def named(requirement: str) -> str:
    """The name of a package as all indexes spell it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[=<>~;! \[]", requirement, maxsplit=1)[0]).lower()


@pytest.mark.parametrize("name", LOCKS)
def test_every_dependency_is_locked_with_its_hashes(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(one for extra in LOCKS[name] for one in extras[extra])]
    assert set(map(named, wanted)) <= set(map(named, entries(name))), "make lock"
    for line in entries(name):
        assert re.fullmatch(r"[a-z0-9-]+==[^ ;]+( ; [^#]+?)?( +--hash=sha256:[0-9a-f]{64})+ *", line), line


def test_the_locks_agree() -> None:
    assert set(entries("run")) <= set(entries("test")) <= set(entries("fuzz"))


def test_pip_gets_nothing_else() -> None:
    script = (ROOT / "scripts" / "setup.sh").read_text()
    calls = [line for line in script.splitlines() if "pip install" in line]
    fetched, ours = calls
    assert "--require-hashes --only-binary :all: -r" in fetched
    assert "--no-index --no-deps --no-build-isolation" in ours
    assert "-Im pip" in fetched and "-Im pip" in ours
