"""The container image: what stays of a root, layers that are the same each time, and what an engine is told to start.

The real image takes packages of Debian; here a root is Python with its libraries, and what must not stay.
"""

import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest

import schedtop
from tests.scripts import load

ROOT = Path(schedtop.__file__).parents[1]
LIBRARIES = "usr/lib/x86_64-linux-gnu"
UNWANTED = (
    "usr/bin/sh", "usr/bin/apt-get", "var/cache/apt/archives/python3.deb", f"{LIBRARIES}/libunused.so.1",
    "usr/share/doc/python3/changelog.gz", "usr/lib/python3.11/idlelib/run.py", "usr/share/locale/de/LC_MESSAGES/x.mo",
    "usr/lib/schedtop/fontTools/__init__.py", "usr/lib/python3.11/lib-dynload/readline.cpython-311-x86_64-linux-gnu.so",
)  # fmt: skip
WANTED = (
    "usr/lib/python3.11/os.py", "usr/lib/python3/dist-packages/bcc/__init__.py", "usr/bin/schedtop",
    "usr/lib/schedtop/schedtop/__init__.py", "usr/share/doc/python3/copyright", "var/lib/dpkg/status.d/python3",
    "usr/lib/schedtop/fontTools/agl.py", "usr/lib/schedtop/fontTools/__pycache__/agl.cpython-311.pyc",
    "usr/lib/python3.11/lib-dynload/_curses.cpython-311-x86_64-linux-gnu.so", "usr/lib/terminfo/x/xterm",
)  # fmt: skip


@pytest.fixture(scope="module")
def image() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        yield load("image")


def whole_root(path: Path, without: str = "nothing") -> tarfile.TarFile:
    """A root as mmdebstrap leaves it, with the real Python of this host."""
    python = Path(sys.executable).resolve()
    said = subprocess.run(["ldd", python], capture_output=True, text=True, check=True).stdout
    libraries = [Path(word) for word in re.findall(r"(/\S+)", said)]
    with tarfile.open(path, "w") as archive:

        def link(name: str, target: str) -> None:
            entry = tarfile.TarInfo(f"./{name}")
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)

        for name in (*UNWANTED, *WANTED):
            entry = tarfile.TarInfo(f"./{name}")
            entry.size, entry.mode, entry.uid, entry.mtime = len(name), 0o6755, 1000, 5
            archive.addfile(entry, io.BytesIO(name.encode()))
        archive.add(python, "./usr/bin/python3.11")
        link("usr/bin/python3", "python3.11")
        link("lib", "usr/lib")
        for library in libraries:
            if not library.name.startswith(without):
                archive.add(library.resolve(), f"./{LIBRARIES}/{library.name}.real")
                link(f"{LIBRARIES}/{library.name}", f"/lib/x86_64-linux-gnu/{library.name}.real")
        archive.add(
            next(one for one in libraries if one.name.startswith("libm.")).resolve(), f"./{LIBRARIES}/libbcc.so.0.26.0"
        )
        link(f"{LIBRARIES}/libbcc.so.0", "libbcc.so.0.26.0")
        link(f"{LIBRARIES}/librt.so.1", "libbcc.so.0.26.0")
    return tarfile.open(path)


def test_what_python_and_bcc_load_stays_and_nothing_else(image: ModuleType, tmp_path: Path) -> None:
    with whole_root(tmp_path / "root.tar") as archive:
        names = [entry.name.removeprefix("./") for entry in image.chosen(archive)]
    assert set(WANTED) <= set(names) and not set(UNWANTED) & set(names)
    assert {
        "lib",
        "usr/bin/python3",
        "usr/bin/python3.11",
        f"{LIBRARIES}/libbcc.so.0.26.0",
        f"{LIBRARIES}/libbcc.so.0",
        f"{LIBRARIES}/librt.so.1",
    } <= set(names)
    assert any(name.endswith("libc.so.6.real") for name in names) and f"{LIBRARIES}/libc.so.6" in names
    assert names == sorted(names)


def test_missing_library_is_an_error(image: ModuleType, tmp_path: Path) -> None:
    with (
        whole_root(tmp_path / "root.tar", without="libm.") as archive,
        pytest.raises(image.dist.Wrong, match=r"libm\.so\.6 is missing"),
    ):
        image.chosen(archive)


