"""Distributions with their bcc: fetched by apt from the mirror that this machine uses, and unpacked, not installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.apt import AptFailed, PrivateApt

PACKAGE = "python3-bpfcc"
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
    apt = PrivateApt(directory, f"deb [signed-by={keys}] {mirror} {release.suite} {release.components}\n")
    try:
        apt("apt-get", "-qq", "update")
        apt("apt-get", "-qq", "install", "--download-only", "--yes", "--no-install-recommends", PACKAGE)
    except AptFailed as error:
        raise NotHere(str(error)) from error
    return sorted(apt.archives.glob("*.deb"))
