"""`make deb`, `make rpm`, `make pyz`: schedtop of the last commit with all that it imports, for one version of Python.

    packages.py deb|rpm|pyz [--python 3.13] [--directory dist]

What is locked (scripts/requirements/run.txt) is fetched as wheels for that Python, which need not be the one that runs
here. Nothing depends on when, where and by which user it is built: built twice, it is the same to the last byte.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import dist

ROOT = Path(__file__).resolve().parents[1]
UNIT = "schedtop-metrics.service"
LIBRARY = "usr/lib/schedtop"
ONLY_TO_BUILD = {"editables", "hatchling", "pathspec", "pluggy", "trove-classifiers"}
"""What run.txt has for an installation from a checkout."""

MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")

LAUNCHER = """#!/usr/bin/python3 -I
import sys

if sys.version_info[:2] != {version}:
    sys.exit("schedtop: this package is for Python {dotted}, and /usr/bin/python3 is %d.%d" % sys.version_info[:2])
sys.path.insert(0, "/usr/lib/schedtop")
from schedtop.__main__ import main

sys.exit(main())
"""

AFTER_INSTALL = """#!/bin/sh
set -e
/usr/bin/python3 -I -m compileall -q /usr/lib/schedtop >/dev/null || true
[ ! -d /run/systemd/system ] || systemctl daemon-reload || true
"""

BEFORE_REMOVE = """#!/bin/sh
set -e
# An upgrade keeps the service as it is.
case "$1" in
remove | deconfigure | 0)
	[ ! -d /run/systemd/system ] || systemctl disable --now --quiet schedtop-metrics 2>/dev/null || true
	;;
esac
find /usr/lib/schedtop -name __pycache__ -prune -exec rm -rf {} +
"""

AFTER_REMOVE = """#!/bin/sh
set -e
case "$1" in
remove | purge | 0)
	rm -rf /var/cache/schedtop /var/cache/schedtop-metrics /var/cache/private/schedtop-metrics
	[ ! -d /run/systemd/system ] || systemctl daemon-reload || true
	;;
esac
"""

CONTROL = """Package: schedtop
Version: {version}-1+py{python}
Architecture: {machine}
Maintainer: The schedtop authors <schedtop@localhost>
Installed-Size: {size}
Depends: python3 (>= {python}), python3 (<< {next}~), python3-bpfcc (>= 0.18)
Section: admin
Priority: optional
Description: terminal dashboard of the Linux scheduler
 Tells whether the Linux scheduler makes a service slow, and which task is to
 blame. Brings all that it imports, but for bcc.
