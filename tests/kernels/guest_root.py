"""What a guest starts from: a read-only file system with this machine's Python, its packages and bcc, and an initramfs.

The file system is the same for all kernels and is kept; what is tested comes as an archive of its own (`tree`).
"""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil
import subprocess
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.kernels.guest import REQUEST
from tests.kernels.packages import Kernel, Unavailable

ROOT = Path(__file__).resolve().parents[2]

_NOT_INSTALLED = "{} is not installed: `scripts/setup.sh packages kernels` says what is needed"
_PYTHON = Path("/usr/bin/python3")
_PACKAGES = Path("usr/lib/python3/dist-packages")
_PROGRAMS = ("dash", "hackbench", "chrt", "taskset", "renice")
# What schedtop and the tests import; the rest of the environment stays outside.
_IMPORTED = (
    "_pytest", "click", "elftools", "google", "iniconfig", "jinja2", "markdown_it", "markupsafe", "mdurl", "numpy",
    "packaging", "perfetto", "platformdirs", "pluggy", "prometheus_client", "py", "pygments", "pytest",
    "pytest_rerunfailures", "rich", "textual", "tomlkit", "typing_extensions",
)  # fmt: skip
_STANDARD_LEFT_OUT = ("config-*", "dist-packages", "ensurepip", "idlelib", "lib2to3", "test", "tkinter", "__pycache__")
_EMPTY = ("dev", "proc", "sys", "tmp", "run", "var", "root", "work", "etc", "usr/bin", "usr/sbin", "usr/lib64")
_MODULES = ("virtio_pci", "virtio_blk", "virtio_console", "ext4", "crc32c_generic")
_LIBRARIES = Path("usr/lib/x86_64-linux-gnu")
# Opened by bcc under its name, without which no program says that it needs it.
_BY_NAME = (Path("/usr/lib/x86_64-linux-gnu/librt.so.1"),)


def root_image(place: Path) -> Path:
    """The file system as an image, made anew when one of its files has changed. Raises Unavailable."""
    sources = _sources()
    key = hashlib.sha256(Path(__file__).read_bytes())
    for target, source in sorted(sources.items()):
        key.update(f"{target} {source.stat().st_size} {source.stat().st_mtime_ns}\n".encode())
    image = place / f"root-{key.hexdigest()[:16]}.ext4"
    if not image.exists():
        for old in place.glob("root-*.ext4"):
            old.unlink()
        with tempfile.TemporaryDirectory(dir=place) as directory:
            _fill(Path(directory), sources)
            fresh = image.with_suffix(".new")
            size_mib = 64 + round(1.15 * sum(path.stat().st_size for path in sources.values()) / (1 << 20))
            fresh.unlink(missing_ok=True)
            _run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", directory, fresh, f"{size_mib}M")
            fresh.rename(image)
    return image


def _sources() -> dict[Path, Path]:
    """All files of the guest: where they lie there, and here. Raises Unavailable."""
    found: dict[Path, Path] = {}
    standard = Path(sysconfig.get_paths()["stdlib"])
    found |= _tree(standard, Path(*standard.parts[1:]), _STANDARD_LEFT_OUT)
    for package in _imported():
        found |= _tree(package, _PACKAGES / package.name)
    found |= _tree(_bcc(), _PACKAGES / "bcc")
    found[Path("usr/bin/python3")] = _PYTHON.resolve()
    found[Path("usr/bin/busybox")] = _program("busybox")
    found |= {Path("usr/bin") / name: _program(name) for name in _PROGRAMS}
    programs = [path for target, path in found.items() if target.parent == Path("usr/bin") or ".so" in target.name]
    compiler = Path("/usr/lib/x86_64-linux-gnu/libbcc.so.0")
    found |= {_LIBRARIES / path.name: path for path in (compiler, *_BY_NAME)}
    for library in _libraries([*programs, compiler]):
        directory = Path("usr/lib64") if library.name.startswith("ld-") else _LIBRARIES
        found[directory / library.name] = library
    return found


def _tree(source: Path, target: Path, left_out: Iterable[str] = ("__pycache__",)) -> dict[Path, Path]:
    if source.is_file():
        return {target: source}
    return {
        target / path.relative_to(source): path
        for path in source.rglob("*")
        if path.is_file() and not any(part.match(pattern) for part in _parts(path, source) for pattern in left_out)
    }


def _parts(path: Path, below: Path) -> Iterator[Path]:
    return map(Path, path.relative_to(below).parts)


def _imported() -> Iterator[Path]:
    """The packages, wherever this Python finds them, with the libraries that come in a wheel."""
    for name in _IMPORTED:
        spec = find_spec(name)
        if spec is None:
            raise Unavailable(f"the Python package {name} is missing: scripts/setup.sh test installs it")
        for place in spec.submodule_search_locations or [spec.origin]:
            yield Path(str(place))
            libraries = Path(f"{place}.libs")
            if libraries.is_dir():
                yield libraries


