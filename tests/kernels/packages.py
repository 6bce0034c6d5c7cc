"""Stock kernels as Debian's packages: found by apt with lists of its own, and unpacked; nothing is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.apt import AptFailed, PrivateApt

NEWEST = "newest"

_SUITES = (
    ("Debian", "bullseye"),
    ("Debian-Security", "bullseye-security"),
    ("Debian", "bookworm"),
    ("Debian", "bookworm-backports"),
    ("Debian", "trixie"),
    ("Debian", "trixie-backports"),
    ("Debian", "sid"),
)
"""By the label of their archive."""

_FRESH_S = 86400.0
"""For so long a list of packages is not asked for again."""
_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_NAME = re.compile(r"linux-image-(\d+\.\d+\D\S*?)-cloud-amd64")


class Unavailable(Exception):
    """Something cannot be had on this machine; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """An unpacked kernel. `release` is what uname says, `package` the version of Debian's package."""

    release: str
    package: str
    place: Path

    @property
    def image(self) -> Path:
        """What a machine boots."""
        return next(path for path in sorted(self.place.rglob("vmlinuz*")) if path.is_file())

    @property
    def modules(self) -> Path:
        """The directory that has lib/modules."""
        return next(path for path in (self.place / "usr", self.place) if (path / "lib/modules" / self.release).is_dir())


class Archive:
    """Debian's archive; all that it keeps is below `place`. `known_mirrors`: addresses by label (tests/apt.py)."""

    def __init__(self, place: Path, known_mirrors: Mapping[str, str]) -> None:
        self._place = place
        self._mirrors = known_mirrors
        self._releases: list[str] = []

    def kernel(self, series: str) -> Kernel:
        """The newest kernel of a series (5.10), or of all (newest), unpacked. Raises Unavailable."""
        release = choose(series, self._all_releases())
        description = self.ask("apt-cache", "show", "--no-all-versions", f"linux-image-{release}-cloud-amd64")
        version = next(line.split()[1] for line in description.splitlines() if line.startswith("Version:"))
        kernel = Kernel(f"{release}-cloud-amd64", version, self._place / "kernels" / f"{release}_{version}")
        if not kernel.place.is_dir():
            self.unpack(packages(description), kernel.place)
        return kernel

    def ask(self, *command: str) -> str:
        """What a command of apt says about this archive. Raises Unavailable."""
        self._all_releases()
        return self._apt(*command)

    def _all_releases(self) -> list[str]:
        if not self._releases:
            if shutil.which("apt-get") is None or not _KEYS.is_file():
                raise Unavailable("stock kernels come by apt: install debian-archive-keyring (Debian, Ubuntu)")
            if "Debian" not in self._mirrors:
                raise Unavailable("this machine's apt knows no mirror of Debian: say --mirror Debian=ADDRESS")
            self._update()
            names = self._apt("apt-cache", "pkgnames", "linux-image-").split()
            self._releases = [match[1] for name in names if (match := _NAME.fullmatch(name))]
        return self._releases

    def _update(self) -> None:
        updated, asked = self._place / "updated", "\n".join(sorted(self._mirrors.values()))
        if updated.exists() and updated.read_text() == asked and time.time() - updated.stat().st_mtime < _FRESH_S:
            return
        self._apt("apt-get", "update")
        updated.write_text(asked)

    def unpack(self, names: Iterable[str], place: Path) -> None:
        """Downloads packages (NAME or NAME=VERSION) and unpacks them together. Raises Unavailable."""
        downloads, fresh = (place.with_name(f"{place.name}.{end}") for end in ("debs", "new"))
        for directory in (downloads, fresh):
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir(parents=True)
        self._apt("apt-get", "download", *names, directory=downloads)
        for package in downloads.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, fresh], check=True)
        shutil.rmtree(downloads)
        fresh.rename(place)

    def _apt(self, *command: str, directory: Path | None = None) -> str:
        known = ((self._mirrors[label], suite) for label, suite in _SUITES if label in self._mirrors)
        sources = "".join(f"deb [signed-by={_KEYS}] {mirror} {suite} main\n" for mirror, suite in known)
        try:
            return PrivateApt(self._place / "apt", sources)(*command, directory=directory)
        except AptFailed as error:
            raise Unavailable(str(error)) from error


def choose(series: str, releases: Iterable[str]) -> str:
    """The newest release of a series, or of all. Raises Unavailable, which names those that there are."""
    ordered = sorted(releases, key=_order)
    fitting = [release for release in ordered if series == NEWEST or _order(release)[:2] == _order(series)]
    if not fitting:
        there = dict.fromkeys(".".join(map(str, _order(release)[:2])) for release in ordered)
        raise Unavailable(f"Debian has no kernel {series} for clouds now; it has {', '.join(there) or 'none'}")
    return fitting[-1]


def packages(description: str) -> list[str]:
    """The packages that hold a kernel, from what apt says of its image: newer ones come in several parts."""
    fields = dict(line.split(": ", 1) for line in description.splitlines() if ": " in line and line[0] != " ")
    name = fields["Package"]
    parts = (f"linux-{part}-{name.removeprefix('linux-image-')}" for part in ("binary", "modules"))
    needed = {word.split()[0] for word in re.split(r"[,|]", fields.get("Depends", "")) if word.strip()}
    return [name, *(part for part in parts if part in needed)]


def _order(release: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", release)))
