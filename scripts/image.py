"""`make image`: an OCI image of the last commit, for any container engine: Debian's Python and bcc, and schedtop.

    image.py [--release bookworm] [--directory dist]

mmdebstrap unpacks Debian's packages and runs none of their scripts. Of that stays what Python, bcc and schedtop can
load, and who wrote it: no shell, no package manager. Debian is one layer, schedtop with what it imports the other, so
that an upgrade fetches the second alone. umoci writes the image. The same packages make the same bytes.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import io
import json
import os
import posixpath
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import dist
import packages
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

sys.path.append(str(dist.ROOT))
from tests.apt import mirrors

PYTHONS = {"bookworm": "3.11", "trixie": "3.13"}
"""The releases of Debian that it may be made of, with their Python."""

DEBIAN = ("base-files", "libc-bin", "python3", "python3-bpfcc")
OURS = ("usr/lib/schedtop/", "usr/bin/schedtop")
"""What the second layer has."""

KEPT = (
    "usr/bin/python3*", "usr/lib/python3*/*", "usr/lib/schedtop/*", "usr/bin/schedtop", "usr/lib/locale/C.utf8/*",
    "usr/share/doc/*/copyright", "usr/share/common-licenses/*", "usr/lib/os-release", "etc/os-release",
    "etc/debian_version", "var/lib/dpkg/status.d/*", "usr/lib/terminfo/*",
)  # fmt: skip
"""Beside directories that have to be there, and shared libraries that one of these loads."""

CUT = (
    # Parts of Python that nothing here imports, and with them their libraries.
    *(f"usr/lib/python3*/{name}/*" for name in (
        "config-*", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "sqlite3", "test", "tkinter", "turtledemo", "venv",
    )),
    *(f"usr/lib/python3*/lib-dynload/{name}.*" for name in (
        "_curses_panel", "_dbm", "_gdbm", "_sqlite3", "_test*", "_tkinter", "_xx*", "nis", "ossaudiodev",
        "readline", "xx*", "_ctypes_test",
    )),
    "usr/lib/python3/dist-packages/*-info/*",
    # Of matplotlib: fonts of PDF, and data of examples. Pictures are SVG here.
    "usr/lib/schedtop/matplotlib/mpl-data/sample_data/*", "usr/lib/schedtop/matplotlib/mpl-data/fonts/afm/*",
    "usr/lib/schedtop/matplotlib/mpl-data/fonts/pdfcorefonts/*", "usr/lib/schedtop/tzdata*",
    # Of numpy: what builds extensions.
    "usr/lib/schedtop/numpy/distutils/*", "usr/lib/schedtop/numpy/f2py/*", "usr/lib/schedtop/numpy/_core/include/*",
    "usr/lib/schedtop/*.pyi", "usr/lib/schedtop/*.a",
)  # fmt: skip

ONLY_IMPORTED = ("usr/lib/schedtop/fontTools/",)
"""Large packages of which a start imports little: of these only what COMPILE has compiled."""

DIRECTORIES = ("dev", "etc", "proc", "root", "run", "sys", "tmp", "var/cache/schedtop", "var/tmp")
FILES = {
    "etc/passwd": "root:x:0:0::/root:/usr/sbin/nologin\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
}
LOADED_BY_NAME = ("libbcc.so.0", "librt.so.1")
"""Libraries that no file needs: the Python of bcc loads them."""

# What a start imports is compiled, all of it: the root of a container may be read-only. Without times, so that
# the same files come out; and these never change.
COMPILE = """
import importlib, pkgutil, py_compile, sys
sys.path.insert(0, "/usr/lib/schedtop")
import schedtop
for module in pkgutil.walk_packages(schedtop.__path__, "schedtop."):
    try:
        module.name.endswith("__main__") or importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":  # an extra
            raise
