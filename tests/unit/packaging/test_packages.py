"""The packages: what is in them, what they need, that they run, and that they are the same each time.

Of what schedtop imports they hold click alone here, as far as it is installed: the real ones fetch 30 MB.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest

import schedtop
from tests.scripts import load

pytest.importorskip("hatchling", reason="hatchling is not installed: `make test` installs it")

ROOT = Path(schedtop.__file__).parents[1]
PYTHON = "{}.{}".format(*sys.version_info[:2])
NAME = f"schedtop_{schedtop.__version__}-1+py{PYTHON}"


@pytest.fixture(scope="module")
def packages() -> ModuleType:
    module = load("packages")

    def fetch(python: str, library: Path) -> None:
        assert python == PYTHON
        shutil.copytree(Path(click.__file__).parent, library / "click")

    module.fetch = fetch  # type: ignore[attr-defined]
    return module


@pytest.fixture(scope="module")
def wheel(packages: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    os.environ["SOURCE_DATE_EPOCH"] = "1700000000"
    place = tmp_path_factory.mktemp("wheel")
    made = packages.dist.build(ROOT, place, os.environ, targets=("wheel",), umask=0o022)
    return place / str(next(iter(made)))


def test_single_file_runs_and_is_the_same_each_time(packages: ModuleType, wheel: Path, tmp_path: Path) -> None:
    one, other = (packages.make_pyz(wheel, PYTHON, tmp_path / name, tmp_path).read_bytes() for name in "ab")
    assert one == other
    made = tmp_path / f"schedtop-{schedtop.__version__}-py{PYTHON}.pyz"
    environment = {"PATH": os.environ["PATH"], "SCHEDTOP_UNPACKED": str(tmp_path / "unpacked")}

    def start() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", str(made), "--version"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, cwd="/")

    for _ in range(2):
        assert start().stdout == f"schedtop {schedtop.__version__}\n"
    assert len(list((tmp_path / "unpacked").iterdir())) == 1
    (tmp_path / "unpacked").chmod(0o777)
    refused = start()
    assert refused.returncode == 1 and "is not yours alone" in refused.stderr


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not installed")
def test_deb_has_its_files_and_is_the_same_each_time(packages: ModuleType, wheel: Path, tmp_path: Path) -> None:
    contents = []
    for name in "ab":
        (tmp_path / f"to-{name}").mkdir()
        contents.append(packages.make_deb(wheel, PYTHON, tmp_path / name, tmp_path / f"to-{name}").read_bytes())
    assert contents[0] == contents[1]
    made = next((tmp_path / "to-a").iterdir())
    assert made.name.startswith(f"{NAME}_")

    def ask(*arguments: str) -> str:
        return subprocess.run(["dpkg-deb", *arguments], capture_output=True, text=True, check=True).stdout

    major, minor = PYTHON.split(".")
    depends = ask("--field", str(made), "Depends")
    assert f"python3 (>= {PYTHON}), python3 (<< {major}.{int(minor) + 1}~), python3-bpfcc" in depends
    listed = {line.split()[5]: line.split()[:2] for line in ask("--contents", str(made)).splitlines()}
    assert all(owner == "root/root" for _, owner in listed.values())
    for path in ("share/man/man1/schedtop.1", "share/bash-completion/completions/schedtop", "bin/schedtop",
                 "share/zsh/vendor-completions/_schedtop", "share/fish/vendor_completions.d/schedtop.fish",
                 "lib/systemd/system/schedtop-metrics.service", "lib/schedtop/schedtop/bpf/scheduler/core.h",
                 "share/doc/schedtop/docs/install.md", "lib/schedtop/click/__init__.py"):  # fmt: skip
        assert f"./usr/{path}" in listed, path
    assert listed["./usr/bin/schedtop"][0] == "-rwxr-xr-x"
    assert not [path for path in listed if "__pycache__" in path or path.startswith("./usr/local")]
    subprocess.run(["dpkg-deb", "--extract", made, tmp_path / "root"], check=True)
    unit = (tmp_path / "root/usr/lib/systemd/system/schedtop-metrics.service").read_text()
    assert "/usr/local" not in unit and "ExecStart=/usr/bin/schedtop metrics" in unit


def test_lock_without_what_only_builds_has_all_that_runs(packages: ModuleType) -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {entry.split(">")[0].split("<")[0] for entry in project["dependencies"]}
    assert not needed & packages.ONLY_TO_BUILD
    locked = (ROOT / "scripts/requirements/run.txt").read_text()
    assert all(f"\n{name}==" in locked for name in needed | packages.ONLY_TO_BUILD)
