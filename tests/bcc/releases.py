"""Distributions with their bcc: fetched by apt from the mirror that this machine uses, and unpacked, not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "python3-bpfcc"
_MAIN = Path("/etc/apt/apt.conf")
_KEYS = "/usr/share/keyrings/{}-archive-keyring.gpg"
_OF_ONE_TREE = ("bin", "sbin", "lib", "lib64")


class NotHere(Exception):
    """A release cannot be had on this machine; the text says why."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release of a distribution, `vendor` as apt names it; `components`: where bcc and what it needs are."""

    name: str
    vendor: str
    suite: str
    components: str = "main"


RELEASES = (
    Release("Debian 11", "Debian", "bullseye"),
    Release("Debian 12", "Debian", "bookworm"),
    Release("Debian 13", "Debian", "trixie"),
    Release("Debian testing", "Debian", "testing"),
    Release("Debian unstable", "Debian", "sid"),
    Release("Ubuntu 22.04", "Ubuntu", "jammy", "main universe"),
    Release("Ubuntu 24.04", "Ubuntu", "noble", "main universe"),
)


def unpacked(release: Release, cache: Path, known_mirrors: Mapping[str, str]) -> Path:
    """The root of a tree with the release's Python, bcc and its compiler; made once. Raises NotHere."""
    root = cache / release.suite / "root"
    if (root / ".complete").exists():
        return root
    if release.vendor not in known_mirrors:
        raise NotHere(f"no mirror of {release.vendor} is known here (--mirror {release.vendor}=ADDRESS)")
    packages = _fetched(release, cache / release.suite, known_mirrors[release.vendor])
    shutil.rmtree(root, ignore_errors=True)
    for name in _OF_ONE_TREE:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for package in packages:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as archive:
            unpack = ["tar", "-x", "--keep-directory-symlink", "-C", str(root)]
            subprocess.run(unpack, stdin=archive.stdout, check=True)
    for name in ("proc", "sys", "tmp", "schedtop"):
        (root / name).mkdir(exist_ok=True)
    for package in packages:
        package.unlink()
    (root / ".complete").touch()
    return root


def _fetched(release: Release, directory: Path, mirror: str) -> list[Path]:
    """The packages of bcc and of all it needs, by apt with lists and settings of its own."""
    keys = Path(_KEYS.format(release.vendor.lower()))
    if not keys.exists():
        raise NotHere(f"the keys of {release.vendor}'s packages are missing here: {keys}")
    for name in ("lists/partial", "cache/archives/partial"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    (directory / "status").touch()
    source = directory / "sources.list"
    source.write_text(f"deb [signed-by={keys}] {mirror} {release.suite} {release.components}\n")
    settings = {
        "Dir::State": directory,
        "Dir::State::status": directory / "status",
        "Dir::State::lists": directory / "lists",
        "Dir::Cache": directory / "cache",
        "Dir::Etc::sourcelist": source,
        "Dir::Etc::sourceparts": "-",
        "APT::Sandbox::User": "root",
    }
    # In place of apt's main file, which comes last: the rest is this machine's, but for what it does after an update.
    main = directory / "main.conf"
    own = "".join(f'#include "{path}";\n' for path in [_MAIN] if path.exists())
    lines = "".join(f'{name} "{value}";\n' for name, value in settings.items())
    main.write_text(f"{own}#clear APT::Update;\n#clear DPkg;\n{lines}")
    (directory / "apt.conf").write_text(f'Dir::Etc::main "{main}";\n')
    _apt(directory, "update")
    _apt(directory, "install", "--download-only", "--yes", "--no-install-recommends", PACKAGE)
    return sorted((directory / "cache" / "archives").glob("*.deb"))


def _apt(directory: Path, *arguments: str) -> None:
    environment = os.environ | {"APT_CONFIG": str(directory / "apt.conf")}
    done = subprocess.run(["apt-get", "-qq", *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotHere(f"apt-get {arguments[0]}: {' '.join(done.stderr.split())[:200]}")