"""

SPEC = """Name: schedtop
Version: {version}
Release: 1.py{python}
Summary: Terminal dashboard of the Linux scheduler
License: MIT AND (MIT OR GPL-2.0-only)
Requires: python(abi) = {python}, python3-bcc >= 0.18
AutoReqProv: no
%define __os_install_post %{{nil}}
%define debug_package %{{nil}}
%define _build_id_links none
%define _binary_payload w9.xzdio
%description
Tells whether the Linux scheduler makes a service slow, and which task is to blame.
%install
cp -a {tree}/. %{{buildroot}}/
%post -p /bin/sh
{post}
%preun -p /bin/sh
{preun}
%postun -p /bin/sh
{postun}
%files
%defattr(-,root,root,-)
{files}
"""

SHELLS = ("fish", "zsh")
"""Their directories below /usr/share go with an rpm, unless the shell is there and has them as well."""

UNPACKER = '''"""Unpacks itself where only its user writes, once for each version, and runs schedtop from there."""
import os
import pathlib
import shutil
import stat
import sys
import tempfile
import zipfile

KEY, VERSION = "{key}", {version}

if sys.version_info[:2] != VERSION:
    sys.exit("schedtop: this file is for Python %d.%d; it was started by %d.%d" % (VERSION + sys.version_info[:2]))
home = pathlib.Path(os.environ.get("SCHEDTOP_UNPACKED") or pathlib.Path.home() / ".cache" / "schedtop-pyz")
there = home / KEY
if not there.exists():
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = pathlib.Path(tempfile.mkdtemp(dir=home))
    with zipfile.ZipFile(sys.argv[0]) as archive:
        archive.extractall(fresh, [name for name in archive.namelist() if name.startswith("lib/")])
    try:
        fresh.rename(there)
    except OSError:  # another start was quicker
        shutil.rmtree(fresh)
for path in (home, there):
    status = path.stat()
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        sys.exit(f"schedtop: {{path}} is not yours alone: remove it, or name another place in SCHEDTOP_UNPACKED")
sys.path.insert(0, str(there / "lib"))
from schedtop.__main__ import main

sys.exit(main())
'''


def main(arguments: list[str]) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="make")
    parser.add_argument("kind", choices=("deb", "rpm", "pyz"))
    parser.add_argument("--python", default="{}.{}".format(*sys.version_info[:2]))
    parser.add_argument("--directory", type=Path, default=ROOT / "dist")
    asked = parser.parse_args(arguments)
    # Commands of the builders make files of their own with it.
    os.umask(0o022)
    os.environ["SOURCE_DATE_EPOCH"] = dist._git("log", "-1", "--format=%ct").strip()
    asked.directory.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="schedtop-package-") as name:
        try:
            wheel = wheel_of_the_last_commit(Path(name))
            make = {"deb": make_deb, "rpm": make_rpm, "pyz": make_pyz}[asked.kind]
            made = make(wheel, asked.python, Path(name) / "package", asked.directory)
        except (dist.Wrong, OSError, subprocess.CalledProcessError) as error:
            print(f"make {asked.kind}: {error}", file=sys.stderr)
            return 1
    print(f"{hashlib.sha256(made.read_bytes()).hexdigest()}  {made} ({made.stat().st_size >> 20} MiB)")
    return 0


def wheel_of_the_last_commit(place: Path) -> Path:
    """The wheel as `make dist` builds it."""
    dist.unpack(dist._archive(), place / "tree")
    made = dist.build(place / "tree", place / "wheel", os.environ | dist.HERE, targets=("wheel",), umask=0o022)
    return place / "wheel" / next(iter(made))


def version_of(wheel: Path) -> str:
    return wheel.name.split("-")[1]


def fill_library(wheel: Path, python: str, library: Path) -> None:
    """schedtop and all that it imports, without what is never read there: tests of others, their commands."""
    library.mkdir(parents=True)
    fetch(python, library)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(library)
    for path in sorted(library.rglob("*"), reverse=True):
        # What pip writes of this installation says when and from where.
        if path.name in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json") and path.parent.suffix == ".dist-info":
            path.unlink()
        elif path.is_dir() and (path.name == "__pycache__" or (path.name == "tests" and path.parent != library)):
            shutil.rmtree(path)
    shutil.rmtree(library / "bin", ignore_errors=True)
    shutil.rmtree(library / "share", ignore_errors=True)


def fetch(python: str, library: Path) -> None:
    """What is locked for running, as wheels for that Python, into a directory."""
    machine = os.uname().machine
    locked = (ROOT / "scripts" / "requirements" / "run.txt").read_text(encoding="utf-8")
    wanted = [entry for entry in re.split(r"\n(?=\w)", locked) if entry.split("=")[0].strip() not in ONLY_TO_BUILD]
    requirements = library.parent / "requirements.txt"
    requirements.write_text("\n".join(wanted) + "\n", encoding="utf-8")
    command = [sys.executable, "-Im", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    platforms = [word for name in PLATFORMS for word in ("--platform", f"{name}_{machine}")]
    target = ["--only-binary", ":all:", "--python-version", python, *platforms, "--target", str(library)]
    subprocess.run([*command, *target, "--no-deps", "--require-hashes", "-r", str(requirements)], check=True)
    requirements.unlink()


def make_tree(wheel: Path, python: str, tree: Path) -> None:
    """What a package of a distribution holds, from the root on."""
    library = tree / LIBRARY
    fill_library(wheel, python, library)
    data = next(library.glob("schedtop-*.data"))
    shutil.move(data / "data" / "share", tree / "usr" / "share")
    shutil.rmtree(data)
    completions = tree / "usr/share/zsh/site-functions"
    if completions.exists():  # where Debian's zsh looks
        shutil.move(completions, tree / "usr/share/zsh/vendor-completions")
    launcher = tree / "usr/bin/schedtop"
    launcher.parent.mkdir()
    numbers = tuple(map(int, python.split(".")))
    launcher.write_text(LAUNCHER.replace("{version}", str(numbers)).replace("{dotted}", python), encoding="ascii")
    unit = tree / "usr/lib/systemd/system" / UNIT
    unit.parent.mkdir(parents=True)
    text = (ROOT / "contrib" / "systemd" / UNIT).read_text(encoding="utf-8")
    unit.write_text(text.replace("/usr/local/bin/", "/usr/bin/"), encoding="utf-8")
    settle(tree)
    launcher.chmod(0o755)


def settle(tree: Path) -> None:
    """Modes and times that do not tell who built it and when."""
    moment = int(os.environ["SOURCE_DATE_EPOCH"])
    for path in [tree, *tree.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (moment, moment))


def make_deb(wheel: Path, python: str, place: Path, target: Path) -> Path:
    """A package for Debian and Ubuntu."""
    make_tree(wheel, python, place)
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) >> 10
    major, minor = map(int, python.split("."))
    control = place / "DEBIAN"
    control.mkdir()
    machine = MACHINES[os.uname().machine]
    fields = {"version": version_of(wheel), "python": python, "next": f"{major}.{minor + 1}", "size": size}
    (control / "control").write_text(CONTROL.format(machine=machine, **fields), encoding="utf-8")
    for name, script in (("postinst", AFTER_INSTALL), ("prerm", BEFORE_REMOVE), ("postrm", AFTER_REMOVE)):
        (control / name).write_text(script, encoding="ascii")
        (control / name).chmod(0o755)
    made = target / f"schedtop_{version_of(wheel)}-1+py{python}_{machine}.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", place, made]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return made


def make_rpm(wheel: Path, python: str, place: Path, target: Path) -> Path:
    """A package for Fedora and its like; rpmbuild is in Debian's package rpm."""
    tree = place / "tree"
    make_tree(wheel, python, tree)
    owned = []
    for path in sorted((tree / "usr/share").rglob("*")):
        name = path.relative_to(tree)
        if path.is_file():
            owned.append(f"/{name}")
        elif name.is_relative_to("usr/share/doc/schedtop") or name.parts[2] in SHELLS:
            owned.append(f"%dir /{name}")
    files = [f"/{LIBRARY}", "/usr/bin/schedtop", f"/usr/lib/systemd/system/{UNIT}", *owned]
    scripts = {"post": AFTER_INSTALL, "preun": BEFORE_REMOVE, "postun": AFTER_REMOVE}
    spec = place / "schedtop.spec"
    text = SPEC.format(version=version_of(wheel), python=python, tree=tree, files="\n".join(files), **scripts)
    spec.write_text(text, encoding="utf-8")
    defines = {"_topdir": place / "rpm", "_buildhost": "localhost", "use_source_date_epoch_as_buildtime": 1,
               "clamp_mtime_to_source_date_epoch": 1, "_rpmdir": place / "rpms", "_dbpath": place / "db"}  # fmt: skip
    words = [word for name, value in defines.items() for word in ("--define", f"{name} {value}")]
    subprocess.run(["rpmbuild", "--quiet", "-bb", *words, spec], check=True, stdout=subprocess.DEVNULL)
    built = next((place / "rpms").rglob("*.rpm"))
    made = target / built.name
    shutil.copyfile(built, made)
    return made


def make_pyz(wheel: Path, python: str, place: Path, target: Path) -> Path:
    """One file that any host with this Python runs."""
    fill_library(wheel, python, place / "lib")
    shutil.rmtree(next((place / "lib").glob("schedtop-*.data")))
    files = sorted(path for path in (place / "lib").rglob("*") if path.is_file())
    key = hashlib.sha256()
    for path in files:
        key.update(str(path.relative_to(place)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    made = target / f"schedtop-{version_of(wheel)}-py{python}.pyz"
    numbers = tuple(map(int, python.split(".")))
    with made.open("wb") as stream:
        stream.write(f"#!/usr/bin/env python{python}\n".encode())
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            _put(archive, "__main__.py", UNPACKER.format(key=key.hexdigest()[:16], version=numbers).encode())
            for path in files:
                _put(archive, str(path.relative_to(place)), path.read_bytes())
    made.chmod(0o755)
    return made


def _put(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    archive.writestr(entry, data)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
