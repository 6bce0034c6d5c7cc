"""What is handed out: a wheel and an sdist that are complete, the same each time, and of one version."""

import email
import io
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

import schedtop
from schedtop.recording.lines import Header
from tests.scripts import load

pytest.importorskip("hatchling", reason="hatchling is not installed: `make test` installs it")

ROOT = Path(schedtop.__file__).parents[1]
VERSION = schedtop.__version__
NAME = f"schedtop-{VERSION}"


def test_wheel_and_sdist(tmp_path: Path) -> None:
    """One test for all that is built, because each process of the run would build it anew."""
    dist, tracked = load("dist"), tracked_files()
    environment = {**os.environ, "TZ": "UTC", "SOURCE_DATE_EPOCH": "1700000000"}
    made: Mapping[str, bytes] = dist.build(ROOT, tmp_path / "made", environment, umask=0o022)
    assert set(made) == {f"{NAME}-py3-none-any.whl", f"{NAME}.tar.gz"}
    wheel = zipfile.ZipFile(io.BytesIO(made[f"{NAME}-py3-none-any.whl"]))
    wheel_is_complete(dist, wheel, tracked)
    sdist_is_the_whole_checkout(dist, made, tracked)
    metadata_say_what_it_is(wheel)
    a_wheel_made_elsewhere_and_later_is_the_same(dist, made, tmp_path)


def tracked_files() -> list[str]:
    """All files of the checkout that are, or may be, committed."""
    listing = ["git", "-c", f"safe.directory={ROOT}", "-C", ROOT, "ls-files", "-z", "--cached", "--others"]
    try:
        done = subprocess.run([*listing, "--exclude-standard"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is not a git checkout, or git is not installed")
    return sorted({name for name in done.stdout.split("\0") if name and (ROOT / name).exists()})


def wheel_is_complete(dist: ModuleType, wheel: zipfile.ZipFile, tracked: list[str]) -> None:
    """The package, bpf/ in it, and what goes beside it; no more and no less."""
    names = set(wheel.namelist())
    dist.check_wheel(names, tracked)
    assert wheel.read("schedtop/bpf/scheduler/core.h") == (ROOT / "bpf" / "scheduler" / "core.h").read_bytes()
    with pytest.raises(dist.Wrong, match=r"is stray: schedtop/\.cache"):
        dist.check_wheel({*names, "schedtop/.cache"}, tracked)
    with pytest.raises(dist.Wrong, match=r"is missing: schedtop/bpf/scheduler/core\.h"):
        dist.check_wheel(names - {"schedtop/bpf/scheduler/core.h"}, tracked)
    # `make install` finds by this what man and the shells have to find.
    share = {name.split(".data/data/")[1] for name in names if ".data/data/" in name}
    assert [name for name in share if "schedtop" not in name] == []


def sdist_is_the_whole_checkout(dist: ModuleType, made: Mapping[str, bytes], tracked: list[str]) -> None:
    names = dist._sdist_names(made)
    dist.check_sdist(names, tracked)
    pictures = {
        os.path.normpath(page.parent.relative_to(ROOT) / picture)
        for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
        for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text())
    }
    assert len(pictures) > 5
    assert pictures <= names


def a_wheel_made_elsewhere_and_later_is_the_same(dist: ModuleType, made: Mapping[str, bytes], place: Path) -> None:
    dist.unpack(made[f"{NAME}.tar.gz"], place)
    environment = {**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C", "SOURCE_DATE_EPOCH": "1700000000"}
    again = dist.build(place / NAME, place / "again", environment, targets=("wheel",), umask=0o077)
    assert again == {name: data for name, data in made.items() if name.endswith(".whl")}


def metadata_say_what_it_is(wheel: zipfile.ZipFile) -> None:
    metadata = email.message_from_bytes(wheel.read(f"{NAME}.dist-info/METADATA"))
    assert metadata["Version"] == VERSION
    assert metadata["License-Expression"] == "MIT AND (MIT OR GPL-2.0-only)"
    assert set(metadata.get_all("License-File") or []) == {"LICENSE", "LICENSES/GPL-2.0-only.txt"}
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert str(metadata.get_payload()).startswith("# schedtop")
    licences = {path.read_text().split("*/")[0].split(":")[1].strip() for path in (ROOT / "bpf").rglob("*.[ch]")}
    assert licences == {"MIT OR GPL-2.0"}
    assert b"GNU GENERAL PUBLIC LICENSE" in wheel.read(f"{NAME}.dist-info/licenses/LICENSES/GPL-2.0-only.txt")
    page = wheel.read(f"{NAME}.data/data/share/man/man1/schedtop.1").decode()
    assert f'"schedtop {VERSION}"' in page.splitlines()[0]


def test_version_is_written_once() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "schedtop", "--version"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert said.stdout == f"schedtop {VERSION}\n"
    assert Header.__dataclass_fields__["tool_version"].default == VERSION
    written = [path for path in (ROOT / "schedtop").rglob("*.py") if f'"{VERSION}"' in path.read_text()]
    assert written == [ROOT / "schedtop" / "__init__.py"]
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    # Of what is being worked on, or of a day; and each version once, the newest first.
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \((unreleased|\d{4}-\d\d-\d\d)\)", heading) for heading in headings)
    assert headings[0].split()[0] == VERSION
    versions = [tuple(map(int, heading.split()[0].split("."))) for heading in headings]
    assert versions == sorted(set(versions), reverse=True)
    assert not any("unreleased" in heading for heading in headings[1:])


def test_the_build_needs_nothing_but_click_of_our_dependencies() -> None:
    """pip builds in an environment of its own, which has what build-system.requires names."""
    code = "import sys, schedtop.cli; print(*{name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {[str(ROOT), click_path()]!r}; {code}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert set(done.stdout.split()) - {"__main__"} == {"schedtop", "click"}


def click_path() -> str:
    import click

    return str(Path(click.__file__).parents[1])