def _bcc() -> Path:
    code = "from importlib.util import find_spec; print(find_spec('bcc').submodule_search_locations[0])"
    try:
        return Path(_run(str(_PYTHON), "-Ic", code).strip())
    except Unavailable:
        raise Unavailable("the bcc Python binding is missing: install python3-bpfcc") from None


def _program(name: str) -> Path:
    path = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
    if not path:
        raise Unavailable(_NOT_INSTALLED.format(name))
    return Path(path)


def _libraries(files: Iterable[Path]) -> set[Path]:
    """The shared libraries that programs and libraries need."""
    words = subprocess.run(["ldd", *map(str, files)], capture_output=True, check=False).stdout.decode().split()
    return {Path(word) for word in words if word.startswith("/") and ".so" in word and word[-1] != ":"}


def _fill(directory: Path, sources: dict[Path, Path]) -> None:
    for name in ("bin", "sbin", "lib", "lib64"):
        (directory / name).symlink_to(f"usr/{name}")
    for name in _EMPTY:
        (directory / name).mkdir(parents=True, exist_ok=True)
    for target, source in sources.items():
        (directory / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, directory / target)
    # The shell of busybox takes its own applets before any program in the path, such as a `renice` that adds.
    (directory / "usr/bin/sh").symlink_to("dash")
    for applet in _run(str(_program("busybox")), "--list").split():
        if not any((directory / place / applet).exists() for place in ("usr/bin", "usr/sbin")):
            (directory / "usr/bin" / applet).symlink_to("busybox")
    (directory / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
    (directory / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
    # The guest can write no bytecode, and making it is what an emulated processor is slowest at.
    _byte_compile(directory / "usr/lib")


def tree(place: Path, request: dict[str, Any]) -> Path:
    """The package, the kernel side, the tests and what is asked for, as an archive; a disk of the guest."""
    archive = place / "tree.tar"
    with tempfile.TemporaryDirectory(dir=place) as directory:
        ignored = shutil.ignore_patterns("__pycache__", "snapshots")
        for name in ("schedtop", "bpf", "tests"):
            shutil.copytree(ROOT / name, Path(directory) / name, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", directory)
        _compile(Path(directory) / "tests/root/chains.c")
        (Path(directory) / REQUEST).write_text(json.dumps(request))
        _byte_compile(Path(directory) / "schedtop")
        with tarfile.open(archive, "w") as tar:
            tar.add(directory, ".")
    return archive


def _compile(source: Path) -> None:
    """A program of the tests, which the guest cannot compile; its libraries are those of here. Raises Unavailable."""
    _run(_program("gcc"), "-O1", "-pthread", "-o", source.with_suffix(""), source)


def _byte_compile(directory: Path) -> None:
    options = ("-q", "-q", "-s", directory, "-p", "/", "--invalidation-mode", "unchecked-hash")
    subprocess.run([str(_PYTHON), "-m", "compileall", *map(str, options), str(directory)], check=False)


def initramfs(kernel: Kernel, place: Path) -> Path:
    """What a kernel needs to find its disks. Raises Unavailable."""
    archive = place / f"initramfs-{kernel.release}.cpio"
    with tempfile.TemporaryDirectory(dir=place) as directory:
        root = Path(directory)
        for name in ("bin", "dev", "proc", "sys", "root", "modules"):
            (root / name).mkdir()
        shutil.copy(_program("busybox"), root / "bin/busybox")
        names = []
        for number, module in enumerate(_needed_modules(kernel)):
            names.append(f"{number:02}-{module.name.removesuffix('.xz')}")
            data = module.read_bytes()
            (root / "modules" / names[-1]).write_bytes(lzma.decompress(data) if module.suffix == ".xz" else data)
        shutil.copy(Path(__file__).with_name("init.sh"), root / "init")
        (root / "init").chmod(0o755)
        paths = "".join(f"{path.relative_to(root)}\n" for path in sorted(root.rglob("*")))
        cpio = ["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0", "-F", str(archive)]
        subprocess.run(cpio, input=paths.encode(), cwd=root, check=True)
    return archive


def _needed_modules(kernel: Kernel) -> list[Path]:
    """The modules for disks and ports, after those that they need; what is built in is not there."""
    modules = kernel.modules / "lib/modules" / kernel.release
    _run("depmod", "-b", kernel.modules, kernel.release)
    lines = (line.split(":") for line in (modules / "modules.dep").read_text().splitlines())
    needs = {name: rest.split() for name, rest in lines}
    ordered: dict[str, None] = {}
    for path in needs:
        if Path(path).name.split(".")[0].replace("-", "_") in _MODULES:
            # The last of these needs nothing.
            ordered |= dict.fromkeys([*reversed(needs[path]), path])
    return [modules / path for path in ordered]


def _run(*command: str | Path) -> str:
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, check=False)
    except FileNotFoundError:
        raise Unavailable(_NOT_INSTALLED.format(command[0])) from None
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise Unavailable(f"{command[0]} failed: {words[-1] if words else done.returncode}")
    return done.stdout.decode(errors="replace")