def test_layer_tells_nothing_of_its_maker_and_is_the_same_each_time(image: ModuleType, tmp_path: Path) -> None:
    layers = []
    for name in "ab":
        with whole_root(tmp_path / f"{name}.tar") as archive:
            layer = tmp_path / f"layer-{name}.tar"
            image.write_layer(archive, image.chosen(archive), layer, image.FILES, image.DIRECTORIES)
            layers.append(layer.read_bytes())
    assert layers[0] == layers[1]
    with tarfile.open(tmp_path / "layer-a.tar") as made:
        entries: Mapping[str, tarfile.TarInfo] = {entry.name: entry for entry in made}
        assert {(entry.uid, entry.gid, entry.uname, entry.mtime) for entry in entries.values()} == {
            (0, 0, "", 1700000000)
        }
        assert not [entry.name for entry in entries.values() if entry.isreg() and entry.mode & 0o6022]
        assert entries["tmp"].mode == 0o1777 and entries["var/cache/schedtop"].mode == 0o700
        assert b"root:x:0:0" in (made.extractfile("etc/passwd") or io.BytesIO()).read()
        # A directory stands before what is in it.
        seen: set[str] = set()
        for entry in made:
            assert "/" not in entry.name or entry.name.rpartition("/")[0] in seen
            seen.add(entry.name)


@pytest.mark.skipif(shutil.which("umoci") is None, reason="umoci is not installed")
def test_image_starts_metrics_and_is_the_same_each_time(image: ModuleType, tmp_path: Path) -> None:
    made = []
    for name in "ab":
        layers = [tmp_path / f"{part}.tar" for part in ("debian", "schedtop")]
        for layer in layers:
            with tarfile.open(layer, "w") as archive:
                archive.addfile(tarfile.TarInfo(layer.stem))
        image.pack(layers, schedtop.__version__, "bookworm", tmp_path / name)
        image.write_directory(tmp_path / name, tmp_path / f"{name}.oci.tar")
        made.append((tmp_path / f"{name}.oci.tar").read_bytes())
    assert made[0] == made[1]
    blobs = tmp_path / "a" / "blobs" / "sha256"

    def blob(descriptor: Mapping[str, str]) -> Mapping[str, object]:
        return json.loads((blobs / descriptor["digest"].removeprefix("sha256:")).read_text())  # type: ignore[no-any-return]

    [listed] = json.loads((tmp_path / "a" / "index.json").read_text())["manifests"]
    assert listed["annotations"]["org.opencontainers.image.ref.name"] == f"schedtop:{schedtop.__version__}"
    manifest: Mapping[str, object] = blob(listed)
    configured = blob(manifest["config"])  # type: ignore[arg-type]
    assert len(manifest["layers"]) == 2 and configured["created"] == "2023-11-14T22:13:20Z"  # type: ignore[arg-type]
    told: Mapping[str, object] = configured["config"]  # type: ignore[assignment]
    assert told["Entrypoint"] == ["/usr/bin/schedtop"] and told["Cmd"] == ["metrics"]
    assert "LANG=C.UTF-8" in told["Env"] and "9435/tcp" in told["ExposedPorts"]  # type: ignore[operator]
    labels: Mapping[str, str] = told["Labels"]  # type: ignore[assignment]
    assert labels["org.opencontainers.image.version"] == schedtop.__version__
    # No blob is left that the image does not name.
    assert len(list(blobs.iterdir())) == 4


def test_makefile_builds_each_kind_of_package() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {name for line in re.findall(r"^([a-z -]+):", text, re.M) for name in line.split()}
    phony = set(re.findall(r"^\.PHONY: (.*)$", text, re.M)[0].split())
    assert {"dist", "deb", "rpm", "pyz", "image"} <= targets & phony


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_finds_nothing(image: ModuleType, tmp_path: Path) -> None:
    scripts = [ROOT / "scripts" / name for name in ("setup.sh", "tests.sh", "lock.sh")]
    for name in ("AFTER_INSTALL", "BEFORE_REMOVE", "AFTER_REMOVE"):
        scripts.append(tmp_path / name)
        scripts[-1].write_text(getattr(image.packages, name))
    status = tmp_path / "status"
    status.write_text(f"#!/bin/sh\n{image.STATUS}")
    done = subprocess.run(
        ["shellcheck", "--severity=warning", *scripts, status], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
