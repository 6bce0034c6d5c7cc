"""`make dist`: the wheel and the sdist of the last commit, the same when the sdist builds them, and complete.

Nothing depends on when, where and by which user it is built: the sources come out of git, times from the commit, and
hatchling sorts and sets modes and owners. Another hatchling, which the wheel names, or zlib makes other bytes.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"

NOT_IN_SDIST = (".ci/",)
"""What is of no use outside of the repository."""

SHARE = {
    "man/man1/schedtop.1",
    "bash-completion/completions/schedtop",
    "zsh/site-functions/_schedtop",
    "fish/vendor_completions.d/schedtop.fish",
    "doc/schedtop/README.md",
    "doc/schedtop/CHANGELOG.md",
}
"""What a wheel brings for below PREFIX/share, beside docs/."""

HERE = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"}
ELSEWHERE = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "2", "COLUMNS": "40"}


class Wrong(Exception):
    """Nothing is written to dist/; the text says why."""


def main(arguments: list[str]) -> int:
    """The exit status. `--allow-dirty`: what is not committed is left out, instead of refused."""
    try:
        tracked = _git("ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")[:-1]
        changed = _git("status", "--porcelain").splitlines()
        if changed and "--allow-dirty" not in arguments:
            listed = "\n".join(f"    {line}" for line in changed[:10]) + ("\n    ..." if len(changed) > 10 else "")
            raise Wrong(f"not committed:\n{listed}\ncommit it, or leave it out: make dist ARGS=--allow-dirty")
        with tempfile.TemporaryDirectory(prefix="schedtop-dist-") as name:
            made = _build_twice(Path(name))
            check_sdist(_sdist_names(made), tracked)
            check_wheel(_wheel_names(made), tracked)
            _write(made)
    except Wrong as error:
        print(f"make dist: {error}", file=sys.stderr)
        return 1
    if changed:
        print(f"make dist: left out: {len(changed)} files that are changed or not committed", file=sys.stderr)
    return 0


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        raise Wrong("git is missing: what is built is the last commit") from None
    except subprocess.CalledProcessError as error:
        raise Wrong(f"{error.stderr.strip()}\nwhat is built is the last commit of a git checkout") from None


def _build_twice(directory: Path) -> dict[str, bytes]:
    """Both files by name. Raises Wrong if the sdist, elsewhere and by another user, builds others."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct").strip()}
    unpack(_archive(), directory / "tree")
    made = build(directory / "tree", directory / "made", environment | HERE, umask=0o022)
    sdist = next(name for name in made if name.endswith(".tar.gz"))
    unpack(made[sdist], directory / "sdist")
    tree = directory / "sdist" / sdist.removesuffix(".tar.gz")
    for path in tree.rglob("*"):
        os.utime(path, (1e9, 1e9))
    again = build(tree, directory / "again", environment | ELSEWHERE, umask=0o077)
    differing = [name for name in sorted(made.keys() | again.keys()) if made.get(name) != again.get(name)]
    if differing:
        raise Wrong(f"what the sdist builds differs: {', '.join(differing)}")
    return made


def _archive() -> bytes:
    return subprocess.run(
        ["git", "-C", ROOT, "-c", "tar.umask=0022", "archive", "--format=tar", "HEAD"], capture_output=True, check=True
    ).stdout


def unpack(data: bytes, target: Path) -> None:
    """Unpacks a tar file of our own, compressed or not."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        # Python 3.11 has filters from 3.11.4 on, and 3.14 wants to be told one.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(target)


def build(
    tree: Path,
    target: Path,
    environment: Mapping[str, str],
    *,
    targets: Iterable[str] = ("sdist", "wheel"),
    umask: int = -1,
) -> dict[str, bytes]:
    """Builds by hatchling without isolation, so without network; what it made, by name. Raises Wrong."""
    wanted = [word for name in targets for word in ("-t", name)]
    command = [sys.executable, "-m", "hatchling", "build", *wanted, "-d", str(target)]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, umask=umask, check=False)
    if done.returncode:
        raise Wrong(f"hatchling failed:\n{done.stdout}{done.stderr}")
    return {path.name: path.read_bytes() for path in sorted(target.iterdir())}


def _sdist_names(made: Mapping[str, bytes]) -> set[str]:
    """Files of the sdist, without its first directory. Raises Wrong for an owner or a mode of whoever built it."""
    name, data = next((name, data) for name, data in made.items() if name.endswith(".tar.gz"))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            if (member.uid, member.gid, member.mode & ~0o111) != (0, 0, 0o644):
                raise Wrong(f"{member.name}: mode {member.mode:o}, owner {member.uid}:{member.gid}")
        return {member.removeprefix(name.removesuffix(".tar.gz") + "/") for member in archive.getnames()}


def _wheel_names(made: Mapping[str, bytes]) -> set[str]:
    data = next(data for name, data in made.items() if name.endswith(".whl"))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return set(archive.namelist())


def check_sdist(names: set[str], tracked: Iterable[str]) -> None:
    """An sdist is all that is committed, and nothing else. Raises Wrong."""
    _equal("sdist", names, {name for name in tracked if not name.startswith(NOT_IN_SDIST)} | {"PKG-INFO"})


def check_wheel(names: set[str], tracked: Iterable[str]) -> None:
    """A wheel is the package, bpf/ within it, and what goes below PREFIX/share. Raises Wrong."""
    info = next(name.split("/")[0] for name in names if name.endswith(".dist-info/METADATA"))
    data = info.removesuffix(".dist-info") + ".data/data/share"
    tracked = list(tracked)
    wanted = {f"{info}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}
    wanted |= {f"{info}/licenses/{name}" for name in tracked if name == "LICENSE" or name.startswith("LICENSES/")}
    wanted |= {name for name in tracked if name.startswith("schedtop/")}
    wanted |= {f"schedtop/{name}" for name in tracked if name.startswith("bpf/")}
    wanted |= {f"{data}/doc/schedtop/{name}" for name in tracked if name.startswith("docs/")}
    wanted |= {f"{data}/{name}" for name in SHARE}
    _equal("wheel", names, wanted)


def _equal(what: str, found: set[str], wanted: set[str]) -> None:
    for problem, names in (("is missing", wanted - found), ("is stray", found - wanted)):
        if names:
            raise Wrong(f"{what}: {problem}: {', '.join(sorted(names)[:10])}")


def _write(made: Mapping[str, bytes]) -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for name, data in made.items():
        (DIST / name).write_bytes(data)
        print(f"{hashlib.sha256(data).hexdigest()}  dist/{name}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