import schedtop.__main__, matplotlib.backends.backend_svg, matplotlib.textpath
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
for name in sorted({str(getattr(module, "__file__", None)) for module in list(sys.modules.values())}):
    if name.endswith(".py"):
        py_compile.compile(name, doraise=True, invalidation_mode=mode)
"""

# A paragraph for each package, where scanners look for it.
STATUS = """
set -e
mkdir -p "$1/var/lib/dpkg/status.d"
for file in "$1"/var/cache/apt/archives/*.deb; do
	name=$(dpkg-deb --field "$file" Package)
	dpkg-deb --field "$file" Package Version Architecture Maintainer Source Depends >"$1/var/lib/dpkg/status.d/$name"
done
"""


def main(arguments: list[str]) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="make image")
    parser.add_argument("--release", choices=PYTHONS, default="bookworm")
    parser.add_argument("--directory", type=Path, default=dist.DIST)
    asked = parser.parse_args(arguments)
    os.umask(0o022)
    asked.directory.mkdir(exist_ok=True)
    try:
        os.environ["SOURCE_DATE_EPOCH"] = dist._git("log", "-1", "--format=%ct").strip()
        with tempfile.TemporaryDirectory(prefix="schedtop-image-") as name:
            made = make_image(asked.release, Path(name), asked.directory)
    except (dist.Wrong, OSError, subprocess.CalledProcessError) as error:
        print(f"make image: {error}", file=sys.stderr)
        return 1
    print(f"{hashlib.sha256(made.read_bytes()).hexdigest()}  {made} ({made.stat().st_size >> 20} MiB)")
    return 0


def make_image(release: str, place: Path, target: Path) -> Path:
    """The file of the image, an OCI layout as tar: `podman load`, `docker load`, `ctr images import` read it."""
    place.chmod(0o755)  # mmdebstrap looks from another user's side
    wheel = packages.wheel_of_the_last_commit(place)
    packages.make_tree(wheel, PYTHONS[release], place / "package")
    layers = [place / name for name in ("debian.tar", "schedtop.tar")]
    with tarfile.open(unpacked(release, place)) as archive:
        wanted = chosen(archive)
        write_layer(archive, [entry for entry in wanted if not _is_ours(entry)], layers[0], FILES, DIRECTORIES)
        write_layer(archive, [entry for entry in wanted if _is_ours(entry)], layers[1])
    version = packages.version_of(wheel)
    made = target / f"schedtop-{version}-{packages.MACHINES[os.uname().machine]}.oci.tar"
    pack(layers, version, release, place / "layout")
    write_directory(place / "layout", made)
    return made


def unpacked(release: str, place: Path) -> Path:
    """Debian's packages and ours, as a tar file: unpacked, not installed."""
    known = mirrors()
    if "Debian" not in known:
        raise dist.Wrong("this machine's apt knows no mirror of Debian")
    archives = [(known["Debian"], suite) for suite in (release, f"{release}-updates")]
    archives += [(known[label], f"{release}-security") for label in ("Debian-Security",) if label in known]
    lines = [f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror} {suite} main"
             for mirror, suite in archives]  # fmt: skip
    compiled = f'PYTHONHASHSEED=0 chroot "$1" /usr/bin/python3 -sP -c {shlex.quote(COMPILE)}'
    merged = 'for name in bin lib lib64 sbin; do mkdir -p "$1/usr/$name"; ln -s "usr/$name" "$1/$name"; done'
    hooks = [f'sh -c {shlex.quote(STATUS)} status "$1"', f"sync-in {place / 'package'} /", compiled]
    words = ["--setup-hook", merged, *(word for hook in hooks for word in ("--extract-hook", hook))]
    # A mirror that is behind serves lists that have run out; they are signed all the same.
    options = ["--quiet", "--variant=extract", "--format=tar", f"--include={','.join(DEBIAN)}",
               '--aptopt=Acquire::Check-Valid-Until "false"', '--aptopt=Acquire::Languages "none"']  # fmt: skip
    made = place / "root.tar"
    if shutil.which("mmdebstrap") is None or shutil.which("umoci") is None:
        raise dist.Wrong("needs mmdebstrap and umoci: sudo apt-get install mmdebstrap umoci")
    subprocess.run(["mmdebstrap", *options, *words, release, made, *lines], check=True)
    return made


# --- what stays -------------------------------------------------------------------------------------------------


def chosen(archive: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """What stays of a whole root, by name. Raises Wrong where a library is missing that something needs."""
    entries = {entry.name.removeprefix("./").rstrip("/"): entry for entry in archive}
    kept = {name for name, entry in entries.items() if not entry.isdir() and is_kept(name)}
    compiled = {_source(name) for name in kept if name.endswith(".pyc")}
    kept -= {name for name in kept if name.startswith(ONLY_IMPORTED) and _source(name) not in compiled}
    kept |= libraries(archive, entries, kept)
    # /lib and the like: links in a merged /usr.
    kept |= {name for name, entry in entries.items() if "/" not in name and entry.issym()}
    return [entries[name] for name in sorted(kept)]


def is_kept(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in KEPT) and not any(
        fnmatch.fnmatchcase(name, pattern) for pattern in CUT
    )


def _source(name: str) -> str:
    """Of which file of Python this is the compiled form; itself if it is none."""
    directory, _, file = name.rpartition("/__pycache__/")
    return f"{directory}/{file.split('.')[0]}.py" if directory else name


def libraries(archive: tarfile.TarFile, entries: Mapping[str, tarfile.TarInfo], kept: Iterable[str]) -> set[str]:
    """The shared libraries that these files load, with the links that lead to them, and the loader."""
    there = {posixpath.basename(name): name for name in sorted(entries) if ".so" in name and name not in kept}
    beside = {posixpath.basename(name) for name in kept if ".so" in name}
    found: set[str] = set()
    asked = [(name, name) for name in kept] + [(there[name], "Python") for name in LOADED_BY_NAME]
    while asked:
        name, by = asked.pop()
        if name not in entries:
            raise dist.Wrong(f"{name} is missing, which {by} needs")
        if name in found:
            continue
        entry = entries[name]
        if entry.issym():
            if ".so" in name:
                found.add(name)
                asked.append((_target(entries, name), name))
            continue
        if ".so" in name and name not in kept:
            found.add(name)
        wanted = needed(archive, entry)
        asked += [(there.get(library, library), name) for library in wanted if library not in beside]
    return found


def _target(entries: Mapping[str, tarfile.TarInfo], name: str) -> str:
    """Where a link leads to; through /lib, which is a link itself in a merged /usr."""
    path = posixpath.normpath(posixpath.join("/", posixpath.dirname(name), entries[name].linkname)).lstrip("/")
    first, _, rest = path.partition("/")
    top = entries.get(first)
    return posixpath.join(top.linkname.lstrip("/"), rest) if top is not None and top.issym() else path


def needed(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> list[str]:
    """What an ELF file says that it needs; nothing for other files."""
    stream = archive.extractfile(entry)
    if stream is None or stream.read(4) != b"\x7fELF":
        return []
    try:
        elf = ELFFile(stream)
        section = elf.get_section_by_name(".dynamic")
        loader = elf.get_section_by_name(".interp")
    except ELFError as error:
        raise dist.Wrong(f"{entry.name}: {error}") from error
    tags = [] if section is None else section.iter_tags("DT_NEEDED")
    names = [tag.needed for tag in tags]
    return names + ([posixpath.basename(loader.data().rstrip(b"\0").decode())] if loader else [])


def _is_ours(entry: tarfile.TarInfo) -> bool:
    return entry.name.removeprefix("./").startswith(OURS)


# --- layers and the image ---------------------------------------------------------------------------------------


def write_layer(
    archive: tarfile.TarFile,
    entries: Iterable[tarfile.TarInfo],
    target: Path,
    files: Mapping[str, str] = {},
    directories: Iterable[str] = (),
) -> None:
    """A layer of these, root's and of one time, with the directories on the way."""
    made: set[str] = set()
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as layer:

        def directory(name: str) -> None:
            if not name or name in made:
                return
            directory(posixpath.dirname(name))
            made.add(name)
            mode = 0o1777 if name in ("tmp", "var/tmp") else 0o700 if name in ("root", "var/cache/schedtop") else 0o755
            layer.addfile(_entry(name, tarfile.DIRTYPE, mode))

        for name in directories:
            directory(name)
        for name, text in files.items():
            directory(posixpath.dirname(name))
            entry = _entry(name, tarfile.REGTYPE, 0o644)
            entry.size = len(text.encode())
            layer.addfile(entry, io.BytesIO(text.encode()))
        for old in entries:
            name = old.name.removeprefix("./")
            directory(posixpath.dirname(name))
            stream = None if old.issym() else archive.extractfile(old)  # also what a hard link leads to
            entry = _entry(name, tarfile.SYMTYPE if old.issym() else tarfile.REGTYPE, old.mode & 0o755)
            if stream is None:
                entry.linkname = old.linkname
            else:
                entry.size = stream.seek(0, io.SEEK_END)
                stream.seek(0)
            layer.addfile(entry, stream)


def _entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.mtime = kind, mode, int(os.environ["SOURCE_DATE_EPOCH"])
    return entry


def configuration(version: str, release: str, revision: str) -> list[str]:
    """The options of `umoci config`: what an engine starts, and what the image is."""
    labels = {
        "title": "schedtop",
        "description": "Dashboard and metrics of the Linux scheduler",
        "version": version,
        "revision": revision,
        "licenses": "MIT AND (MIT OR GPL-2.0-only)",
        "base.name": f"debian:{release}",
    }
    named = [f"org.opencontainers.image.{name}={value}" for name, value in labels.items()]
    words = [word for label in named for word in ("--config.label", label)]
    return ["--config.entrypoint", "/usr/bin/schedtop", "--config.cmd", "metrics", "--config.env", "PATH=/usr/bin",
            "--config.env", "LANG=C.UTF-8", "--config.exposedports", "9435/tcp", "--config.workingdir", "/",
            "--architecture", packages.MACHINES[os.uname().machine], "--os", "linux", *words]  # fmt: skip


def pack(layers: Iterable[Path], version: str, release: str, layout: Path) -> None:
    """An OCI layout of these layers."""
    moment = subprocess.run(["date", "-u", "-d", f"@{os.environ['SOURCE_DATE_EPOCH']}", "+%FT%TZ"],
                            capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
    image = f"{layout}:{version}"

    def umoci(*words: str | Path) -> None:
        subprocess.run(["umoci", *words], check=True, stdout=subprocess.DEVNULL)

    umoci("init", "--layout", layout)
    umoci("new", "--image", image)
    for layer in layers:
        umoci(
            "raw", "add-layer", "--image", image, "--history.created", moment, "--history.created_by", layer.stem, layer
        )
    said = configuration(version, release, dist._git("rev-parse", "HEAD").strip())
    umoci("config", "--image", image, "--no-history", "--created", moment, *said)
    umoci("gc", "--layout", layout)
    index = layout / "index.json"
    text = json.loads(index.read_text(encoding="utf-8"))
    # The name that an engine gives it.
    text["manifests"][0]["annotations"] = {"org.opencontainers.image.ref.name": f"schedtop:{version}"}
    index.write_text(json.dumps(text, sort_keys=True), encoding="utf-8")


def write_directory(directory: Path, target: Path) -> None:
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                entry = _entry(str(path.relative_to(directory)), tarfile.REGTYPE, 0o644)
                entry.size = path.stat().st_size
                with path.open("rb") as stream:
                    archive.addfile(entry, stream)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
